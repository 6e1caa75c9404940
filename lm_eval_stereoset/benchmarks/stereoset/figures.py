"""LMS against SS, with lines of equal ICAT; lms_ss.js draws the same in the page."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lm_eval_stereoset.report.figures.style import DARK_INK, GREY, colour, cycle_of, plain, with_metric
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.study import Study


def lms_against_ss(study: Study, split: str) -> Any:
    """LMS against SS with lines of equal ICAT; a badge names the language, its colour the model."""
    from matplotlib import pyplot

    runs = [run for run in with_metric(study, split, "ss") if not math.isnan(run.overall(split, "lms"))]
    if not runs:
        return None
    figure, axes = pyplot.subplots(figsize=(7.2, 4.6))
    ss = np.array([run.overall(split, "ss") for run in runs])
    lms = np.array([run.overall(split, "lms") for run in runs])
    left, right = (_outermost(runs, split, "ss", pick) for pick in (min, max))
    x0 = max(0, min(45, 5 * math.floor((left - 1) / 5)))
    x1 = min(100, max(60, 5 * math.ceil((right + 1) / 5)))
    y0 = max(0, min(60, 10 * math.floor((_outermost(runs, split, "lms", min) - 1) / 10)))
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
            edge = end == len(grid_x) - 1
            offset = (4, 0) if edge else (0, 3)
            axes.annotate(str(level), (grid_x[end], line[end]), offset, textcoords="offset points", fontsize=7,
                          color=GREY, va="center" if edge else "bottom", ha="left" if edge else "center",
                          annotation_clip=False)  # fmt: skip
    axes.annotate(
        "ICAT", (1, 1), (4, 6), xycoords="axes fraction", textcoords="offset points", fontsize=7, color=GREY
    )
    axes.axvline(50, color="black", linewidth=0.9, linestyle="--", zorder=1)
    axes.plot([50], [100], marker="*", markersize=12, color="#11734b", zorder=5, clip_on=False)
    axes.annotate(
        "ideal", (50, 100), (-8, -3), textcoords="offset points", fontsize=8, fontweight="bold", ha="right"
    )
    figure.canvas.draw()
    anchors = axes.transData.transform(np.column_stack([ss, lms]))
    scale = figure.dpi / 72
    places = _spread(anchors, (18 * scale, 13 * scale))
    for run, (x, y), place in zip(runs, anchors, places, strict=True):
        _badge(axes, study, run, split, (x, y), place)
    _legend(axes, study, runs)
    axes.set_title(f"Language modelling against stereotypes, {split}", loc="left", pad=14)
    return figure


def _outermost(runs: list[Run], split: str, metric: str, pick: Callable[[list[float]], float]) -> float:
    """The lowest or highest end of any interval, or value where there is none."""
    ends = [run.overall(split, f"{metric}{end}") for run in runs for end in ("", "_low", "_high")]
    return pick([end for end in ends if not math.isnan(end)])


def _badge(
    axes: Any, study: Study, run: Run, split: str, anchor: tuple[float, float], place: np.ndarray
) -> None:
    shade, cycle = colour(study, run), cycle_of(study, run)
    value = {
        key: run.overall(split, key) for key in ("ss", "lms", "ss_low", "ss_high", "lms_low", "lms_high")
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
        shade, cycle = colour(study, first[model]), cycle_of(study, first[model])
        face = "white" if cycle == 2 else shade
        handles.append(Line2D([], [], linestyle="", marker="s" if cycle == 1 else "o", markerfacecolor=face,
                              markeredgecolor=shade, markersize=6, label=plain(model)))  # fmt: skip
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.07, 1), frameon=False, fontsize=8)
