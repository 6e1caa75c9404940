"""`stereoset compare`: a base against others, metric by metric, as rows of a table.

Differences are new minus base. The tests are those of the report (report/comparisons.py).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Metric
from lm_eval_stereoset.decisions.pairing import Pair, pair_up
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.report.cells import markdown_cell
from lm_eval_stereoset.report.comparisons import SIGNIFICANT, Comparison, compare_pairs
from lm_eval_stereoset.report.model_run import Run, shown_name
from lm_eval_stereoset.report.names import parse_argument

NAN = float("nan")


@dataclass(frozen=True)
class Compared:
    """One metric of one pair in one split. What cannot be known without single answers is NaN."""

    benchmark: str
    base: str
    new: str
    language: str
    split: str
    metric: str
    base_value: float
    new_value: float
    difference: float  # new minus base, on the common examples
    low: float  # 95 % interval
    high: float
    p: float
    p_adjusted: float  # Holm, over `family` comparisons of this metric and split
    family: int
    detectable: float  # smallest true difference found in 80 of 100 cases
    examples: int  # that both sides have
    left_out: int  # that only one side has

    @property
    def significant(self) -> bool:
        return self.p_adjusted < SIGNIFICANT  # NaN is not

    def to_dict(self) -> dict[str, Any]:
        fields = asdict(self) | {"significant": self.significant}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in fields.items()}


def name_apart(given: Sequence[str], sides: Sequence[list[Run]]) -> None:
    """Base and new often have one name, such as that of a checkpoint's folder: then the arguments tell them apart."""
    models = [runs[0].model for runs in sides]
    if len(set(models)) == len(models):
        return
    names = [parse_argument(text).name or shown_name(str(parse_argument(text).path)) for text in given]
    if len(set(names)) < len(names):
        raise UserError(f"two of the results have one name ({', '.join(names)}); name them: NAME=PATH")
    for name, runs in zip(names, sides, strict=True):
        for run in runs:
            run.model = name


def all_pairs(base: Sequence[Run], others: Sequence[Sequence[Run]]) -> tuple[list[Pair], list[str]]:
    found: list[Pair] = []
    lonely: list[str] = []
    for new in others:
        pairs, only_one = pair_up(base, new)
        found, lonely = found + pairs, lonely + only_one
    return found, lonely


def compare_sides(pairs: Sequence[Pair], progress: Callable[..., Iterable] = list) -> list[Compared]:
    """By benchmark, then by split, in the order of the pairs."""
    rows = []
    for benchmark in dict.fromkeys(pair.new.benchmark.name for pair in pairs):
        here = [pair for pair in pairs if pair.new.benchmark.name == benchmark]
        found = compare_pairs([("models", pair.new, pair.base) for pair in here], progress)
        tested = {(id(c.first), id(c.second), c.split): c for c in found}
        for pair in here:
            for split in pair.new.benchmark.views:
                if split in pair.new.table and split in pair.base.table:
                    result = tested.get((id(pair.new), id(pair.base), split))
                    rows += [_row(pair, split, metric, result) for metric in pair.new.benchmark.main]
    return rows


def _row(pair: Pair, split: str, metric: Metric, result: Comparison | None) -> Compared:
    base, new = (run.overall(split, metric.name) for run in (pair.base, pair.new))
    row = Compared(
        pair.new.benchmark.name, pair.base.model, pair.new.model, pair.new.language, split, metric.name,
        base_value=base, new_value=new, difference=new - base, low=NAN, high=NAN, p=NAN, p_adjusted=NAN, family=0,
        detectable=NAN, examples=0, left_out=0,
    )  # fmt: skip
    if result is None:
        return row
    one = result.differences[metric.name]
    return replace(
        row, difference=one.value, low=one.low, high=one.high, p=one.p,
        p_adjusted=result.adjusted.get(metric.name, NAN), family=result.family,
        detectable=one.smallest_detectable(), examples=result.n, left_out=result.left_out,
    )  # fmt: skip


HEADER = (
    "lang",
    "split",
    "metric",
    "base",
    "new",
    "difference [95 %]",
    "p",
    "p Holm",
    "detectable",
    "examples",
)


def to_text(rows: Sequence[Compared]) -> str:
    blocks = [f"{heading}\n{_aligned(cells)}" for heading, cells in _blocks(rows)]
    return "\n\n".join([*blocks, LEGEND])


def to_markdown(rows: Sequence[Compared]) -> str:
    parts = []
    for heading, cells in _blocks(rows):
        lines = [f"| {' | '.join(HEADER)} |", "|---|---|---" + "|--:" * (len(HEADER) - 3) + "|"]
        lines += [f"| {' | '.join(map(markdown_cell, row))} |" for row in cells]
        parts.append(f"**{markdown_cell(heading)}**\n\n" + "\n".join(lines))
    return "\n\n".join([*parts, LEGEND])


LEGEND = (
    "difference: new minus base, on the same examples; *: significant at 5 % after Holm's correction; detectable: "
    "the smallest\ntrue difference that the test finds in 80 of 100 cases."
)


def _blocks(rows: Sequence[Compared]) -> list[tuple[str, list[list[str]]]]:
    from lm_eval_stereoset import benchmarks

    found = []
    for key in dict.fromkeys((row.benchmark, row.base, row.new) for row in rows):
        here = [row for row in rows if (row.benchmark, row.base, row.new) == key]
        benchmark = benchmarks.find(key[0])
        cells = [_cells(row, benchmark.metric(row.metric)) for row in here]
        found.append((f"{benchmark.title}: {key[2]} (new) against {key[1]} (base)", cells))
    return found


def _cells(row: Compared, metric: Metric) -> list[str]:
    def number(value: float, sign: str = "") -> str:
        return "NaN" if math.isnan(value) else f"{value:{sign}.{metric.digits}f}"

    interval = "" if math.isnan(row.low) else f" [{number(row.low, '+')}, {number(row.high, '+')}]"
    return [
        row.language, row.split, metric.title, number(row.base_value), number(row.new_value),
        number(row.difference, "+") + interval, _p(row.p), _p(row.p_adjusted) + ("*" if row.significant else ""),
        number(row.detectable), f"{row.examples:,}" if row.examples else "-",
    ]  # fmt: skip


def _p(value: float) -> str:
    return "NaN" if math.isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    table = [HEADER, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(HEADER))]
    lines = [
        "  ".join(
            c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]
    return "\n".join([lines[0].rstrip(), "  ".join("-" * width for width in widths), *lines[1:]])
