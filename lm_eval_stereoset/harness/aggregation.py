"""From answers to the harness's table: what each document contributes, and one function per metric.

A task's YAML names the functions of this module: `!function lm_eval_stereoset.harness.aggregation.icat_race`.
A metric's name is  METRIC[_SUBSET][_stderr] : icat, icat_stderr, ss_gender, lms_inter_stderr …
The harness gives custom aggregations no standard error, but a metric called `icat_stderr` that follows `icat`
fills that cell of its table.
"""

import logging
import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from lm_eval_stereoset.benchmarks.stereoset.metrics import (
    COLUMNS,
    MAIN,
    Outcomes,
    draw,
    mostly_ties,
    outcomes,
    summarise,
)
from lm_eval_stereoset.data.format import BIAS_TYPES, SPLITS
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness import closing
from lm_eval_stereoset.harness.answers import candidate_scores, own_count

logger = logging.getLogger(__name__)

MULTI_CLASS = ("mc_ss", "mc_lms", "icat_macro", "icat_micro")


class Contribution(NamedTuple):
    """What one document adds to a metric; a plain tuple, so it can be gathered and logged."""

    target: str  # the English term: class and cluster
    ss: int
    lms: int
    tie: int


def metric_names(splits: Sequence[str]) -> list[str]:
    """All metrics of a task, in the order in which process_results gives them: a _stderr after its metric."""
    subsets = BIAS_TYPES if len(splits) == 1 else (*BIAS_TYPES, *SPLITS)
    plain = [*MAIN, *MULTI_CLASS, *(f"{metric}_{subset}" for subset in subsets for metric in MAIN)]
    return [*(name for metric in plain for name in (metric, f"{metric}_stderr")), "ties", "ties_unrelated"]


def process_results(doc: dict[str, Any], answers: Sequence[Sequence[Any]]) -> dict[str, Any]:
    return _contributions(doc, answers, (doc["split"],))


def process_results_overall(doc: dict[str, Any], answers: Sequence[Sequence[Any]]) -> dict[str, Any]:
    return _contributions(doc, answers, SPLITS)


def _contributions(doc: dict[str, Any], answers: Sequence[Any], splits: Sequence[str]) -> dict[str, Any]:
    """{metric: contribution}, None where the document is not in the metric's subset."""
    if "counts" not in doc and None in map(own_count, answers):
        raise UserError(
            "this task's file was written by an older version, which counted tokens otherwise; run `stereoset data "
            "add` again for your own languages, or take the task files of this version"
        )
    labels = [candidate["label"] for candidate in doc["candidates"]]
    scores = dict(zip(labels, candidate_scores(doc, answers), strict=True))
    if not all(map(math.isfinite, scores.values())):
        raise ValueError(f"example {doc['id']}: the model's answer is not a finite number: {scores}")
    result = outcomes(np.array([[scores[label] for label in COLUMNS]]))
    contribution = Contribution(
        doc["target_original"], int(result.ss[0]), int(result.lms[0]), int(result.tie[0])
    )
    subsets = (None, doc["split"], doc["bias_type"])
    return {
        name: contribution if parse_name(name).subset in subsets else None for name in metric_names(splits)
    } | {"ties": int(result.tie[0]), "ties_unrelated": int(result.tie_unrelated[0])}


class MetricName(NamedTuple):
    metric: str
    subset: str | None
    stderr: bool


@cache
def parse_name(name: str) -> MetricName:
    metric = name.removesuffix("_stderr")
    for subset in (*BIAS_TYPES, *SPLITS):
        if metric.endswith(f"_{subset}"):
            return MetricName(metric.removesuffix(f"_{subset}"), subset, metric != name)
    return MetricName(metric, None, metric != name)


def _aggregate(items: Sequence[Any], name: str) -> float:
    metric, subset, stderr = parse_name(name)
    if metric.startswith("ties"):
        return 100 * float(np.mean(items))
    chosen = tuple(Contribution(*item) for item in items if item is not None)
    if mostly_ties(_outcomes(chosen)):
        if name == "ss":  # of all the metrics that become NaN, one says why
            _note_ties(chosen)
        return math.nan
    value = (_standard_errors if stderr else _summaries)(chosen).get(metric, math.nan)
    if math.isnan(value) and metric == "ss":  # said once for the three
        found = f"{len(chosen)} examples of {len({c.target for c in chosen})} target terms"
        what = "standard errors of SS, LMS, ICAT" if stderr else "SS, LMS, ICAT"
        logger.warning("%s: %s are undefined (NaN) with %s", subset or "overall", what, found)
    return value


def _note_ties(chosen: Sequence[Contribution]) -> None:
    problem = (
        f"in {sum(c.tie for c in chosen)} of {len(chosen)} examples stereotype and anti-stereotype have the very same "
        "score, so SS, LMS and ICAT are undefined (NaN): the model or its tokenizer does not tell the candidates apart"
    )
    closing.problems.append(problem)
    logger.error(problem)


@lru_cache(maxsize=32)  # the metrics of one task share their sums and draws
def _summaries(chosen: tuple[Contribution, ...]) -> dict[str, float]:
    return summarise(_outcomes(chosen), [c.target for c in chosen])


@lru_cache(maxsize=32)
def _standard_errors(chosen: tuple[Contribution, ...]) -> dict[str, float]:
    draws = draw(_outcomes(chosen), [c.target for c in chosen])
    return {metric: draws.standard_error(metric) for metric in draws.values}


def _outcomes(chosen: tuple[Contribution, ...]) -> Outcomes:
    ss, lms, tie = (np.array([getattr(c, key) for c in chosen], dtype=int) for key in ("ss", "lms", "tie"))
    return Outcomes(ss, lms, tie, tie_unrelated=np.zeros_like(ss))  # which has a metric of its own


def _make(name: str) -> Callable[[Sequence[Any]], float]:
    def aggregate(items: Sequence[Any]) -> float:
        return _aggregate(items, name)

    aggregate.__name__ = aggregate.__qualname__ = name
    return aggregate


_FUNCTIONS = {name: _make(name) for name in metric_names(SPLITS)}


def __getattr__(name: str) -> Callable[[Sequence[Any]], float]:
    """One function per metric, made from its name, for `!function` in YAML."""
    try:
        return _FUNCTIONS[name]
    except KeyError:
        raise AttributeError(name) from None
