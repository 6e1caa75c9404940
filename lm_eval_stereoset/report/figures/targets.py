"""Target terms x languages."""

import math
import warnings
from typing import Any

import numpy as np

from lm_eval_stereoset.report.figures.style import GREY, plain
from lm_eval_stereoset.report.study import Study


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
    axes.set_yticks(range(len(targets)), [plain(t.name) for t in targets], fontsize=6.5)
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
