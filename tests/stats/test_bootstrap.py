import math
from itertools import product

import numpy as np
import pytest
from stereoset_numbers import draw, summarise

from lm_eval_stereoset.benchmarks.stereoset.metrics import outcomes
from lm_eval_stereoset.stats.bootstrap import expanded_tail, p_value_against


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    return rng.random((60, 3)), rng.integers(0, 6, 60).astype(str)


def test_draws_are_the_metrics_of_resampled_targets(data):
    """Each replicate equals the metric computed from scratch on the drawn targets."""
    scores, clusters = data
    draws = draw(outcomes(scores), clusters, draws=20, seed=5)
    names = np.unique(clusters)
    times = np.random.default_rng(5).multinomial(len(names), np.full(len(names), 1 / len(names)), size=20)
    for k in range(20):
        rows, classes = [], []
        for name, repeat in zip(names, times[k], strict=True):
            for copy in range(repeat):
                rows += np.flatnonzero(clusters == name).tolist()
                classes += [f"{name}-{copy}"] * int((clusters == name).sum())
        values = summarise(outcomes(scores[rows]), classes)
        for metric, replicates in draws.values.items():
            assert replicates[k] == pytest.approx(values[metric]), metric


def test_standard_error_approaches_the_exact_one_over_all_resamples():
    scores = np.array([[3, 2, 1], [1, 2, 3], [3, 1, 2], [2, 3, 1]], dtype=float)
    clusters = np.array(["a", "b", "c", "c"])
    exact = []
    for chosen in product("abc", repeat=3):
        rows = np.concatenate([np.flatnonzero(clusters == c) for c in chosen])
        exact.append(summarise(outcomes(scores[rows]), ["x"] * len(rows))["ss"])
    found = draw(outcomes(scores), clusters, draws=40_000).standard_error("ss")
    assert found == pytest.approx(np.std(exact) * math.sqrt(3 / 2), rel=0.02)


def test_same_data_give_the_same_interval_in_any_order(data):
    scores, clusters = data
    order = np.random.default_rng(9).permutation(60)
    a = draw(outcomes(scores), clusters)
    b = draw(outcomes(scores[order]), clusters[order])
    assert a.interval("icat") == b.interval("icat")


def test_clustered_error_exceeds_the_plain_one_when_targets_differ():
    scores = np.array([[3, 2, 1]] * 50 + [[2, 3, 1]] * 50, dtype=float)
    by_target = draw(outcomes(scores), ["a"] * 25 + ["b"] * 25 + ["c"] * 25 + ["d"] * 25)
    by_example = draw(outcomes(scores), [str(i) for i in range(100)])
    assert by_target.standard_error("ss") > 3 * by_example.standard_error("ss")


def test_one_target_has_no_standard_error():
    draws = draw(outcomes(np.array([[3, 2, 1], [1, 2, 3]])), ["a", "a"])
    assert math.isnan(draws.standard_error("ss"))
    assert all(map(math.isnan, draws.interval("ss")))


def test_expanded_interval_reads_further_out_with_few_targets():
    tails = [expanded_tail(0.95, clusters) for clusters in (3, 10, 79, 10_000)]
    assert tails == sorted(tails)
    assert tails[-1] == pytest.approx(0.025, rel=1e-3)


def test_p_value_against_50_is_two_sided_and_undefined_without_spread():
    assert p_value_against(50, 50, 2, 79) == pytest.approx(1)
    assert p_value_against(50, 54, 2, 79) == pytest.approx(p_value_against(50, 46, 2, 79))
    assert p_value_against(50, 54, 2, 10_000) == pytest.approx(0.0455, abs=2e-4)
    assert math.isnan(p_value_against(50, 60, 0, 79))
