"""Texts made comparable, and the phrases of phrases.yaml as patterns over them."""

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

PHRASES = Path(__file__).parent / "phrases.yaml"

_ACCENTS = re.compile(r"[\u0300-\u036f]")
END = "¶"  # of a sentence, as a word of its own; `fold` keeps it
_NOT_WORDS = re.compile(rf"[^\w{END}]+|_+")
_APOSTROPHES = re.compile(r"[’‘`´ʼ＇]")
# Letters that do not come apart into a plain letter and an accent
_PLAIN = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe"})


_CIRCLED = str.maketrans(
    {
        shown: f"({letter})"
        for letter, forms in {"a": "ⓐⒶ🅰🄰🅐", "b": "ⓑⒷ🅱🄱🅑", "c": "ⓒⒸ🅲🄲🅒"}.items()
        for shown in forms
    }
)


def spelled_out(text: str) -> str:
    """ⓐ, 🅱 and the like as (a), (b); the rest as it is."""
    return text.translate(_CIRCLED)


def fold(text: str) -> str:
    """Words only: no case, accents, punctuation or markup. "Où est-ce ?" becomes "ou est ce"."""
    text = _APOSTROPHES.sub("'", unicodedata.normalize("NFKC", text)).replace("'", "")
    text = unicodedata.normalize("NFKD", text.casefold().translate(_PLAIN))
    return " ".join(_NOT_WORDS.sub(" ", _ACCENTS.sub("", text)).split())


def contains(folded: str, part: str) -> bool:
    """Whether `part` stands in `folded` as whole words; both are folded."""
    return bool(part) and f" {part} " in f" {folded} "


@lru_cache(maxsize=1)
def table() -> dict:
    import yaml

    return yaml.safe_load(PHRASES.read_text("utf-8"))


@lru_cache(maxsize=32)
def phrases(name: str, number: int | None = None) -> re.Pattern[str]:
    """Matches any phrase of a list in a folded text, as whole words."""
    found = table()[name] if number is None else table()[name][number]
    return re.compile(rf"(?<!\S)(?:{alternatives(found)})(?!\S)")


def alternatives(found: list[str]) -> str:
    """Longest first, so that "answer is" is not read as "answer"."""
    patterns = {r" +".join(_word(word) for word in text.split()) for text in found}
    return "|".join(sorted(patterns, key=len, reverse=True))


def _word(word: str) -> str:
    stem = " +".join(map(re.escape, fold(word.rstrip("*")).split()))
    return stem + (r"\w*" if word.endswith("*") else "")
