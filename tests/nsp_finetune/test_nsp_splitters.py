"""Texts into sentences by the splitter that was asked for, which statistics and card name."""

import json

import pytest

from lm_eval_stereoset.errors import UserError
from nsp_finetune import splitters
from nsp_finetune.cli import main
from nsp_finetune.corpus import resolve
from nsp_finetune.data import load_pairs
from nsp_finetune.prepare import PrepareSettings, prepare

ITALIAN = "Il dott. Rossi arrivò alle 8.30. Disse: «Buongiorno!» Poi se ne andò."


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four… Five", ["One. ", "Two! ", "Three? ", "Four… ", "Five"]),
        ("He said “no.” She left.", ["He said “no.” ", "She left."]),
        ("At 8.30 it rained.", ["At 8.30 it rained."]),
        ("今天很好。我们去公园吧！」好吗？", ["今天很好。", "我们去公园吧！」", "好吗？"]),
        ("ما هذا؟ هذا كتاب.", ["ما هذا؟ ", "هذا كتاب."]),
        ("Dr. Rossi came.", ["Dr. ", "Rossi came."]),  # it knows no abbreviations
    ],
)
def test_rules_split_at_end_marks(text, sentences):
    assert splitters.load("xx", "rules")(text) == sentences


def test_rules_do_not_get_stuck_on_hostile_lines():
    assert len("".join(splitters.by_rules("." * 200_000 + "x"))) == 200_001
    assert len("".join(splitters.by_rules("“”)" * 50_000 + ". x"))) == 150_003


def test_sentencex_knows_the_abbreviations_of_a_language():
    pytest.importorskip("sentencex")
    found = [one.strip() for one in splitters.load("it", "sentencex")(ITALIAN)]
    assert found == ["Il dott. Rossi arrivò alle 8.30.", "Disse: «Buongiorno!»", "Poi se ne andò."]
    assert splitters.describe("it", "sentencex").startswith("sentencex 1.")


def test_punkt_of_a_similar_language_can_be_borrowed(punkt):
    assert splitters.load("gl", "punkt:spanish")("Chegou o Sr. García. Marchou.") == [
        *("Chegou o Sr. García.", "Marchou."),
    ]
    assert splitters.describe("gl", "punkt:spanish").endswith("punkt, spanish")


def test_each_language_may_have_its_own():
    found = splitters.chosen(["rules", "de=punkt"], ["de", "hu", "zh"])
    assert found == {"de": "punkt", "hu": "rules", "zh": "rules"}
    assert splitters.not_default(found) == {"hu": "rules", "zh": "rules"}
    assert splitters.chosen([], ["it"]) == {"it": "punkt"}


@pytest.mark.parametrize(
    ("given", "language", "said"),
    [
        ([], "hu", "'hu': NLTK's punkt cannot split it .* --splitter sentencex"),
        (
            ["spacy"],
            "de",
            "--splitter spacy is not known; choose one of punkt, punkt:NAME, sentencex, rules",
        ),
        (["punkt:klingon"], "de", "punkt has no 'klingon', only czech"),
        (["rules", "punkt"], "de", "give one for all languages, or LANGUAGE=NAME"),
        (["fr=rules"], "de", "fr is not among the languages"),
    ],
)
def test_what_cannot_be_split_is_one_line(given, language, said):
    with pytest.raises(UserError, match=said):
        splitters.chosen(given, [language])


def corpus(path):
    lines = [
        json.dumps({"id": i, "text": " ".join(f"Articolo {i} frase {k}." for k in range(3))})
        for i in range(60)
    ]
    path.write_text("\n".join(lines))
    return path


def test_the_command_says_what_has_split(tmp_path, capsys):
    file = corpus(tmp_path / "hu.jsonl")
    typed = ["prepare", "--corpus", f"hu={file}", "--output", str(tmp_path / "out"), "--held-out", "0.1"]
    with pytest.raises(UserError, match="--splitter sentencex"):
        main([*typed, "--workers", "1"])
    main([*typed, "--workers", "1", "--splitter", "rules"])
    statistics = json.loads((tmp_path / "out" / "statistics.json").read_text())
    assert statistics["languages"]["hu"]["splitter"] == "rules (end marks)"
    assert statistics["languages"]["hu"]["sentences"] == 180
    with pytest.raises(UserError, match="made from other inputs or settings"):
        main([*typed, "--workers", "1", "--splitter", "sentencex"])
    first = load_pairs(tmp_path / "out", "train")[0]
    assert first["language"] == "hu"
    assert first["first"].count(".") == 1


def test_pairs_of_earlier_versions_are_still_taken(tmp_path, punkt):
    """They did not say what had split them: it was always punkt of their language."""
    sources = tuple(resolve([f"en={corpus(tmp_path / 'en.jsonl')}"], []))
    with_default = PrepareSettings(
        sources, tmp_path / "out", held_out=0.1, workers=1, splitters={"en": "punkt"}
    )
    assert "splitters" not in with_default.inputs()
    prepare(with_default)
    _, reused = prepare(PrepareSettings(sources, tmp_path / "out", held_out=0.1, workers=1))
    assert reused
