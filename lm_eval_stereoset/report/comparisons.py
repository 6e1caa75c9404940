"""All pairs worth a test: two models in one language, one model in two languages, on the same examples."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from lm_eval_stereoset.benchmarks.declaration import OVERALL
from lm_eval_stereoset.benchmarks.evaluation import compare
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.stats.paired import Difference, holm

SIGNIFICANT = 0.05


@dataclass
class Comparison:
    kind: str  # "models" or "languages"
    split: str
    first: Run
    second: Run
    n: int  # examples that both have
    left_out: int  # examples that only one of the two has
    differences: dict[str, Difference]
    adjusted: dict[str, float] = field(default_factory=dict)  # metric: Holm's p value
    family: int = 0  # comparisons corrected for

    def significant(self, metric: str) -> bool:
        return self.adjusted.get(metric, np.nan) < SIGNIFICANT  # NaN is not


@dataclass(frozen=True)
class Answers:
    """One run and split as aligned arrays."""

    ids: np.ndarray
    columns: np.ndarray
    clusters: np.ndarray


def pairs(runs: Sequence[Run]) -> list[tuple[str, Run, Run]]:
    found = []
    for first, second in combinations(runs, 2):
        if first.language == second.language:
            found.append(("models", first, second))
        elif first.model == second.model:
            found.append(("languages", first, second))
    return found


def compare_all(runs: Sequence[Run], progress: Callable[..., Iterable] = list) -> list[Comparison]:
    """Every pair of one benchmark's runs."""
    return compare_pairs(pairs(runs), progress)


def compare_pairs(
    paired: Sequence[tuple[str, Run, Run]], progress: Callable[..., Iterable] = list
) -> list[Comparison]:
    """Pairs of one benchmark's runs (kind, first, second) in every split that both sides have: first minus second.

    One family per split and metric, corrected by Holm. Languages whose examples have ids of their own are not compared.
    """
    if not paired:
        return []
    benchmark = paired[0][1].benchmark
    answers = {id(run): answers_of(run) for _, *sides in paired for run in sides}
    jobs = [(split, *pair) for split in benchmark.views for pair in paired]
    results = []
    for split, kind, first, second in progress(jobs):
        one, two = answers[id(first)].get(split), answers[id(second)].get(split)
        if one is not None and two is not None:
            result = _compare(kind, split, first, second, one, two)
            if result.n or kind == "models":
                results.append(result)
    for split in benchmark.views:
        family = [result for result in results if result.split == split]
        for metric in benchmark.main:
            adjusted = holm([result.differences[metric.name].p for result in family])
            for result, p in zip(family, adjusted, strict=True):
                result.adjusted[metric.name] = float(p)
                result.family = len(family)
    return results


def answers_of(run: Run) -> dict[str, Answers]:
    if run.parts is None:
        return {}
    found = {}
    for split, scored in run.parts.items():
        ids = np.array([f"{split} {example.id}" for example in scored.examples])
        found[split] = Answers(ids, scored.columns, scored.clusters)
    pooled = run.benchmark.pooled_splits
    if OVERALL in run.table and set(pooled) <= set(found):
        parts = [found[split] for split in pooled]
        ids, columns, clusters = zip(*((p.ids, p.columns, p.clusters) for p in parts), strict=True)
        found[OVERALL] = Answers(np.concatenate(ids), np.concatenate(columns), np.concatenate(clusters))
    return found


def _compare(kind: str, split: str, first: Run, second: Run, one: Answers, two: Answers) -> Comparison:
    i, j = common(one, two)
    left_out = len(one.ids) + len(two.ids) - 2 * len(i)
    if len(i):
        differences = compare(first.benchmark, one.columns[i], two.columns[j], one.clusters[i])
    else:
        differences = {metric.name: NO_DIFFERENCE for metric in first.benchmark.main}
    return Comparison(kind, split, first, second, len(i), left_out, differences)


def common(one: Answers, two: Answers) -> tuple[np.ndarray, np.ndarray]:
    """Where the examples that both sides have are on each side."""
    if len(one.ids) == len(two.ids) and (one.ids == two.ids).all():
        return np.arange(len(one.ids)), np.arange(len(two.ids))
    _, i, j = np.intersect1d(one.ids, two.ids, return_indices=True)
    return i, j


_NAN, _NO_BRANCH = float("nan"), np.full((1, 1), np.nan)
NO_DIFFERENCE = Difference(_NAN, _NAN, _NAN, _NAN, _NAN, 0, _NO_BRANCH, _NO_BRANCH)
