"""Data files: UTF-8 JSON Lines, one example per line, every line validated as it is read.

What the fields of a line are is up to the benchmark, which parses them (benchmarks/X/example.py) with the help of the
checks below; an error names the file and the line.
"""

import json
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, parse_json, read_bytes

Parse = Callable[[Any, str], Any]  # (decoded line, where) -> example


def iter_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines, split at "\\n" only: texts contain other line separators. A byte order mark is skipped."""
    for number, line in enumerate(read_bytes(path).removeprefix(BOM_UTF8).split(b"\n"), start=1):
        if line.strip():
            yield number, line


def read_lines(path: Path, parse: Parse) -> list[Any]:
    """All examples of a file; the first line that breaks a rule is an error naming it."""
    unique = Uniqueness()
    examples = []
    for number, line in iter_lines(path):
        where = f"{path}, line {number}"
        example = parse(parse_json(line, where), where)
        unique.check(example.ids, where)
        examples.append(example)
    if not examples:
        raise UserError(f"{path}: no examples")
    return examples


class Uniqueness:
    """Refuses an id that was seen before, and remembers where."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    def check(self, ids: Iterable[str], where: str) -> None:
        for id_ in ids:
            if id_ in self.seen:
                raise UserError(f"{where}: duplicate id {id_} (first in {self.seen[id_]})")
            self.seen[id_] = where


def encoded(examples: Iterable[Any]) -> bytes:
    """The content of a data file."""
    return "".join(json.dumps(e.to_dict(), ensure_ascii=False) + "\n" for e in examples).encode("utf-8")


def write_examples(path: Path | str, examples: Iterable[Any]) -> None:
    with atomic_write(path, "wb") as handle:
        handle.write(encoded(examples))


# Checks of single fields


def object_of(fields: Any, where: str) -> dict[str, Any]:
    if not isinstance(fields, dict):
        raise UserError(f"{where}: expected a JSON object, found {type(fields).__name__}")
    return fields


def text_of(fields: dict[str, Any], key: str, where: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not visible(value):
        found = "is missing" if key not in fields else f"must be a non-empty text, is {_shown(value)}"
        raise UserError(f"{where}: {key} {found}")
    if what := damage(value):
        raise UserError(f"{where}: {key} holds {what}: {_shown(value)}")
    return value


def only(fields: dict[str, Any], allowed: set[str], where: str) -> None:
    if unknown := sorted(set(fields) - allowed):
        raise UserError(
            f"{where}: unknown key {', '.join(map(repr, unknown))}; allowed are {', '.join(sorted(allowed))}"
        )


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
