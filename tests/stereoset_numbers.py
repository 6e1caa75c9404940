"""StereoSet's metrics of plain arrays of scores, for tests of formulas and statistics."""

from collections.abc import Sequence

import numpy as np

from lm_eval_stereoset.benchmarks import evaluation
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.stereoset.metrics import Outcomes
from lm_eval_stereoset.stats import bootstrap, paired
from lm_eval_stereoset.stats.bootstrap import cluster_sums

MAIN = tuple(metric.name for metric in BENCHMARK.main)
STATISTICS = {metric.name: metric.statistic for metric in BENCHMARK.metrics if metric.ideal is not None}


def columns(results: Outcomes) -> np.ndarray:
    return np.stack([results.ss, results.lms / 2, results.tie, results.tie_unrelated], axis=1).astype(float)


def sums_of(results: Outcomes, clusters: Sequence[str] | np.ndarray) -> np.ndarray:
    return cluster_sums(clusters, *columns(results).T)


def summarise(results: Outcomes, clusters: Sequence[str] | np.ndarray) -> dict[str, float]:
    return evaluation.summarise(BENCHMARK, sums_of(results, clusters))


def draw(results: Outcomes, clusters: Sequence[str] | np.ndarray, **options) -> bootstrap.Draws:
    return bootstrap.draw(sums_of(results, clusters), STATISTICS, **options)


def paired_sums(first: Outcomes, second: Outcomes, clusters: Sequence[str] | np.ndarray) -> paired.PairedSums:
    return paired.PairedSums(sums_of(first, clusters), sums_of(second, clusters))


def compare(first: Outcomes, second: Outcomes, clusters: Sequence[str] | np.ndarray) -> dict:
    return evaluation.compare(BENCHMARK, columns(first), columns(second), clusters)
