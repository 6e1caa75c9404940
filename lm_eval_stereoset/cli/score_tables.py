"""Scores as text, Markdown, CSV and JSON: one row per group, the benchmark's metrics as columns."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from textwrap import wrap

from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark, Metric
from lm_eval_stereoset.benchmarks.evaluation import Table, ideal_test_name
from lm_eval_stereoset.report.cells import markdown_cell, spreadsheet_cell

WIDTH = 100

Rows = list[list[str]]


def to_json(table: Table) -> dict:
    """{split: {group: {metric: value}}}; what is undefined is null, since JSON has no NaN."""
    return {
        split: {
            group: {name: None if math.isnan(value) else value for name, value in values.items()}
            for group, values in groups.items()
        }
        for split, groups in table.items()
    }


def to_csv(table: Table) -> str:
    out = io.StringIO()
    columns = list(next(iter(table.values()))[OVERALL])
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["split", "group", *columns])
    for split, groups in table.items():
        for group, values in groups.items():
            numbers = ("NaN" if math.isnan(values[c]) else values[c] for c in columns)
            writer.writerow(map(spreadsheet_cell, [split, group, *numbers]))
    return out.getvalue()


def to_markdown(benchmark: Benchmark, table: Table, about: Sequence[str] = ()) -> str:
    """One table with everything: Markdown has no width to keep."""
    header, rows = _joined(main_cells(benchmark, table), other_cells(benchmark, table))
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * 2 + "---:|" * (len(header) - 2)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    lines += ["", *map(markdown_cell, _notes(benchmark, about))]
    return "\n".join(lines) + "\n"


def to_text(benchmark: Benchmark, table: Table, about: Sequence[str] = ()) -> str:
    """Several tables, so that each fits a terminal of 100 columns: the main metrics with intervals, then the others."""
    lines: list[str] = []
    if benchmark.printed:
        for split, groups in table.items():
            lines += [split, benchmark.printed(groups[OVERALL]), ""]
    for header, rows in (
        () if benchmark.printed else (main_cells(benchmark, table), other_cells(benchmark, table))
    ):
        for part in _fitting(header, rows):
            lines += [*_aligned(*part), ""]
    for note in _notes(benchmark, about):
        lines += wrap(note, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _fitting(header: list[str], rows: Rows) -> list[tuple[list[str], Rows]]:
    """The columns dealt out to as many tables as the width takes, each of which begins with split and group."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    names = sum(widths[:2]) + 2
    tables: list[list[int]] = []
    for column in range(2, len(header)):
        if not tables or names + sum(widths[i] + 2 for i in [*tables[-1], column]) > WIDTH:
            tables.append([])
        tables[-1].append(column)
    return [
        ([header[i] for i in (0, 1, *chosen)], [[row[i] for i in (0, 1, *chosen)] for row in rows])
        for chosen in tables
    ]


def main_cells(benchmark: Benchmark, table: Table) -> tuple[list[str], Rows]:
    header = ["split", "group", "n", *(f"{metric.title} [95 %]" for metric in benchmark.main)]
    return header, [[*names, *_main(benchmark, values)] for names, values in _groups(table)]


def _main(benchmark: Benchmark, values: Mapping[str, float]) -> list[str]:
    row = [str(values["n"])]
    for metric in benchmark.main:
        low, high = (_number(metric, values[f"{metric.name}_{end}"]) for end in ("low", "high"))
        row.append(f"{_number(metric, values[metric.name])} [{low}, {high}]")
    return row


def other_cells(benchmark: Benchmark, table: Table) -> tuple[list[str], Rows]:
    tests = {  # the column's title: the name of its value
        f"p({metric.title}={metric.ideal:g})": ideal_test_name(metric.name, metric.ideal)
        for metric in benchmark.main
        if metric.tested and metric.ideal is not None
    }
    others = [metric for metric in benchmark.metrics if not metric.main]
    header = ["split", "group", *tests, *(metric.title for metric in others)]
    rows = [
        [
            *names,
            *(_p_value(values[test]) for test in tests.values()),
            *(_number(metric, values[metric.name]) for metric in others),
        ]
        for names, values in _groups(table)
    ]
    return header, rows


def _groups(table: Table) -> list[tuple[list[str], Mapping[str, float]]]:
    """([split, group], values); the split is named in its first row only."""
    return [
        ([split if group == OVERALL else "", group], values)
        for split, groups in table.items()
        for group, values in groups.items()
    ]


def _joined(first: tuple[list[str], Rows], second: tuple[list[str], Rows]) -> tuple[list[str], Rows]:
    (header, rows), (more, other) = first, second
    return header + more[2:], [one + two[2:] for one, two in zip(rows, other, strict=True)]


def _aligned(header: list[str], rows: Rows) -> list[str]:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for number, row in enumerate([header, *rows]):
        if row[0] and number > 1:
            lines.append("")
        cells = [
            c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
        if number == 0:
            lines.append("  ".join("-" * w for w in widths))
    return lines


def _number(metric: Metric, value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.{metric.digits}f}"


def _p_value(value: float) -> str:
    return "NaN" if math.isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


def _notes(benchmark: Benchmark, about: Sequence[str]) -> list[str]:
    return [
        benchmark.legend,
        f"Intervals (95 %) and tests against the ideal: clustered by {benchmark.cluster}.",
        *about,
    ]
