"""The second part of the closing table: how much was answered, for benchmarks that declare it (Metric.closing).

lang  split  answered    refused     …  examples answered
de    both   91.1 ± 2.0  0.0 ± 0.0   …  27 of 28
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Metric

Row = tuple[str, str, Mapping[str, Any]]  # language, split, values as the harness has them: "ss,none": …


def shares(benchmark: Benchmark, rows: Sequence[Row]) -> list[str]:
    """No lines for a benchmark without such metrics."""
    chosen = [metric for metric in benchmark.metrics if metric.closing]
    if not chosen:
        return []
    table = [["lang", "split", *(metric.title for metric in chosen)]]
    table += [
        [language, split, *(cell(values, metric) for metric in chosen)] for language, split, values in rows
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return ["", lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def cell(values: Mapping[str, Any], metric: Metric) -> str:
    """A dash where nothing was computed (--predict_only), NaN where it is undefined; a count without an error."""
    value, error = (values.get(f"{name},none") for name in (metric.name, f"{metric.name}_stderr"))
    if value is None:
        return "-"
    digits = {"%": 1, "#": 0}.get(metric.unit, 3)
    return f"{number(value, digits)} ± {number(error, digits)}" if metric.has_error else number(value, digits)


def number(value: Any, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) and not math.isnan(value) else "NaN"


def remarks(benchmark: Benchmark, rows: Sequence[Row]) -> list[str]:
    """What must be said beside the numbers, each once with the tasks that it is about."""
    found: dict[str, list[str]] = {}
    for language, split, values in rows:
        plain = {
            key.partition(",")[0]: value for key, value in values.items() if isinstance(value, int | float)
        }
        if text := benchmark.remark(plain):
            found.setdefault(text, []).append(f"{language} ({split})")
    return [f"{', '.join(where)}: {text}." for text, where in found.items()]
