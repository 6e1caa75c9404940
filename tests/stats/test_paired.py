"""Paired tests and intervals, against brute force, known answers and simulation."""

import itertools
import math

import numpy as np
import pytest
from stereoset_numbers import MAIN, STATISTICS, compare, draw, paired_sums

from lm_eval_stereoset.benchmarks.stereoset.metrics import Outcomes, icat
from lm_eval_stereoset.stats import paired

COMPARED = {name: STATISTICS[name] for name in MAIN}


def make(ss, lms) -> Outcomes:
    zeros = np.zeros(len(ss), dtype=int)
    return Outcomes(np.asarray(ss), np.asarray(lms), zeros, zeros)


def random_pair(rng, sizes, gap=0.0):
    """Two sides that share each target's difficulty; `gap` moves the second side's SS."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    level = rng.beta(12, 9, size=len(sizes))[clusters]
    sides = []
    for shift in (0.0, gap):
        ss = (rng.random(len(clusters)) < np.clip(level + shift, 0, 1)).astype(int)
        sides.append(make(ss, rng.binomial(2, 0.5 + 0.4 * level)))
    return *sides, clusters


def metrics_of(ss, lms):
    ss, lms = 100 * np.mean(ss), 100 * np.mean(lms) / 2
    return {"ss": ss, "lms": lms, "icat": float(icat(lms, ss))}


def brute_force_p(first, second, clusters):
    """SS and LMS: swaps example by example in plain Python, for every subset of clusters."""
    names = sorted(set(clusters.tolist()))
    one, two = metrics_of(first.ss, first.lms), metrics_of(second.ss, second.lms)
    counts = {"ss": 0, "lms": 0}
    for chosen in itertools.product((False, True), repeat=len(names)):
        swap = {name for name, swapped in zip(names, chosen, strict=True) if swapped}
        a = [(second if c in swap else first) for c in clusters.tolist()]
        b = [(first if c in swap else second) for c in clusters.tolist()]
        left = metrics_of([s.ss[i] for i, s in enumerate(a)], [s.lms[i] for i, s in enumerate(a)])
        right = metrics_of([s.ss[i] for i, s in enumerate(b)], [s.lms[i] for i, s in enumerate(b)])
        for m in counts:
            counts[m] += abs(left[m] - right[m]) >= abs(one[m] - two[m]) - 1e-9
    return {m: count / 2 ** len(names) for m, count in counts.items()}


def brute_force_icat_p(first, second, clusters):
    """ICAT: every pattern of signs, on contributions found by weighing one cluster a little more.

    For each pair of branches (is SS or 100 - SS the smaller one?) on its own: a difference is real if it is
    whichever branch the truth is on.
    """
    names = sorted(set(clusters.tolist()))

    def difference(weights, branches):
        values = []
        for side, branch in zip((first, second), branches, strict=True):
            ss, lms = 100 * np.average(side.ss, weights=weights), 50 * np.average(side.lms, weights=weights)
            values.append(lms * (ss if branch == "below" else 100 - ss) / 50)
        return values[0] - values[1]

    def one_sided(branches):
        observed, step, parts = difference(np.ones(len(clusters)), branches), 1e-6, []
        for name in names:
            up, down = np.ones(len(clusters)), np.ones(len(clusters))
            up[clusters == name] += step
            down[clusters == name] -= step
            slope = (difference(up, branches) - difference(down, branches)) / (2 * step)
            parts.append(slope + observed * np.mean(clusters == name))
        signs = itertools.product((-1, 1), repeat=len(names))
        p = np.mean([abs(np.dot(pattern, parts)) >= abs(observed) - 1e-6 for pattern in signs])
        return (p / 2, 1 - p / 2) if observed > 0 else (1 - p / 2, p / 2)

    sides = ("below", "above")
    larger = max(min(one_sided((one, two))[0] for two in sides) for one in sides)
    smaller = max(min(one_sided((one, two))[1] for one in sides) for two in sides)
    return min(1, 2 * larger, 2 * smaller)


@pytest.mark.parametrize("seed", range(6))
def test_permutation_test_equals_brute_force_enumeration(seed):
    rng = np.random.default_rng(seed)
    first, second, clusters = random_pair(rng, rng.integers(1, 9, size=8), gap=0.15 * (seed % 3))
    p = paired.permutation_p_values(paired_sums(first, second, clusters), COMPARED)
    expected = brute_force_p(first, second, clusters) | {"icat": brute_force_icat_p(first, second, clusters)}
    assert p == pytest.approx(expected, abs=1e-12)


def test_contributions_add_up_to_the_difference():
    sums = paired_sums(*random_pair(np.random.default_rng(4), [7] * 12, gap=-0.2))
    result = compare(*random_pair(np.random.default_rng(4), [7] * 12, gap=-0.2))
    for name in MAIN:
        total = paired.branch_contributions(sums, STATISTICS[name]).sum(axis=-1)
        assert total.shape == ((2, 2) if name == "icat" else (1, 1))
        assert total.max(axis=1).min() == pytest.approx(result[name].value)


def test_icat_test_keeps_its_level_for_models_on_opposite_sides_of_50():
    """Equal ICAT at SS 45 and 55: swapping the answers themselves would reject in 20 %."""
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(1500):
        index = np.repeat(np.arange(79), rng.integers(10, 60, size=79))
        level, lms = rng.normal(0, 0.08, 79), rng.beta(30, 8, 79)
        sides = [
            make((rng.random(len(index)) < (p + level)[index]).astype(int), rng.binomial(2, lms[index]))
            for p in (0.45, 0.55)
        ]
        sums = paired_sums(*sides, index)
        rejected += paired.permutation_p_values(sums, COMPARED, permutations=999)["icat"] < 0.05
    assert 0.035 < rejected / 1500 < 0.065


def test_random_permutations_approach_the_exact_p_value():
    rng = np.random.default_rng(5)
    sums = paired_sums(*random_pair(rng, rng.integers(3, 12, size=12), gap=0.1))
    exact = paired.permutation_p_values(sums, COMPARED)
    sampled = paired.permutation_p_values(sums, COMPARED, permutations=40_000, exact_up_to=0)
    for metric in MAIN:
        assert sampled[metric] == pytest.approx(exact[metric], abs=5 * math.sqrt(0.25 / 40_000))


def test_swapping_whole_targets_is_what_is_tested_not_single_examples():
    """Two targets, every sentence of one in favour of A: 2 clusters can never give p below 1/2."""
    first = make([1] * 60, [2] * 60)
    second = make([0] * 60, [2] * 60)
    clusters = np.repeat(["a", "b"], 30)
    assert compare(first, second, clusters)["ss"].p == 0.5


def test_identical_sides_differ_by_nothing():
    rng = np.random.default_rng(1)
    first, _, clusters = random_pair(rng, [5] * 20)
    for difference in compare(first, first, clusters).values():
        assert (difference.value, difference.low, difference.high, difference.p) == (0, 0, 0, 1)


def test_sign_is_first_minus_second_and_reversal_mirrors_everything():
    rng = np.random.default_rng(2)
    first, second, clusters = random_pair(rng, [8] * 30, gap=0.2)
    forth = compare(first, second, clusters)
    back = compare(second, first, clusters)
    assert forth["ss"].value == pytest.approx(100 * (first.ss.mean() - second.ss.mean()))
    for m in MAIN:
        assert back[m].value == pytest.approx(-forth[m].value)
        assert (back[m].low, back[m].high) == pytest.approx((-forth[m].high, -forth[m].low))
        assert back[m].p == pytest.approx(forth[m].p)


def test_one_target_gives_a_value_but_no_test():
    first, second = make([1, 1, 0], [2, 2, 2]), make([0, 1, 0], [2, 1, 2])
    result = compare(first, second, ["x"] * 3)["ss"]
    assert result.value == pytest.approx(100 / 3)
    assert math.isnan(result.p)
    assert math.isnan(result.low)


def test_unpaired_input_is_refused():
    with pytest.raises(ValueError, match="not paired"):
        compare(make([1], [2]), make([1, 0], [2, 2]), ["a"])


def test_holm_on_a_known_example():
    # Sorted: 0.01*4, 0.02*3, 0.03*2 (kept monotone: 0.06), 0.04*1 (0.06)
    assert paired.holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_holm_keeps_untested_comparisons_out_of_the_count():
    adjusted = paired.holm([0.01, float("nan"), 0.5])
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.5])
    assert math.isnan(adjusted[1])


def test_smallest_detectable_difference_is_found_in_four_of_five_simulations():
    """The promise of the number: a true difference of that size is significant with probability 0.8."""
    rng = np.random.default_rng(7)
    sizes = rng.integers(15, 35, size=79)
    pilot = [compare(*random_pair(rng, sizes))["ss"].smallest_detectable() for _ in range(40)]
    gap = float(np.mean(pilot)) / 100
    found = sum(compare(*random_pair(rng, sizes, gap))["ss"].p < 0.05 for _ in range(300))
    assert 0.73 < found / 300 < 0.87


def test_permutation_test_rejects_a_true_null_in_at_most_five_per_cent():
    """A little less than 5 %: with few sentences many swaps tie with the data, and ties count against it."""
    rng = np.random.default_rng(8)
    sizes = rng.integers(5, 30, size=40)
    pairs = (paired_sums(*random_pair(rng, sizes)) for _ in range(3000))
    p = [paired.permutation_p_values(pair, COMPARED, permutations=2999) for pair in pairs]
    for metric in MAIN:
        assert 0.03 < np.mean([one[metric] < 0.05 for one in p]) < 0.06


def test_corrected_interval_is_wider_and_centred():
    rng = np.random.default_rng(9)
    difference = compare(*random_pair(rng, [20] * 30, gap=0.05))["ss"]
    one, many = difference.corrected_interval(1), difference.corrected_interval(100)
    assert many[0] < one[0] < difference.value < one[1] < many[1]
    assert one == pytest.approx((difference.low, difference.high), abs=1.0)


def population(rng, clusters):
    """Target terms as in the data: of different sizes, each with its own level of bias."""
    sizes = rng.integers(10, 36, size=clusters)
    return sizes, rng.beta(14, 10, size=clusters), rng.beta(20, 5, size=clusters)


# 79 targets is the whole data; 24 about the size of one bias type.
@pytest.mark.parametrize("clusters", [79, 24])
def test_interval_holds_the_true_value_in_95_per_cent_of_simulations(clusters):
    rng = np.random.default_rng(clusters)
    truth = {"ss": 100 * 14 / 24, "lms": 100 * 20 / 25}
    truth["icat"] = float(icat(truth["lms"], truth["ss"]))
    runs, inside = 1500, dict.fromkeys(truth, 0)
    for _ in range(runs):
        sizes, ss, lms = population(rng, clusters)
        index = np.repeat(np.arange(clusters), sizes)
        results = make((rng.random(len(index)) < ss[index]).astype(int), rng.binomial(2, lms[index]))
        draws = draw(results, index, draws=600, seed=int(rng.integers(2**31)))
        for metric, value in truth.items():
            low, high = draws.interval(metric)
            inside[metric] += low <= value <= high
    coverage = {metric: count / runs for metric, count in inside.items()}
    assert all(0.93 <= share <= 0.97 for share in coverage.values()), coverage


def test_paired_interval_holds_the_true_difference_in_95_per_cent_of_simulations(monkeypatch):
    monkeypatch.setattr(paired, "permutation_p_values", lambda sums, names: dict.fromkeys(names, math.nan))
    rng = np.random.default_rng(3)
    runs, inside, gap = 1500, dict.fromkeys(("ss", "lms"), 0), 0.04
    for _ in range(runs):
        sizes, ss, lms = population(rng, 79)
        index = np.repeat(np.arange(79), sizes)
        common = 0.5 + (ss - 0.5) * 0.5  # away from 0 and 1, so that the gap is the same everywhere
        sides = [
            make((rng.random(len(index)) < common[index] + d).astype(int), rng.binomial(2, lms[index] * f))
            for d, f in ((gap, 0.95), (0.0, 1.0))
        ]
        result = compare(*sides, index)
        for metric, value in (("ss", 100 * gap), ("lms", -0.05 * 100 * 20 / 25)):
            inside[metric] += result[metric].low <= value <= result[metric].high
    coverage = {metric: count / runs for metric, count in inside.items()}
    assert all(0.93 <= share <= 0.97 for share in coverage.values()), coverage
