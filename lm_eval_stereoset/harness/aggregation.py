"""From answers to the harness's table: what each document adds to a metric, and the metric of all of them.

A metric's name in the harness is  METRIC[_SUBSET][_stderr] : icat, icat_stderr, ss_gender, lms_inter_stderr …
A subset is a group of the benchmark or, in a task that pools its splits, a split.
The harness gives custom aggregations no standard error, but a metric called `icat_stderr` that follows `icat`
fills that cell of its table.
"""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Metric, Standouts
from lm_eval_stereoset.benchmarks.evaluation import strata_of
from lm_eval_stereoset.stats import bootstrap

logger = logging.getLogger(__name__)

# Why numbers of this run are undefined: `stereoset run` says it last, with an exit code that is not 0.
problems: list[str] = []


def forget_problems() -> None:
    problems.clear()


Item = tuple[
    Any, ...
]  # what one document adds: its cluster, then its columns; plain, so it can be gathered and logged


class HarnessMetric(NamedTuple):
    name: str
    metric: Metric
    subset: str | None  # a group or a split; None: all documents of the task
    stderr: bool


def harness_metrics(benchmark: Benchmark, splits: Sequence[str]) -> dict[str, HarnessMetric]:
    """All metrics of a task by name, in the order of the declaration: a _stderr right after its metric."""
    subsets = benchmark.groups if len(splits) == 1 else (*benchmark.groups, *splits)
    plain: list[tuple[Metric, str | None]] = [(metric, None) for metric in benchmark.metrics]
    plain += [(metric, subset) for subset in subsets for metric in benchmark.metrics if metric.by_group]
    found = []
    for metric, subset in plain:
        name = metric.name if subset is None else f"{metric.name}_{subset}"
        found.append(HarnessMetric(name, metric, subset, stderr=False))
        if metric.has_error:
            found.append(HarnessMetric(f"{name}_stderr", metric, subset, stderr=True))
    return {one.name: one for one in found}


def items_of(
    benchmark: Benchmark, splits: Sequence[str], example: Any, scores: Sequence[float]
) -> dict[str, Item | None]:
    """{metric: what the example adds to it}, None where the example is not in the metric's subset."""
    if not all(map(math.isfinite, scores)):
        raise ValueError(f"example {example.id}: the model's answer is not a finite number: {list(scores)}")
    return items_of_row(
        benchmark, splits, example, benchmark.by_label(example, benchmark.of_logarithms(scores))
    )


def items_of_row(
    benchmark: Benchmark, splits: Sequence[str], example: Any, row: Sequence[float]
) -> dict[str, Item | None]:
    """`row`: scores in the order of the benchmark's labels, or what answers in words add up to."""
    columns = benchmark.columns([example], np.array([row]))[0]
    item = (example.cluster, *columns.tolist())
    subsets = (None, example.split, example.group)
    return {
        name: item if one.subset in subsets else None
        for name, one in harness_metrics(benchmark, splits).items()
    }


def aggregations(
    benchmark: Benchmark, splits: Sequence[str], note: Callable[[Standouts], None] = lambda standouts: None
) -> dict[str, Callable[[Sequence[Any]], float]]:
    """One function per metric, as the harness calls it with the items of all documents.

    `note` gets the clusters that stand out, where the benchmark declares them, together with its first metric.
    """
    found = {
        name: partial(aggregate, benchmark, one) for name, one in harness_metrics(benchmark, splits).items()
    }
    first = next(iter(found))

    def first_and_standouts(items: Sequence[Any]) -> float:
        chosen = [item for item in items if item is not None]
        if benchmark.standouts and chosen:
            note(benchmark.standouts([item[0] for item in chosen], columns_of(chosen)))
        return aggregate(benchmark, harness_metrics(benchmark, splits)[first], items)

    return found | {first: first_and_standouts}


def aggregate(benchmark: Benchmark, asked: HarnessMetric, items: Sequence[Any]) -> float:
    chosen = tuple(tuple(item) for item in items if item is not None)
    judged = chosen and asked.metric.ideal is not None
    complaint = benchmark.complaint(columns_of(chosen)) if judged else None
    if complaint:  # metrics without an ideal, such as the share of ties, say what is wrong
        if asked.metric == benchmark.metrics[0] and asked.subset is None and not asked.stderr:
            _note_problem(complaint)  # of all the metrics that become NaN, one says why
        return math.nan
    value = _value(benchmark, asked, chosen)
    if math.isnan(value) and asked.metric == benchmark.metrics[0]:  # said once for all metrics of the subset
        titles = ", ".join(metric.title for metric in benchmark.main)
        what = f"standard errors of {titles}" if asked.stderr else titles
        clusters = len({item[0] for item in chosen})
        logger.warning(
            "%s: %s are undefined (NaN) with %s",
            *(asked.subset or "overall", what, f"{len(chosen)} examples of {clusters} clusters"),
        )
    return value


def columns_of(chosen: Sequence[Item]) -> np.ndarray:
    return np.array([item[1:] for item in chosen], dtype=float)


def _value(benchmark: Benchmark, asked: HarnessMetric, chosen: tuple[Item, ...]) -> float:
    if not chosen:
        return math.nan
    draws, name = _draws(benchmark, chosen), asked.metric.name
    return draws.standard_error(name) if asked.stderr else draws.observed[name]


@lru_cache(maxsize=64)  # the metrics of one subset share their sums and draws
def _draws(benchmark: Benchmark, chosen: tuple[Item, ...]) -> bootstrap.Draws:
    sums = bootstrap.cluster_sums([item[0] for item in chosen], *columns_of(chosen).T)
    draws = bootstrap.draw(sums, benchmark.statistics, strata=strata_of(benchmark, sums))
    # Only values are asked for; of thousands of clusters the times drawn take 60 MB, and 29 tasks may be kept.
    return replace(draws, times=draws.times[:0].copy())


def _note_problem(problem: str) -> None:
    problems.append(problem)
    logger.error(problem)
