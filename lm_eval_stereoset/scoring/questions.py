"""What a model is asked, how, and what it answers: a question with candidates, each of which gets a score.

Nothing here knows a benchmark. A benchmark turns its examples into questions of a few kinds, and every family of models
has a way to answer each kind (architecture.py says which):

    kind      the text                                    what is compared
    fill      context "He is BLANK.", candidates' words   the word in its place, or the whole filled-in sentence
    follow    a context, candidates' sentences            each sentence as the one that comes next
    whole     candidates' sentences alone                 each sentence as a whole
    compare   two candidates' sentences                   the sentences where they differ from each other
    judge     two texts, candidates' labels               each label as what the one text is to the other; a classifier
                                                          reads the two texts, a left-to-right model is asked in words

A family (masked.py, causal.py, seq2seq.py, next_sentence.py) has one function per kind of question, all of one shape,
and lists them in METHODS:

    score_fill(model, tokenizer, questions, settings) -> list[Scores]

Scores come in the order of the questions, and within a question in the order of its candidates, whatever the batches
were.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.progress import Progress

# What is passed around as a transformers PreTrainedModel and PreTrainedTokenizerBase. Their attributes differ from
# architecture to architecture, and transformers makes many of them up at run time: a type checker cannot know them.
Model = Any
Tokenizer = Any

BLANK = "BLANK"  # the gap in the context of a question of the kind "fill"
KINDS = ("fill", "follow", "whole", "compare", "judge")
SUMMED = ("judge",)  # kinds whose candidates are compared by sums of logarithms, not by their means
CASES = ("orig", "b", "c", "d", "e", "f")  # what the inter-sentence score of a causal model compares
RATIOS = ("orig", "b", "e", "f")  # of these, the ones that divide one probability by another

Request = tuple[str, str]  # context, continuation: what any left-to-right model can be asked


@dataclass(frozen=True, slots=True)
class Verdict:
    """One label that a classifier may give to a pair of texts."""

    first: str
    second: str
    label: str  # a name, which is looked for among the classifier's own


@dataclass(frozen=True, slots=True)
class Candidate:
    id: str
    sentence: str
    word: str | None = None  # what fills BLANK; kind "fill" only
    # What it follows, where that is not the question's context; kinds "follow" and "judge" (the question in words)
    context: str | None = None
    # What a left-to-right model is asked in place of the sentence: ('"I am tired.",', " he"); kind "compare" only
    prompt: tuple[str, str] | None = None
    verdict: Verdict | None = None  # what a classifier is asked; kind "judge" only

    @property
    def filler(self) -> str:
        """The word of a candidate of the kind "fill", which always has one."""
        if self.word is None:
            raise ValueError(f"candidate {self.id} has no word that could fill {BLANK}")
        return self.word

    @property
    def judged(self) -> Verdict:
        """The verdict of a candidate of the kind "judge", which always has one."""
        if self.verdict is None:
            raise ValueError(f"candidate {self.id} has no pair of texts that could be judged")
        return self.verdict


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
    if question.kind == "judge":
        return [(question.context_of(c), f" {c.sentence}") for c in question.candidates]
    if question.kind == "follow":
        return [(with_final_dot(question.context_of(c)), f" {c.sentence}") for c in question.candidates]
    if question.kind == "compare":
        split = split_where_they_differ([c.sentence for c in question.candidates])
        return [c.prompt or request for c, request in zip(question.candidates, split, strict=True)]
    return [("", c.sentence) for c in question.candidates]


def split_where_they_differ(texts: Sequence[str]) -> list[Request]:
    """Each text cut in front of the first word that the texts do not share: its beginning, and all the rest.

        "I am tired", he said    ->   "I am tired",  |  he said
        "I am tired", she said   ->   "I am tired",  |  she said

    Every text keeps at least its last word as the rest. Texts that differ in their first word have no beginning.
    """
    cut = 0
    for space in re.finditer(r"(?<=\S)\s+(?=\S)", texts[0]):
        beginning, rests = texts[0][: space.end()], [text[space.end() :] for text in texts]
        if not all(text.startswith(beginning) for text in texts) or not all(map(str.strip, rests)):
            break
        cut = space.start()
    return [(text[:cut], text[cut:]) for text in texts]


def is_event(question: Question, candidate: Candidate) -> bool:
    """Whether a left-to-right model is asked how probable a word or an answer is behind a prompt. Its probability is
    that of all its tokens together: a mean over them would favour words that the vocabulary cuts into more pieces."""
    return question.kind in SUMMED or (question.kind == "compare" and candidate.prompt is not None)


def texts_of(questions: Sequence[Question]) -> list[str]:
    """Every text that a language model's tokenizer will see."""
    found = [text for q in questions for text in (q.context, *(c.sentence for c in q.candidates))]
    own = [c.context for q in questions for c in q.candidates if c.context is not None]
    prompts = [part for q in questions for c in q.candidates for part in c.prompt or ()]
    return [text for text in [*found, *own, *prompts] if text]


def judged_texts(questions: Sequence[Question]) -> list[str]:
    """Every text that a classifier's tokenizer will see."""
    found = [c.judged for q in questions for c in q.candidates]
    return list(dict.fromkeys(text for one in found for text in (one.first, one.second)))


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


# What it answers, and how it is asked


@dataclass(frozen=True, slots=True)
class CandidateScore:
    """One candidate's score as a sum of logarithms and the count it is divided by.

    A geometric mean of n token probabilities (paper eq. 4) is their summed natural log with tokens=n;
    an arithmetic mean, a next-sentence probability or a ratio is its own log with tokens=1.
    """

    log_score: float
    tokens: int

    @property
    def probability(self) -> float:
        """The papers' quantity, as their prediction files hold it."""
        return math.exp(self.log_score / self.tokens)


Scores = tuple[CandidateScore, ...]  # of one question, in the order of its candidates


def by_question(questions: Sequence[Question], scores: Sequence[CandidateScore]) -> list[Scores]:
    """One score per candidate of all questions, in order, put together question by question."""
    waiting = iter(scores)
    found = [tuple(islice(waiting, len(question.candidates))) for question in questions]
    if sum(map(len, found)) != len(scores) or next(waiting, None) is not None:
        raise RuntimeError(f"{len(scores)} scores for {sum(len(q.candidates) for q in questions)} candidates")
    return found


@dataclass(frozen=True)
class Settings:
    """How to score. `case`, `exact` and `prefix_token_id` change numbers, the rest only speed, memory and display."""

    case: str = "d"  # one of CASES; causal inter-sentence only
    exact: bool = False  # True: the authors' program with its quirks; False: the correct computation
    batch_tokens: int | None = None  # padded tokens of a batch; None: chosen for the device
    batch_size: int | None = None  # at most so many inputs a batch; None: as many as batch_tokens holds
    progress: Progress | None = None  # where to tell how many examples are done
    prefix_token_id: int | None = (
        None  # causal: the token in front of a text; None: the tokenizer's BOS or EOS
    )

    def __post_init__(self) -> None:
        if self.case not in CASES:
            raise UserError(f"case {self.case!r} is unknown; the cases are {', '.join(CASES)}")
        for name in ("batch_tokens", "batch_size"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise UserError(f"{name} must be a whole number of at least 1, is {value!r}")
        start = self.prefix_token_id
        if start is not None and (type(start) is not int or start < 0):
            raise UserError(f"prefix_token_id must be the number of a token, is {start!r}")
        if start is not None and self.exact:
            raise UserError(
                "prefix_token_id and exact do not go together: the papers' program has a start token of its own; leave "
                "one of them out"
            )
