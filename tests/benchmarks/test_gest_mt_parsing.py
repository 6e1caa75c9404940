"""Verdicts from dependency parses. A stand-in gives the parses that stanza would: no model can be downloaded here."""

import builtins
from types import SimpleNamespace

import pytest

from lm_eval_stereoset.benchmarks.gest.mt import parsing
from lm_eval_stereoset.benchmarks.gest.mt.parsing import BATCH, ByParser, load_stanza
from lm_eval_stereoset.errors import UserError

VERB = "VerbForm=Part|Number=Sing|Gender="
# text: (form, part of speech, features, head, relation) of each word, as CoNLL-U has them
PARSES = {
    "Nemohla jsem spát.": [
        ("Nemohla", "VERB", VERB + "Fem", 0, "root"),
        ("jsem", "AUX", "Person=1|Number=Sing", 1, "aux"),
        ("spát", "VERB", "VerbForm=Inf", 1, "xcomp"),
    ],
    "Byłem zmęczony.": [  # stanza takes byłem apart: był + em
        ("był", "AUX", VERB + "Masc", 3, "cop"),
        ("em", "AUX", "Person=1|Number=Sing", 3, "aux:clitic"),
        ("zmęczony", "ADJ", "Gender=Masc|Number=Sing", 0, "root"),
    ],
    "Я устала и легла.": [
        ("Я", "PRON", "Case=Nom|Person=1|Number=Sing", 2, "nsubj"),
        ("устала", "VERB", "Tense=Past|Number=Sing|Gender=Fem", 0, "root"),
        ("и", "CCONJ", None, 4, "cc"),
        ("легла", "VERB", "Tense=Past|Number=Sing|Gender=Fem", 2, "conj"),
    ],
    "Я пришёл, а сестра ушла.": [
        ("Я", "PRON", "Case=Nom|Person=1|Number=Sing", 2, "nsubj"),
        ("пришёл", "VERB", "Tense=Past|Number=Sing|Gender=Masc", 0, "root"),
        ("а", "CCONJ", None, 5, "cc"),
        ("сестра", "NOUN", "Case=Nom|Gender=Fem|Number=Sing", 5, "nsubj"),
        ("ушла", "VERB", "Tense=Past|Number=Sing|Gender=Fem", 2, "conj"),
    ],
    "On był zmęczony.": [
        ("On", "PRON", "Person=3|Number=Sing|Gender=Masc", 3, "nsubj"),
        ("był", "AUX", VERB + "Masc", 3, "cop"),
        ("zmęczony", "ADJ", "Gender=Masc|Number=Sing", 0, "root"),
    ],
    "Cítím se silná.": [
        ("Cítím", "VERB", "Person=1|Number=Sing|VerbForm=Fin", 0, "root"),
        ("se", "PRON", "Case=Acc", 1, "expl:pv"),
        ("silná", "ADJ", "Gender=Fem|Number=Sing", 1, "xcomp"),
    ],
    "Jsme unavení.": [
        ("Jsme", "AUX", "Person=1|Number=Plur", 2, "cop"),
        ("unavení", "ADJ", "Gender=Masc|Number=Plur", 0, "root"),
    ],
    "kruh": [  # heads in a circle: the parser's mistake must not hang us
        ("byl", "VERB", VERB + "Masc", 2, "conj"),
        ("šel", "VERB", VERB + "Masc", 1, "conj"),
    ],
}  # fmt: skip


class StandIn:
    """Has what is used of a stanza pipeline."""

    def __init__(self):
        self.asked: list[str] = []

    def bulk_process(self, texts: list[str]) -> list[SimpleNamespace]:
        self.asked += texts
        return [self.document(PARSES.get(text, [])) for text in texts]

    @staticmethod
    def document(parse) -> SimpleNamespace:
        words = [
            SimpleNamespace(id=i, text=form, upos=upos, feats=feats, head=head, deprel=relation)
            for i, (form, upos, feats, head, relation) in enumerate(parse, 1)
        ]
        return SimpleNamespace(sentences=[SimpleNamespace(words=words)])


@pytest.mark.parametrize(
    ("sentence", "gender", "words"),
    [
        ("Nemohla jsem spát.", "feminine", ["nemohla"]),
        ("Byłem zmęczony.", "masculine", ["był", "zmęczony"]),
        ("Я устала и легла.", "feminine", ["устала", "легла"]),
        ("Я пришёл, а сестра ушла.", "masculine", ["пришёл"]),
        ("On był zmęczony.", "undecided", []),
        ("Cítím se silná.", "feminine", ["silná"]),
        ("Jsme unavení.", "undecided", []),
        ("kruh", "undecided", []),
    ],
)
def test_what_a_parse_says_about_the_speaker(sentence, gender, words):
    (verdict,) = ByParser(StandIn()).decide([sentence])
    assert (verdict.gender, [e.word for e in verdict.evidence]) == (gender, words)
    assert verdict.sentence == sentence


def test_every_verdict_has_a_reason():
    (verdict,) = ByParser(StandIn()).decide(["Я устала и легла."])
    assert verdict.explanation() == (
        "устала is feminine (the subject is I); легла is feminine (goes on from a word about the speaker)"
    )


def test_the_order_of_batches_is_that_of_the_sentences():
    sentences = ["Nemohla jsem spát.", "Byłem zmęczony.", "Jsme unavení."] * BATCH
    genders = [verdict.gender for verdict in ByParser(StandIn()).decide(sentences)]
    assert genders == ["feminine", "masculine", "undecided"] * BATCH


def test_the_parser_sees_no_quotes_and_one_script():
    parser = StandIn()
    ByParser(parser, {"љ": "lj", "у": "u", "д": "d", "и": "i"}).decide(["Људи: „Била сам“ и"])
    assert parser.asked == ["Ljudi: ,, i"]


def test_without_the_package_the_pip_command_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "stanza":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        UserError, match="--parser stanza needs the package stanza; install it with: pip install stanza"
    ):
        load_stanza("sk", {})


def test_without_models_the_download_command_is_named(monkeypatch):
    import sys

    asked = {}

    def pipeline(code, **settings):
        asked.update(settings, code=code)
        raise FileNotFoundError("Resources file not found")  # stanza's error derives from it

    fake = SimpleNamespace(Pipeline=pipeline, __version__="1.15.0")
    monkeypatch.setitem(sys.modules, "stanza", fake)
    with pytest.raises(UserError, match=r"models of 'sk' are not here; .*stanza.download\('sk'"):
        load_stanza("sk", {})
    assert asked["processors"] == parsing.PROCESSORS
    assert asked["download_method"] is None
