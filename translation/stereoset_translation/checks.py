"""What can go wrong in a translation, looked for in any language.

`problems(example, english)` names the kinds found in one example; KINDS says what each means and how
grave it is: "never" may not get into a data set, "person" needs a human's eye, "note" is only counted.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lm_eval_stereoset.benchmarks.stereoset.census import has_invisible
from lm_eval_stereoset.benchmarks.stereoset.example import Example
from lm_eval_stereoset.data.fields import damage, visible
from lm_eval_stereoset.scoring.questions import BLANK
from stereoset_translation.columns import rebuilt, target_missing, texts
from stereoset_translation.sheet import ERROR_VALUE

NEVER, PERSON, NOTE = "never", "person", "note"


@dataclass(frozen=True)
class Kind:
    grade: str
    meaning: str
    needs_english: bool = False  # can only be seen beside the English text


KINDS = {
    "blank_missing": Kind(NEVER, "BLANK is missing in the context"),
    "empty": Kind(NEVER, "a translation is empty"),
    "damaged": Kind(NEVER, "a text holds NUL, U+FFFD or a spreadsheet's error (#NAME?)"),
    "blank_count": Kind(PERSON, "more or fewer BLANKs than in English"),
    "blank_inflected": Kind(PERSON, "BLANK is glued to an ending or another word"),
    "blank_elsewhere": Kind(PERSON, "BLANK in a text whose English has none"),
    "identical_candidates": Kind(PERSON, "two candidates are the same"),
    "sentence_differs": Kind(PERSON, "a sentence is not the context with its word"),
    "left_in_english": Kind(PERSON, "a sentence is still English", needs_english=True),
    "target_not_in_context": Kind(PERSON, "the target does not occur in the context"),
    "much_longer": Kind(PERSON, "a sentence is three times as long as the English", needs_english=True),
    "word_punctuation": Kind(PERSON, "a word has punctuation in it"),
    "quote_as_apostrophe": Kind(PERSON, "a quotation mark stands for an apostrophe"),
    "several_words": Kind(NOTE, "a candidate word is several words"),
    "no_break_space": Kind(NOTE, "a no-break space"),
    "invisible": Kind(NOTE, "a zero-width or control character"),
}

GLUED = re.compile(rf"\w[.,!?;:-]*{BLANK}|{BLANK}[^\s]*\w")  # BLANKed, sometimes.BLANK, BLANK"tı
QUOTE = re.compile(r"(?<=\w)[\"“”„](?=\w)")
NO_BREAK = re.compile("[\u00a0\u2007\u202f]")


def problems(example: Example, english: Example | None = None) -> list[str]:
    """The kinds of problems of one example; some can only be seen beside its English."""
    found = set(_blank_problems(example, english)) if example.split == "intra" else set()
    for column, text in texts(example):
        if not visible(text):
            found.add("empty")
        if damage(text) or ERROR_VALUE.fullmatch(text.strip()):
            found.add("damaged")
        if has_invisible(text):
            found.add("invisible")
        if QUOTE.search(text):
            found.add("quote_as_apostrophe")
        if NO_BREAK.search(text):
            found.add("no_break_space")
        if column.endswith("_word"):
            found |= _word_problems(text)
        if column != "context" and BLANK in text and not (english and BLANK in _same(english, column)):
            found.add("blank_elsewhere")
        if english is not None and (column == "context" or column.endswith("_sentence")):
            found |= _beside_english(text, _same(english, column))
    if target_missing(example):
        found.add("target_not_in_context")
    # Some models read the sentence, some context and word: they must be the same text.
    if rebuilt(example) != example:
        found.add("sentence_differs")
    answers = [c.sentence if c.word is None else c.word for c in example.candidates]
    if len(set(map(_visible_part, answers))) < 3:
        found.add("identical_candidates")
    return [kind for kind in KINDS if kind in found]


def _visible_part(text: str) -> str:
    """Two words that only differ in what nobody sees are the same word to a reader."""
    shown = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf"))
    return unicodedata.normalize("NFC", " ".join(shown.split()))


def _blank_problems(example: Example, english: Example | None) -> Iterable[str]:
    count = example.context.count(BLANK)
    if count == 0:
        yield "blank_missing"
    elif count != (english.context.count(BLANK) if english else 1):
        yield "blank_count"
    # English has a few of these itself; there it is no fault of the translation, but a person should see.
    if GLUED.search(example.context):
        yield "blank_inflected"


def _word_problems(word: str) -> set[str]:
    found = {"several_words"} if len(word.split()) > 1 else set()
    # A hyphen or an apostrophe inside a word belongs to it (self-made, aujourd'hui).
    inner = re.sub(r"(?<=\w)[-'’](?=\w)", "", word)
    if any(unicodedata.category(c)[0] == "P" for c in inner):
        found.add("word_punctuation")
    return found


def _beside_english(text: str, english: str) -> set[str]:
    found = {"left_in_english"} if left_in_english(text, english) else set()
    # A translation model that runs on repeats itself until it is stopped.
    return found | ({"much_longer"} if len(text) > 3 * max(len(english), 15) else set())


def left_in_english(text: str, english: str) -> bool:
    """Three words or more, and more than four fifths of them are those of the English text.

    Names and short exclamations are the same in many languages; whole sentences are not.
    """
    ours, theirs = _words(text), _words(english)
    if len(ours) < 3 or not theirs:
        return False
    common = sum((Counter(ours) & Counter(theirs)).values())
    return common / max(len(ours), len(theirs)) > 0.8


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.replace(BLANK, " ").casefold())


def _same(english: Example, column: str) -> str:
    return dict(texts(english)).get(column, "")


def problems_of(examples: Iterable[Example], english: Mapping[str, Example]) -> dict[str, list[str]]:
    """The problems of each example that has any, by its id."""
    found = {example.id: problems(example, english.get(example.id)) for example in examples}
    return {id_: kinds for id_, kinds in found.items() if kinds}


def needs_person(kinds: Iterable[str]) -> bool:
    return any(KINDS[kind].grade != NOTE for kind in kinds)
