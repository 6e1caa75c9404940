"""Is the difference between two sets of answers to the same examples real? Pure functions over numpy arrays.

Both sides answer the same examples, so everything is paired; sentences about one target term are not
independent facts, so everything is clustered: a test swaps, and a bootstrap draws, whole clusters.
All of it needs only each cluster's sums, so thousands of draws are a few small matrix products.

A statistic may be the smaller of two smooth numbers, as ICAT is. The difference of two such statistics is

    min(A, B) - min(C, D)  =  min(max(A - C, A - D), max(B - C, B - D))

and each of the four differences on the right has a good interval and a good test. They are kept as a matrix (first
side's branch, second side's branch); a smooth statistic has a matrix of one entry.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lm_eval_stereoset.stats.bootstrap import SEED, percentiles, standard_error_of, times_drawn, times_within
from lm_eval_stereoset.stats.statistic import Function, Statistic, contributions

PERMUTATIONS = 20_000  # smallest p value 5e-5: significant even as one of a thousand comparisons
EXACT_UP_TO = 14  # clusters; 2**14 swaps are fewer than PERMUTATIONS, so all of them are tried
DRAWS = 4_000
KEPT = 20_000_000  # entries of a matrix of swaps that is kept, 160 MB
BLOCK = 2_000_000  # entries of a block of a larger one
LEVEL = 0.95
POWER = 0.8


@dataclass(frozen=True)
class PairedSums:
    """Both sides' sums (see statistic.py), of the same examples in the same clusters."""

    first: np.ndarray  # (clusters, columns)
    second: np.ndarray
    strata: np.ndarray | None = None  # of each cluster: a bootstrap draws within them

    def __post_init__(self) -> None:
        if self.first.shape != self.second.shape or (self.first[:, 0] != self.second[:, 0]).any():
            raise ValueError("not paired: the two sides do not have the same examples")


@dataclass(frozen=True)
class Difference:
    """First minus second side; what is undefined is NaN."""

    value: float
    standard_error: float  # that of the branches which the two sides are on
    low: float  # interval of this one comparison
    high: float
    p: float  # permutation test
    clusters: int
    branch_values: np.ndarray  # (first side's branch, second side's branch)
    branch_errors: np.ndarray

    def corrected_interval(self, comparisons: int, level: float = LEVEL) -> tuple[float, float]:
        """Wide enough that all intervals of the family hold together with probability `level` (Bonferroni)."""
        reach = _t(1 - (1 - level) / (2 * comparisons), self.clusters) * self.branch_errors
        return _join_ends(self.branch_values - reach, self.branch_values + reach)

    def smallest_detectable(self, comparisons: int = 1, power: float = POWER, level: float = LEVEL) -> float:
        """The true difference that a test at this level would find with probability `power`."""
        alpha = (1 - level) / comparisons
        return self.standard_error * (_t(1 - alpha / 2, self.clusters) + _t(power, self.clusters))


def compare(sums: PairedSums, statistics: Mapping[str, Statistic]) -> dict[str, Difference]:
    """Each statistic of the first side minus that of the second, on the same examples."""
    p_values = permutation_p_values(sums, statistics)
    return {name: difference(sums, statistic, p_values[name]) for name, statistic in statistics.items()}


def difference(sums: PairedSums, statistic: Statistic, p: float) -> Difference:
    count = len(sums.first)
    observed = branch_differences(sums, statistic, np.ones((1, count)))[..., 0]
    i = int(np.argmin(observed.max(axis=1)))  # the branches that the two sides are on
    j = int(np.argmax(observed[i]))
    if count < 2:
        nan = float("nan")
        return Difference(
            float(observed[i, j]), nan, nan, nan, nan, count, observed, np.full_like(observed, nan)
        )
    drawn = branch_differences(sums, statistic, _times(sums))
    ends = np.array([[percentiles(one, count, LEVEL) for one in row] for row in drawn])
    errors = np.array([[standard_error_of(one, count) for one in row] for row in drawn])
    low, high = _join_ends(ends[..., 0], ends[..., 1])
    return Difference(float(observed[i, j]), float(errors[i, j]), low, high, p, count, observed, errors)


def _times(sums: PairedSums) -> np.ndarray:
    if sums.strata is None:
        return times_drawn(len(sums.first), DRAWS, SEED)
    return times_within(sums.strata, DRAWS, SEED)


def branch_differences(sums: PairedSums, statistic: Statistic, times: np.ndarray) -> np.ndarray:
    """(first side's branch, second side's branch, draws). Both sides are drawn together, so what makes a cluster
    easy or hard for both cancels out."""
    first, second = (
        [branch(times, side) for branch in statistic.smooth] for side in (sums.first, sums.second)
    )
    return np.array([[one - two for two in second] for one in first])


def _join_ends(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """From the ends of the intervals of all branch differences to those of the difference.

    Zero lies outside of the result only if it does so whichever branches the two sides are truly on: for ICAT the
    interval is right with one model's SS at 50 (95 %), and too wide with both there (99 %).
    """
    return float(low.max(axis=1).min()), float(high.min(axis=0).max())


def permutation_p_values(
    sums: PairedSums,
    statistics: Mapping[str, Statistic],
    permutations: int = PERMUTATIONS,
    exact_up_to: int = EXACT_UP_TO,
    seed: int = SEED,
) -> dict[str, float]:
    """Two-sided. If the two sides did not differ, swapping all their answers about a cluster changes nothing.

    A swap turns the sign of what the cluster contributes to the difference. Few clusters: all 2**clusters
    swaps are tried and p is exact. Else random swaps, of which the observed one is counted as one more, so
    that p is never zero and never too small.
    """
    count = len(sums.first)
    if count < 2:
        return dict.fromkeys(statistics, float("nan"))
    exact = count <= exact_up_to
    parts = {name: branch_contributions(sums, statistic) for name, statistic in statistics.items()}
    columns = np.concatenate([part.reshape(-1, count) for part in parts.values()]).T
    observed = columns.sum(axis=0)
    extreme, tried = np.zeros(columns.shape[1]), 0
    for swaps in [_all_swaps(count)] if exact else _random_swaps(count, permutations, seed):
        # The tolerance only absorbs rounding: a permutation as extreme as the data must count.
        extreme += (np.abs(observed - 2 * (swaps @ columns)) >= np.abs(observed) - 1e-9).sum(axis=0)
        tried += len(swaps)
    p = extreme / tried if exact else (extreme + 1) / (tried + 1)
    result, start = {}, 0
    for name, part in parts.items():
        shape, size = part.shape[:2], part.shape[0] * part.shape[1]
        here = slice(start, start + size)
        result[name] = _join_p_values(p[here].reshape(shape), observed[here].reshape(shape))
        start += size
    return result


def _join_p_values(p: np.ndarray, observed: np.ndarray) -> float:
    """One p value from those of the branch differences, as _join_ends does for intervals."""
    larger = np.where(observed > 0, p / 2, 1 - p / 2)  # one-sided: is the first side's larger?
    smaller = np.where(observed < 0, p / 2, 1 - p / 2)
    return float(min(1.0, 2 * larger.min(axis=1).max(), 2 * smaller.min(axis=0).max()))


def branch_contributions(sums: PairedSums, statistic: Statistic) -> np.ndarray:
    """(first side's branch, second side's branch, clusters): what each cluster adds to the difference.

    Linearised at each side's own values, on every branch. Swapping the answers themselves would mix the sides: for
    ICAT and two models on opposite sides of SS 50 the mixture is nearer to 50 than either, and such a test finds a
    difference between models of equal ICAT in 20 % of cases instead of 5 %. And one branch would not do: a model with
    SS 49 that happens to get 51 would be taken to move together with a similar model at 55, though truly they move
    apart; such a test errs in 14 % of cases.
    """
    first, second = (
        [_contributions(branch, side.shape, side.tobytes()) for branch in statistic.smooth]
        for side in (sums.first, sums.second)
    )
    return np.array([[one - two for two in second] for one in first])


# In a report each model meets each other one, and what its clusters contribute is the same every time.
@lru_cache(maxsize=256)
def _contributions(function: Function, shape: tuple[int, int], content: bytes) -> np.ndarray:
    return contributions(function, np.frombuffer(content).reshape(shape))


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


def _t(probability: float, clusters: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(clusters - 1, probability))


def _random_swaps(count: int, permutations: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of rows. The matrix of thousands of clusters would take half a gigabyte, so only its bits are kept."""
    if count * permutations <= KEPT:
        yield _kept_swaps(count, permutations, seed)
        return
    bits, rows = _kept_bits(count, permutations, seed), max(1, BLOCK // count)
    for start in range(0, permutations, rows):
        yield np.unpackbits(bits[start : start + rows], axis=1, count=count).astype(float)


# The matrices depend on the number of clusters only; a report compares hundreds of pairs with the same one.
@lru_cache(maxsize=8)
def _kept_swaps(count: int, permutations: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, size=(permutations, count)).astype(float)


@lru_cache(maxsize=8)
def _kept_bits(count: int, permutations: int, seed: int) -> np.ndarray:
    rng, rows = np.random.default_rng(seed), max(1, BLOCK // count)
    starts = range(0, permutations, rows)
    blocks = (rng.integers(0, 2, size=(min(rows, permutations - start), count)) for start in starts)
    return np.concatenate([np.packbits(block.astype(bool), axis=1) for block in blocks])


@lru_cache(maxsize=8)
def _all_swaps(count: int) -> np.ndarray:
    return ((np.arange(2**count)[:, None] >> np.arange(count)) & 1).astype(float)
