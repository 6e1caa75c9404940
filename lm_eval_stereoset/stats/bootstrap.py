"""Standard errors and intervals by a bootstrap over clusters. Pure functions over numpy arrays.

Sentences about one target are not independent facts, so whole targets are drawn, not examples. A draw
only needs each target's sums, so 2,000 draws are a few small matrix products.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from lm_eval_stereoset.stats.minimum import interval_of_minimum
from lm_eval_stereoset.stats.statistic import Statistic, observed

DRAWS = 2000
MOST_UNDEFINED = 0.05  # of the draws
SEED = 1618  # fixed: the same results give the same intervals


@dataclass(frozen=True)
class Draws:
    """Bootstrap replicates of each statistic."""

    statistics: Mapping[str, Statistic]
    sums: np.ndarray  # (clusters, columns)
    times: np.ndarray  # (draws, clusters)
    values: dict[str, np.ndarray]  # statistic: (draws,)
    observed: dict[str, float]  # the statistics of the data themselves

    @property
    def clusters(self) -> int:
        return len(self.sums)

    def standard_error(self, name: str) -> float:
        """NaN with fewer than two clusters: one says nothing about the spread between them.

        It says how much the statistic would scatter with other clusters. For the smaller of two numbers that are
        nearly equal it is no recipe for an interval: there the estimates scatter to one side of the truth.
        """
        return standard_error_of(self.values[name], self.clusters) if self.clusters > 1 else float("nan")

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        if self.clusters < 2:
            return float("nan"), float("nan")
        statistic = self.statistics[name]
        if statistic.branches is None:
            return percentiles(self.values[name], self.clusters, level)
        first, second = statistic.branches
        estimates = observed(first, self.sums), observed(second, self.sums)
        drawn = defined(np.stack([branch(self.times, self.sums) for branch in statistic.branches], axis=1))
        covariance = np.cov(drawn.T, ddof=0) * self.clusters / (self.clusters - 1)
        low, high = interval_of_minimum(estimates, covariance, self.clusters, level)
        return max(low, statistic.low), min(high, statistic.high)


def cluster_sums(clusters: Sequence[str] | np.ndarray, *columns: np.ndarray) -> np.ndarray:
    """(clusters, 1 + columns): the number of examples and the sum of each column, clusters in sorted order."""
    names, index = np.unique(np.asarray(clusters), return_inverse=True)
    parts = [np.ones(len(index)), *columns]
    return np.stack([np.bincount(index, weights=part, minlength=len(names)) for part in parts], axis=1)


def draw(
    sums: np.ndarray,
    statistics: Mapping[str, Statistic],
    draws: int = DRAWS,
    seed: int = SEED,
    strata: np.ndarray | None = None,
) -> Draws:
    """Draws as many clusters as there are, with replacement, `draws` times. See statistic.py for `sums`.

    `strata`: of each cluster; of every stratum as many clusters are drawn as it has.
    """
    if len(sums) == 0:
        return Draws(statistics, sums, np.empty((draws, 0)), {}, {})
    times = times_drawn(len(sums), draws, seed) if strata is None else times_within(strata, draws, seed)
    with np.errstate(invalid="ignore", divide="ignore"):  # what is undefined is NaN
        once = {name: observed(statistic.value, sums) for name, statistic in statistics.items()}
        values = {name: statistic.value(times, sums) for name, statistic in statistics.items()}
    return Draws(statistics, sums, times, values, once)


# Depends on the number of clusters only, and a report draws hundreds of times with the same one.
@lru_cache(maxsize=32)
def times_drawn(count: int, draws: int, seed: int) -> np.ndarray:
    """(draws, clusters): how many times each cluster is drawn. Floats, since they go into matrix products."""
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws).astype(float)


def times_within(strata: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """As times_drawn, within each stratum."""
    return _times_within(tuple(strata.tolist()), draws, seed)


# As above; 100 MB for thousands of clusters, so only the last ones are kept.
@lru_cache(maxsize=2)
def _times_within(strata: tuple[int, ...], draws: int, seed: int) -> np.ndarray:
    of = np.array(strata)
    times = np.empty((draws, len(of)))
    for number, stratum in enumerate(np.unique(of)):
        members = np.flatnonzero(of == stratum)
        times[:, members] = times_drawn(len(members), draws, seed + number)
    return times


def standard_error_of(drawn: np.ndarray, clusters: int) -> float:
    """The bootstrap's variance is too small by (clusters - 1) / clusters."""
    return float(np.std(defined(drawn)) * np.sqrt(clusters / (clusters - 1)))


def defined(drawn: np.ndarray) -> np.ndarray:
    """(draws,) or (draws, n): without the few draws of clusters in which a statistic is undefined.

    A ratio is, for instance, if no cluster with an answer was drawn. Where that is more than a few, so is the whole.
    """
    undefined = np.isnan(drawn) if drawn.ndim == 1 else np.isnan(drawn).any(axis=1)
    if not undefined.any() or undefined.mean() > MOST_UNDEFINED:
        return drawn
    return drawn[~undefined]


def percentiles(drawn: np.ndarray, clusters: int, level: float = 0.95) -> tuple[float, float]:
    tail = expanded_tail(level, clusters)
    low, high = np.quantile(defined(drawn), [tail, 1 - tail])
    return float(low), float(high)


def expanded_tail(level: float, clusters: int) -> float:
    """Tail probability of the expanded percentile interval (Hesterberg 2015, section 5.3).

    A plain percentile interval is too short with few clusters: no factor n/(n-1), no t quantile. Both are
    put back by reading the percentiles a little further out.
    """
    from scipy.special import stdtrit

    t = stdtrit(clusters - 1, 0.5 + level / 2)
    return NormalDist().cdf(-np.sqrt(clusters / (clusters - 1)) * t)


def p_value_against(ideal: float, value: float, standard_error: float, clusters: int) -> float:
    """Two-sided t test of "the statistic is `ideal`", with the clustered standard error."""
    from scipy.special import stdtr

    if not standard_error > 0:
        return float("nan")
    return float(2 * stdtr(clusters - 1, -abs(value - ideal) / standard_error))
