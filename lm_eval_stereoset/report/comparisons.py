"""All pairs worth a test: two models in one language, one model in two languages, on the same examples."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.benchmarks.stereoset.metrics import MAIN, Outcomes, compare, outcomes
from lm_eval_stereoset.report.run import ALL_SPLITS, Run
from lm_eval_stereoset.stats.paired import Difference, holm


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
        return self.adjusted.get(metric, np.nan) < 0.05  # NaN is not


@dataclass(frozen=True)
class Answers:
    """One run and split as aligned arrays."""

    ids: np.ndarray
    outcomes: Outcomes
    targets: np.ndarray


def pairs(runs: Sequence[Run]) -> list[tuple[str, Run, Run]]:
    found = []
    for first, second in combinations(runs, 2):
        if first.language == second.language:
            found.append(("models", first, second))
        elif first.model == second.model:
            found.append(("languages", first, second))
    return found


def compare_all(runs: Sequence[Run], progress: Callable[..., Iterable] = list) -> list[Comparison]:
    """Every pair in every split that both sides have. One family per split and metric, corrected by Holm."""
    answers = {id(run): _answers(run) for run in runs}
    jobs = [(split, *pair) for split in ALL_SPLITS for pair in pairs(runs)]
    results = []
    for split, kind, first, second in progress(jobs):
        one, two = answers[id(first)].get(split), answers[id(second)].get(split)
        if one is not None and two is not None:
            results.append(_compare(kind, split, first, second, one, two))
    for split in ALL_SPLITS:
        family = [result for result in results if result.split == split]
        for metric in MAIN:
            adjusted = holm([result.differences[metric].p for result in family])
            for result, p in zip(family, adjusted, strict=True):
                result.adjusted[metric] = float(p)
                result.family = len(family)
    return results


def _answers(run: Run) -> dict[str, Answers]:
    if run.parts is None:
        return {}
    found = {}
    for split, scored in run.parts.items():
        ids = np.array([f"{split} {example.id}" for example in scored.examples])
        found[split] = Answers(ids, outcomes(scored.scores), scored.targets)
    if len(found) == len(SPLITS):
        both = [found[split] for split in SPLITS]
        fields = [
            np.concatenate([getattr(a.outcomes, f) for a in both])
            for f in ("ss", "lms", "tie", "tie_unrelated")
        ]
        found["overall"] = Answers(
            np.concatenate([a.ids for a in both]),
            Outcomes(*fields),
            np.concatenate([a.targets for a in both]),
        )
    return found


def _compare(kind: str, split: str, first: Run, second: Run, one: Answers, two: Answers) -> Comparison:
    if len(one.ids) == len(two.ids) and (one.ids == two.ids).all():
        i = j = np.arange(len(one.ids))
    else:
        _, i, j = np.intersect1d(one.ids, two.ids, return_indices=True)
    left_out = len(one.ids) + len(two.ids) - 2 * len(i)
    differences = compare(one.outcomes[i], two.outcomes[j], one.targets[i]) if len(i) else _nothing()
    return Comparison(kind, split, first, second, len(i), left_out, differences)


def _nothing() -> dict[str, Difference]:
    nan = float("nan")
    return dict.fromkeys(MAIN, Difference(nan, nan, nan, nan, nan, 0))
