"""What a gate demands: limits from a YAML file or from flags, checked before any result is read.

    limits:
      - {metric: ss, within: 5, languages: [en, de], split: overall, certainty: beyond doubt}
      - {metric: icat, at_least: 65, certainty: at all}
      - {metric: icat, no_worse_than: base_predictions.json, by: 2}

The same as flags:  --limit "ss within 5 of 50 languages=en,de"  --limit "icat at least 65 certainty='at all'"
--limit "icat no worse than base_predictions.json by more than 2"
"""

import difflib
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Metric
from lm_eval_stereoset.data.fields import is_finite
from lm_eval_stereoset.errors import UserError, page, short
from lm_eval_stereoset.files import read_text

BEYOND_DOUBT, AT_ALL, PROVEN = "beyond doubt", "at all", "proven"
CERTAINTIES = (BEYOND_DOUBT, AT_ALL, PROVEN)
KINDS = ("within", "at_least", "at_most", "no_worse_than")
GROUPS = ("group", "bias_type", "stereotype")  # names for the same thing: a benchmark's groups
KEYS = (
    "metric", *KINDS, "of", "by", "benchmark", "models", "languages", "split", *GROUPS, "certainty",
)  # fmt: skip


@dataclass(frozen=True)
class Limit:
    """One demand on one metric. Exactly one of `KINDS` is given."""

    metric: str
    within: float | None = None  # of `of`
    of: float | None = None  # None: the metric's ideal
    at_least: float | None = None
    at_most: float | None = None
    no_worse_than: str | None = None  # results of a base model
    by: float = 0.0  # how much worse is still allowed
    benchmark: str | None = None  # None: every one of the results' that has the metric
    models: tuple[str, ...] = ()  # none: all of the results
    languages: tuple[str, ...] = ()  # none: all that the results have
    split: str | None = None  # None: all splits pooled
    group: str | None = None  # None: all groups together
    certainty: str = BEYOND_DOUBT

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def text(self) -> str:
        """In words, as tables and messages show it."""
        where = [part for part in (self.split, self.group) if part]
        return f"{self.metric}{' of ' + ', '.join(where) if where else ''} {self.demand}, {self.certainty}"

    @property
    def demand(self) -> str:
        match self.kind:
            case "within":
                return f"within {self.within:g} of {'the ideal' if self.of is None else f'{self.of:g}'}"
            case "at_least":
                return f"at least {self.at_least:g}"
            case "at_most":
                return f"at most {self.at_most:g}"
            case _:
                return f"no worse than the base by more than {self.by:g}"

    def bounds(self, metric: Metric) -> tuple[float, float]:
        """What the metric must lie between; of the absolute kinds only."""
        if self.within is not None:
            centre = metric.ideal if self.of is None else self.of
            if centre is None:
                raise UserError(f"limit {self.text!r}: {metric.title} has no ideal; say within … of what")
            return centre - self.within, centre + self.within
        low = -math.inf if self.at_least is None else self.at_least
        return low, math.inf if self.at_most is None else self.at_most

    def refuse_impossible(self, metric: Metric, where: str) -> None:
        """A limit that no model can meet is a mistake, as is one that every model meets."""
        low, high = metric.statistic.low, metric.statistic.high
        reach = f"{metric.title} lies between {low:g} and {high:g}"
        if self.kind == "no_worse_than":
            if metric.ideal is None:
                raise UserError(
                    f"{where}: {metric.title} has no ideal, so neither more nor less of it is worse"
                )
            return
        lowest, highest = self.bounds(metric)
        if lowest > high or highest < low:
            raise UserError(f"{where}: {self.demand!r} cannot be met: {reach}")
        if lowest <= low and highest >= high and math.isfinite(low) and math.isfinite(high):
            raise UserError(f"{where}: {self.demand!r} is met by every model: {reach}")


def read_config(path: Path | str) -> list[Limit]:
    """The limits of a YAML file; every mistake in it is one line that names the place."""
    from lm_eval_stereoset import plain_yaml

    content = plain_yaml.load(read_text(path), str(path))
    if not isinstance(content, dict) or not isinstance(content.get("limits"), list) or not content["limits"]:
        raise UserError(f"{path}: needs a list 'limits' with at least one limit; {page('gate.md')} shows one")
    if unknown := [key for key in content if key != "limits"]:
        raise UserError(f"{path}: unknown key {short(unknown[0])}; the only one is 'limits'")
    return [
        limit_of(one, f"{path}, limit {number}", Path(path).parent)
        for number, one in enumerate(content["limits"], start=1)
    ]


def limit_of(given: Any, where: str, folder: Path | None = None) -> Limit:
    """`folder`: of the configuration file; a base that is not in the current folder is looked for there."""
    if not isinstance(given, dict):
        raise UserError(
            f"{where}: must be a mapping such as {{metric: icat, at_least: 65}}, is {short(given)}"
        )
    for key in given:
        if key not in KEYS:
            raise UserError(f"{where}: unknown key {short(key)}{nearest(str(key), KEYS)}")
    found = {key: value for key, value in given.items() if key not in GROUPS}
    kinds = [kind for kind in KINDS if kind in found]
    if len(kinds) != 1:
        raise UserError(f"{where}: needs exactly one of {', '.join(KINDS)}, has {', '.join(kinds) or 'none'}")
    for key, other in (("of", "within"), ("by", "no_worse_than")):
        if key in found and other not in found:
            raise UserError(f"{where}: '{key}' goes with '{other}' only")
    groups = [given[key] for key in GROUPS if key in given]
    if len(groups) > 1:
        raise UserError(
            f"{where}: {' and '.join(key for key in GROUPS if key in given)} are the same; give one"
        )
    if groups:
        found["group"] = str(groups[0]) if type(groups[0]) is int else groups[0]  # stereotype: 3
    limit = Limit(
        **{key: _value(key, value, where) for key, value in found.items()} | _metric_of(found, where)
    )
    if limit.certainty not in CERTAINTIES:
        raise UserError(f"{where}: certainty {limit.certainty!r}{nearest(limit.certainty, CERTAINTIES)}")
    for key in ("within", "by"):
        if (getattr(limit, key) or 0) < 0:
            raise UserError(f"{where}: {key} {getattr(limit, key):g} is negative")
    limit = _checked(limit, where)
    if limit.no_worse_than is not None and folder is not None:
        limit = _with_base_below(limit, folder)
    return limit


def _metric_of(found: dict[str, Any], where: str) -> dict[str, str]:
    if "metric" not in found:
        raise UserError(f"{where}: names no metric")
    return {}


def _value(key: str, value: Any, where: str) -> Any:
    if key in ("within", "of", "at_least", "at_most", "by"):
        if not is_finite(value):
            raise UserError(f"{where}: {key} must be a number, is {short(value)}")
        return float(value)
    if key in ("languages", "models"):
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
            # YAML reads an unquoted `no`, the code of Norwegian, as false.
            raise UserError(
                f"{where}: {key} must be a list of names, is {short(value)}; quote them if in doubt"
            )
        return tuple(texts)
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{where}: {key} must be a text, is {short(value)}")
    return value


def _checked(limit: Limit, where: str) -> Limit:
    """Benchmark, metric, split and group must be declared somewhere; results are not needed to know that."""
    if limit.benchmark is not None and limit.benchmark not in benchmarks.names():
        raise UserError(
            f"{where}: no benchmark {limit.benchmark!r}{nearest(limit.benchmark, benchmarks.names())}"
        )
    declared = [
        benchmarks.find(name) for name in ([limit.benchmark] if limit.benchmark else benchmarks.names())
    ]
    names = list(dict.fromkeys(metric.name for one in declared for metric in one.metrics))
    having = [one for one in declared if limit.metric in one.statistics]
    if not having:
        raise UserError(f"{where}: no metric {limit.metric!r}{nearest(limit.metric, names)}")
    splits = dict.fromkeys(view for one in having for view in one.views)
    if limit.split is not None and limit.split not in splits:
        raise UserError(f"{where}: no split {limit.split!r}{nearest(limit.split, tuple(splits))}")
    groups = dict.fromkeys(group for one in having for group in one.groups)
    if limit.group is not None and limit.group not in groups:
        raise UserError(f"{where}: no group {limit.group!r}{nearest(limit.group, tuple(groups))}")
    ideals = {one.metric(limit.metric).ideal for one in having}
    if limit.within is not None and limit.of is None and len(ideals) == 1:
        limit = replace(limit, of=ideals.pop())
    for one in having:
        limit.refuse_impossible(one.metric(limit.metric), where)
    return limit


def _with_base_below(limit: Limit, folder: Path) -> Limit:
    base = str(limit.no_worse_than)
    head, separator, path = base.rpartition("=")
    if Path(path).exists() or not (folder / path).exists():
        return limit
    return replace(limit, no_worse_than=f"{head}{separator}{folder / path}")


def nearest(name: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown name."""
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; there are {', '.join(known)}"


_FLAG = re.compile(
    r"(?P<metric>\S+)\s+(?:"
    r"within\s+(?P<within>\S+)(?:\s+of\s+(?P<of>[^\s=]+))?"
    r"|at\s+least\s+(?P<at_least>\S+)"
    r"|at\s+most\s+(?P<at_most>\S+)"
    r"|no\s+worse\s+than\s+(?P<no_worse_than>\"[^\"]+\"|'[^']+'|\S+)(?:\s+by\s+(?:more\s+than\s+)?(?P<by>\S+))?"
    r")(?P<rest>(?:\s+.*)?)"
)
FLAG_FORMS = (
    "'ss within 5 of 50', 'icat at least 65', 'g_s at most 0.1' or 'icat no worse than BASE by more than 2', then "
    "if needed benchmark=…, models=…, languages=de,fr, split=…, bias_type=…, stereotype=…, certainty='at all'"
)


def parse_flag(text: str) -> Limit:
    where = f"--limit {text!r}"
    found = _FLAG.fullmatch(text.strip())
    if found is None:
        raise UserError(f"{where}: not understood; write {FLAG_FORMS}")
    given: dict[str, Any] = {
        key: value for key, value in found.groupdict().items() if value and key != "rest"
    }
    for key in ("within", "of", "at_least", "at_most", "by"):
        if key in given:
            given[key] = _number(given[key], key, where)
    if "no_worse_than" in given:
        given["no_worse_than"] = given["no_worse_than"].strip("\"'")
    try:
        parts = shlex.split(found["rest"])
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error
    for part in parts:
        key, separator, value = part.partition("=")
        if not separator or key in given or key in KINDS:
            raise UserError(f"{where}: {part!r} is not understood; write {FLAG_FORMS}")
        given[key] = [one for one in value.split(",") if one] if key in ("languages", "models") else value
    return limit_of(given, where)


def _number(text: str, key: str, where: str) -> float:
    try:
        return float(text.rstrip(","))
    except ValueError as error:
        raise UserError(f"{where}: {key} must be a number, is {text!r}") from error
