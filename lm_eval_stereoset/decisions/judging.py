"""Does a result meet a limit? Every limit is judged for every model, benchmark and language that it is about.

A number has an interval, so a limit says how sure one must be:

    beyond doubt   fails only if the interval lies wholly outside: not when the coin fell badly
    at all         the number itself decides
    proven         passes only if the interval lies wholly inside

"No worse than a base" is judged by the paired difference on the same examples. Where one such limit is about several
results, its intervals "beyond doubt" are widened so that all of them hold together (Bonferroni): with five languages
the false alarms do not become five times as many.

What cannot be judged (a metric, language or model that is missing, partial data, NaN) never passes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark, Metric
from lm_eval_stereoset.benchmarks.evaluation import strata_of
from lm_eval_stereoset.decisions.limits import AT_ALL, PROVEN, Limit
from lm_eval_stereoset.decisions.pairing import Pair, partial
from lm_eval_stereoset.report.comparisons import answers_of, common
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.stats import paired
from lm_eval_stereoset.stats.bootstrap import cluster_sums
from lm_eval_stereoset.stats.statistic import Function, Statistic

PASSED, FAILED, UNJUDGED = "passed", "failed", "not judged"


@dataclass(frozen=True)
class Judgement:
    """One limit on one result."""

    verdict: str  # PASSED, FAILED or UNJUDGED
    limit: str  # in words
    certainty: str
    benchmark: str
    model: str
    language: str
    split: str
    group: str
    metric: str
    value: float = math.nan  # of the metric; against a base: how much better it is, below 0 for worse
    low: float = math.nan
    high: float = math.nan
    reason: str = ""  # why it failed or was not judged

    def to_dict(self) -> dict[str, Any]:
        return {
            k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(self).items()
        }


def judge(
    limits: Sequence[Limit], runs: Sequence[Run], load: Callable[[str], Sequence[Run]]
) -> list[Judgement]:
    """`load` reads the results of a base model."""
    return [judgement for limit in limits for judgement in _judge(limit, runs, load)]


def exit_code(judgements: Sequence[Judgement]) -> int:
    verdicts = {one.verdict for one in judgements}
    return 1 if FAILED in verdicts else 0 if verdicts == {PASSED} else 2


def _judge(limit: Limit, runs: Sequence[Run], load: Callable[[str], Sequence[Run]]) -> list[Judgement]:
    chosen = [run for run in runs if _is_about(limit, run)]
    missing = _missing(limit, runs, chosen)
    if limit.kind == "no_worse_than":
        return missing + _against_base(limit, chosen, load(str(limit.no_worse_than)))
    return missing + [_absolute(limit, run) for run in chosen]


def _is_about(limit: Limit, run: Run) -> bool:
    return (
        limit.metric in run.benchmark.statistics
        and limit.benchmark in (None, run.benchmark.name)
        and (not limit.models or run.model in limit.models)
        and (not limit.languages or run.language in limit.languages)
    )


def _missing(limit: Limit, runs: Sequence[Run], chosen: Sequence[Run]) -> list[Judgement]:
    """Every model must have every language that the limit names, and the limit must be about something."""
    judged = [run.benchmark for run in chosen] or [
        benchmarks.find(limit.benchmark or name) for name in _having(limit)
    ]
    models = limit.models or tuple(dict.fromkeys(run.model for run in runs)) or ("any model",)
    found = []
    for benchmark in dict.fromkeys(one.name for one in judged):
        declared = benchmarks.find(benchmark)
        for model in models:
            have = {r.language for r in chosen if (r.model, r.benchmark.name) == (model, benchmark)}
            lacking = [code for code in limit.languages if code not in have]
            if not limit.languages and not have:
                lacking = ["any language"]
            for language in lacking:
                reason = f"there are no results of {model} for {declared.title} in {language}"
                found.append(_judgement(limit, declared, model, language, UNJUDGED, reason))
    return found


def _having(limit: Limit) -> list[str]:
    names = [name for name in benchmarks.names() if limit.metric in benchmarks.find(name).statistics]
    return names[:1]  # nothing is there of any: one line is enough


def _judgement(
    limit: Limit,
    benchmark: Benchmark,
    model: str,
    language: str,
    verdict: str,
    reason: str = "",
    *numbers: float,
) -> Judgement:
    split, group = limit.split or benchmark.views[0], limit.group or OVERALL
    head = (
        verdict,
        limit.demand,
        limit.certainty,
        benchmark.name,
        model,
        language,
        split,
        group,
        limit.metric,
    )
    value, low, high = numbers or (math.nan,) * 3
    return Judgement(*head, value, low, high, reason)


def _unjudgeable(limit: Limit, run: Run) -> str | None:
    """Why a number of this result proves nothing."""
    split, group = limit.split or run.benchmark.views[0], limit.group or OVERALL
    if split not in run.benchmark.views:
        return f"{run.benchmark.title} has no split {split}"
    if group != OVERALL and group not in run.benchmark.groups:
        return f"{run.benchmark.title} has no group {group}"
    if split not in run.table:
        return f"{split} was not run"
    if run.unlike_data:
        return run.unlike_data[0]
    if why := partial(run, split):
        return why
    if math.isnan(run.value(split, group, limit.metric)):
        return f"{limit.metric} is undefined (NaN) or missing"
    return None


def _absolute(limit: Limit, run: Run) -> Judgement:
    metric = run.benchmark.metric(limit.metric)
    split, group = limit.split or run.benchmark.views[0], limit.group or OVERALL
    where = (limit, run.benchmark, run.model, run.language)
    numbers = tuple(run.value(split, group, f"{limit.metric}{end}") for end in ("", "_low", "_high"))
    if why := _unjudgeable(limit, run):
        return _judgement(*where, UNJUDGED, why, *numbers)
    verdict, reason = decide(limit.certainty, *limit.bounds(metric), *numbers)
    return _judgement(*where, verdict, reason, *numbers)


def decide(
    certainty: str, lowest: float, highest: float, value: float, low: float, high: float
) -> tuple[str, str]:
    """(verdict, reason) for a number with its interval [low, high] that should lie between `lowest` and `highest`."""
    if certainty == AT_ALL:
        inside = lowest <= value <= highest
        return (PASSED, "") if inside else (FAILED, f"{value:.4g} is outside")
    if math.isnan(low) or math.isnan(high):
        return UNJUDGED, "its interval is undefined, so nothing is beyond doubt or proven"
    interval = f"[{low:.4g}, {high:.4g}]"
    if certainty == PROVEN:
        inside = lowest <= low and high <= highest
        return (PASSED, "") if inside else (FAILED, f"the interval {interval} does not lie wholly inside")
    outside = high < lowest or low > highest
    return (FAILED, f"the interval {interval} lies wholly outside") if outside else (PASSED, "")


def _against_base(limit: Limit, chosen: Sequence[Run], base: Sequence[Run]) -> list[Judgement]:
    jobs = [(run, _base_of(limit, run, base)) for run in chosen]
    comparisons = sum(isinstance(found, paired.Difference) for _, found in jobs)
    judgements = []
    for run, found in jobs:
        where = (limit, run.benchmark, run.model, run.language)
        if isinstance(found, str):
            judgements.append(_judgement(*where, UNJUDGED, found))
            continue
        ends = (found.low, found.high)
        if comparisons > 1 and limit.certainty not in (AT_ALL, PROVEN):
            ends = found.corrected_interval(comparisons)
        numbers = (found.value, *ends)
        verdict, reason = decide(limit.certainty, -limit.by, math.inf, *numbers)
        if math.isnan(found.value):
            verdict, reason = UNJUDGED, "the difference is undefined (NaN)"
        judgements.append(_judgement(*where, verdict, reason, *numbers))
    return judgements


def _base_of(limit: Limit, run: Run, base: Sequence[Run]) -> paired.Difference | str:
    """How much better than the base, or why that cannot be said."""
    there = [b for b in base if (b.benchmark.name, b.language) == (run.benchmark.name, run.language)]
    if len(there) != 1:
        many = "several models" if there else "no results"
        return f"the base {limit.no_worse_than} has {many} of {run.benchmark.title} in {run.language}"
    pair = Pair(there[0], run)
    for one in (run, there[0]):
        if why := _unjudgeable(limit, one):
            return f"{one.model}: {why}"
    if objections := pair.objections():
        return f"the base does not belong together with it, other {objections[0].kind}: {objections[0].text}"
    split, group = limit.split or run.benchmark.views[0], limit.group or OVERALL
    ours, theirs = (answers_of(one).get(split) for one in (run, there[0]))
    if ours is None or theirs is None:
        lacking = run if ours is None else there[0]
        return f"{lacking.source} has no single answers; run with --log_samples, or give prediction files"
    i, j = common(ours, theirs)
    if len(i) < max(len(ours.ids), len(theirs.ids)):
        return f"only {len(i):,} of {max(len(ours.ids), len(theirs.ids)):,} examples are common"
    chosen = np.ones(len(i), dtype=bool)
    if group != OVERALL:
        groups = {f"{s} {e.id}": e.group for s, scored in (run.parts or {}).items() for e in scored.examples}
        chosen = np.array([groups[id_] == group for id_ in ours.ids[i]])
    first, second = (
        cluster_sums(side.clusters[k][chosen], *side.columns[k][chosen].T)
        for side, k in ((ours, i), (theirs, j))
    )
    pairs = paired.PairedSums(first, second, strata_of(run.benchmark, first))
    return paired.difference(pairs, merit_of(run.benchmark.metric(limit.metric)), math.nan)


def merit_of(metric: Metric) -> Statistic:
    """A statistic that is the larger the better: a difference of it below 0 means worse.

    With an ideal in the middle it is minus the distance from the ideal, the smaller of two smooth numbers:
    -|x - c| = min(x - c, c - x).
    """
    statistic, ideal = metric.statistic, metric.ideal
    assert ideal is not None  # limits.py refuses metrics without an ideal
    if metric.middle:
        above, below = (_shifted(statistic.value, ideal, sign) for sign in (1, -1))
        return Statistic(
            lambda times, sums: np.minimum(above(times, sums), below(times, sums)), (above, below)
        )
    if metric.higher_is_better:
        return statistic
    return Statistic(_shifted(statistic.value, 0.0, -1))


def _shifted(function: Function, centre: float, sign: int) -> Function:
    return lambda times, sums: sign * (function(times, sums) - centre)
