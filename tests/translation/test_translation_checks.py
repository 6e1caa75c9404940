"""Every failure mode is found in any language, and the published data have the counts that are known."""

from collections import Counter

import pytest
from stereoset_translation import chart, inputs, steps
from stereoset_translation.checks import KINDS, problems, problems_of
from stereoset_translation.columns import put, rebuilt
from stereoset_translation.folder import Folder
from translation_examples import english_examples, inter, intra

from lm_eval_stereoset.errors import UserError

ENGLISH = intra(1, "The old sailor from town was BLANK.", "sailor", ("calm", "wild", "lamp"))
GOOD = intra(1, "Il vecchio marinaio di città era BLANK.", "marinaio", ("calmo", "furioso", "lampada"))
ENGLISH_INTER = inter(
    1, "Our sailor lives here.", "sailor", ("He is calm.", "He is wild.", "Soup boils now.")
)
GOOD_INTER = inter(1, "Il marinaio vive qui.", "marinaio", ("È calmo.", "È furioso.", "La zuppa bolle."))


def test_good_translation_has_no_problem():
    assert problems(GOOD, ENGLISH) == []
    assert problems(GOOD_INTER, ENGLISH_INTER) == []


@pytest.mark.parametrize(
    ("column", "text", "kind"),
    [
        ("context", "Il vecchio marinaio di città era VUOTO.", "blank_missing"),
        ("context", "Il vecchio marinaio di città era Blank.", "blank_missing"),
        ("context", "Il BLANK marinaio di città era BLANK.", "blank_count"),
        ("context", "Il vecchio marinaio di città era BLANKato.", "blank_inflected"),
        ("context", 'Il vecchio marinaio BLANK"tı.', "blank_inflected"),
        ("context", "Il vecchio super-BLANK marinaio.", "blank_inflected"),
        ("context", "The old sailor from town was BLANK.", "left_in_english"),
        ("context", "Il vecchio nocchiere di città era BLANK.", "target_not_in_context"),
        ("context", "Il vecchio\u00a0marinaio di città era BLANK.", "no_break_space"),
        ("context", 'L"altro marinaio di città era BLANK.', "quote_as_apostrophe"),
        ("context", "Il marinaio BLANK" + " sì, sì" * 20, "much_longer"),
        ("target", "nocchiere", "target_not_in_context"),
        ("target", " ", "empty"),
        ("c1_word", "", "empty"),
        ("c1_word", "calmo.", "word_punctuation"),
        ("c1_word", "molto calmo", "several_words"),
        ("c1_word", "furioso", "identical_candidates"),
        ("c2_word", "BLANK", "blank_elsewhere"),
    ],
)
def test_failure_mode_is_found(column, text, kind):
    assert kind in KINDS
    assert kind in problems(rebuilt(put(GOOD, column, text)), ENGLISH)


@pytest.mark.parametrize("word", ["l'Aquila", "self-made", "aujourd’hui"])
def test_hyphen_or_apostrophe_within_a_word_is_no_punctuation(word):
    assert "word_punctuation" not in problems(put(GOOD, "c1_word", word), ENGLISH)


def test_inter_sentence_left_in_english_or_doubled_is_found():
    assert "left_in_english" in problems(put(GOOD_INTER, "c3_sentence", "Soup boils now."), ENGLISH_INTER)
    assert "identical_candidates" in problems(put(GOOD_INTER, "c1_sentence", "È furioso."), ENGLISH_INTER)


def test_two_blanks_are_right_where_english_has_two():
    english = put(ENGLISH, "context", "The BLANK sailor was BLANK.")
    assert problems(rebuilt(put(GOOD, "context", "Il BLANK marinaio era BLANK.")), english) == []


@pytest.mark.parametrize("column", ["context", "c2_word", "c3_sentence"])
def test_intra_sentence_that_is_not_its_context_and_word_is_found(column):
    text = {"context": "Il marinaio era BLANK.", "c2_word": "triste", "c3_sentence": "Il marinaio dorme."}
    assert problems(put(GOOD, column, text[column]), ENGLISH) == ["sentence_differs"]


@pytest.mark.parametrize(
    ("language", "missing", "identical", "no_break"),
    [("de", (5, 5), 0, 0), ("fr", (372, 333), 2, 36), ("es", (520, 496), 4, 0), ("tr", (425, 455), 12, 0)],
)
def test_counts_of_the_published_data(published, language, missing, identical, no_break):
    counts = {}
    for split in ("intra", "inter"):
        english = {example.id: example for example in published(split, "en")}
        found = problems_of(published(split, language), english)
        counts[split] = Counter(kind for kinds in found.values() for kind in kinds)
    assert (counts["intra"]["target_not_in_context"], counts["inter"]["target_not_in_context"]) == missing
    assert counts["intra"]["identical_candidates"] == identical
    assert counts["intra"]["no_break_space"] == no_break
    assert counts["intra"]["blank_missing"] == counts["intra"]["blank_count"] == counts["intra"]["empty"] == 0
    assert counts["intra"]["sentence_differs"] == counts["inter"]["sentence_differs"] == 0
    assert counts["intra"]["much_longer"] == counts["inter"]["much_longer"] == 0
    if language == "de":
        assert counts["intra"]["blank_inflected"] == 9


def test_contexts_that_were_never_translated_are_all_found(shared, published):
    english = {"intra": {example.id: example for example in published("intra", "en")}}
    raw = Folder(shared / "translation" / "raw_translations", "fr").read()["intra"]
    assert steps.count("raw", {"intra": raw}, english).kinds["intra"]["left_in_english"] == 2106


def no_english(*_):
    raise UserError("no data for intra/en, and fetching it failed")


def test_check_prints_both_tables_and_draws_the_chart(translate, shared, tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "load_english", no_english)
    raw = shared / "translation" / "raw_translations"
    translate("repair", "--language", "de", "--input", raw, "--output", tmp_path / "out")
    listing = tmp_path / "problems.json"
    code, out, err = translate(
        "check",
        "--language",
        "de",
        "--input",
        tmp_path / "out",
        "--json",
        listing,
    )
    assert code == 0
    assert "without the English text" in err
    rows = {line.split("  ")[0]: line.split()[-5:] for line in out.split("\n")}
    assert rows["the target does not occur in the context"] == [
        "562/535",
        "378/352",
        "57/49",
        "43/41",
        "43/41",
    ]
    assert rows["BLANK is missing in the context"] == ["14/0"] * 5
    assert rows["herself"] == ["23/21"] * 5
    assert rows["mover"][:2] == ["27/31", "0/0"]
    picture = tmp_path / "out" / "de.problems.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000
    assert listing.read_text(encoding="utf-8").count("blank_missing") == 14


def test_what_was_not_looked_for_without_english_is_no_zero(translate, english, tmp_path):
    raw = Folder(tmp_path / "it" / "raw", "it")
    raw.write(english_examples())  # a translation that left everything in English
    options = ("--to", "it", "--dir", tmp_path / "it")
    assert translate("repair", *options)[0] == 0  # no English data on this computer
    code, out, _ = translate("check", *options, "--data", english)
    assert code == 0
    (row,) = [line for line in out.splitlines() if line.startswith("a sentence is still English")]
    assert row.split()[-5:] == ["-/-"] * 4 + ["16/16"]
    assert "- not looked for: the English text was not there" in out
    assert translate("repair", *options, "--data", english)[0] == 0
    code, out, _ = translate("check", *options, "--data", english)
    (row,) = [line for line in out.splitlines() if line.startswith("a sentence is still English")]
    assert row.split()[-5:] == ["16/16"] * 5
    assert "not looked for" not in out


def test_bars_of_the_chart_are_the_counts(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    made = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: made.append(self))
    counted = [
        steps.StepCounts("raw", {"intra": 9, "inter": 9}, {}, {"intra": {"a": 3, "b": 1}, "inter": {"a": 2}}),
        steps.StepCounts("end", {"intra": 9, "inter": 9}, {}, {"intra": {"b": 1}, "inter": {}}),
    ]
    chart.draw(counted, "it", tmp_path / "x.png")
    per_step, intra_terms, inter_terms = made[0].axes
    assert [bar.get_height() for bar in per_step.patches] == [4, 1, 2, 0]
    assert [bar.get_width() for bar in intra_terms.patches] == [3, 1, 0, 1]
    assert [label.get_text() for label in intra_terms.get_yticklabels()] == ["a", "b"]
    assert [bar.get_width() for bar in inter_terms.patches] == [2, 0]
