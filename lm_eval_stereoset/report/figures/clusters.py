"""A metric per cluster and language, as colours: target terms x languages."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from lm_eval_stereoset.benchmarks.declaration import Metric
from lm_eval_stereoset.report.figures.style import GREY, plain, unit_of
from lm_eval_stereoset.report.study import Study


def heat_map(study: Study, split: str) -> Any:
    """The most telling metric of each cluster in each language, mean of the models that have samples."""
    from matplotlib import pyplot

    if not study.heat_metrics or not study.has_telling_clusters:
        return None
    metric = study.heat_metrics[0]
    columns: dict[str, list[np.ndarray]] = {}
    for run in study.runs:
        values, counts = study.by_cluster(run, split)
        if counts.any():
            columns.setdefault(run.language, []).append(values[metric.name])
    languages = [code for code in study.languages if code in columns]
    if not languages:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a cluster without examples is NaN and stays white
        means = np.column_stack([np.nanmean(columns[code], axis=0) for code in languages])
    if np.isnan(means).all():
        return None
    # Two blocks side by side, so that it fits a page; each starts with a group where that is possible.
    half = _half(study)
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(2 * (1.9 + 0.46 * len(languages)), 0.165 * half + 1.1), layout="constrained",
    )  # fmt: skip
    scale = Scale.of(metric, means)
    for axes, rows in ((left, slice(0, half)), (right, slice(half, None))):
        image = _heat_block(axes, study, scale, means[rows], rows, languages, half)
    bar = figure.colorbar(image, ax=(left, right), shrink=0.5, aspect=30)
    bar.set_label(plain(f"{metric.title}{unit_of(metric)}"), fontsize=8)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7)
    title = f"{metric.title} of each {study.benchmark.cluster}, {split}, mean of the models"
    figure.suptitle(plain(title), fontsize=10, fontweight="bold")
    return figure


@dataclass(frozen=True)
class Scale:
    """Which value gets which colour; heat.js has the same."""

    middle: float  # white
    reach: float  # from there to the deepest colour
    decimals: int

    @classmethod
    def of(cls, metric: Metric, values: np.ndarray) -> "Scale":
        """Around the ideal, as far as three fifths of the way to the nearer end; SS: 20 to 80."""
        low, high = metric.statistic.low, metric.statistic.high
        decimals = metric.digits - 2
        if metric.ideal is None:
            middle = float(np.nanmean(values))
            return cls(middle, float(np.nanmax(np.abs(values - middle))) or 1.0, decimals)
        ends = [abs(end - metric.ideal) for end in (low, high) if math.isfinite(end) and end != metric.ideal]
        if ends:
            return cls(metric.ideal, 0.6 * min(ends), decimals)
        return cls(metric.ideal, float(np.nanmax(np.abs(values - metric.ideal))) or 1.0, decimals)


def _diverging() -> Any:
    """The page's colours: blue below the ideal, white at it, orange above."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("heat", ["#2b6cb0", "#ffffff", "#d95f02"])


def _half(study: Study) -> int:
    count = len(study.clusters)
    starts = [i for i in range(1, count) if study.clusters[i].group != study.clusters[i - 1].group]
    middle = math.ceil(count / 2)
    return min(starts, key=lambda i: abs(i - middle), default=middle) if count > 12 else count


def _heat_block(
    axes: Any, study: Study, scale: Scale, values: np.ndarray, rows: slice, languages: list[str], half: int
) -> Any:
    clusters = study.clusters[rows]
    image = axes.imshow(values if len(values) else np.full((1, len(languages)), np.nan), cmap=_diverging(),
                        vmin=scale.middle - scale.reach, vmax=scale.middle + scale.reach, aspect="auto")  # fmt: skip
    if not clusters:
        axes.set_visible(False)
        return image
    axes.set_xticks(range(len(languages)), languages, fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(clusters)), [plain(t.name) for t in clusters], fontsize=6.5)
    axes.tick_params(length=0)
    axes.set_ylim(max(half, len(study.clusters) - half) - 0.5, -0.5)  # the same row height in both blocks
    for spine in axes.spines.values():
        spine.set_visible(False)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if not math.isnan(value):
                ink = "white" if abs(value - scale.middle) > 0.77 * scale.reach else "black"
                axes.text(
                    j, i, f"{value:.{scale.decimals}f}", ha="center", va="center", fontsize=6, color=ink
                )
    for i in range(1, len(clusters)):
        if clusters[i].group != clusters[i - 1].group:
            axes.axhline(i - 0.5, color="black", linewidth=0.8)
    kinds = list(dict.fromkeys(t.group for t in clusters))
    for kind in kinds:
        at = [i for i, t in enumerate(clusters) if t.group == kind]
        axes.text(1.02, (at[0] + at[-1]) / 2, plain(kind), transform=axes.get_yaxis_transform(), rotation=270,
                  va="center", ha="left", fontsize=7.5, fontweight="bold", color=GREY)  # fmt: skip
    return image
