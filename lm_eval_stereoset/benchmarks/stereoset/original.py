"""The layout in which the English StereoSet was published first, and which most adaptations of it use.

{"data": {"intrasentence": [{"id", "target", "bias_type", "context", "sentences": [{"id", "sentence", "gold_label"}]}],
          "intersentence": […]}}

It has no words, so they are found by comparing. Mostly a sentence is the context with BLANK filled in:

    context    He is BLANK today.        sentence   He is tall today.        word   tall

Where a translation has changed the sentence around the word, the three sentences are compared with each other. What
they share is their frame, and the stretch in which they differ stands for the word (example.py says who reads it):

    context    O jogador estava BLANK.   sentences  O jogador era alto. O jogador era baixo. …
    frame      O jogador era BLANK.      words      alto, baixo, …
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, Example, parse_example
from lm_eval_stereoset.data.lines import Uniqueness, object_of, text_of, visible
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json
from lm_eval_stereoset.scoring.questions import BLANK

KEYS = {"intra": "intrasentence", "inter": "intersentence"}
# A word in scripts that put spaces between words; else a single character. A space is a unit of its own.
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
UNIT = rf"{UNSPACED}\p{{M}}*|(?:(?!{UNSPACED})[\w\p{{M}}])+|\s+|."


def is_original(content: Any) -> bool:
    data = content.get("data") if isinstance(content, dict) else None
    return isinstance(data, dict) and bool(set(data) & set(KEYS.values()))


def read_original(path: Path | str) -> dict[str, list[Example]]:
    """{split: examples} of the splits in the file; every example is checked like a line of a data file."""
    content = read_json(path)
    if not is_original(content):
        raise UserError(
            f"{path}: not in the layout of the original StereoSet: needs an object 'data' with intrasentence, "
            "intersentence or both"
        )
    found: dict[str, list[Example]] = {}
    for split in SPLITS:
        entries = content["data"].get(KEYS[split])
        if entries is None:
            continue
        if not isinstance(entries, list) or not entries:
            raise UserError(f"{path}: {KEYS[split]} must be a list of examples")
        unique = Uniqueness()
        found[split] = []
        for number, entry in enumerate(entries, start=1):
            where = f"{path}, {KEYS[split]}, example {number}"
            example = example_of(entry, split, where)
            unique.check(example.ids, where)
            found[split].append(example)
    return found


def example_of(entry: Any, split: str, where: str) -> Example:
    entry = object_of(entry, where)
    sentences = entry.get("sentences")
    if not isinstance(sentences, list) or len(sentences) != 3:
        raise UserError(f"{where}: sentences must be a list of three")
    candidates = []
    for one in sentences:
        keys = ("id", "sentence", "gold_label")
        texts = {
            key: text_of(object_of(one, f"{where}, a sentence"), key, f"{where}, a sentence") for key in keys
        }
        candidates.append({"id": texts["id"], "label": texts["gold_label"], "sentence": texts["sentence"]})
    fields: dict[str, Any] = {
        key: text_of(entry, key, where) for key in ("id", "target", "bias_type", "context")
    }
    fields["target_original"] = fields["target"]
    if split == "intra" and BLANK in fields["context"]:
        frame, words = words_of(fields["context"], [one["sentence"] for one in candidates])
        fields |= {} if frame is None else {"frame": frame}
        candidates = [one | {"word": word} for one, word in zip(candidates, words, strict=True)]
    return parse_example(fields | {"candidates": candidates}, split, where)


def words_of(context: str, sentences: Sequence[str]) -> tuple[str | None, list[str]]:
    """(frame, words): the frame is None where every sentence is the context with its word in the place of BLANK."""
    words = [word for sentence in sentences if (word := filled_in(context, sentence)) is not None]
    if len(words) == len(sentences):
        return None, words
    return stretch(sentences)


def filled_in(context: str, sentence: str) -> str | None:
    """The word that turns the context into the sentence, the same in each BLANK; None if there is none."""
    blanks = context.count(BLANK)
    length, rest = divmod(len(sentence) - (len(context) - blanks * len(BLANK)), blanks)
    start = context.index(BLANK)
    word = sentence[start : start + max(length, 0)]
    if rest or not visible(word) or context.replace(BLANK, word) != sentence:
        return None
    return word


def stretch(sentences: Sequence[str]) -> tuple[str, list[str]]:
    """What the sentences share, with one BLANK, and the stretch in which each differs: whole words, never empty."""
    units = [_units(sentence) for sentence in sentences]
    shortest = min(map(len, units))
    before = _common(units, shortest)
    after = _common([one[::-1] for one in units], shortest - before)
    before, after = next(
        (before - fewer, after - (removed - fewer))
        for removed in range(before + after + 1)
        for fewer in range(min(removed, before), max(removed - after, 0) - 1, -1)
        if removed == before + after or _are_words(_between(units, before - fewer, after - (removed - fewer)))
    )  # the longest frame that leaves something of every sentence
    words = _between(units, before, after)
    first = units[0]
    frame = "".join(first[:before]) + BLANK + "".join(first[len(first) - after :])
    return (frame, words) if frame.count(BLANK) == 1 else (BLANK, list(sentences))


def _are_words(texts: Sequence[str]) -> bool:
    return all(text == text.strip() and visible(text) for text in texts)


def _between(units: Sequence[Sequence[str]], before: int, after: int) -> list[str]:
    return ["".join(one[before : len(one) - after]) for one in units]


def _common(units: Sequence[Sequence[str]], most: int) -> int:
    """How many units at the start all of them share."""
    count = 0
    while count < most and len({one[count] for one in units}) == 1:
        count += 1
    return count


def _units(text: str) -> list[str]:
    return _pattern().findall(text)


@lru_cache(maxsize=1)
def _pattern() -> Any:
    import regex  # knows scripts, which the standard library does not

    return regex.compile(UNIT, regex.DOTALL)
