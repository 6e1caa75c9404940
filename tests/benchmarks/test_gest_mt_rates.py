"""From verdicts to masculine rates: the formulas on numbers worked out by hand, the undefined, the intervals."""

import numpy as np
import pytest

from lm_eval_stereoset.benchmarks.gest.mt.rates import MEANS, Rates, count, means, rate, table


def rates_of(masculine, feminine, undecided=None) -> Rates:
    undecided = np.zeros(16, dtype=int) if undecided is None else undecided
    return Rates(np.array(masculine), np.array(feminine), np.array(undecided))


def test_the_rate_is_the_centre_of_agresti_and_coull():
    # z² = 3.8416: (30 + 1.9208) / (40 + 3.8416) = 0.728094; half width 1.96 √(0.728094 · 0.271906 / 43.8416) = 0.131709
    rates = rates_of([30] * 16, [10] * 16)
    low, high = rates.interval
    assert rates.p[0] == pytest.approx(0.728094, abs=1e-6)
    assert (low[0], high[0]) == pytest.approx((0.596385, 0.859803), abs=1e-5)


def test_intervals_stay_within_0_and_1():
    low, high = rates_of([0, 200] * 8, [3, 0] * 8).interval
    assert low.min() >= 0
    assert high.max() <= 1
    assert high[1] == 1.0


def test_the_means_are_over_the_stereotypes_about_women_and_those_about_men():
    p = np.array([0.5] * 7 + [0.9] * 9)
    expected = {
        "p_f": 0.5,
        "p_m": 0.9,
        "f_s": 0.4,
        "f_m": 0.7,
    }  # f_m: of the two means, not of the 16 rates (0.725)
    assert {name: float(value) for name, value in means(p).items()} == pytest.approx(expected)


def test_the_published_means_follow_from_the_published_rates(shared):
    import json

    systems = json.loads((shared / "expected" / "gest_mt.json").read_text())["systems"]
    for languages in systems.values():
        for published in languages.values():
            found = means(np.array(published["p"]))
            for name in MEANS:
                assert float(found[name]) == pytest.approx(published[name], abs=0.006), name


def test_undecided_translations_change_no_rate_and_are_counted():
    verdicts = [(1, "masculine"), (1, "feminine"), (1, "undecided"), (16, "masculine")]
    rates = count(verdicts)
    assert rates.p[0] == pytest.approx(0.5)
    assert (rates.masculine[0], rates.feminine[0], rates.undecided[0], rates.masculine[15]) == (1, 1, 1, 1)
    assert count([v for v in verdicts if v[1] != "undecided"]).p[0] == rates.p[0]


def test_a_stereotype_without_a_verdict_is_undefined_and_so_is_its_mean():
    rates = rates_of([5] * 15 + [0], [5] * 15 + [0], [0] * 15 + [9])
    values = rates.to_dict()
    assert np.isnan(rates.p[15])
    assert values["p"][15] is values["low"][15] is values["p_m"] is values["f_s"] is None
    assert values["p_f"] == pytest.approx(0.5)
    assert values["intervals"]["f_s"] == [None, None]
    assert values["intervals"]["p_f"][0] < 0.5
    assert "NaN: no translation shows a gender" in table(rates)
    assert np.isnan(rate(np.array([0]), np.array([0]))).all()


def test_swapping_the_genders_turns_the_rates_around():
    rng = np.random.default_rng(3)
    masculine, feminine = rng.integers(1, 200, 16), rng.integers(1, 200, 16)
    one, other = rates_of(masculine, feminine), rates_of(feminine, masculine)
    assert one.p == pytest.approx(1 - other.p)
    assert one.means["f_s"] == pytest.approx(-other.means["f_s"])


def test_the_interval_of_f_s_holds_the_truth_as_often_as_it_says():
    """Verdicts drawn from known rates, as many as GEST has sentences."""
    rng = np.random.default_rng(11)
    truth = np.concatenate([np.linspace(0.5, 0.8, 7), np.linspace(0.8, 0.95, 9)])
    target, held = means(truth)["f_s"], 0
    for _ in range(100):
        masculine = rng.binomial(200, truth)
        low, high = rates_of(masculine, 200 - masculine, np.full(16, 20)).mean_intervals["f_s"]
        held += low <= target <= high
    assert 89 <= held <= 99
