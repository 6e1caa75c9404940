"""The sixteen stereotypes of GEST, numbered from 1: the first seven about women, the other nine about men."""

from typing import Any

from lm_eval_stereoset.errors import UserError, short

NAMES = (
    "emotional", "gentle", "empathetic", "neat", "social", "weak", "beautiful",
    "tough", "self-confident", "professional", "rational", "providers", "leaders", "childish", "sexual", "strong",
)  # fmt: skip
NUMBERS = tuple(range(1, len(NAMES) + 1))
ABOUT_WOMEN = 7  # so many of them, the first ones

MASCULINE, FEMININE = GENDERS = ("masculine", "feminine")


def name_of(number: int) -> str:
    """As tables and the example browser show it: "13 leaders"."""
    return f"{number} {NAMES[number - 1]}"


def number_of(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in NUMBERS:
        raise UserError(
            f"{where}: stereotype {short(value)} is unknown; they are the numbers 1 to {len(NAMES)}"
        )
    return value
