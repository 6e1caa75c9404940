"""What a model is asked: a question with candidates, each of which gets a number.

Nothing here knows a benchmark. A benchmark turns its examples into questions of a few kinds, and every family of models
has a way to answer each kind (architecture.py says which):

    kind      the text                                    what is compared
    fill      context "He is BLANK.", candidates' words   the word in its place, or the whole filled-in sentence
    follow    a context, candidates' sentences            each sentence as the one that comes next
    whole     candidates' sentences alone                 each sentence as a whole
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lm_eval_stereoset.errors import UserError

BLANK = "BLANK"  # the gap in the context of a question of the kind "fill"
KINDS = ("fill", "follow", "whole")

Request = tuple[str, str]  # context, continuation: what any left-to-right model can be asked


@dataclass(frozen=True, slots=True)
class Candidate:
    id: str
    sentence: str
    word: str | None = None  # what fills BLANK; kind "fill" only
    context: str | None = (
        None  # what it follows, where that is not the question's context; kind "follow" only
    )

    @property
    def filler(self) -> str:
        """The word of a candidate of the kind "fill", which always has one."""
        if self.word is None:
            raise ValueError(f"candidate {self.id} has no word that could fill {BLANK}")
        return self.word


@dataclass(frozen=True, slots=True)
class Question:
    kind: str  # one of KINDS
    id: str
    context: str
    candidates: tuple[Candidate, ...]

    def context_of(self, candidate: Candidate) -> str:
        """What the candidate follows."""
        return self.context if candidate.context is None else candidate.context

    def name(self, candidate: Candidate) -> str:
        """For messages."""
        return f"example {self.id}, candidate {candidate.id}"


def with_final_dot(context: str) -> str:
    """A context ends as a sentence: a dot unless it ends in . ! or ?; no context stays none."""
    return context if not context or context.endswith((".", "!", "?")) else context + "."


def requests_of(question: Question) -> list[Request]:
    """What the harness asks any model about each candidate, if no flag adds to it."""
    if question.kind == "follow":
        return [(with_final_dot(question.context_of(c)), f" {c.sentence}") for c in question.candidates]
    return [("", c.sentence) for c in question.candidates]


def texts_of(questions: Sequence[Question]) -> list[str]:
    """Every text that a tokenizer will see."""
    found = [text for q in questions for text in (q.context, *(c.sentence for c in q.candidates))]
    own = [c.context for q in questions for c in q.candidates if c.context is not None]
    return [text for text in [*found, *own] if text]


def flat(questions: Sequence[Question]) -> list[tuple[Question, Candidate]]:
    """One entry per candidate, in order: what most methods work through."""
    return [(question, candidate) for question in questions for candidate in question.candidates]


def names_of(questions: Sequence[Question]) -> list[str]:
    return [question.name(candidate) for question, candidate in flat(questions)]


def of_one_kind(questions: Sequence[Question]) -> str:
    kinds = {question.kind for question in questions}
    if len(kinds) != 1:
        raise UserError(f"expected questions of one kind, found {', '.join(sorted(kinds)) or 'none'}")
    return kinds.pop()
