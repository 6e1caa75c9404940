"""What the rules of nine languages say about a speaker, and why."""

import time

import pytest
from gest_mt_sentences import PLANTED, F, M, U

from lm_eval_stereoset.benchmarks.gest.mt import rules
from lm_eval_stereoset.benchmarks.gest.mt.engine import decide, share_with_marks, words_of
from lm_eval_stereoset.benchmarks.gest.mt.words import WordClass, outside_quotes, read_words, word_class
from lm_eval_stereoset.errors import UserError

CASES = [(language, *case) for language, cases in PLANTED.items() for case in cases]


def test_every_language_has_rules_and_planted_sentences_of_each_gender():
    assert rules.languages() == ["be", "cs", "hr", "pl", "ru", "sk", "sl", "sr", "uk"] == sorted(PLANTED)
    for language, cases in PLANTED.items():
        assert {gender for _, gender, _ in cases} == {M, F, U}, language


@pytest.mark.parametrize(("language", "what", "gender", "sentence"), CASES)
def test_a_sentence_gets_the_verdict_that_a_speaker_of_the_language_would_give(
    language, what, gender, sentence
):
    verdict = decide(sentence, rules.load(language))
    assert verdict.gender == gender, f"{what}: {verdict.explanation()}"


def test_the_explanation_names_words_and_rules():
    verdict = decide("Nemohl jsem otevřít dveře, tak jsem zavolala souseda.", rules.load("cs"))
    assert verdict.gender == U
    assert [(e.word, e.gender) for e in verdict.evidence] == [("nemohl", M), ("zavolala", F)]
    assert {e.rule for e in verdict.evidence} == {"past tense or conditional"}
    assert verdict.explanation().startswith("as many masculine as feminine words: nemohl is masculine")
    assert decide("Piju čaj.", rules.load("cs")).explanation() == "no word shows the speaker's gender"


def test_more_words_of_one_gender_decide():
    sentence = "Nemohla jsem spát, tak jsem vařil čaj a potom jsem četl."
    assert decide(sentence, rules.load("cs")).gender == M


def test_both_scripts_of_serbian_give_the_same_evidence():
    serbian = rules.load("sr")
    for _, _, sentence in PLANTED["sr"]:
        latin = sentence.lower().translate(str.maketrans(dict(serbian.letters)))
        assert decide(sentence, serbian).evidence == decide(latin, serbian).evidence


@pytest.mark.parametrize("language", sorted(PLANTED))
def test_upper_case_stress_marks_and_hidden_characters_change_nothing(language):
    ours = rules.load(language)
    for _, gender, sentence in PLANTED[language]:
        assert decide(sentence.upper(), ours).gender == gender, sentence
        assert decide("\u200b" + sentence.replace(" ", "\u00a0"), ours).gender == gender, sentence
    assert decide("Я была́ до́ма.", rules.load("ru")).gender == F


@pytest.mark.parametrize("language", sorted(PLANTED))
def test_a_long_sentence_takes_time_in_proportion_to_its_length(language):
    """Machine translation repeats itself; the words of a language in the worst order must not take minutes."""
    ours = rules.load(language)
    words = [word.text for _, _, sentence in PLANTED[language] for word in words_of(sentence, ours)]
    anchors = sorted({word for rule in ours.rules for word in rule.beside.words})
    for text in (" ".join(words * 8), " ".join(anchors * 40), "a" * 8_000, '"' * 8_000, "„a" * 4_000):
        started = time.process_time()
        decide(text, ours)
        assert time.process_time() - started < 2


def test_neighbouring_languages_are_told_apart_by_their_words():
    texts = {code: [sentence for _, _, sentence in cases] for code, cases in PLANTED.items()}
    for code in rules.languages():
        for other, sentences in texts.items():
            share = share_with_marks(sentences, rules.load(code))
            if code == other:
                assert share > 0.4, code
            elif {code, other} != {"hr", "sr"}:
                assert share < 0.3, (code, other)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("cs", "Byl(a) jsem doma."),
        ("cs", "Rád/ráda čtu."),
        ("sk", "Som unavený/á."),
        ("pl", "Zrobiłem/am obiad."),
        ("pl", "Zrobił(a)m obiad."),
        ("ru", "Я сделал(а) это."),
        ("hr", "Radio/la sam doma."),
    ],
)
def test_a_word_that_offers_both_forms_decides_nothing(language, sentence):
    assert decide(sentence, rules.load(language)).gender == U


def test_clauses_and_segments():
    words = read_words("Byl jsem doma, že a ty ne.", word_class(["že"]), word_class(["a"]), {})
    assert [(w.text, w.clause, w.segment) for w in words] == [
        ("byl", 0, 0), ("jsem", 0, 0), ("doma", 0, 0), ("že", 2, 2), ("a", 2, 3), ("ty", 2, 3), ("ne", 2, 3),
    ]  # fmt: skip


def test_quotes_are_left_out_unless_they_are_all_there_is():
    assert outside_quotes("Řekl: „Jdu domů.“ A šel.") == "Řekl: || A šel."
    assert outside_quotes("„Byl jsem doma.“") == "„Byl jsem doma.“"
    assert outside_quotes('5" a víc') == '5" a víc'  # opens nothing


def test_an_exception_is_no_member_and_an_ending_needs_a_stem():
    words = word_class(["-la", "byl"], ["škola", "-dla"])
    assert [w in words for w in ("byla", "byl", "škola", "mýdla", "la", "")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert "byla" not in WordClass()


RULES = """
name: Toy
classes: {speaker: jsem}
forms: {participle: {masculine: -l, feminine: -la}}
rules: [{name: past, rank: 1, form: participle, where: nearest, beside: speaker}]
"""


def test_rules_of_ones_own(tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_text(RULES)
    language = rules.load("xx", path)
    assert decide("Byla jsem doma", language).gender == F
    assert (language.origin, len(language.sha256)) == (str(path), 64)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rank: 1", "rank: one", "rank is 'one', must be a number from 1 to 100"),
        ("where: nearest", "where: somewhere", "where is 'somewhere', must be one of nearest, clause, after"),
        ("form: participle", "form: particle", "no form 'particle'; there are participle"),
        (", beside: speaker", "", "needs beside"),
        ("beside: speaker", "beside: speakers", "no class 'speakers'"),
        ("name: past, ", "", "needs name"),
        ("{name: past", "{nmae: x, name: past", "unknown key 'nmae'"),
        ("masculine: -l", "masculine: 5", "form 'participle', masculine: must be words"),
        ("speaker: jsem", "speaker: no", "must be words with blanks between them; put a single yes"),
        ("name: Toy", "name: Toy\nlike: zz", "like: 'zz': there are rules for be, cs"),
        ("name: Toy", "name: Toy\nletters: {ab: c}", "letters must be a table"),
        ("name: Toy", "name: Toy\nnmae: x", "unknown key 'nmae'"),
        ("classes: {speaker: jsem}", "classes: [jsem]", "classes must be a table"),
        ("forms: {", "forms: {{", "not valid YAML"),
        (RULES, "", "must be a table"),
        (RULES[RULES.index("rules:") :], "rules: []", "rules must be a list of at least one rule"),
    ],
)  # fmt: skip
def test_a_mistake_in_ones_own_rules_is_one_line(tmp_path, old, new, message):
    path = tmp_path / "toy.yaml"
    assert old in RULES
    path.write_text(RULES.replace(old, new))
    with pytest.raises(UserError) as error:
        rules.load("xx", path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_language_without_rules_is_refused():
    with pytest.raises(UserError, match="'de': there are rules for be, cs, hr, pl, ru, sk, sl, sr, uk"):
        rules.load("de")
