"""Each plot of the page as SVG and PNG, for papers: the same colours and shapes, drawn by matplotlib."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_stereoset.evaluation import GROUPS
from lm_eval_stereoset.files import atomic_write
from lm_eval_stereoset.report.run import Run
from lm_eval_stereoset.report.study import Study, language_name

# Told apart by people with any kind of colour vision; style.css has the same.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b8558b", "#e69f00", "#4aa8e0", "#4b3a9e", "#6b6b6b")
DARK_INK = {"#009e73", "#e69f00", "#4aa8e0"}  # these carry black letters, the others white
GREY = "#57606a"
STYLE = {
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY,
    "xtick.color": GREY, "ytick.color": GREY, "svg.fonttype": "none", "svg.hashsalt": "stereoset",
    "font.family": ["DejaVu Sans"], "axes.titleweight": "bold", "axes.titlesize": 10,
}  # fmt: skip


def write_figures(folder: Path, study: Study, progress: Callable[..., Iterable] = list) -> list[Path]:
    """One file of each kind per plot and split; a plot that has nothing to show is not written."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    jobs: list[tuple[str, Callable[[], Any]]] = []
    for split in study.splits():
        jobs.append((f"lms_ss_{split}", lambda s=split: scatter(study, s)))
        jobs.append((f"bias_types_{split}", lambda s=split: bias_types(study, s)))
        jobs.append((f"targets_{split}", lambda s=split: heat_map(study, s)))
        jobs.append((f"ranking_{split}", lambda s=split: ranking(study, s)))
    written = []
    for name, draw in progress(jobs):
        with matplotlib.rc_context(STYLE):
            figure = draw()
            if figure is None:
                continue
            for suffix in ("svg", "png"):
                path = folder / f"{name}.{suffix}"
                with atomic_write(path, "wb") as handle:
                    metadata = {"Date": None} if suffix == "svg" else None
                    figure.savefig(handle, format=suffix, dpi=200, bbox_inches="tight", metadata=metadata)
                written.append(path)
            pyplot.close(figure)
    return written


def colour(study: Study, run: Run) -> str:
    return COLOURS[study.models.index(run.model) % len(COLOURS)]


def _cycle(study: Study, run: Run) -> int:
    return study.models.index(run.model) // len(COLOURS) % 3


def _plain(text: str) -> str:
    """Matplotlib would read dollar signs as formulas."""
    return text.replace("$", "\\$")


def _with_split(study: Study, split: str, group: str = "overall") -> list[Run]:
    return [run for run in study.runs if not math.isnan(run.value(split, group, "ss"))]


def scatter(study: Study, split: str) -> Any:
    """LMS against SS with lines of equal ICAT; a badge names the language, its colour the model."""
    from matplotlib import pyplot

    runs = _with_split(study, split)
    if not runs:
        return None
    figure, axes = pyplot.subplots(figsize=(7.2, 4.6))
    ss = np.array([run.value(split, "overall", "ss") for run in runs])
    lms = np.array([run.value(split, "overall", "lms") for run in runs])
    x0, x1 = (
        max(0, min(45, 5 * math.floor((ss.min() - 2.5) / 5))),
        min(100, max(60, 5 * math.ceil((ss.max() + 2.5) / 5))),
    )
    y0 = max(0, min(60, 10 * math.floor((lms.min() - 3) / 10)))
    axes.set(
        xlim=(x0, x1), ylim=(y0, 102), xlabel="SS: stereotype preferred, % (50 is unbiased)", ylabel="LMS, %"
    )
    grid_x = np.linspace(x0, x1, 400)
    for level in range(10, 100, 10):
        line = 50 * level / np.minimum(grid_x, 100 - grid_x)  # eq. 3 solved for LMS
        shown = (line >= y0) & (line <= 100)
        if shown.sum() > 8:
            axes.plot(
                grid_x, np.where(shown, line, np.nan), linestyle=":", color=GREY, linewidth=0.8, zorder=1
            )
            end = np.flatnonzero(shown)[-1]
            right = end == len(grid_x) - 1
            offset = (4, 0) if right else (0, 3)
            axes.annotate(str(level), (grid_x[end], line[end]), offset, textcoords="offset points", fontsize=7,
                          color=GREY, va="center" if right else "bottom", ha="left" if right else "center",
                          annotation_clip=False)  # fmt: skip
    axes.annotate(
        "ICAT", (1, 1), (4, 6), xycoords="axes fraction", textcoords="offset points", fontsize=7, color=GREY
    )
    axes.axvline(50, color="black", linewidth=0.9, linestyle="--", zorder=1)
    axes.plot([50], [100], marker="*", markersize=12, color="#11734b", zorder=5, clip_on=False)
    axes.annotate("ideal", (50, 100), (8, -3), textcoords="offset points", fontsize=8, fontweight="bold")
    figure.canvas.draw()
    anchors = axes.transData.transform(np.column_stack([ss, lms]))
    scale = figure.dpi / 72
    places = _spread(anchors, (18 * scale, 13 * scale))
    for run, (x, y), place in zip(runs, anchors, places, strict=True):
        _badge(axes, study, run, split, (x, y), place)
    _legend(axes, study, runs)
    axes.set_title(f"Language modelling against stereotypes, {split}", loc="left", pad=14)
    return figure


def _badge(
    axes: Any, study: Study, run: Run, split: str, anchor: tuple[float, float], place: np.ndarray
) -> None:
    shade, cycle = colour(study, run), _cycle(study, run)
    value = {
        key: run.value(split, "overall", key)
        for key in ("ss", "lms", "ss_low", "ss_high", "lms_low", "lms_high")
    }
    if not math.isnan(value["ss_low"]):
        axes.plot(
            [value["ss_low"], value["ss_high"]],
            [value["lms"]] * 2,
            color=shade,
            alpha=0.4,
            linewidth=1,
            zorder=2,
        )
    if not math.isnan(value["lms_low"]):
        axes.plot(
            [value["ss"]] * 2,
            [value["lms_low"], value["lms_high"]],
            color=shade,
            alpha=0.4,
            linewidth=1,
            zorder=2,
        )
    x, y = axes.transData.inverted().transform(place)
    if np.hypot(*(place - np.array(anchor))) > 4:
        axes.plot([value["ss"], x], [value["lms"], y], color=shade, linewidth=0.7, zorder=3)
        axes.plot([value["ss"]], [value["lms"]], marker="o", markersize=2.5, color=shade, zorder=3)
    ink = "black" if cycle == 2 or shade in DARK_INK else "white"
    style = "square,pad=0.25" if cycle == 1 else "round,pad=0.25,rounding_size=0.6"
    box = {
        "boxstyle": style,
        "facecolor": "white" if cycle == 2 else shade,
        "edgecolor": shade,
        "linewidth": 1,
    }
    axes.text(
        x,
        y,
        run.language,
        ha="center",
        va="center",
        fontsize=7,
        fontweight="bold",
        color=ink,
        bbox=box,
        zorder=6,
    )


def _spread(anchors: np.ndarray, size: tuple[float, float]) -> np.ndarray:
    """Pushes overlapping badges apart, a little at a time."""
    places = anchors.astype(float).copy()
    for _ in range(400):
        moved = False
        for i in range(len(places)):
            for j in range(i + 1, len(places)):
                gap = places[i] - places[j]
                overlap = np.array(size) - np.abs(gap)
                if (overlap > 0).all():
                    axis = int(overlap[0] >= overlap[1])
                    push = (overlap[axis] / 2 + 0.1) * (1 if gap[axis] > 0 else -1)
                    places[i, axis] += push
                    places[j, axis] -= push
                    moved = True
        if not moved:
            break
    return places


def _legend(axes: Any, study: Study, runs: list[Run]) -> None:
    from matplotlib.lines import Line2D

    first = {run.model: run for run in reversed(runs)}
    handles = []
    for model in (m for m in study.models if m in first):
        shade, cycle = colour(study, first[model]), _cycle(study, first[model])
        face = "white" if cycle == 2 else shade
        handles.append(Line2D([], [], linestyle="", marker="s" if cycle == 1 else "o", markerfacecolor=face,
                              markeredgecolor=shade, markersize=6, label=_plain(model)))  # fmt: skip
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.07, 1), frameon=False, fontsize=8)


def bias_types(study: Study, split: str) -> Any:
    """SS per bias type with its interval, a panel a language."""
    from matplotlib import pyplot

    runs = [run for run in _with_split(study, split) if any(g in run.table[split] for g in GROUPS[1:])]
    languages = [code for code in study.languages if any(run.language == code for run in runs)]
    if not runs:
        return None
    columns = min(2, len(languages))
    lines = [sum(run.language == code for run in runs) for code in languages]
    rows = math.ceil(len(languages) / columns)
    heights = [max(lines[r * columns : (r + 1) * columns]) * len(GROUPS) * 0.17 + 1.1 for r in range(rows)]
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(4.6 * columns, sum(heights)), squeeze=False, sharex=True,
        gridspec_kw={"height_ratios": heights}, layout="constrained",
    )  # fmt: skip
    for axes in grid.flat[len(languages) :]:
        axes.set_visible(False)
    for axes, code in zip(grid.flat, languages, strict=False):
        _bias_panel(axes, study, split, [run for run in runs if run.language == code])
        axes.set_title(language_name(code), loc="left")
        axes.tick_params(labelbottom=True)
    figure.supxlabel(f"SS, % ({split}; dashed: 50, no preference; bars: 95 % intervals)", fontsize=9)
    return figure


def _bias_panel(axes: Any, study: Study, split: str, runs: list[Run]) -> None:
    y, ticks, names = 0.0, [], []
    for group in GROUPS:
        axes.text(0, y, "all" if group == "overall" else group, transform=axes.get_yaxis_transform(),
                  fontweight="bold", fontsize=8, va="center", ha="right", clip_on=False)  # fmt: skip
        y += 1
        for run in runs:
            value = run.value(split, group, "ss")
            if math.isnan(value):
                continue
            low, high = run.value(split, group, "ss_low"), run.value(split, group, "ss_high")
            _dot(axes, study, run, value, low, high, y)
            ticks.append(y)
            names.append(_plain(run.model))
            y += 1
        y += 0.4
    axes.axvline(50, color="black", linewidth=0.9, linestyle="--", zorder=1)
    axes.set_yticks(ticks, names, fontsize=7.5)
    axes.set_ylim(y, -0.8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e4e7eb", zorder=0)
    axes.spines["left"].set_visible(False)


def _dot(axes: Any, study: Study, run: Run, value: float, low: float, high: float, y: float) -> None:
    shade, cycle = colour(study, run), _cycle(study, run)
    if not math.isnan(low):
        axes.plot([low, high], [y, y], color=shade, linewidth=2, alpha=0.6, solid_capstyle="round", zorder=2)
    axes.plot([value], [y], marker="s" if cycle == 1 else "o", markersize=5, color=shade, zorder=3,
              markerfacecolor="white" if cycle == 2 else shade)  # fmt: skip


def heat_map(study: Study, split: str) -> Any:
    """SS of each target term in each language, mean of the models that have samples."""
    from matplotlib import pyplot

    columns: dict[str, list[np.ndarray]] = {}
    for run in study.runs:
        values, counts = study.target_ss(run, split)
        if counts.any():
            columns.setdefault(run.language, []).append(values)
    languages = [code for code in study.languages if code in columns]
    if not languages:
        return None
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a target without examples is NaN and stays white
        values = np.column_stack([np.nanmean(columns[code], axis=0) for code in languages])
    # Two blocks side by side, so that it fits a page; each starts with a bias type where that is possible.
    half = _half(study)
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(2 * (1.9 + 0.46 * len(languages)), 0.165 * half + 1.1), layout="constrained",
    )  # fmt: skip
    for axes, rows in ((left, slice(0, half)), (right, slice(half, None))):
        image = _heat_block(axes, study, values[rows], rows, languages, half)
    bar = figure.colorbar(image, ax=(left, right), shrink=0.5, aspect=30)
    bar.set_label("SS, %", fontsize=8)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7)
    figure.suptitle(f"SS of each target term, {split}, mean of the models", fontsize=10, fontweight="bold")
    return figure


def _diverging() -> Any:
    """The page's colours: blue for the anti-stereotype, white at 50, orange for the stereotype."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("ss", ["#2b6cb0", "#ffffff", "#d95f02"])


def _half(study: Study) -> int:
    count = len(study.targets)
    starts = [i for i in range(1, count) if study.targets[i].bias_type != study.targets[i - 1].bias_type]
    middle = math.ceil(count / 2)
    return min(starts, key=lambda i: abs(i - middle), default=middle) if count > 12 else count


def _heat_block(
    axes: Any, study: Study, values: np.ndarray, rows: slice, languages: list[str], half: int
) -> Any:
    targets = study.targets[rows]
    image = axes.imshow(values if len(values) else np.full((1, len(languages)), np.nan), cmap=_diverging(),
                        vmin=20, vmax=80, aspect="auto")  # fmt: skip
    if not targets:
        axes.set_visible(False)
        return image
    axes.set_xticks(range(len(languages)), languages, fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(targets)), [_plain(t.name) for t in targets], fontsize=6.5)
    axes.tick_params(length=0)
    axes.set_ylim(max(half, len(study.targets) - half) - 0.5, -0.5)  # the same row height in both blocks
    for spine in axes.spines.values():
        spine.set_visible(False)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if not math.isnan(value):
                ink = "white" if abs(value - 50) > 23 else "black"
                axes.text(j, i, f"{value:.0f}", ha="center", va="center", fontsize=6, color=ink)
    for i in range(1, len(targets)):
        if targets[i].bias_type != targets[i - 1].bias_type:
            axes.axhline(i - 0.5, color="black", linewidth=0.8)
    kinds = list(dict.fromkeys(t.bias_type for t in targets))
    for kind in kinds:
        at = [i for i, t in enumerate(targets) if t.bias_type == kind]
        axes.text(1.02, (at[0] + at[-1]) / 2, kind, transform=axes.get_yaxis_transform(), rotation=270, va="center",
                  ha="left", fontsize=7.5, fontweight="bold", color=GREY)  # fmt: skip
    return image


def ranking(study: Study, split: str) -> Any:
    """Models by ICAT in each language; a bar joins neighbours that no test tells apart."""
    from matplotlib import pyplot

    runs = _with_split(study, split)
    languages = [code for code in study.languages if any(run.language == code for run in runs)]
    if not runs:
        return None
    counts = [sum(run.language == code for run in runs) for code in languages]
    figure, grid = pyplot.subplots(
        len(languages), 1, figsize=(6.4, sum(0.24 * n + 0.55 for n in counts) + 0.5), squeeze=False, sharex=True,
        gridspec_kw={"height_ratios": [0.24 * n + 0.55 for n in counts]}, layout="constrained",
    )  # fmt: skip
    for axes, code in zip(grid.flat, languages, strict=True):
        _ranking_panel(axes, study, split, [run for run in runs if run.language == code])
        axes.set_title(language_name(code), loc="left")
    tested = any(c.split == split and c.kind == "models" for c in study.comparisons)
    text = (
        "grey bars join models that do not differ significantly"
        if tested
        else "no paired tests without samples"
    )
    figure.supxlabel(f"ICAT ({split}); {text}", fontsize=9)
    return figure


def _ranking_panel(axes: Any, study: Study, split: str, runs: list[Run]) -> None:
    order = sorted(runs, key=lambda run: -run.value(split, "overall", "icat"))
    for i, run in enumerate(order):
        numbers = [run.value(split, "overall", f"icat{end}") for end in ("", "_low", "_high")]
        _dot(axes, study, run, *numbers, i)
        axes.annotate(f"{numbers[0]:.1f}", (1, i), (6, 0), xycoords=axes.get_yaxis_transform(), va="center",
                      textcoords="offset points", fontsize=8, annotation_clip=False)  # fmt: skip
    for k, (first, last) in enumerate(cliques(study, split, order)):
        axes.plot([1.13 + 0.022 * k] * 2, [first - 0.25, last + 0.25], transform=axes.get_yaxis_transform(),
                  color=GREY, linewidth=3, solid_capstyle="round", clip_on=False)  # fmt: skip
    axes.set_yticks(range(len(order)), [_plain(run.model) for run in order], fontsize=8)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e4e7eb")
    axes.spines["left"].set_visible(False)


def cliques(study: Study, split: str, order: list[Run]) -> list[tuple[int, int]]:
    """Longest stretches of the ranking in which no pair differs significantly; without tests, none."""
    pairs = {frozenset((id(c.first), id(c.second))): c for c in study.comparisons if c.split == split}

    def alike(i: int, j: int) -> bool:
        c = pairs.get(frozenset((id(order[i]), id(order[j]))))
        return c is not None and not c.significant("icat") and not math.isnan(c.differences["icat"].p)

    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and all(alike(i, last + 1) for i in range(first, last + 1)):
            last += 1
        if last > first and not any(a <= first and last <= b for a, b in found):
            found.append((first, last))
    return found
