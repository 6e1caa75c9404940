"""Sentences as clauses of words, and classes of words: what the rules of a language are written in terms of.

    "Nikdy jsem nemohl spát, protože mi bylo zima."
    clause 0: nikdy jsem nemohl spát    clause 1: protože mi bylo zima

Everything here takes time in proportion to the length of the sentence: words are compared with lists of words and
endings. There are no patterns in the rules, so none can run away.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

# A word may offer both forms, "byl(a)", "rád/ráda": it is one word, which belongs to no class.
WORD_OR_MARK = re.compile(
    r"[^\W\d_]+(?:['-][^\W\d_]+)*(?:/-?[^\W\d_]+|\(-?[^\W\d_]{1,4}\))*|[,;:.!?()\[\]…–—|]| - "
)
BOTH_FORMS = "/"  # put at the end of such a word, where no ending can match
APOSTROPHES = dict.fromkeys(map(ord, "’ʼ‘`´"), "'")
UNSEEN = dict.fromkeys([0x00AD, 0x200B, 0x200C, 0x200D, 0xFEFF])  # soft hyphen, zero-width characters
# Stress marks on vowels ("бы́ла"). Letters such as á or й are one character after NFC and keep theirs.
STRESS = dict.fromkeys([0x0300, 0x0301])
CLOSING_QUOTES = {"„": "“”\"", "“": "”", "«": "»", "»": "«", '"': '"', "”": "”"}  # fmt: skip


@dataclass(frozen=True)
class WordClass:
    """Words given as they are, and words with one of some endings; but not the exceptions.

    An ending needs a letter before it: 'la' itself is no participle in -la.
    """

    words: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()
    exceptions: frozenset[str] = frozenset()
    exceptional_endings: tuple[str, ...] = ()

    def __contains__(self, word: str) -> bool:
        if word in self.words:
            return True
        if word in self.exceptions or word.endswith(self.exceptional_endings):
            return False
        return word[1:].endswith(self.endings)

    def __or__(self, other: "WordClass") -> "WordClass":
        """Exceptions of one class are exceptions of the union, so keep to classes that do not contradict."""
        return WordClass(
            self.words | other.words,
            self.endings + other.endings,
            self.exceptions | other.exceptions,
            self.exceptional_endings + other.exceptional_endings,
        )


def word_class(entries: Iterable[str], exceptions: Iterable[str] = ()) -> WordClass:
    """`-ala` is an ending, `dala` a word."""
    words, endings = _sorted_out(entries)
    return WordClass(words, endings, *_sorted_out(exceptions))


def _sorted_out(entries: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    entries = list(entries)
    words = frozenset(entry for entry in entries if not entry.startswith("-"))
    return words, tuple(dict.fromkeys(entry[1:] for entry in entries if entry.startswith("-")))


@dataclass(frozen=True)
class Word:
    text: str  # normalised
    clause: int
    segment: (
        int  # parts of a clause, between coordinating conjunctions ("and", "but"), are numbered throughout
    )


def read_words(
    text: str, breaks: WordClass, coordinators: WordClass, letters: Mapping[str, str]
) -> tuple[Word, ...]:
    """Clauses end at punctuation and before words of `breaks`; segments also before `coordinators`."""
    return tuple(_numbered(normalised(outside_quotes(text), letters), breaks, coordinators))


def _numbered(text: str, breaks: WordClass, coordinators: WordClass) -> Iterator[Word]:
    clause = segment = 0
    for match in WORD_OR_MARK.finditer(text):
        word = match[0]
        mark = not word[0].isalpha()
        if mark or word in breaks:
            clause += 1
            segment += 1
        elif word in coordinators:
            segment += 1
        if "/" in word or word.endswith(")"):
            word += BOTH_FORMS
        if not mark:
            yield Word(word, clause, segment)


def normalised(text: str, letters: Mapping[str, str]) -> str:
    """Small letters, one apostrophe, no stress marks; `letters` brings a second script to that of the rules."""
    text = unicodedata.normalize("NFC", text).lower().translate(APOSTROPHES).translate(UNSEEN)
    text = unicodedata.normalize("NFC", text).translate(STRESS)
    return text.translate({ord(old): new for old, new in letters.items()}) if letters else text


def outside_quotes(text: str) -> str:
    """The text without what is quoted in it, which may be anybody's word. A text that is quoted whole is kept."""
    if not any(mark in text for mark in CLOSING_QUOTES):
        return text
    kept: list[str] = []
    closing = ""
    last = {mark: text.rfind(mark) for mark in set("".join(CLOSING_QUOTES.values()))}
    for place, letter in enumerate(text):
        if closing:
            if letter in closing:
                closing = ""
                kept.append("|")  # ends a clause
        elif letter in CLOSING_QUOTES and any(last[mark] > place for mark in CLOSING_QUOTES[letter]):
            closing = CLOSING_QUOTES[letter]
            kept.append("|")
        else:
            kept.append(letter)
    outside = "".join(kept)
    return outside if any(map(str.isalpha, outside)) else text
