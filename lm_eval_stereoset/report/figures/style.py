"""What all figures share: the page's colours and shapes, and a mark with its interval."""

import math
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Metric
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.study import Study

# Told apart by people with any kind of colour vision; style.css has the same.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b8558b", "#e69f00", "#4aa8e0", "#4b3a9e", "#6b6b6b")
DARK_INK = {"#009e73", "#e69f00", "#4aa8e0"}  # these carry black letters, the others white
GREY = "#57606a"
STYLE = {
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY,
    "xtick.color": GREY, "ytick.color": GREY, "svg.fonttype": "none", "svg.hashsalt": "stereoset",
    "font.family": ["DejaVu Sans"], "axes.titleweight": "bold", "axes.titlesize": 10,
}  # fmt: skip


def colour(study: Study, run: Run) -> str:
    return COLOURS[study.models.index(run.model) % len(COLOURS)]


def cycle_of(study: Study, run: Run) -> int:
    return study.models.index(run.model) // len(COLOURS) % 3


def plain(text: str) -> str:
    """Matplotlib would read dollar signs as formulas, and a name of 100 letters leaves no room for the plot."""
    shown = text if len(text) <= 60 else f"{text[:40]}…{text[-19:]}"
    return shown.replace("$", "\\$")


def with_metric(study: Study, split: str, metric: str) -> list[Run]:
    """The runs that have a value of it."""
    return [run for run in study.runs if not math.isnan(run.overall(split, metric))]


def unit_of(metric: Metric) -> str:
    """Behind a title on an axis: ", %"."""
    return f", {metric.unit}" if metric.unit else ""


def ideal_line(axes: Any, metric: Metric) -> None:
    """Only an ideal in the middle needs one: an ideal at the end is the end of the axis."""
    if metric.middle:
        axes.axvline(metric.ideal, color="black", linewidth=0.9, linestyle="--", zorder=1)


def dot(
    axes: Any, study: Study, run: Run, value: float, low: float, high: float, y: float, size: float = 5
) -> None:
    shade, cycle = colour(study, run), cycle_of(study, run)
    if not math.isnan(low):
        axes.plot([low, high], [y, y], color=shade, linewidth=2, alpha=0.6, solid_capstyle="round", zorder=2)
    axes.plot([value], [y], marker="s" if cycle == 1 else "o", markersize=size, color=shade, zorder=3,
              markerfacecolor="white" if cycle == 2 else shade)  # fmt: skip
