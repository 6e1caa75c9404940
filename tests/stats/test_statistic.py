"""Statistics that no benchmark here has: the room must serve any function of cluster sums."""

import numpy as np
import pytest

from lm_eval_stereoset.stats import paired
from lm_eval_stereoset.stats.bootstrap import cluster_sums, draw
from lm_eval_stereoset.stats.statistic import (
    Statistic,
    contributions,
    mean_over_clusters,
    observed,
    of_totals,
)

RATIO = Statistic(of_totals(lambda n, men, women: men / women))
SPREAD = Statistic(mean_over_clusters(lambda n, men, women: (men - women) ** 2 / n))


def sums(seed=1, clusters=30):
    rng = np.random.default_rng(seed)
    names = np.repeat([f"t{i:02}" for i in range(clusters)], rng.integers(3, 9, size=clusters))
    return cluster_sums(names, rng.random(len(names)), rng.random(len(names)) + 0.5)


def test_cluster_sums_count_examples_first_and_do_not_depend_on_order():
    names, values = np.array(["b", "a", "b"]), np.array([1.0, 2.0, 4.0])
    assert cluster_sums(names, values).tolist() == [[1, 2], [2, 5]]
    assert cluster_sums(names[::-1], values[::-1]).tolist() == [[1, 2], [2, 5]]


@pytest.mark.parametrize("statistic", [RATIO, SPREAD])
def test_contributions_are_the_derivative_by_the_weight_of_a_cluster(statistic):
    data = sums()
    found = contributions(statistic.value, data)
    value, step = observed(statistic.value, data), 1e-5
    for i in range(len(data)):
        up, down = np.ones((1, len(data))), np.ones((1, len(data)))
        up[0, i] += step
        down[0, i] -= step
        slope = (statistic.value(up, data)[0] - statistic.value(down, data)[0]) / (2 * step)
        assert found[i] == pytest.approx(slope + value * data[i, 0] / data[:, 0].sum(), abs=1e-8)
    assert found.sum() == pytest.approx(value)


def test_draws_of_a_ratio_are_ratios_of_drawn_totals():
    data = sums()
    draws = draw(data, {"ratio": RATIO}, draws=50, seed=3)
    totals = draws.times @ data
    assert draws.values["ratio"] == pytest.approx(totals[:, 1] / totals[:, 2])
    low, high = draws.interval("ratio")
    assert low < draws.observed["ratio"] < high


def test_a_difference_of_ratios_is_tested_and_sides_with_other_examples_are_refused():
    first, second = sums(1), sums(1).copy()
    second[:, 1] *= 1.5
    found = paired.compare(paired.PairedSums(first, second), {"ratio": RATIO})["ratio"]
    assert found.value == pytest.approx(observed(RATIO.value, first) - observed(RATIO.value, second))
    assert found.high < 0
    assert found.p < 0.001
    with pytest.raises(ValueError, match="not paired"):
        paired.PairedSums(sums(1), sums(2))
