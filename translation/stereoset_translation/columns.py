"""An example as named text columns, the view that rules, changes and review sheets share.

target, context, c1_sentence .. c3_sentence and, for intra, c1_word .. c3_word.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lm_eval_stereoset.benchmarks.stereoset.example import Example
from lm_eval_stereoset.scoring.questions import BLANK

KINDS = ("target", "context", "sentence", "word")  # what a rule may name as its columns


@dataclass(frozen=True)
class Change:
    """One text that a rule or a person changed."""

    example: str  # its id
    column: str
    before: str
    after: str
    rule: str
    split: str


def names(split: str, kinds: tuple[str, ...] = KINDS) -> list[str]:
    """The columns of the kinds asked for, in the order of the file."""
    candidate = [
        kind for kind in ("word", "sentence") if kind in kinds and (kind, split) != ("word", "inter")
    ]
    plain = [kind for kind in ("target", "context") if kind in kinds]
    return plain + [f"c{k}_{kind}" for k in (1, 2, 3) for kind in candidate]


def get(example: Example, column: str) -> str:
    if column in ("target", "context"):
        return getattr(example, column)
    return getattr(example.candidates[int(column[1]) - 1], column[3:]) or ""


def put(example: Example, column: str, text: str) -> Example:
    if column in ("target", "context"):
        return replace(example, target=text) if column == "target" else replace(example, context=text)
    position = int(column[1]) - 1
    candidates = list(example.candidates)
    candidates[position] = replace(candidates[position], **{column[3:]: text})
    return replace(example, candidates=tuple(candidates))


def texts(example: Example) -> Iterator[tuple[str, str]]:
    for column in names(example.split):
        yield column, get(example, column)


def rebuilt(example: Example) -> Example:
    """Intra: the sentences are the context with BLANK replaced by each word, as the papers made them."""
    if example.split == "inter":
        return example
    for k, candidate in enumerate(example.candidates, start=1):
        sentence = example.context.replace(BLANK, candidate.word or "")
        example = put(example, f"c{k}_sentence", sentence)
    return example


def fingerprint(example: Example) -> str:
    """Changes with any field. The letter in front keeps spreadsheets from reading it as a number."""
    content = json.dumps(example.to_dict(), ensure_ascii=False, sort_keys=True)
    return "x" + hashlib.sha256(content.encode("utf-8")).hexdigest()[:15]


def target_missing(example: Example) -> bool:
    """The papers' problem count: the target does not occur in the context, compared upper-cased."""
    return example.target.upper() not in example.context.upper()
