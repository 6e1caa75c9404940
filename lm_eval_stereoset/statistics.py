"""Is the difference between two sets of answers to the same examples real? Pure functions over numpy arrays.

Both sides answer the same examples, so everything is paired; sentences about one target term are not
independent facts, so everything is clustered: a test swaps, and a bootstrap draws, whole target terms.
All of it needs only each target's sums, so thousands of draws are a few small matrix products.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lm_eval_stereoset.bootstrap import SEED, expanded_tail
from lm_eval_stereoset.metrics import Outcomes, icat

METRICS = ("ss", "lms", "icat")
PERMUTATIONS = 20_000  # smallest p value 5e-5: significant even as one of a thousand comparisons
EXACT_UP_TO = 14  # clusters; 2**14 swaps are fewer than PERMUTATIONS, so all of them are tried
DRAWS = 4_000
LEVEL = 0.95
POWER = 0.8


@dataclass(frozen=True)
class Difference:
    """First minus second side, in percentage points; what is undefined is NaN."""

    value: float
    standard_error: float
    low: float  # interval of this one comparison
    high: float
    p: float  # permutation test
    clusters: int

    def corrected_interval(self, comparisons: int, level: float = LEVEL) -> tuple[float, float]:
        """Wide enough that all intervals of the family hold together with probability `level` (Bonferroni)."""
        reach = self.standard_error * _t(1 - (1 - level) / (2 * comparisons), self.clusters)
        return self.value - reach, self.value + reach

    def smallest_detectable(self, comparisons: int = 1, power: float = POWER, level: float = LEVEL) -> float:
        """The true difference that a test at this level would find with probability `power`."""
        alpha = (1 - level) / comparisons
        return self.standard_error * (_t(1 - alpha / 2, self.clusters) + _t(power, self.clusters))


@dataclass(frozen=True)
class Sums:
    """What each cluster holds: its number of examples, and both sides' sums of ss and lms."""

    size: np.ndarray  # (clusters,)
    first: np.ndarray  # (clusters, 2): ss, lms
    second: np.ndarray


def cluster_sums(first: Outcomes, second: Outcomes, clusters: Sequence[str] | np.ndarray) -> Sums:
    if not len(first) == len(second) == len(clusters):
        raise ValueError(f"not paired: {len(first)} and {len(second)} examples, {len(clusters)} clusters")
    _, index = np.unique(np.asarray(clusters), return_inverse=True)

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(index, weights=values)

    sides = [np.stack([total(side.ss), total(side.lms) / 2], axis=1) for side in (first, second)]
    return Sums(total(np.ones(len(first))), *sides)


def compare(first: Outcomes, second: Outcomes, clusters: Sequence[str] | np.ndarray) -> dict[str, Difference]:
    """SS, LMS and ICAT of the first side minus those of the second, on the same examples."""
    sums = cluster_sums(first, second, clusters)
    count = len(sums.size)
    observed = _differences(sums.first.sum(axis=0), sums.second.sum(axis=0), sums.size.sum())
    if count < 2:
        nan = float("nan")
        return {m: Difference(float(observed[m]), nan, nan, nan, nan, count) for m in METRICS}
    drawn = bootstrap_differences(sums)
    p_values = permutation_p_values(sums)
    tail = expanded_tail(LEVEL, count)
    result = {}
    for metric in METRICS:
        low, high = np.quantile(drawn[metric], [tail, 1 - tail])
        # The bootstrap's variance is too small by (clusters - 1) / clusters.
        error = np.std(drawn[metric]) * np.sqrt(count / (count - 1))
        values = (observed[metric], error, low, high, p_values[metric])
        result[metric] = Difference(*map(float, values), clusters=count)
    return result


def bootstrap_differences(sums: Sums, draws: int = DRAWS, seed: int = SEED) -> dict[str, np.ndarray]:
    """Both sides are drawn together, so what makes a target easy or hard for both cancels out."""
    times = _draws(len(sums.size), draws, seed)
    return _differences(times @ sums.first, times @ sums.second, times @ sums.size)


def permutation_p_values(
    sums: Sums, permutations: int = PERMUTATIONS, exact_up_to: int = EXACT_UP_TO, seed: int = SEED
) -> dict[str, float]:
    """Two-sided. If the two sides did not differ, swapping all their answers about a target changes nothing.

    A swap turns the sign of what the target contributes to the difference. Few clusters: all 2**clusters
    swaps are tried and p is exact. Else random swaps, of which the observed one is counted as one more, so
    that p is never zero and never too small.
    """
    parts = contributions(sums)
    count = len(parts)
    exact = count <= exact_up_to
    signs = 1 - 2 * (_all_swaps(count) if exact else _random_swaps(count, permutations, seed))
    # The tolerance only absorbs rounding: a permutation as extreme as the data must count.
    extreme = np.abs(signs @ parts) >= np.abs(parts.sum(axis=0)) - 1e-9
    p = extreme.mean(axis=0) if exact else (extreme.sum(axis=0) + 1) / (len(signs) + 1)
    return dict(zip(METRICS, p.tolist(), strict=True))


def contributions(sums: Sums) -> np.ndarray:
    """(clusters, metrics): what each cluster adds to the difference of each metric; columns add up to it.

    For SS and LMS, which are means, simply the difference of the two sums. ICAT is no mean: its contributions
    are linearised at each side's own LMS and SS. Swapping the answers themselves would mix the sides' SS, and
    for two models on opposite sides of 50 the mixture is nearer to 50 than either: such a test finds a
    difference between models of equal ICAT in 20 % of cases instead of 5 %.
    """
    n = sums.size.sum()
    means = [100 * side.sum(axis=0) / n for side in (sums.first, sums.second)]
    plain = 100 * (sums.first - sums.second) / n
    slopes = []
    for (ss, lms), side in zip(means, (sums.first, sums.second), strict=True):
        around = (100 * side - np.outer(sums.size, (ss, lms))) / n
        slopes.append((lms * np.sign(50 - ss) * around[:, 0] + min(ss, 100 - ss) * around[:, 1]) / 50)
    difference = icat(means[0][1], means[0][0]) - icat(means[1][1], means[1][0])
    return np.column_stack([plain, slopes[0] - slopes[1] + difference * sums.size / n])


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Adjusted p values: below 0.05 means significant with all comparisons of the family taken together.

    NaN (no test was possible) stays NaN and is not counted as a comparison.
    """
    p = np.asarray(p_values, dtype=float)
    adjusted = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def _differences(first: np.ndarray, second: np.ndarray, n: np.ndarray | float) -> dict[str, np.ndarray]:
    """From sums of ss and lms (last axis) to differences of the three metrics."""
    ss_1, lms_1 = 100 * first[..., 0] / n, 100 * first[..., 1] / n
    ss_2, lms_2 = 100 * second[..., 0] / n, 100 * second[..., 1] / n
    return {"ss": ss_1 - ss_2, "lms": lms_1 - lms_2, "icat": icat(lms_1, ss_1) - icat(lms_2, ss_2)}


def _t(probability: float, clusters: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(clusters - 1, probability))


# The matrices depend on the number of clusters only; a report compares hundreds of pairs with the same one.
@lru_cache(maxsize=8)
def _draws(count: int, draws: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws).astype(float)


@lru_cache(maxsize=8)
def _random_swaps(count: int, permutations: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, size=(permutations, count)).astype(float)


@lru_cache(maxsize=8)
def _all_swaps(count: int) -> np.ndarray:
    return ((np.arange(2**count)[:, None] >> np.arange(count)) & 1).astype(float)
