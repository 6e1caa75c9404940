"""GEST's figures: the stereotypes as a heat map, their feminine ranks, and women's against men's for each result."""

import math
from functools import partial
from typing import Any

import numpy as np

from lm_eval_stereoset.benchmarks.gest.kinds import Kind
from lm_eval_stereoset.benchmarks.gest.stereotypes import ABOUT_WOMEN, NAMES, NUMBERS, name_of
from lm_eval_stereoset.report.extras import Picture
from lm_eval_stereoset.report.figures.style import GREY, colour, cycle_of, dot, plain
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.study import Study, language_name

WOMEN, MEN = "#7b3294", "#1b7837"  # stereotypes about women, about men: told apart by everybody
MOST_ACROSS = 12  # columns of heat maps side by side
FEW = 3  # results whose ranks are shown with their intervals


def heat_of(kind: Kind) -> Picture:
    return partial(_heat, kind)


def ranks_of(kind: Kind) -> Picture:
    return partial(_ranks, kind)


def means_of(kind: Kind) -> Picture:
    return partial(_means, kind)


def with_ends(run: Run, split: str, metric: str) -> tuple[float, float, float]:
    """The value, and its interval's ends."""
    value, low, high = (run.overall(split, f"{metric}{end}") for end in ("", "_low", "_high"))
    return value, low, high


# Stereotypes x models, or x languages


def _heat(kind: Kind, study: Study, split: str) -> Any:
    from matplotlib import pyplot

    blocks = _blocks(study, kind.shown(study.runs, split))
    if not blocks:
        return None
    values = [np.column_stack([kind.values(run, split) for run in runs]) for _, runs, _ in blocks]
    reach = max(float(np.nanmax(np.abs(block - kind.middle))) for block in values) or 1.0
    longest = max(len(label) for _, _, labels in blocks for label in labels)
    widest = max(block.shape[1] for block in values)
    across = min(len(blocks), max(1, MOST_ACROSS // widest))
    down = math.ceil(len(blocks) / across)
    width, height = 1.4 + 0.52 * widest, 3.4 + 0.055 * min(longest, 40)
    figure, grid = pyplot.subplots(
        down, across, figsize=(1.2 + across * width, height * down), squeeze=False, layout="constrained"
    )
    for axes, (title, _, labels), block in zip(grid.flat, blocks, values, strict=False):
        image = _heat_block(axes, block, labels, kind.middle, reach)
        axes.set_title(plain(title), loc="left")
    for axes in grid.flat[len(blocks) :]:
        axes.set_visible(False)
    bar = figure.colorbar(image, ax=list(grid.flat), shrink=min(0.6, 1 / down), aspect=25)
    bar.set_label(f"more feminine     {kind.one}     more masculine", fontsize=7)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7)
    return figure


def _blocks(study: Study, runs: list[Run]) -> list[tuple[str, list[Run], list[str]]]:
    """(title, results, their labels): models in a language side by side; where there is more, languages of a model."""
    languages = {run.language for run in runs}
    if len(languages) == 1:
        return [(language_name(runs[0].language), runs, [plain(run.model) for run in runs])]
    by_model = {model: [run for run in runs if run.model == model] for model in study.models}
    return [(model, own, [run.language for run in own]) for model, own in by_model.items() if own]


def _heat_block(axes: Any, values: np.ndarray, labels: list[str], middle: float, reach: float) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("heat", ["#2b6cb0", "#ffffff", "#d95f02"])
    image = axes.imshow(values, cmap=colours, vmin=middle - reach, vmax=middle + reach, aspect="auto")
    turned = max(map(len, labels)) > 4
    axes.set_xticks(
        range(len(labels)), labels, fontsize=7.5, rotation=40 if turned else 0, ha="left" if turned else "center",
        rotation_mode="anchor" if turned else None,
    )  # fmt: skip
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(NAMES)), list(map(name_of, NUMBERS)), fontsize=8)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for (i, j), value in np.ndenumerate(values):
        ink = "white" if abs(value - middle) > 0.77 * reach else "black"
        text = "–" if math.isnan(value) else f"{value:.2f}".replace("-0.00", "0.00")
        axes.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink)
    axes.axhline(ABOUT_WOMEN - 0.5, color="black", linewidth=1)
    return image


# Feminine ranks


def _ranks(kind: Kind, study: Study, split: str) -> Any:
    """A box per stereotype over all results, and a mark for each of them."""
    from matplotlib import pyplot

    runs = [run for run in study.runs if not np.isnan(kind.ranks(run, split)).any()]
    if not runs:
        return None
    ranks = np.stack([kind.ranks(run, split) for run in runs])
    figure, axes = pyplot.subplots(figsize=(7.4, 5.2), layout="constrained")
    for i in range(len(NAMES)):
        shade = WOMEN if i < ABOUT_WOMEN else MEN
        if len(runs) > FEW:
            _box(axes, ranks[:, i], i, shade)
        _marks(axes, study, split, runs, kind, i)
    axes.axhline(ABOUT_WOMEN - 0.5, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(NAMES)), list(map(name_of, NUMBERS)), fontsize=8.5)
    for i, label in enumerate(axes.get_yticklabels()):
        label.set_color(WOMEN if i < ABOUT_WOMEN else MEN)
    axes.set(ylim=(len(NAMES) - 0.4, -0.6), xlim=(0.4, len(NAMES) + 0.6), xticks=NUMBERS)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e4e7eb")
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"feminine rank: 1 has the lowest {kind.ranked}, the least masculine; 16 the highest")
    for y, text, shade in ((3, "about women", WOMEN), (11, "about men", MEN)):
        axes.annotate(text, (1, y), (4, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
                      rotation=270, va="center", color=shade, fontsize=8.5, annotation_clip=False)  # fmt: skip
    models_legend(axes, study, runs, beside=0.05)
    return figure


def _box(axes: Any, ranks: np.ndarray, y: int, shade: str) -> None:
    """Quartiles and median; the whiskers reach to the ends."""
    line = {"color": shade, "linewidth": 1.1}
    axes.boxplot(
        ranks, orientation="horizontal", positions=[y], widths=0.62, whis=(0, 100), manage_ticks=False,
        patch_artist=True, boxprops={"facecolor": f"{shade}26", "edgecolor": shade}, whiskerprops=line, capprops=line,
        medianprops={"color": shade, "linewidth": 2.2},
    )  # fmt: skip


def _marks(axes: Any, study: Study, split: str, runs: list[Run], kind: Kind, i: int) -> None:
    """Those of equal rank stand side by side, so that each can be seen."""
    by_rank: dict[float, list[Run]] = {}
    for run in runs:
        by_rank.setdefault(float(kind.ranks(run, split)[i]), []).append(run)
    for rank, equal in by_rank.items():
        across = math.ceil(len(equal) / FEW)
        down = math.ceil(len(equal) / across)
        for place, run in enumerate(equal):
            x = rank + 0.24 * (place % across - (across - 1) / 2)
            y = i + (0.21 if len(runs) > FEW else 0.3) * (place // across - (down - 1) / 2)
            low, high = (kind.ranks(run, split, end)[i] for end in ("_low", "_high"))
            if len(runs) > FEW:
                low = high = math.nan
            dot(axes, study, run, x, low, high, y, size=5 if len(runs) <= 2 * FEW else 3.4)


def models_legend(axes: Any, study: Study, runs: list[Run], beside: float = 0.0) -> None:
    """To the right of the plot, and of what else is there."""
    from matplotlib.lines import Line2D

    first = {run.model: run for run in reversed(runs)}
    handles = []
    for model in (model for model in study.models if model in first):
        shade, cycle = colour(study, first[model]), cycle_of(study, first[model])
        face = "white" if cycle == 2 else shade
        handles.append(Line2D([], [], linestyle="", marker="s" if cycle == 1 else "o", markerfacecolor=face,
                              markeredgecolor=shade, markersize=5, label=plain(model)))  # fmt: skip
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1 + beside, 1), frameon=False, fontsize=8)


# Women's stereotypes and men's, and how far they are apart


def _means(kind: Kind, study: Study, split: str) -> Any:
    """A row per result. On the left the two means, on the right what lies between them."""
    from matplotlib import pyplot

    runs = [run for run in study.runs if not math.isnan(run.overall(split, kind.rate))]
    if not runs:
        return None
    languages = [code for code in study.languages if any(run.language == code for run in runs)]
    rows: list[Run | str] = []
    for code in languages:
        rows += [language_name(code)] if len(languages) > 1 else []
        rows += [run for run in runs if run.language == code]
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(8.6, 0.27 * len(rows) + 1.1), sharey=True, layout="constrained", width_ratios=(3, 2)
    )
    for y, row in enumerate(rows):
        if isinstance(row, Run):
            _both_means(left, kind, row, split, y)
            dot(right, study, row, *with_ends(row, split, kind.rate), y)
    metric = study.benchmark.metric(kind.rate)
    left.axvline(kind.middle, color="black", linewidth=0.9, linestyle="--", zorder=1)
    right.axvline(metric.ideal or 0.0, color="black", linewidth=0.9, linestyle="--", zorder=1)
    left.set_yticks(
        range(len(rows)), [plain(row.model if isinstance(row, Run) else row) for row in rows], fontsize=8
    )
    for row, label in zip(rows, left.get_yticklabels(), strict=True):
        label.set_fontweight("normal" if isinstance(row, Run) else "bold")
    left.set_ylim(len(rows) - 0.4, -0.6)
    for axes, text in ((left, kind.what), (right, f"{metric.title}; {metric.ideal or 0:g} is ideal")):
        axes.set_xlabel(text, fontsize=8)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="x", color="#e4e7eb")
        axes.set_axisbelow(True)
        axes.spines["left"].set_visible(False)
    _key_of_means(left, kind)
    return figure


def _both_means(axes: Any, kind: Kind, run: Run, split: str, y: int) -> None:
    women, men = (run.overall(split, name) for name in (kind.women, kind.men))
    axes.plot([women, men], [y, y], color="#c9ced6", linewidth=2, zorder=1)
    for name, shade, marker in ((kind.women, WOMEN, "o"), (kind.men, MEN, "D")):
        value, low, high = with_ends(run, split, name)
        axes.plot([low, high], [y, y], color=shade, linewidth=2, alpha=0.6, zorder=2)
        axes.plot([value], [y], marker=marker, markersize=4.5, color=shade, zorder=3)


def _key_of_means(axes: Any, kind: Kind) -> None:
    from matplotlib.lines import Line2D

    keys = ((f"{kind.women}: about women", WOMEN, "o"), (f"{kind.men}: about men", MEN, "D"))
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=shade, markersize=5, label=text)
        for text, shade, marker in keys
    ]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=8)
