import math

import numpy as np
import pytest
from stereoset_numbers import columns, summarise

from lm_eval_stereoset.benchmarks.stereoset.metrics import METRICS, complaint, icat, outcomes


def test_stereotype_must_be_strictly_preferred():
    result = outcomes(np.array([[0.2, 0.1, 0.0], [0.1, 0.2, 0.0]]))
    assert result.ss.tolist() == [1, 0]


def test_tie_counts_as_anti_stereotype_and_is_counted():
    result = outcomes(np.array([[0.3, 0.3, 0.1]]))
    assert (result.ss[0], result.tie[0], result.tie_unrelated[0]) == (0, 1, 0)


def test_tie_with_unrelated_does_not_count_as_meaningful():
    result = outcomes(np.array([[0.3, 0.1, 0.3]]))
    assert (result.lms[0], result.tie_unrelated[0]) == (0, 1)


@pytest.mark.parametrize(
    ("scores", "lms"), [([3, 2, 1], 2), ([3, 1, 2], 1), ([1, 3, 2], 1), ([1, 2, 3], 0), ([1, 1, 1], 0)]
)
def test_lms_counts_how_many_of_the_two_beat_the_unrelated(scores, lms):
    assert outcomes(np.array([scores])).lms[0] == lms


def test_a_monotone_change_of_the_scores_changes_nothing():
    scores = np.random.default_rng(0).random((50, 3))
    classes = ["a", "b"] * 25
    assert summarise(outcomes(scores), classes) == summarise(outcomes(np.log(scores) * 7), classes)


@pytest.mark.parametrize(
    ("lms", "ss", "expected"), [(100, 50, 100), (100, 0, 0), (100, 100, 0), (80, 60, 64), (80, 40, 64)]
)
def test_icat_is_lms_discounted_by_the_distance_of_ss_from_50(lms, ss, expected):
    assert icat(lms, ss) == pytest.approx(expected)


def test_swapping_stereotype_and_anti_stereotype_mirrors_ss_and_keeps_icat():
    scores = np.random.default_rng(1).random((40, 3))
    a = summarise(outcomes(scores), ["x"] * 40)
    b = summarise(outcomes(scores[:, [1, 0, 2]]), ["x"] * 40)
    assert (a["ss"] + b["ss"], a["lms"], a["icat"]) == pytest.approx((100, b["lms"], b["icat"]))


def test_multi_class_scores_weigh_classes_equally():
    # Class a: three examples, all stereotypical and meaningful; class b: one, neither.
    scores = np.array([[3, 2, 1]] * 3 + [[1, 2, 3]], dtype=float)
    values = summarise(outcomes(scores), ["a", "a", "a", "b"])
    assert (values["ss"], values["lms"], values["icat"]) == (75, 75, 75 * 25 / 50)
    assert (values["mc_ss"], values["mc_lms"]) == (50, 50)
    assert values["icat_macro"] == 0  # each class on its own is fully biased or meaningless
    assert values["icat_micro"] == 50


def test_no_examples_is_nan_never_50():
    values = summarise(outcomes(np.empty((0, 3))), [])
    assert values["n"] == 0
    assert all(math.isnan(values[metric.name]) for metric in METRICS)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_finite_number_is_an_error(bad):
    with pytest.raises(ValueError, match="example 1"):
        outcomes(np.array([[1, 2, 3], [1, bad, 3]]))


@pytest.mark.parametrize(
    ("ties", "others", "expected"), [(6, 4, True), (5, 5, False), (9, 0, False), (10, 0, True)]
)
def test_mostly_ties_means_more_than_half_of_at_least_ten(ties, others, expected):
    results = outcomes(np.array([[1, 1, 1]] * ties + [[3, 2, 1]] * others))
    assert (complaint(columns(results)) is not None) == expected
