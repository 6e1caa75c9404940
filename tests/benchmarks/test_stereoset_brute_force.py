"""All numbers against a plain Python reading of the paper's formulas, on random and on degenerate data."""

import math
import random

import numpy as np
import pytest
from stereoset_numbers import compare

from lm_eval_stereoset.benchmarks.evaluation import Scored, evaluate
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import BIAS_TYPES, LABELS, Candidate, Example
from lm_eval_stereoset.benchmarks.stereoset.metrics import outcomes

KINDS = {
    "ties often": lambda rng: [float(rng.randint(0, 2)) for _ in range(3)],
    "continuous": lambda rng: [rng.gauss(0, 1) for _ in range(3)],
    "ties only": lambda rng: [1.0, 1.0, 1.0],
    "LMS 0": lambda rng: [0.0, -1.0, 5.0],
    "SS 100": lambda rng: [2.0, 1.0, 0.0],
}


def icat(lms, ss):
    return lms * min(ss, 100 - ss) / 50


def plain(rows):
    """{metric: value} of (x_stereotype, x_anti, x_unrelated, target) rows."""
    classes = {}
    for s, a, u, target in rows:
        classes.setdefault(target, []).append((s > a, (s > u) + (a > u)))

    def ss_and_lms(examples):
        n = len(examples)
        return 100 * sum(ss for ss, _ in examples) / n, 100 * sum(lms for _, lms in examples) / n / 2

    ss, lms = ss_and_lms([example for examples in classes.values() for example in examples])
    by_class = [ss_and_lms(examples) for examples in classes.values()]
    mc_ss, mc_lms = (sum(values) / len(by_class) for values in zip(*by_class, strict=True))
    return {
        "n": len(rows), "ss": ss, "lms": lms, "icat": icat(lms, ss), "mc_ss": mc_ss, "mc_lms": mc_lms,
        "icat_macro": sum(icat(lms, ss) for ss, lms in by_class) / len(by_class), "icat_micro": icat(mc_lms, mc_ss),
        "ties": 100 * sum(s == a for s, a, _, _ in rows) / len(rows),
        "ties_unrelated": 100 * sum(u in (s, a) for s, a, u, _ in rows) / len(rows),
    }  # fmt: skip


def made_up(rng, split, n, targets, score):
    examples, rows = [], []
    for i in range(n):
        target = rng.choice("abcdefgh"[:targets])
        bias_type = BIAS_TYPES["abcdefgh".index(target) % 4]
        candidates = [Candidate(f"{i}{label}", label, "x", "x") for label in rng.sample(LABELS, 3)]
        examples.append(Example(f"{split}{i}", target, target, bias_type, "BLANK", tuple(candidates)))
        rows.append((*score(rng), target, bias_type))
    return Scored(STEREOSET, examples, np.array([row[:3] for row in rows])), rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sizes", "targets"), [((1, 1), 1), ((5, 3), 1), ((2, 1), 2), ((30, 20), 8)])
def test_every_cell_is_what_the_formulas_say(kind, sizes, targets):
    rng = random.Random(f"{kind} {sizes}")
    for _ in range(5):
        (intra, intra_rows), (inter, inter_rows) = (
            made_up(rng, split, n, targets, KINDS[kind])
            for split, n in zip(("intra", "inter"), sizes, strict=True)
        )
        table = evaluate({"intra": intra, "inter": inter})
        for split, rows in (
            ("intra", intra_rows),
            ("inter", inter_rows),
            ("overall", intra_rows + inter_rows),
        ):
            for group, values in table[split].items():
                check(values, [row[:4] for row in rows if group in ("overall", row[4])])


def check(values, rows):
    if not rows:
        assert values["n"] == 0
        assert all(math.isnan(value) for name, value in values.items() if name != "n")
        return
    for metric, expected in plain(rows).items():
        assert values[metric] == pytest.approx(expected, abs=1e-9), metric
    for metric in ("ss", "lms", "icat", "mc_ss", "mc_lms", "icat_macro", "icat_micro"):
        low, high, error = (values[f"{metric}_{end}"] for end in ("low", "high", "stderr"))
        if len({row[3] for row in rows}) < 2:
            assert all(map(math.isnan, (low, high, error)))
        else:
            assert 0 <= low <= high <= 100 + 1e-9
            assert error >= 0
    assert values["icat_low"] <= values["icat"] + 1e-9 or len({row[3] for row in rows}) < 2


def test_differences_are_those_of_the_metrics():
    rng = random.Random(4)
    for _ in range(60):
        n = rng.choice([2, 5, 40])
        targets = [rng.choice("abcde") for _ in range(n)]
        sides = [[KINDS["ties often"](rng) for _ in range(n)] for _ in range(2)]
        found = compare(*(outcomes(np.array(side)) for side in sides), targets)
        first, second = (plain([(*x, t) for x, t in zip(side, targets, strict=True)]) for side in sides)
        for metric, difference in found.items():
            assert difference.value == pytest.approx(first[metric] - second[metric], abs=1e-9)
            assert math.isnan(difference.p) == (len(set(targets)) < 2)
        icat_difference = found["icat"]
        if len(set(targets)) > 1:
            assert icat_difference.low - 1e-9 <= icat_difference.value <= icat_difference.high + 1e-9
