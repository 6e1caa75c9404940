"""From scored examples to numbers with intervals, for any benchmark.

evaluate({"intra": Scored, "inter": Scored}) gives {split: {group: {metric: value}}}: the splits, and 'overall' if there
are several (their examples pooled); the groups, and 'overall' for all of them.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark, Example
from lm_eval_stereoset.chat.asking import Said
from lm_eval_stereoset.stats import bootstrap, paired
from lm_eval_stereoset.stats.bootstrap import cluster_sums, p_value_against
from lm_eval_stereoset.stats.statistic import observed

logger = logging.getLogger(__name__)

Table = dict[str, dict[str, dict[str, float]]]  # {split: {group: {metric: value}}}


@dataclass(frozen=True)
class Scored:
    """Examples and a score for each of their candidates."""

    benchmark: Benchmark
    examples: Sequence[Example]
    # (examples, labels), columns as benchmark.labels; of answers in words what they add up to (chat/tally.py)
    scores: np.ndarray
    said: Sequence[Said] | None = None  # the answers in words themselves

    @property
    def clusters(self) -> np.ndarray:
        return np.array([e.cluster for e in self.examples])

    @property
    def groups(self) -> np.ndarray:
        return np.array([e.group for e in self.examples])

    @property
    def columns(self) -> np.ndarray:
        return self.benchmark.columns(self.examples, self.scores)


def pool(parts: Mapping[str, Scored]) -> Scored:
    """'Overall' pools the examples of the splits, then computes; it is not a mean of two ICATs."""
    first = next(iter(parts.values()))
    return Scored(
        first.benchmark,
        [e for scored in parts.values() for e in scored.examples],
        np.concatenate([scored.scores for scored in parts.values()]),
        None if first.said is None else [one for scored in parts.values() for one in scored.said or ()],
    )


def evaluate(parts: Mapping[str, Scored]) -> Table:
    return {split: evaluate_groups(scored) for split, scored in parts.items()} | pooled_table(parts)


def pooled_table(parts: Mapping[str, Scored]) -> Table:
    """All splits together, where there are several."""
    benchmark = next(iter(parts.values())).benchmark
    pooled = {split: parts[split] for split in parts if split in benchmark.pooled_splits}
    return {OVERALL: evaluate_groups(pool(pooled))} if len(pooled) > 1 and benchmark.pools else {}


def evaluate_groups(scored: Scored) -> dict[str, dict[str, float]]:
    columns, clusters, groups = scored.columns, scored.clusters, scored.groups
    chosen = {OVERALL: np.ones(len(groups), dtype=bool)}
    chosen |= {group: groups == group for group in scored.benchmark.groups}
    return {
        group: with_intervals(scored.benchmark, columns[where], clusters[where], group)
        for group, where in chosen.items()
    }


def with_intervals(
    benchmark: Benchmark, columns: np.ndarray, clusters: np.ndarray, name: str
) -> dict[str, float]:
    """Every metric with standard error, 95 % interval and, where it is declared, the test against its ideal."""
    sums = cluster_sums(clusters, *columns.T)
    values = summarise(benchmark, sums)
    draws = bootstrap.draw(sums, benchmark.statistics, strata=strata_of(benchmark, sums))
    if draws.clusters < 2:
        logger.warning(
            "%s: %d examples of %d clusters; what needs more is NaN", name, len(columns), draws.clusters
        )
    for metric in (metric for metric in benchmark.metrics if metric.has_error):
        values[f"{metric.name}_stderr"] = draws.standard_error(metric.name)
        values[f"{metric.name}_low"], values[f"{metric.name}_high"] = draws.interval(metric.name)
        if metric.tested and metric.ideal is not None:
            error = values[f"{metric.name}_stderr"]
            values[ideal_test_name(metric.name, metric.ideal)] = p_value_against(
                metric.ideal, values[metric.name], error, draws.clusters
            )
    return values


def strata_of(benchmark: Benchmark, sums: np.ndarray) -> np.ndarray | None:
    return None if benchmark.strata is None or len(sums) == 0 else benchmark.strata(sums)


def ideal_test_name(metric: str, ideal: float) -> str:
    return f"{metric}_p{ideal:g}"


def summarise(benchmark: Benchmark, sums: np.ndarray) -> dict[str, float]:
    """All metrics of what the examples of each cluster add up to; NaN without examples."""
    if len(sums) == 0:
        return {"n": 0} | dict.fromkeys(benchmark.statistics, float("nan"))
    with np.errstate(invalid="ignore", divide="ignore"):
        values = {name: observed(s.value, sums) for name, s in benchmark.statistics.items()}
    return {"n": int(sums[:, 0].sum())} | values


def compare(
    benchmark: Benchmark, first: np.ndarray, second: np.ndarray, clusters: Sequence[str] | np.ndarray
) -> dict[str, paired.Difference]:
    """The main metrics of the first side's columns minus those of the second, on the same examples."""
    if not len(first) == len(second) == len(clusters):
        raise ValueError(f"not paired: {len(first)} and {len(second)} examples, {len(clusters)} clusters")
    one, two = cluster_sums(clusters, *first.T), cluster_sums(clusters, *second.T)
    sums = paired.PairedSums(one, two, strata_of(benchmark, one))
    return paired.compare(sums, {metric.name: metric.statistic for metric in benchmark.main})
