"""A confidence interval for the smaller of two numbers, from estimates of both. Pure functions over numpy arrays.

ICAT = LMS * min(SS, 100 - SS) / 50 has a kink where SS is 50. There an estimate of SS that misses to either side
makes ICAT too small, so the usual intervals lie too low: a percentile bootstrap that promises 95 % holds in 79 %.
But ICAT is the smaller of two smooth numbers

    A = LMS * SS / 50      and      B = LMS * (100 - SS) / 50

whose estimates are as good as normal. The interval holds every value t that a test of "min(A, B) = t" keeps. The
pairs (A, B) of which that is true are two rays that start at a corner:

    B |   |
      |   |  A = t, B > t        The test statistic is the distance from the estimate of (A, B) to the nearer ray,
      |   |                      in standard errors (a likelihood ratio test). Far from the corner there is only
    t |   +-------------         one straight line in reach, and the critical value is the t quantile, 1.99 with
      |       B = t, A > t       79 target terms. At the corner it is about 2.2, a little further along a ray 1.7:
      +---------------------     critical_values() works it out. It depends on two numbers only: on the angle
          t            A         between the rays, and on how far from the corner the truth lies.

How far that is nobody knows; the point of the rays that is nearest to the estimate says it to within one standard
error. The critical value is the largest of those half a standard error to either side. Simulated coverage is 93 to
97 % wherever the truth lies (performance/coverage.py).
"""

from functools import lru_cache

import numpy as np

_ANGLE_STEP = (
    0.05  # critical values are worked out for multiples of it; between two of them they hardly differ
)
_SLACK = 0.5  # standard errors by which the distance of the truth from the corner may be misjudged
_GRID = 257  # values of t that are tested on either side of the estimate
_CLOUD = 2048  # points that stand for a bivariate t distribution
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))

Curve = tuple[
    np.ndarray, np.ndarray
]  # distances of the truth from the corner, and the critical value at each


def interval_of_minimum(
    estimates: tuple[float, float], covariance: np.ndarray, clusters: float, level: float = 0.95
) -> tuple[float, float]:
    """Interval of min(A, B). `covariance` is that of the two estimates, (2, 2); `clusters` gives the degrees of
    freedom, clusters - 1, and is infinite if the covariance is known."""
    errors = np.sqrt(np.diag(covariance))
    smaller = min(estimates)
    if np.isnan(smaller) or np.isnan(errors).any() or clusters < 2:
        return float("nan"), float("nan")
    if not errors.any():
        return float(smaller), float(smaller)
    errors = np.maximum(errors, 1e-9 * errors.max())
    correlation = float(np.clip(covariance[0, 1] / errors.prod(), -0.9999, 0.9999))
    steps = max(round(float(np.arccos(-correlation)) / _ANGLE_STEP), 1)
    curve = critical_values(steps * _ANGLE_STEP, clusters - 1, level)

    def end(stop: float) -> float:
        values = np.linspace(smaller, stop, _GRID)
        x, y = ((estimate - values) / error for estimate, error in zip(estimates, errors, strict=True))
        return _last_kept(values, *squared_distance(x, y, correlation), curve)

    # The test certainly rejects there: the distance is at least that of the one coordinate that is wrong.
    reach = np.sqrt(curve[1].max())
    return end(smaller - reach * errors.max()), end(smaller + reach * errors[np.argmin(estimates)])


def _last_kept(values: np.ndarray, squared: np.ndarray, position: np.ndarray, curve: Curve) -> float:
    """The last of the values, going away from the estimate, that the test keeps; interpolated between two."""
    limits = [np.interp(np.maximum(position + shift, 0), *curve) for shift in (-_SLACK, 0, _SLACK)]
    excess = squared - np.maximum.reduce(limits)
    kept = int(np.flatnonzero(excess <= 0)[-1])  # the first always is: its distance is 0
    if kept == len(values) - 1:
        return float(values[-1])
    share = excess[kept] / (excess[kept] - excess[kept + 1])
    return float(values[kept] + share * (values[kept + 1] - values[kept]))


def squared_distance(x: np.ndarray, y: np.ndarray, correlation: float) -> tuple[np.ndarray, np.ndarray]:
    """From points to the rays {x = 0, y > 0} and {y = 0, x > 0}, x and y with unit variance and this correlation.

    Also the distance of the nearest point of the rays from their corner. Both in standard errors.
    """
    rest = 1 - correlation**2
    corner = (x**2 - 2 * correlation * x * y + y**2) / rest
    up, right = (y - correlation * x) / np.sqrt(rest), (x - correlation * y) / np.sqrt(rest)
    to_up, to_right = np.where(up > 0, x**2, corner), np.where(right > 0, y**2, corner)
    position = np.where(to_up < to_right, up, right)
    return np.minimum(to_up, to_right), np.maximum(position, 0)


@lru_cache(maxsize=1024)
def critical_values(angle: float, freedom: float, level: float) -> Curve:
    """Distances of the truth from the corner, and the quantile of the squared test statistic for each.

    The truth is at (distance, 0), one ray runs along the first axis, the other one at `angle` to it. A fixed cloud
    of equally likely points stands for the estimates, so the same input always gives the same interval.
    """
    from scipy.special import stdtrit

    quantile = stdtrit(freedom, 0.5 + level / 2)  # of a test with one ray only
    far = 5 * quantile / np.sin(min(angle, np.pi / 2))  # the other ray is out of reach there
    along = np.concatenate([np.linspace(0, 3, 9), np.geomspace(3.5, far, 9)])
    probability = (np.arange(_CLOUD) + 0.5) / _CLOUD
    if np.isinf(freedom):
        radius = np.sqrt(-2 * np.log1p(-probability))
    else:
        radius = np.sqrt(freedom * ((1 - probability) ** (-2 / freedom) - 1))
    direction = _GOLDEN_ANGLE * np.arange(_CLOUD)  # a sunflower: no two points in the same direction
    x, y = along[:, None] + radius * np.cos(direction), radius * np.sin(direction)
    squared = x**2 + y**2
    forward, aside = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    first, second = np.where(x > 0, y**2, squared), np.where(forward > 0, aside**2, squared)
    critical = np.quantile(np.minimum(first, second), level, axis=1)
    return along, critical * quantile**2 / critical[-1]  # removes what so few points miss
