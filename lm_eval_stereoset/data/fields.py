"""Checks of the fields of one line of a data file, for benchmarks that parse it; `where` opens every error message."""

import math
import unicodedata
from typing import Any

from lm_eval_stereoset.errors import UserError


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


def is_finite(value: Any) -> bool:
    """Whether it is a number that a float can hold: JSON and YAML know whole numbers of 400 digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


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
