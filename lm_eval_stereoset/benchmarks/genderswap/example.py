"""A triple and its twin: three sentences that may follow a context, and the same with the genders swapped.

A line of `<split>/<language>.jsonl`:

{"id", "gender", "context",
 "candidates": [{"label", "sentence", "swapped_context", "swapped_sentence"} x 3]}

A label stays that of the original sentence: the twin of a stereotype says the same of the other gender, which makes it
an anti-stereotype, and the scores (metrics.py) count on finding it under the original's label. The swapped context is
given for each candidate because a few of the published ones differ within a triple.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_stereoset.data.fields import object_of, only, text_of
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import Candidate, Question

SPLITS = ("dev", "test")
KINDS = ("stereotype", "anti-stereotype", "unrelated")
SWAPPED = " (swapped)"
LABELS = (*KINDS, *(kind + SWAPPED for kind in KINDS))
GENDERS = ("female", "male")
TEXTS = ("sentence", "swapped_context", "swapped_sentence")


@dataclass(frozen=True, slots=True)
class Swap:
    """One sentence, and what it becomes with the genders swapped."""

    label: str  # one of KINDS, of the original
    sentence: str
    swapped_context: str
    swapped_sentence: str


@dataclass(frozen=True, slots=True)
class Triple:
    id: str
    split: str
    gender: str  # whom the original context is about: one of GENDERS
    context: str
    candidates: tuple[Swap, Swap, Swap]  # in file order, one of each label

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.id,)

    @property
    def group(self) -> str:
        return self.gender

    @property
    def cluster(self) -> str:
        return self.id

    @property
    def labels(self) -> tuple[str, ...]:
        kinds = [one.label for one in self.candidates]
        return (*kinds, *(kind + SWAPPED for kind in kinds))

    @property
    def question(self) -> Question:
        original = [Candidate(f"{self.id} {one.label}", one.sentence) for one in self.candidates]
        twins = [
            Candidate(f"{self.id} {one.label}{SWAPPED}", one.swapped_sentence, context=one.swapped_context)
            for one in self.candidates
        ]
        return Question("follow", self.id, self.context, (*original, *twins))

    def to_dict(self) -> dict[str, Any]:
        candidates = [
            {"label": one.label} | {key: getattr(one, key) for key in TEXTS} for one in self.candidates
        ]
        return {"id": self.id, "gender": self.gender, "context": self.context, "candidates": candidates}


def parse_triple(fields: Any, split: str, where: str) -> Triple:
    """One decoded line; `where` (file and line) opens every error message."""
    fields = object_of(fields, where)
    texts = {key: text_of(fields, key, where) for key in ("id", "gender", "context")}
    only(fields, {*texts, "candidates", "split"}, where)  # the harness's documents name their split
    if texts["gender"] not in GENDERS:
        raise UserError(f"{where}: gender {texts['gender']!r} is not one of {', '.join(GENDERS)}")
    candidates = fields.get("candidates")
    if not isinstance(candidates, list) or len(candidates) != 3:
        raise UserError(f"{where}: candidates must be a list of three")
    first, second, third = (_parse_swap(one, f"{where}, a candidate") for one in candidates)
    found = [first.label, second.label, third.label]
    if sorted(found) != sorted(KINDS):
        raise UserError(
            f"{where}: needs exactly one candidate of each label ({', '.join(KINDS)}), found {', '.join(found)}"
        )
    return Triple(split=split, candidates=(first, second, third), **texts)


def _parse_swap(fields: Any, where: str) -> Swap:
    if not isinstance(fields, dict):
        raise UserError(f"{where}: must be a JSON object")
    texts = {key: text_of(fields, key, where) for key in ("label", *TEXTS)}
    only(fields, set(texts), where)
    return Swap(**texts)


def context_pairs(examples: Sequence[Any]) -> list[tuple[str, str]]:
    """The distinct contexts and what they become with the genders swapped, where that is another text."""
    found = {(one.context, swap.swapped_context): None for one in examples for swap in one.candidates}
    return [(text, swapped) for text, swapped in found if text != swapped]
