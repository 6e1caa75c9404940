"""Standard errors and intervals by a bootstrap over target terms. Pure functions over numpy arrays.

Sentences about one target are not independent facts, so whole targets are drawn, not examples. A draw
only needs each target's sums, so 2,000 draws are three small matrix products.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lm_eval_stereoset.metrics import Outcomes, icat

DRAWS = 2000
SEED = 1618  # fixed: the same results give the same intervals


@dataclass(frozen=True)
class Draws:
    """Bootstrap replicates of each metric, and from how many clusters they were drawn."""

    clusters: int
    values: dict[str, np.ndarray]  # metric: (draws,)

    def standard_error(self, metric: str) -> float:
        """NaN with fewer than two targets: one cluster says nothing about the spread between them."""
        if self.clusters < 2:
            return float("nan")
        # The bootstrap's variance is too small by (clusters - 1) / clusters.
        return float(np.std(self.values[metric]) * np.sqrt(self.clusters / (self.clusters - 1)))

    def interval(self, metric: str, level: float = 0.95) -> tuple[float, float]:
        if self.clusters < 2:
            return float("nan"), float("nan")
        tail = expanded_tail(level, self.clusters)
        low, high = np.quantile(self.values[metric], [tail, 1 - tail])
        return float(low), float(high)


def draw(
    results: Outcomes, clusters: Sequence[str] | np.ndarray, draws: int = DRAWS, seed: int = SEED
) -> Draws:
    """Draws as many targets as there are, with replacement, `draws` times."""
    names, index = np.unique(np.asarray(clusters), return_inverse=True)
    count = len(names)
    if count == 0:
        return Draws(0, {})
    size = np.bincount(index, minlength=count)
    sum_ss = np.bincount(index, weights=results.ss, minlength=count)
    sum_lms = np.bincount(index, weights=results.lms, minlength=count) / 2
    times = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)
    n = times @ size
    ss, lms = 100 * (times @ sum_ss) / n, 100 * (times @ sum_lms) / n
    class_ss, class_lms = 100 * sum_ss / size, 100 * sum_lms / size
    mc_ss, mc_lms = times @ class_ss / count, times @ class_lms / count
    return Draws(
        count,
        {
            "ss": ss,
            "lms": lms,
            "icat": icat(lms, ss),
            "mc_ss": mc_ss,
            "mc_lms": mc_lms,
            "icat_macro": times @ icat(class_lms, class_ss) / count,
            "icat_micro": icat(mc_lms, mc_ss),
        },
    )


def expanded_tail(level: float, clusters: int) -> float:
    """Tail probability of the expanded percentile interval (Hesterberg 2015, section 5.3).

    A plain percentile interval is too short with few clusters: no factor n/(n-1), no t quantile. Both are
    put back by reading the percentiles a little further out.
    """
    from scipy.special import stdtrit

    t = stdtrit(clusters - 1, 0.5 + level / 2)
    return NormalDist().cdf(-np.sqrt(clusters / (clusters - 1)) * t)


def p_value_against_50(ss: float, standard_error: float, clusters: int) -> float:
    """Two-sided t test of SS = 50, the unbiased value, with the clustered standard error."""
    from scipy.special import stdtr

    if not standard_error > 0:
        return float("nan")
    return float(2 * stdtr(clusters - 1, -abs(ss - 50) / standard_error))
