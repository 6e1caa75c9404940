"""The bundled sample: well-formed, parallel in all languages, balanced, and not StereoSet's."""

import re
import unicodedata
from collections import Counter, defaultdict
from itertools import product

import pytest

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.stereoset.example import BIAS_TYPES, LABELS, SPLITS, Example, read_examples
from lm_eval_stereoset.benchmarks.stereoset.pickles import frame_to_examples, read_frame
from lm_eval_stereoset.benchmarks.stereoset.upstream import pickle_path
from lm_eval_stereoset.scoring.questions import BLANK

SAMPLE = BENCHMARK.sample
LANGUAGES = BENCHMARK.languages
FILES = list(product(SPLITS, LANGUAGES))

# Letters beyond ASCII that each language's spelling uses; anything else is a slip of the keyboard.
LETTERS = {
    "en": "",
    "de": "äöüÄÖÜß",
    "fr": "àâçéèêëîïôùûüÿœæÀÂÇÉÈÊËÎÏÔÙÛÜŒÆ",
    "es": "áéíóúüñÁÉÍÓÚÜÑ¿¡",
    "tr": "âîûçğıöşüÂÎÛÇĞİÖŞÜ",
}

each_file = pytest.mark.parametrize(("split", "language"), FILES)


def sample(split: str, language: str) -> list[Example]:
    return read_examples(SAMPLE / split / f"{language}.jsonl", split)


def texts(example: Example) -> list[str]:
    """Every text of an example that a reader or a model sees."""
    words = [c.word for c in example.candidates if c.word is not None]
    return [example.target, example.context, *(c.sentence for c in example.candidates), *words]


def test_there_is_one_file_for_each_split_and_built_in_language():
    found = sorted(path.relative_to(SAMPLE).as_posix() for path in SAMPLE.rglob("*.jsonl"))
    assert found == sorted(f"{split}/{language}.jsonl" for split, language in FILES)


def test_licence_note_names_the_licence_and_warns_of_the_content():
    note = (SAMPLE / "LICENSE.md").read_text(encoding="utf-8")
    assert "CC BY-SA 4.0" in note
    assert "Content note" in note


@each_file
def test_all_bias_types_have_examples_enough(split, language):
    examples = sample(split, language)
    per_type = Counter(example.bias_type for example in examples)
    assert len(examples) >= 24
    assert set(per_type) == set(BIAS_TYPES)
    assert min(per_type.values()) >= 6


@each_file
def test_each_bias_type_has_several_targets_and_some_targets_repeat(split, language):
    targets = defaultdict(Counter)
    for example in sample(split, language):
        targets[example.bias_type][example.target_original] += 1
    for bias_type in BIAS_TYPES:
        assert len(targets[bias_type]) >= 3
        assert max(targets[bias_type].values()) >= 2  # clusters for the bootstrap


@pytest.mark.parametrize("bias_type", BIAS_TYPES)
def test_each_bias_type_has_targets_in_both_splits(bias_type):
    intra, inter = (
        {e.target_original for e in sample(split, "en") if e.bias_type == bias_type} for split in SPLITS
    )
    assert len(intra & inter) >= 2


@each_file
def test_first_examples_already_show_all_bias_types_for_limit(split, language):
    assert {example.bias_type for example in sample(split, language)[:4]} == set(BIAS_TYPES)


@each_file
def test_languages_are_parallel_in_ids_order_labels_and_targets(split, language):
    def skeleton(example: Example) -> tuple:
        candidates = [(c.id, c.label) for c in example.candidates]
        return example.id, example.target_original, example.bias_type, candidates

    assert [skeleton(e) for e in sample(split, language)] == [skeleton(e) for e in sample(split, "en")]


def test_ids_are_unique_over_both_splits_and_of_stereosets_shape():
    ids = [
        id_
        for split in SPLITS
        for example in sample(split, "en")
        for id_ in (example.id, *(c.id for c in example.candidates))
    ]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[0-9a-f]{32}", id_) for id_ in ids)


@pytest.mark.parametrize("split", SPLITS)
def test_english_target_is_the_original_target(split):
    assert all(example.target == example.target_original for example in sample(split, "en"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_target_is_called_the_same_throughout_a_language(language):
    names = defaultdict(set)
    for split in SPLITS:
        for example in sample(split, language):
            names[example.target_original].add(example.target)
    assert {original: found for original, found in names.items() if len(found) > 1} == {}


@each_file
def test_target_begins_a_word_of_the_context(split, language):
    missing = [
        (example.target, example.context)
        for example in sample(split, language)
        if not re.search(r"(?<!\w)" + re.escape(example.target.upper()), example.context.upper())
    ]
    assert missing == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_blank_stands_once_and_alone_and_is_not_the_first_word(language):
    for example in sample("intra", language):
        assert example.context.count(BLANK) == 1, example.context
        assert re.search(rf" {BLANK}(?= |\.$)", example.context), example.context


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentence_is_the_context_with_the_word_filled_in(language):
    for example in sample("intra", language):
        for candidate in example.candidates:
            assert candidate.sentence == example.context.replace(BLANK, candidate.word)


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_are_single_words(language):
    words = [c.word for example in sample("intra", language) for c in example.candidates]
    assert [word for word in words if not word.isalpha()] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_blank_is_left_in_inter_examples(language):
    assert not any(BLANK in text for example in sample("inter", language) for text in texts(example))


@each_file
def test_candidates_are_three_distinct_texts(split, language):
    for example in sample(split, language):
        assert len({c.sentence.casefold() for c in example.candidates}) == 3
        if split == "intra":
            assert len({c.word.casefold() for c in example.candidates}) == 3


@each_file
def test_no_text_is_used_twice(split, language):
    examples = sample(split, language)
    contexts = Counter(example.context for example in examples)
    sentences = Counter(c.sentence for example in examples for c in example.candidates)
    assert max(contexts.values()) == max(sentences.values()) == 1


@each_file
def test_texts_are_nfc_without_outer_or_odd_white_space(split, language):
    for example in sample(split, language):
        for text in texts(example):
            assert text == unicodedata.normalize("NFC", text)
            assert text == " ".join(text.split()), text


@each_file
def test_sentences_open_with_a_capital_end_with_a_full_stop_and_spell_with_the_languages_letters(
    split, language
):
    allowed = re.compile(rf"[A-Za-z ,.'{LETTERS[language]}-]+")
    for example in sample(split, language):
        for text in (example.context, *(c.sentence for c in example.candidates)):
            assert text[0].isupper(), text
            assert text.endswith("."), text
            assert allowed.fullmatch(text), text


@pytest.mark.parametrize("split", SPLITS)
def test_every_label_stands_about_equally_often_in_every_place(split):
    examples = sample(split, "en")
    places = Counter((i, c.label) for example in examples for i, c in enumerate(example.candidates))
    for place, label in product(range(3), LABELS):
        assert abs(places[place, label] - len(examples) / 3) < 1


@each_file
def test_lengths_do_not_give_the_stereotype_away(split, language):
    """A model that only counts characters must not look biased on the sample."""

    def length(example: Example, label: str) -> int:
        candidate = example.candidate(label)
        return len(candidate.word or candidate.sentence)

    examples = sample(split, language)
    stereotype, anti = (sum(length(e, label) for e in examples) for label in LABELS[:2])
    assert 0.9 < stereotype / anti < 1.1


def bare(text: str) -> str:
    """Letters and digits only, in one case: copies hide behind no comma."""
    return " ".join(re.findall(r"\w+", text.casefold()))


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_shared_with_stereoset(shared, language):
    known, known_ids = set(), set()
    for split in SPLITS:
        path = shared / "upstream" / "stereotypes-multi" / pickle_path(split, language)
        _, columns = read_frame(path.read_bytes(), str(path))
        for example in frame_to_examples(columns, split, str(path)):
            known_ids |= {example.id, *(c.id for c in example.candidates)}
            known |= {bare(example.context), *(bare(c.sentence) for c in example.candidates)}
    assert len(known) > 10_000  # the comparison really had StereoSet's texts
    for split in SPLITS:
        for example in sample(split, language):
            own = {bare(example.context), *(bare(c.sentence) for c in example.candidates)}
            assert own & known == set()
            assert not {example.id, *(c.id for c in example.candidates)} & known_ids
