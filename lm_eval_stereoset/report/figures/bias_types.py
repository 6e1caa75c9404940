"""SS per bias type."""

import math
from typing import Any

from lm_eval_stereoset.benchmarks.evaluation import GROUPS
from lm_eval_stereoset.report.figures.style import dot, plain, with_split
from lm_eval_stereoset.report.run import Run
from lm_eval_stereoset.report.study import Study, language_name


def bias_types(study: Study, split: str) -> Any:
    """SS per bias type with its interval, a panel a language."""
    from matplotlib import pyplot

    runs = [run for run in with_split(study, split) if any(g in run.table[split] for g in GROUPS[1:])]
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
            dot(axes, study, run, value, low, high, y)
            ticks.append(y)
            names.append(plain(run.model))
            y += 1
        y += 0.4
    axes.axvline(50, color="black", linewidth=0.9, linestyle="--", zorder=1)
    axes.set_yticks(ticks, names, fontsize=7.5)
    axes.set_ylim(y, -0.8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e4e7eb", zorder=0)
    axes.spines["left"].set_visible(False)
