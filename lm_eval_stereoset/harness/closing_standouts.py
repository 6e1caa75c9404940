"""The clusters that stand out, below the table of a run, for benchmarks that declare them (Benchmark.standouts).

nli_fairness: the 10 occupations with the largest gap
occupation  gap    differ  …
nurse       0.412  0.727
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

WIDTH = 100  # columns


def lines(results: Mapping[str, Any], tasks: Sequence[str]) -> list[str]:
    """No lines for tasks that have noted none (task.py)."""
    found: list[str] = []
    for task in tasks:
        metadata = (results.get("configs", {}).get(task) or {}).get("metadata") or {}
        if table := (metadata.get("provenance") or {}).get("standouts"):
            found += ["", *titled(f"{task}: {table['title']}", table["header"], table["rows"])]
    return found


def titled(title: str, header: Sequence[str], rows: Sequence[Sequence[str | float]]) -> list[str]:
    return [*wrap(title, WIDTH, subsequent_indent="    "), *aligned(header, rows)]


def aligned(header: Sequence[str], rows: Sequence[Sequence[str | float]]) -> list[str]:
    texts = [[cell if isinstance(cell, str) else f"{cell:.3f}" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *texts, strict=True)]
    table = [list(header), ["-" * width for width in widths], *texts]
    return ["  ".join(c.ljust(width) for c, width in zip(row, widths, strict=True)).rstrip() for row in table]
