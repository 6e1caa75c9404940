"""Tables of scores that come from files instead of being computed here: every number must be possible."""

import math
from typing import Any

from lm_eval_stereoset.benchmarks.evaluation import Table
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.report import shapes


def checked_table(content: dict[str, Any], where: str) -> Table:
    """{split: {group: {metric: value}}} of JSON from `stereoset score`; null is NaN."""
    table: Table = {}
    for split, groups in content.items():
        if not isinstance(groups, dict) or not isinstance(groups.get("overall"), dict):
            raise UserError(f"{where}: {split} has no group 'overall'; is it JSON from `stereoset score`?")
        table[split] = {}
        for group, values in groups.items():
            place = f"{where}: {split}, {group}"
            numbers = shapes.mapping(values, place)
            table[split][group] = {metric: number(value, metric, place) for metric, value in numbers.items()}
    return table


def number(value: Any, metric: str, where: str) -> float:
    """A metric's value as a float, NaN for null; what no metric can be is refused."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{where}: {metric} is not a number: {_json(value)}")
    lowest, highest = 0, 1e9 if metric == "n" else 1 if metric.endswith("_p50") else 100
    if metric.endswith(("_low", "_high")):
        lowest, highest = -200, 300  # older files cut no interval at 0 and 100
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    if not lowest - 1e-6 <= value <= highest + 1e-6:
        raise UserError(f"{where}: {metric} must lie between {lowest} and {highest:g}, is {_json(value)}")
    return value if metric == "n" else float(value)


def _json(value: Any) -> str:
    import json

    return json.dumps(value)[:40]
