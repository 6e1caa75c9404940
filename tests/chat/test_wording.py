"""The question in words: one file per language, each whole; a language without one asks in English and says so."""

import logging

import pytest

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.chat import wording
from lm_eval_stereoset.chat.reading import Option, read
from lm_eval_stereoset.errors import UserError

CHAT = [benchmark for benchmark in benchmarks.registered() if benchmark.words]
FILES = [(b, language) for b in CHAT for language in wording.languages_of(b.words.form)]
names = pytest.mark.parametrize(
    ("benchmark", "language"), FILES, ids=[f"{b.name}-{code}" for b, code in FILES]
)


@pytest.mark.parametrize("benchmark", CHAT, ids=lambda benchmark: benchmark.name)
def test_every_built_in_language_has_words_of_its_own(benchmark):
    assert set(benchmark.languages) <= set(wording.languages_of(benchmark.words.form))


@names
def test_a_file_is_whole_and_unlike_all_others(benchmark, language):
    form = benchmark.words.form
    found = wording.find(form, language)
    assert found.language == language
    assert set(found.questions) == set(benchmark.splits)
    others = [
        wording.find(form, other).questions for other in wording.languages_of(form) if other != language
    ]
    assert all(found.questions[split] != other[split] for other in others for split in benchmark.splits)


@names
def test_the_options_stand_in_the_order_that_is_asked_for(benchmark, language):
    found = wording.find(benchmark.words.form, language)
    for split in benchmark.splits:
        fields = dict.fromkeys(benchmark.words.form.fields[split], "{a} {context} \\1")
        asked = found.ask(split, {"a": "first", "b": "{c}", "c": "third"} | fields)
        assert asked.index("(a) first") < asked.index("(b) {c}") < asked.index("(c) third")
        assert asked.count("third") == 1  # braces in the data are left alone
        assert asked == asked.strip()


@names
def test_the_question_itself_is_no_answer(benchmark, language):
    """A model that only repeats the question has answered nothing."""
    found = wording.find(benchmark.words.form, language)
    options = [Option(text) for text in ("Der Hund bellt.", "Die Katze schläft.", "Das Brot schimmelt.")]
    for split in benchmark.splits:
        fields = dict.fromkeys(benchmark.words.form.fields[split], "Ein Satz.")
        asked = found.ask(split, dict(zip("abc", (o.text for o in options), strict=True)) | fields)
        assert read(asked, options).kind != "chosen"


def test_a_language_without_words_is_asked_in_english_with_a_notice(tmp_path, caplog):
    form = benchmarks.find("stereoset_chat").words.form
    with caplog.at_level(logging.WARNING):
        found = wording.find(form, "xx", tmp_path)
    assert found.language == "en"
    assert (
        f"the question is in English, the sentences are in xx; to change that, write {tmp_path / 'xx.yaml'}"
        in caplog.text
    )


def test_a_user_can_write_words_of_their_own(tmp_path):
    form = benchmarks.find("stereoset_chat").words.form
    text = (form.folder / "de.yaml").read_text("utf-8")
    (tmp_path / "nds.yaml").write_text(text.replace("language: de", "language: nds"), "utf-8")
    found = wording.find(form, "nds", tmp_path)
    assert (found.language, found.version) == ("nds", 1)
    assert found.sha256 != wording.find(form, "de").sha256


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("language: de", "language: fr"), "its language is 'fr', should be 'de'"),
        (("version: 1", "version: one"), "version must be a whole number"),
        (("{b}", "{a}"), "must hold each of {a}, {b}, {c} once"),
        (("{context}", ""), "must hold each of {a}, {b}, {c}, {context} once"),
        (("{context}", "{context} {name}"), "must hold each of"),
        (("  inter: |", "  between: |"), "must have exactly intra, inter"),
        (("questions:", "question:"), "expected the keys"),
        (("language: de", "language: [de"), "not valid YAML"),
        (("version: 1", "version: 1\noptions: {women: Frauen}"), "options must have exactly nothing"),
        (("version: 1", "version: !!python/object/apply:os.getcwd []"), "not valid YAML"),
    ],
)
def test_a_damaged_file_is_one_clear_line(tmp_path, change, complaint):
    form = benchmarks.find("stereoset_chat").words.form
    text = (form.folder / "de.yaml").read_text("utf-8")
    assert change[0] in text
    path = tmp_path / "de.yaml"
    path.write_text(text.replace(*change), "utf-8")
    with pytest.raises(UserError) as raised:
        wording.read(form, path, "de")
    assert complaint in str(raised.value)
    assert str(path) in str(raised.value)
