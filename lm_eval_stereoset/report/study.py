"""All runs of one benchmark together, in the order in which every table and plot shows them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark, Metric
from lm_eval_stereoset.benchmarks.evaluation import Scored, pool
from lm_eval_stereoset.languages import LANGUAGES
from lm_eval_stereoset.report.comparisons import Comparison, compare_all
from lm_eval_stereoset.report.extras import reported_benchmarks
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.notices import Notice, notices
from lm_eval_stereoset.stats.bootstrap import cluster_sums

EXAMPLES_PER_CLUSTER = 1.5  # with fewer, a number per cluster says nothing that the examples do not


@dataclass(frozen=True)
class Cluster:
    name: str
    group: str


@dataclass(frozen=True)
class Study:
    benchmark: Benchmark
    runs: list[Run]
    models: list[str]  # of the whole report, so that a model has the same colour everywhere
    languages: list[str]  # of the whole report
    clusters: list[Cluster]  # by group, then by name; empty without samples
    comparisons: list[Comparison]
    notices: list[Notice]
    # Of a benchmark that asks in words: the likelihoods of models about the same data
    likelihoods: list[Run] = field(default_factory=list)

    def find(self, model: str, language: str) -> Run | None:
        return next((r for r in self.runs if (r.model, r.language) == (model, language)), None)

    def splits(self) -> list[str]:
        """Those that at least one run has."""
        return [split for split in self.benchmark.views if any(split in run.table for run in self.runs)]

    @property
    def heat_metrics(self) -> list[Metric]:
        """What the heat map can show, the most telling first: a metric with something on both sides of its ideal."""
        metrics = [metric for metric in self.benchmark.metrics if metric.by_group]
        return sorted(metrics, key=lambda metric: not metric.middle)

    @property
    def has_telling_clusters(self) -> bool:
        """Several examples are about the same thing."""
        most = max((sum(map(_count, (run.parts or {}).values())) for run in self.runs), default=0)
        return len(self.clusters) > 1 and most >= EXAMPLES_PER_CLUSTER * len(self.clusters)

    def by_cluster(self, run: Run, split: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Each heat metric, and the number of examples, of each cluster; NaN and 0 where there are none."""
        counts = np.zeros(len(self.clusters), dtype=int)
        values = {metric.name: np.full(len(self.clusters), np.nan) for metric in self.heat_metrics}
        scored = _scored(run, split)
        if scored is None:
            return values, counts
        place = {cluster.name: i for i, cluster in enumerate(self.clusters)}
        index = [place[name] for name in np.unique(scored.clusters)]
        sums = cluster_sums(scored.clusters, *scored.columns.T)
        alone = np.eye(len(sums))  # each cluster as if there were no other
        with np.errstate(invalid="ignore", divide="ignore"):
            for metric in self.heat_metrics:
                values[metric.name][index] = metric.statistic.value(alone, sums)
        counts[index] = sums[:, 0]
        return values, counts


def _count(scored: Scored) -> int:
    return len(scored.examples)


def _scored(run: Run, split: str) -> Scored | None:
    parts = run.parts or {}
    pooled = run.benchmark.pooled_splits
    if split == OVERALL and OVERALL in run.table and set(pooled) <= set(parts):
        return pool({one: parts[one] for one in pooled})
    return parts.get(split)


def language_name(code: str) -> str:
    return LANGUAGES[code].name if code in LANGUAGES else code


def build(runs: Sequence[Run], progress: Callable[..., Iterable] = list) -> list[Study]:
    """One study per benchmark, in the order of the registry."""
    found = {run.language for run in runs}
    languages = [code for code in LANGUAGES if code in found] + sorted(found - set(LANGUAGES))
    models = list(dict.fromkeys(run.model for run in runs))
    ordered = sorted(runs, key=lambda run: (models.index(run.model), languages.index(run.language)))
    studies = []
    for benchmark in reported_benchmarks():
        if chosen := [run for run in ordered if run.benchmark.name == benchmark.name]:
            comparisons = compare_all(chosen, progress)
            told = notices(chosen, comparisons)
            beside = _likelihoods(chosen[0].benchmark, ordered)
            studies.append(
                Study(
                    chosen[0].benchmark,
                    chosen,
                    models,
                    languages,
                    _clusters(chosen),
                    comparisons,
                    told,
                    beside,
                )
            )
    return studies


def _likelihoods(benchmark: Benchmark, runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if benchmark.words and run.benchmark.name in benchmark.words.sources]


def _clusters(runs: Sequence[Run]) -> list[Cluster]:
    groups = {
        example.cluster: example.group
        for run in runs
        for scored in (run.parts or {}).values()
        for example in scored.examples
    }
    found = (Cluster(*item) for item in groups.items())
    return sorted(found, key=lambda c: (c.group, c.name.casefold(), c.name))
