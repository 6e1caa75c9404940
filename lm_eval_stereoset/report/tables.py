"""Tables for papers, in LaTeX, Markdown and CSV; best values of a column marked.

A row per model, for each metric a column per language. A benchmark may declare the layouts of its paper
(Extras.layouts); others get a table of their main metrics for each split.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Metric
from lm_eval_stereoset.files import atomic_write
from lm_eval_stereoset.report.cells import csv_text, full_number, latex_cell, markdown_cell
from lm_eval_stereoset.report.comparisons import Comparison
from lm_eval_stereoset.report.extras import Beside, Layout, extras_of
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.study import Study

COMPARISONS, AGAINST_PAPER = "comparisons.csv", "against_paper.csv"


@dataclass(frozen=True)
class Entry:
    value: float
    low: float
    high: float
    best: bool
    digits: int


Entries = dict[tuple[str, str, str], Entry]  # (model, metric, language)


@dataclass(frozen=True)
class Grid:
    """What a layout shows of a study."""

    benchmark: Benchmark
    layout: Layout
    entries: Entries
    models: list[str]
    languages: list[str]
    intervals: bool

    @property
    def caption(self) -> str:
        return f"{self.layout.caption} (per cent)" if self._in_per_cent else self.layout.caption

    @property
    def heading(self) -> str:
        return f"{self.layout.caption}. Per cent." if self._in_per_cent else f"{self.layout.caption}."

    @property
    def best(self) -> str:
        """What bold means: the nearest to an ideal in the middle, else the highest or lowest; without one, nothing."""
        if all(self.benchmark.metric(name).ideal is None for name in self.layout.metrics):
            return ""
        metrics = {heading: self.benchmark.metric(names[0]) for heading, names in self.layout.columns}
        nearest = [
            f", for {heading} the one nearest to {m.ideal:g}" for heading, m in metrics.items() if m.middle
        ]
        return f"Bold: best of a column{''.join(nearest)}."

    @property
    def _in_per_cent(self) -> bool:
        return all(self.benchmark.metric(name).unit == "%" for name in self.layout.metrics)


def folder_of(folder: Path, benchmark: Benchmark) -> Path:
    """StereoSet's tables and figures lie in the folder itself, as its data do; each other benchmark has its own."""
    return folder / (benchmark.name if benchmark.folder is None else benchmark.folder)


def layouts_of(benchmark: Benchmark) -> tuple[Layout, ...]:
    if layouts := extras_of(benchmark).layouts:
        return layouts
    columns = tuple((metric.title, (metric.name,)) for metric in benchmark.main)
    several = len(benchmark.splits) > 1
    return tuple(
        Layout(
            name=f"table_{split}",
            split=split,
            columns=columns,
            caption=f"{benchmark.title}, {split}" if several else benchmark.title,
            label=f"tab:{benchmark.name}-{split}",
        )
        for split in benchmark.views
    )


def file_names(benchmark: Benchmark) -> list[str]:
    """All that write_tables may write."""
    tables = [f"{layout.name}.{suffix}" for layout in layouts_of(benchmark) for suffix in RENDERERS]
    return [*tables, COMPARISONS, AGAINST_PAPER]


def write_tables(
    folder: Path,
    study: Study,
    intervals: bool = False,
    published: Sequence[Beside] | None = None,
    written: list[Any] | None = None,
) -> list[Any]:
    """Adds every file to `written` as soon as it is there."""
    written = [] if written is None else written
    for layout in layouts_of(study.benchmark):
        if not any(layout.split in run.table for run in study.runs):
            continue
        grid = grid_of(study, layout, intervals)
        for suffix, render in RENDERERS.items():
            written.append(_write(folder / f"{layout.name}.{suffix}", render(grid)))
    if study.comparisons:
        written.append(_write(folder / COMPARISONS, comparisons_csv(study.comparisons)))
    if published:
        written.append(_write(folder / AGAINST_PAPER, _published_csv(published)))
    return written


def _write(path: Path, text: str) -> Path:
    with atomic_write(path) as handle:
        handle.write(text)
    return path


def grid_of(study: Study, layout: Layout, intervals: bool) -> Grid:
    benchmark = study.benchmark
    runs = [run for run in study.runs if layout.split in run.table]
    order = [*layout.languages, *(code for code in study.languages if code not in layout.languages)]
    languages = sorted({run.language for run in runs}, key=order.index)
    models = [model for model in study.models if any(run.model == model for run in runs)]
    entries: Entries = {}
    for metric in map(benchmark.metric, layout.metrics):
        for language in languages:
            rivals = [run for run in runs if run.language == language]
            best = max((_merit(run, layout.split, metric) for run in rivals), default=-math.inf)
            for run in rivals:
                value, low, high = (
                    run.overall(layout.split, f"{metric.name}{end}") for end in ("", "_low", "_high")
                )
                marked = len(rivals) > 1 and _merit(run, layout.split, metric) == best > -math.inf
                entries[run.model, metric.name, language] = Entry(value, low, high, marked, metric.digits)
    return Grid(benchmark, layout, entries, models, languages, intervals)


def _merit(run: Run, split: str, metric: Metric) -> float:
    """As printed: what is equal at the decimals shown is equal."""
    value = round(run.overall(split, metric.name), metric.digits)
    merit = round(metric.merit(value), metric.digits)
    return -math.inf if math.isnan(merit) else merit


def _cells(grid: Grid, model: str, show: Callable[[Entry], str], missing: str) -> list[str]:
    """A model's cells, heading by heading, language by language; several metrics may share one."""
    cells = []
    for _, metrics in grid.layout.columns:
        for language in grid.languages:
            entries = [grid.entries.get((model, metric, language)) for metric in metrics]
            shown = [show(e) for e in entries if e is not None and not math.isnan(e.value)]
            cells.append(" / ".join(shown) if len(shown) == len(metrics) else missing)
    return cells


def _interval(grid: Grid, entry: Entry) -> str:
    if not grid.intervals or math.isnan(entry.low):
        return ""
    digits = max(0, entry.digits - 1)
    return f"[{entry.low:.{digits}f}, {entry.high:.{digits}f}]"


def _latex(grid: Grid) -> str:
    def show(entry: Entry) -> str:
        value = f"{entry.value:.{entry.digits}f}"
        value = f"\\textbf{{{value}}}" if entry.best else value
        interval = _interval(grid, entry)
        return f"{value} {{\\scriptsize {interval}}}" if interval else value

    headings = [latex_cell(heading) for heading, _ in grid.layout.columns]
    width = len(grid.languages)
    rules = (f"\\cmidrule(lr){{{2 + i * width}-{1 + (i + 1) * width}}}" for i in range(len(headings)))
    lines = [
        "% needs \\usepackage{booktabs} and \\usepackage{graphicx}",
        "\\begin{table*}[t]",
        "  \\centering",
        "  \\setlength{\\tabcolsep}{4pt}",
        "  \\resizebox{\\textwidth}{!}{%",
        f"  \\begin{{tabular}}{{l{'r' * width * len(headings)}}}",
        "    \\toprule",
        "    & "
        + " & ".join(f"\\multicolumn{{{width}}}{{c}}{{{heading}}}" for heading in headings)
        + " \\\\",
        "    " + " ".join(rules),
        "    Model & " + " & ".join(map(latex_cell, grid.languages * len(headings))) + " \\\\",
        "    \\midrule",
    ]
    for model in grid.models:
        lines.append(f"    {latex_cell(model)} & " + " & ".join(_cells(grid, model, show, "--")) + " \\\\")
    lines += [
        "    \\bottomrule",
        "  \\end{tabular}}",
        f"  \\caption{{{latex_cell(f'{grid.caption}. {grid.best}'.rstrip())}}}",
        f"  \\label{{{grid.layout.label}}}",
        "\\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _markdown(grid: Grid) -> str:
    def show(entry: Entry) -> str:
        value = f"{entry.value:.{entry.digits}f}"
        return f"{f'**{value}**' if entry.best else value} {_interval(grid, entry)}".rstrip()

    columns = [(heading, language) for heading, _ in grid.layout.columns for language in grid.languages]
    head = ["Model", *(f"{heading} {markdown_cell(language)}" for heading, language in columns)]
    rows = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for model in grid.models:
        rows.append("| " + " | ".join([markdown_cell(model), *_cells(grid, model, show, "–")]) + " |")
    return f"{grid.heading} {grid.best}".rstrip() + "\n\n" + "\n".join(rows) + "\n"


def _csv(grid: Grid) -> str:
    """Full precision, a line for each number, for other programs; intervals always."""
    rows: list[tuple] = [("model", "language", "split", "metric", "value", "low", "high", "best")]
    for model in grid.models:
        for metric in grid.layout.metrics:
            for language in grid.languages:
                entry = grid.entries.get((model, metric, language))
                if entry is not None and not math.isnan(entry.value):
                    numbers = [full_number(n) for n in (entry.value, entry.low, entry.high)]
                    rows.append((model, language, grid.layout.split, metric, *numbers, int(entry.best)))
    return csv_text(rows)


def comparisons_csv(comparisons: Sequence[Comparison]) -> str:
    rows: list[tuple] = [
        (
            "kind", "split", "metric", "first_model", "first_language", "second_model", "second_language", "examples",
            "left_out", "difference", "stderr", "low", "high", "low_corrected", "high_corrected", "p", "p_adjusted",
            "comparisons", "smallest_detectable", "significant",
        )
    ]  # fmt: skip
    for c in comparisons:
        sides = (c.first.model, c.first.language, c.second.model, c.second.language)
        for metric, d in c.differences.items():
            numbers = (
                d.value, d.standard_error, d.low, d.high, *d.corrected_interval(max(c.family, 1)), d.p,
                c.adjusted[metric],
            )  # fmt: skip
            ends = (c.family, full_number(d.smallest_detectable()), int(c.significant(metric)))
            rows.append((c.kind, c.split, metric, *sides, c.n, c.left_out, *map(full_number, numbers), *ends))
    return csv_text(rows)


def _published_csv(published: Sequence[Beside]) -> str:
    rows: list[tuple] = [
        (
            "model", "language", "split", "metric", "value", "published", "difference", "equal", "source", "table",
            "row", "remark",
        )
    ]  # fmt: skip
    for b in published:
        where = (b.run.model, b.run.language, b.cell.split, b.cell.metric)
        numbers = (full_number(b.value), b.cell.value, full_number(b.difference), int(b.equal))
        rows.append((*where, *numbers, b.cell.source, b.cell.table, b.cell.row, b.remark))
    return csv_text(rows)


RENDERERS = {"tex": _latex, "md": _markdown, "csv": _csv}
