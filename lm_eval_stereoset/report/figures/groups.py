"""A metric per group, such as SS per bias type."""

import math
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import OVERALL, Metric
from lm_eval_stereoset.report.figures.style import dot, ideal_line, plain, unit_of, with_metric
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.study import Study, language_name


def by_group(study: Study, split: str) -> Any:
    """The most telling metric of each group with its interval, a panel per language."""
    from matplotlib import pyplot

    groups = study.benchmark.groups
    if not study.heat_metrics or len(groups) < 2:
        return None
    metric = study.heat_metrics[0]
    runs = [
        run for run in with_metric(study, split, metric.name) if any(g in run.table[split] for g in groups)
    ]
    languages = [code for code in study.languages if any(run.language == code for run in runs)]
    if not runs:
        return None
    columns = min(2, len(languages))
    lines = [sum(run.language == code for run in runs) for code in languages]
    rows = math.ceil(len(languages) / columns)
    shown = 1 + len(groups)
    heights = [max(lines[r * columns : (r + 1) * columns]) * shown * 0.17 + 1.1 for r in range(rows)]
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(4.6 * columns, sum(heights)), squeeze=False, sharex=True,
        gridspec_kw={"height_ratios": heights}, layout="constrained",
    )  # fmt: skip
    for axes in grid.flat[len(languages) :]:
        axes.set_visible(False)
    for axes, code in zip(grid.flat, languages, strict=False):
        _panel(axes, study, split, metric, [run for run in runs if run.language == code])
        axes.set_title(plain(language_name(code)), loc="left")
        axes.tick_params(labelbottom=True)
    ideal = f"dashed: {metric.ideal:g}, no preference; " if metric.middle else ""
    title = f"{metric.title}{unit_of(metric)} ({split}; {ideal}bars: 95 % intervals)"
    figure.supxlabel(plain(title), fontsize=9)
    return figure


def _panel(axes: Any, study: Study, split: str, metric: Metric, runs: list[Run]) -> None:
    y, ticks, names = 0.0, [], []
    for group in (OVERALL, *study.benchmark.groups):
        axes.text(0, y, "all" if group == OVERALL else plain(group), transform=axes.get_yaxis_transform(),
                  fontweight="bold", fontsize=8, va="center", ha="right", clip_on=False)  # fmt: skip
        y += 1
        for run in runs:
            value, low, high = (
                run.value(split, group, f"{metric.name}{end}") for end in ("", "_low", "_high")
            )
            if math.isnan(value):
                continue
            dot(axes, study, run, value, low, high, y)
            ticks.append(y)
            names.append(plain(run.model))
            y += 1
        y += 0.4
    ideal_line(axes, metric)
    axes.set_yticks(ticks, names, fontsize=7.5)
    axes.set_ylim(y, -0.8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e4e7eb", zorder=0)
    axes.spines["left"].set_visible(False)
