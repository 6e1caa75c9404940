"""The English side: its examples, the strings to translate, and an example put together from answers."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, Example
from lm_eval_stereoset.benchmarks.stereoset.words import candidate_word
from lm_eval_stereoset.data import store
from stereoset_translation.columns import get, names, put, rebuilt

SOURCE_LANGUAGE = "en"


def load_english(data: str | None = None, splits: Iterable[str] = SPLITS) -> dict[str, list[Example]]:
    """StereoSet in English (fetched if need be), or the user's folder with <split>/en.jsonl."""
    return {split: store.load(STEREOSET, split, SOURCE_LANGUAGE, data).examples for split in splits}


def by_id(data: Mapping[str, Iterable[Example]]) -> dict[str, dict[str, Example]]:
    return {split: {example.id: example for example in examples} for split, examples in data.items()}


def translated_columns(split: str) -> list[str]:
    """What goes to the translator. Intra sentences do not: they are context plus word."""
    return names(split, ("target", "context", "word" if split == "intra" else "sentence"))


def strings_of(example: Example) -> list[str]:
    """The texts of one example that go to the translator, in column order."""
    return [get(example, column) for column in translated_columns(example.split)]


def assemble(english: Example, answers: Mapping[str, str]) -> Example:
    """The English example in the other language. `target_original` stays English: it is the class of
    the multi-class scores, and labels and ids belong to the example in every language."""
    example = replace(english, target_original=english.target)
    for column in translated_columns(english.split):
        example = put(example, column, answers[get(english, column)])
    return rebuilt(example)


def words_that_differ(examples: Iterable[Example]) -> list[str]:
    """Ids of intra examples with a word other than the papers' way takes from its sentence."""
    return [
        example.id
        for example in examples
        if any(candidate_word(example.context, c.sentence) != c.word for c in example.candidates)
    ]
