"""A statistic: one number computed from what the examples of each cluster add up to.

Examples about one target term are not independent facts, so they are added up by target first:

    sums     (clusters, columns)   column 0 is the number of examples, the others are a benchmark's own
    times    (draws, clusters)     how many times each cluster is counted; all ones for the data themselves

A statistic is then a function of `times` and `sums` that gives one number per draw. A bootstrap of 2,000 draws is one
matrix product, and the influence of a cluster is a derivative by its entry of `times`. StereoSet's SS, for example,
where the columns are (examples, ss, lms), is  of_totals(lambda n, ss, lms: 100 * ss / n).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (times, sums) -> (draws,)
COMPLEX_STEP = 1e-20
ROWS = 512  # clusters whose influence is worked out at once


@dataclass(frozen=True)
class Statistic:
    """`value` must be smooth, unless the statistic is the smaller of two `branches` that are."""

    value: Function
    branches: tuple[Function, Function] | None = None
    low: float = -np.inf  # bounds of what the statistic can be
    high: float = np.inf

    @property
    def smooth(self) -> tuple[Function, ...]:
        """The functions whose estimates are as good as normal: the statistic is the smallest of them."""
        return self.branches or (self.value,)


@dataclass(frozen=True)
class of_totals:  # in small letters, as functools.partial: it is used as a function
    """A function of the totals over all examples, called with one argument per column."""

    function: Callable[..., np.ndarray]

    def __call__(self, times: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return self.function(*np.moveaxis(times @ sums, -1, 0))


@dataclass(frozen=True)
class mean_over_clusters:
    """The mean over clusters of a function of each cluster's sums, called with one argument per column."""

    function: Callable[..., np.ndarray]

    def __call__(self, times: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return times @ self.function(*sums.T) / times.sum(axis=-1)


@dataclass(frozen=True)
class combination_of:
    """A function of the values of other statistics, such as a product of two means."""

    function: Callable[..., Any]
    parts: tuple[Function, ...]

    def __call__(self, times: np.ndarray, sums: np.ndarray) -> np.ndarray:
        return self.function(*(part(times, sums) for part in self.parts))


def observed(function: Function, sums: np.ndarray) -> float:
    """The statistic of the data themselves."""
    return float(function(np.ones((1, len(sums))), sums)[0])


def contributions(function: Function, sums: np.ndarray) -> np.ndarray:
    """(clusters,): what each cluster adds to a smooth statistic, linearised at the data; they add up to its value.

    That is its influence (how the statistic moves when the cluster counts a little more) plus its share of the
    examples times the value. A mean is linear already: its contributions are the cluster's sums divided by n.
    The derivative is taken by a complex step: f(x + ih) = f(x) + ih f'(x), exact to the last digits since nothing is
    subtracted.
    """
    count, parts = len(sums), []
    for start in range(0, count, ROWS):  # a square of thousands of clusters would take hundreds of megabytes
        rows = np.arange(start, min(start + ROWS, count))
        times = np.ones((len(rows), count), dtype=complex)
        times[np.arange(len(rows)), rows] += 1j * COMPLEX_STEP
        parts.append(function(times, sums).imag / COMPLEX_STEP)
    influence = np.concatenate(parts)
    return influence + observed(function, sums) * sums[:, 0] / sums[:, 0].sum()
