"""Regular expressions from rules files, with a limit on the time and the length that they may take.

A pattern such as (a+)+b needs minutes for a text of thirty letters. The module `regex` understands what `re`
does and can be stopped; a search that is stopped becomes one line that names the pattern and the text.
"""

import math
import re
from functools import lru_cache

import regex

from lm_eval_stereoset.errors import UserError

SECONDS = 1.0  # for one pattern on one text; the rules that come with us need microseconds
LONGEST = 10_000  # characters of a text that a rule makes longer; the longest of StereoSet has some hundred


COUNT = re.compile(r"\{(\d+)")
LARGEST_COUNT = 100_000  # of all {…} of a pattern multiplied; `regex` writes such repetitions out


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> "regex.Pattern":
    """The pattern, which must be one that `re` understands; a ValueError says what is wrong with it."""
    try:
        re.compile(pattern)
        if math.prod(max(int(count), 1) for count in COUNT.findall(pattern)) > LARGEST_COUNT:
            raise ValueError("its repetitions {…} are too many")
        return regex.compile(pattern)
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def check_replacement(pattern: str, after: str) -> None:
    """A ValueError if the new text names a group that the pattern does not have."""
    compiled(pattern)
    try:
        re.sub(f"{pattern}|", after, "")  # matches, so that \\1 in the new text is looked at
        regex.sub(f"{pattern}|", after, "", timeout=SECONDS)
    except (re.error, regex.error, IndexError, TimeoutError) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def substitute(pattern: str, after: str, text: str) -> str:
    try:
        result = compiled(pattern).sub(after, text, timeout=SECONDS)
    except TimeoutError as error:
        raise UserError(
            f"the pattern {shortened(pattern)} takes more than {SECONDS:g} s for the text {shortened(text)}; "
            "write it without repetitions inside repetitions"
        ) from error
    return bounded(text, result)


def bounded(before: str, after: str) -> str:
    """Rules that make each other's texts longer would fill the memory."""
    if len(after) > max(len(before), LONGEST):
        raise UserError(f"it makes a text of {len(after):,} characters out of {shortened(before)}")
    return after


def shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
