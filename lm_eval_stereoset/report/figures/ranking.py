"""Models in order, and which of them differ."""

import math
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Metric
from lm_eval_stereoset.report.figures.style import GREY, dot, ideal_line, plain, with_metric
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.study import Study, language_name


def ranking(study: Study, split: str) -> Any:
    """Models from best to worst in each language; a bar joins neighbours that no test tells apart."""
    from matplotlib import pyplot

    metric = study.benchmark.ranking
    runs = with_metric(study, split, metric.name)
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
        axes.set_title(plain(language_name(code)), loc="left")
    tested = any(c.split == split and c.kind == "models" for c in study.comparisons)
    text = (
        "grey bars join models that do not differ significantly"
        if tested
        else "no paired tests without samples"
    )
    figure.supxlabel(plain(f"{metric.title} ({split}); {text}"), fontsize=9)
    return figure


def _ranking_panel(axes: Any, study: Study, split: str, runs: list[Run]) -> None:
    metric = study.benchmark.ranking
    order = ranked(metric, split, runs)
    for i, run in enumerate(order):
        value, low, high = (run.overall(split, f"{metric.name}{end}") for end in ("", "_low", "_high"))
        dot(axes, study, run, value, low, high, i)
        axes.annotate(f"{value:.{metric.digits - 1}f}", (1, i), (6, 0), xycoords=axes.get_yaxis_transform(),
                      va="center", textcoords="offset points", fontsize=8, annotation_clip=False)  # fmt: skip
    for k, (first, last) in enumerate(cliques(study, split, order)):
        axes.plot([1.13 + 0.022 * k] * 2, [first - 0.25, last + 0.25], transform=axes.get_yaxis_transform(),
                  color=GREY, linewidth=3, solid_capstyle="round", clip_on=False)  # fmt: skip
    ideal_line(axes, metric)
    axes.set_yticks(range(len(order)), [plain(run.model) for run in order], fontsize=8)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e4e7eb")
    axes.spines["left"].set_visible(False)


def ranked(metric: Metric, split: str, runs: list[Run]) -> list[Run]:
    """The best first; of a metric without an ideal, the largest."""
    if metric.ideal is None:
        return sorted(runs, key=lambda run: -run.overall(split, metric.name))
    return sorted(runs, key=lambda run: -metric.merit(run.overall(split, metric.name)))


def cliques(study: Study, split: str, order: list[Run]) -> list[tuple[int, int]]:
    """Longest stretches of the ranking in which no pair differs significantly; without tests, none."""
    name = study.benchmark.ranking.name
    pairs = {frozenset((id(c.first), id(c.second))): c for c in study.comparisons if c.split == split}

    def alike(i: int, j: int) -> bool:
        c = pairs.get(frozenset((id(order[i]), id(order[j]))))
        return c is not None and not c.significant(name) and not math.isnan(c.differences[name].p)

    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and all(alike(i, last + 1) for i in range(first, last + 1)):
            last += 1
        if last > first and not any(a <= first and last <= b for a, b in found):
            found.append((first, last))
    return found
