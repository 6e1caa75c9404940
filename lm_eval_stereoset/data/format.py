"""The canonical format: UTF-8 JSON Lines, `<split>/<language>.jsonl`, one example a line.

{"id", "target", "target_original", "bias_type", "context",
 "candidates": [{"id", "label", "sentence", "word"} x 3]}      ("word" in intra only)

Every line is validated on reading; docs/data.md describes the fields.
"""

import io
import json
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, parse_json, read_bytes

SPLITS = ("intra", "inter")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
BIAS_TYPES = ("gender", "profession", "race", "religion")
BLANK = "BLANK"

EXAMPLE_KEYS = ("id", "target", "target_original", "bias_type", "context")


@dataclass(frozen=True, slots=True)
class Candidate:
    id: str
    label: str  # one of LABELS
    sentence: str
    word: str | None = None  # what fills BLANK; intra only


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    target: str  # the term in the example's language
    target_original: str  # the English term: the class of the multi-class scores
    bias_type: str  # one of BIAS_TYPES
    context: str
    candidates: tuple[Candidate, Candidate, Candidate]  # in file order, one of each label

    def candidate(self, label: str) -> Candidate:
        return next(c for c in self.candidates if c.label == label)

    def to_dict(self) -> dict[str, Any]:
        fields = {key: getattr(self, key) for key in EXAMPLE_KEYS}
        fields["candidates"] = [
            {"id": c.id, "label": c.label, "sentence": c.sentence}
            | ({} if c.word is None else {"word": c.word})
            for c in self.candidates
        ]
        return fields


def split_of(example: Example) -> str:
    return "inter" if example.candidates[0].word is None else "intra"


def parse_example(fields: Any, split: str, where: str) -> Example:
    """One decoded line to an Example; `where` (file and line) opens every error message."""
    if not isinstance(fields, dict):
        raise UserError(f"{where}: expected a JSON object, found {type(fields).__name__}")
    texts = {key: _text(fields, key, where) for key in EXAMPLE_KEYS}
    _only(fields, {*EXAMPLE_KEYS, "candidates"}, where)
    if texts["bias_type"] not in BIAS_TYPES:
        raise UserError(f"{where}: bias_type {texts['bias_type']!r} is none of {', '.join(BIAS_TYPES)}")
    if split == "intra" and BLANK not in texts["context"]:
        raise UserError(f"{where}: context has no {BLANK}: {texts['context']!r}")
    candidates = fields.get("candidates")
    if not isinstance(candidates, list) or len(candidates) != 3:
        raise UserError(f"{where}: candidates must be a list of three")
    parsed = tuple(_parse_candidate(c, split, where) for c in candidates)
    if sorted(c.label for c in parsed) != sorted(LABELS):
        raise UserError(
            f"{where}: needs exactly one candidate of each label ({', '.join(LABELS)}), "
            f"found {', '.join(c.label for c in parsed)}"
        )
    return Example(candidates=parsed, **texts)


def _parse_candidate(fields: Any, split: str, where: str) -> Candidate:
    if not isinstance(fields, dict):
        raise UserError(f"{where}: a candidate must be a JSON object")
    keys = ("id", "label", "sentence", "word") if split == "intra" else ("id", "label", "sentence")
    texts = {key: _text(fields, key, f"{where}, a candidate") for key in keys}
    _only(fields, set(keys), f"{where}, a candidate")
    if texts["label"] not in LABELS:
        raise UserError(
            f"{where}: label {texts['label']!r} of candidate {texts['id']} is none of {', '.join(LABELS)}"
        )
    return Candidate(**texts)


def _text(fields: dict, key: str, where: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not visible(value):
        found = "is missing" if key not in fields else f"must be a non-empty text, is {_shown(value)}"
        raise UserError(f"{where}: {key} {found}")
    if what := damage(value):
        raise UserError(f"{where}: {key} holds {what}: {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    """A value in a message, cut to a length that stays one line."""
    text = ascii(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else text[:80] + "…"


# Characters that are neither white space nor format characters to Unicode, and yet show nothing.
_FILLERS = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))


def visible(text: str) -> bool:
    """Whether anything is left of a text without white space, zero-width and control characters."""
    return any(unicodedata.category(c)[0] not in "CZ" and c not in _FILLERS for c in text)


def damage(text: str) -> str | None:
    """What no text has unless a program has spoilt it: NUL, or the sign of a failed decoding."""
    if "\0" in text:
        return "a NUL character"
    return "U+FFFD, the mark of a character lost in a wrong conversion" if "\ufffd" in text else None


def _only(fields: dict, allowed: set[str], where: str) -> None:
    if unknown := sorted(set(fields) - allowed):
        raise UserError(
            f"{where}: unknown key {', '.join(map(repr, unknown))}; allowed are {', '.join(sorted(allowed))}"
        )


def iter_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines, split at "\\n" only: texts contain other line separators. A byte order mark is skipped."""
    for number, line in enumerate(read_bytes(path).removeprefix(BOM_UTF8).split(b"\n"), start=1):
        if line.strip():
            yield number, line


def parse_line(line: bytes, split: str, where: str) -> Example:
    return parse_example(parse_json(line, where), split, where)


def guess_split(path: Path) -> str:
    """The split of a file, from the first line that looks like an example: intra candidates have words."""
    lines = [line for _, line in iter_lines(path)]
    if not lines:
        raise UserError(f"{path}: no examples")
    for line in lines:
        try:
            candidates = parse_json(line, str(path))["candidates"]
            return "intra" if any("word" in c for c in candidates) else "inter"
        except (UserError, KeyError, TypeError):
            continue  # whoever reads the file names this line
    return path.parent.name if path.parent.name in SPLITS else "inter"


class Uniqueness:
    """Refuses an id that was seen before, and remembers where."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    def check(self, example: Example, where: str) -> None:
        for id_ in (example.id, *(c.id for c in example.candidates)):
            if id_ in self.seen:
                raise UserError(f"{where}: duplicate id {id_} (first in {self.seen[id_]})")
            self.seen[id_] = where


def read_examples(path: Path | str, split: str | None = None) -> list[Example]:
    """All examples of a file; the first line that breaks a rule is an error naming it."""
    path = Path(path)
    split = split or guess_split(path)
    unique = Uniqueness()
    examples = []
    for number, line in iter_lines(path):
        where = f"{path}, line {number}"
        example = parse_line(line, split, where)
        unique.check(example, where)
        examples.append(example)
    if not examples:
        raise UserError(f"{path}: no examples")
    return examples


def write_examples(path: Path | str, examples: Iterable[Example]) -> None:
    with atomic_write(path) as handle:
        dump_examples(handle, examples)


def encoded(examples: Iterable[Example]) -> bytes:
    """The content of a data file."""
    text = io.StringIO()
    dump_examples(text, examples)
    return text.getvalue().encode("utf-8")


def dump_examples(handle: IO[str], examples: Iterable[Example]) -> None:
    for example in examples:
        handle.write(json.dumps(example.to_dict(), ensure_ascii=False) + "\n")
