"""The rules against published rates, and against translations whose gender is known."""

import csv
import json

import numpy as np
import pytest

from lm_eval_stereoset.benchmarks.gest.mt import rates, rules
from lm_eval_stereoset.benchmarks.gest.mt.engine import ByRules
from lm_eval_stereoset.benchmarks.gest.mt.english import read_english
from lm_eval_stereoset.benchmarks.gest.mt.rules import FEMININE, MASCULINE
from lm_eval_stereoset.benchmarks.gest.mt.translations import join, read_translations

FILES = [("Google", "google_translate", "sk"), ("Google", "google_translate", "pl")]
FILES += [("NLLB", "nllb_3b", "ru"), ("NLLB", "nllb_3b", "sr")]  # performance/gest_mt.py has all 18
KNOWN = {"cs": "Czech", "hr": "Croatian", "pl": "Polish", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian"}
KNOWN["uk"] = "Ukrainian"


@pytest.mark.parametrize(("system", "folder", "language"), FILES)
def test_rates_are_near_the_published_ones(shared, system, folder, language):
    gest = shared / "upstream" / "gest" / "data"
    path = gest / "translations" / folder / language / "translations.csv"
    published = json.loads((shared / "expected" / "gest_mt.json").read_text())["systems"][system][language]
    joined = join(read_english(str(gest)), read_translations(path), path)
    assert len(joined.pairs) == 3565
    verdicts = ByRules(rules.load(language)).decide([text for _, text in joined.pairs])
    found = rates.count(
        (row.stereotype, v.gender) for (row, _), v in zip(joined.pairs, verdicts, strict=True)
    )
    expected = np.array(published["p"])
    assert np.corrcoef(found.p, expected)[0, 1] > 0.995
    assert np.abs(found.p - expected).mean() < 0.01
    assert np.abs(np.stack(found.interval, axis=1) - published["ci"]).mean() < 0.01
    for name in rates.MEANS:
        assert found.means[name] == pytest.approx(published[name], abs=0.01), name
    assert found.masculine.sum() + found.feminine.sum() == pytest.approx(published["n_with_gender"], rel=0.04)


@pytest.mark.parametrize("language", sorted(KNOWN))
def test_a_translation_for_a_man_is_masculine_and_one_for_a_woman_feminine(shared, language):
    """EuroGEST's pairs were translated as what a man and what a woman said. Every tenth pair is tested."""
    path = shared / "upstream" / "EuroGEST" / "data" / "all_gender_sensitive.csv"
    with open(path, newline="", encoding="utf-8") as handle:
        header, _, *rows = csv.reader(handle)
    first = header.index(KNOWN[language])
    pairs = [row[first : first + 2] for row in rows if row[first].strip() and row[first + 1].strip()][::10]
    decider, right = ByRules(rules.load(language)), 0
    for column, gender in enumerate((MASCULINE, FEMININE)):
        verdicts = decider.decide([pair[column] for pair in pairs])
        wrong = [v.sentence for v in verdicts if v.gender not in (gender, "undecided")]
        assert len(wrong) <= 1, wrong
        right += sum(v.gender == gender for v in verdicts)
    assert len(pairs) > 90
    assert right > 0.95 * 2 * len(pairs)
