"""Models that repeat the question instead of answering it: what is left of an answer without the repetition.

    Answer with a single letter: (a)        of the question "Answer with a single letter: (a), (b) or (c)."

names a letter, and answers nothing. Of a line that begins like a line of the question, the words in common are
left out. Where the question was repeated whole, the list of its options is, too, unless a single one of them stands
there in full, which is an answer.
"""

import re
from collections.abc import Sequence

from lm_eval_stereoset.chat.plain import fold

SHARED = 4  # words at the start of a line, from which it is taken for a repetition
_WORD = re.compile(r"\w+(?:['’]\w+)*")


def without_echo(said: str, question: str) -> str:
    lines = [line for line in question.splitlines() if fold(line)]
    options = [fold(line) for line in lines if _is_option(line)]
    asked = [fold(line).split() for line in lines if not _is_option(line)]
    kept: list[str] = []
    run: list[str] = []  # lines that could be the beginning of the list
    repeated = False
    for line in said.splitlines():
        if repeated and _continues(run, fold(line), options):
            run.append(line)
            continue
        kept += _unless_list(run, options)
        run = []
        line, whole = _without_start(line, asked)
        repeated = whole or (repeated and not fold(line))
        kept.append(line)
    return "\n".join([*kept, *_unless_list(run, options)])


def _is_option(line: str) -> bool:
    return re.match(r"\s*\([abc]\)\s", line) is not None


def _continues(run: Sequence[str], line: str, options: Sequence[str]) -> bool:
    """Whether the line is, or begins like, the option that comes next in the list; empty lines do not end it."""
    count = len([one for one in run if fold(one)])
    return not line or (count < len(options) and options[count].startswith(line))


def _unless_list(run: Sequence[str], options: Sequence[str]) -> list[str]:
    """A single option in full is an answer."""
    filled = [fold(line) for line in run if fold(line)]
    return list(run) if len(filled) == 1 and filled[0] in options else []


def _without_start(line: str, asked: Sequence[Sequence[str]]) -> tuple[str, bool]:
    """The line without the words that it has in common with one of the question; whether that was all of the latter."""
    words = list(_WORD.finditer(line))
    folded = [fold(word[0]) for word in words]
    common = [_common(folded, other) for other in asked]
    longest = max(common, default=0)
    if longest < SHARED:
        return line, False
    if folded[longest - 2 : longest] == ["a", "b"] and "c" in folded[longest : longest + 2]:
        longest += folded[longest : longest + 2].index("c") + 1  # "(a), (b), (c)" of "(a), (b) or (c)"
        return line[words[longest - 1].end() :].lstrip(" .,;:!?)"), True
    whole = any(number == longest == len(other) for number, other in zip(common, asked, strict=True))
    return line[words[longest - 1].end() :].lstrip(" .,;:!?)"), whole


def _common(one: Sequence[str], two: Sequence[str]) -> int:
    for number, (first, second) in enumerate(zip(one, two, strict=False)):
        if first != second:
            return number
    return min(len(one), len(two))
