"""How masculine translations are, against how stereotypical they are."""

import math
from typing import Any

from lm_eval_stereoset.benchmarks.gest.figures import models_legend, with_ends
from lm_eval_stereoset.report.figures.style import colour, cycle_of
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.study import Study


def rates(study: Study, split: str) -> Any:
    from matplotlib import pyplot

    runs = [
        run for run in study.runs if not math.isnan(run.overall(split, "f_s") + run.overall(split, "f_m"))
    ]
    if not runs:
        return None
    figure, axes = pyplot.subplots(figsize=(6.6, 4.4), layout="constrained")
    for run in runs:
        _mark(axes, study, run, split)
    axes.axvline(0.5, color="black", linewidth=0.9, linestyle="--", zorder=1)
    axes.axhline(0, color="black", linewidth=0.9, linestyle="--", zorder=1)
    axes.set_xlabel("f_m: share of masculine speakers; 0.5 is as many as feminine ones")
    axes.set_ylabel("f_s = p_m - p_f; 0 is ideal")
    axes.grid(color="#e4e7eb")
    axes.set_axisbelow(True)
    axes.margins(0.08)
    models_legend(axes, study, runs)
    return figure


def _mark(axes: Any, study: Study, run: Run, split: str) -> None:
    x, left, right = with_ends(run, split, "f_m")
    y, low, high = with_ends(run, split, "f_s")
    shade, cycle = colour(study, run), cycle_of(study, run)
    axes.plot([left, right], [y, y], color=shade, alpha=0.35, linewidth=1.4, zorder=2)
    axes.plot([x, x], [low, high], color=shade, alpha=0.35, linewidth=1.4, zorder=2)
    axes.plot([x], [y], marker="s" if cycle == 1 else "o", markersize=5, color=shade, zorder=3,
              markerfacecolor="white" if cycle == 2 else shade)  # fmt: skip
    axes.annotate(run.language, (x, y), (5, 4), textcoords="offset points", fontsize=8, color=shade)
