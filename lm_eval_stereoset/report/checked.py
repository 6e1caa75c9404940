"""Parts of users' JSON files, checked: what has another type than expected, or cannot be, is one line that names it.

A part that is missing or null is left to the caller: older files lack some.
"""

import json
import math
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark, Metric
from lm_eval_stereoset.benchmarks.evaluation import Table, ideal_test_name
from lm_eval_stereoset.data.fields import is_finite
from lm_eval_stereoset.errors import UserError

_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
MOST_EXAMPLES = 1e9


def mapping(value: Any, where: str) -> dict[str, Any]:
    """`value` itself, which must be an object; null is an empty one."""
    return _checked({} if value is None else value, dict, where)


def part(container: dict[str, Any], key: str, kind: type, where: str) -> Any:
    """container[key], which must be of this kind; None if it is missing or null."""
    value = container.get(key)
    return None if value is None else _checked(value, kind, f"{where}: {key}")


def text(container: dict[str, Any], key: str, where: str) -> str | None:
    """A blank text says as little as none."""
    value = part(container, key, str, where)
    return value if value and value.strip() else None


def provenance(benchmark: Benchmark, container: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """The list `data`: which data each split is from. Every entry names its split."""
    found = part(container, "data", list, where) or []
    return [_origin(benchmark, fields, f"{where}: data") for fields in found]


def _origin(benchmark: Benchmark, fields: Any, where: str) -> dict[str, Any]:
    _checked(fields, dict, where)
    if fields.get("split") not in benchmark.splits:
        splits = " or ".join(benchmark.splits)
        raise UserError(f"{where}: an entry has the split {_shown(fields.get('split'))}, not {splits}")
    keys = ("split", "language", "data", "source", "version", "sha256", "scoring", "normaliser")
    known = {key: text(fields, key, where) for key in keys}
    examples = part(fields, "examples", int, where)
    if examples is not None and examples < 0:
        raise UserError(f"{where}: examples is {_shown(examples)}")
    return {key: value for key, value in (known | {"examples": examples}).items() if value is not None}


def table(benchmark: Benchmark, content: dict[str, Any], where: str) -> Table:
    """{split: {group: {metric: value}}} of JSON from `stereoset score`; null is NaN."""
    ranges = ranges_of(benchmark)
    found: Table = {}
    for split, groups in content.items():
        if not isinstance(groups, dict) or not isinstance(groups.get(OVERALL), dict):
            raise UserError(f"{where}: {split} has no group 'overall'; is it JSON from `stereoset score`?")
        found[split] = {}
        for group, values in groups.items():
            place = f"{where}: {split}, {group}"
            numbers = mapping(values, place)
            found[split][group] = {
                name: number(value, name, ranges.get(name, (-math.inf, math.inf)), place)
                for name, value in numbers.items()
            }
    return found


def ranges_of(benchmark: Benchmark) -> dict[str, tuple[float, float]]:
    """The smallest and largest possible value of every number that a table may hold."""
    ranges = {"n": (0.0, MOST_EXAMPLES)}
    for metric in benchmark.metrics:
        ranges |= _ranges_of(metric)
    return ranges


def _ranges_of(metric: Metric) -> dict[str, tuple[float, float]]:
    low, high = metric.statistic.low, metric.statistic.high
    width = high - low
    around = (low - 2 * width, high + 2 * width)  # older files cut no interval at the ends
    ranges = {metric.name: (low, high), f"{metric.name}_stderr": (0.0, width)}
    ranges |= {f"{metric.name}_low": around, f"{metric.name}_high": around}
    if metric.ideal is not None:
        ranges[ideal_test_name(metric.name, metric.ideal)] = (0.0, 1.0)
    return ranges


def number(value: Any, name: str, range_: tuple[float, float], where: str) -> float:
    """A metric's value as a float, NaN for null; what the metric cannot be is refused."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{where}: {name} is not a number: {_json(value)}")
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    lowest, highest = range_
    if math.isinf(highest) and not is_finite(value):
        raise UserError(f"{where}: {name} must be a finite number, is {_json(value)}")
    if not lowest - 1e-6 <= value <= highest + 1e-6:
        raise UserError(f"{where}: {name} must lie between {lowest:g} and {highest:g}, is {_json(value)}")
    return value if name == "n" else float(value)


def _checked(value: Any, kind: type, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        found = next((name for known, name in _NAMES.items() if type(value) is known), "null")
        raise UserError(f"{where} should be {_NAMES[kind]}, is {found}: {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    return repr(value)[:40]


def _json(value: Any) -> str:
    return json.dumps(value)[:40]
