"""What every family of models shares: the settings it is given and the score it returns.

A family (masked.py, causal.py, seq2seq.py, next_sentence.py) has one function per kind of question, all of one shape,
and lists them in METHODS:

    score_fill(model, tokenizer, questions, settings) -> list[Scores]

Scores come in the order of the questions, and within a question in the order of its candidates, whatever the batches
were. None of them knows the harness or a benchmark.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.progress import Progress
from lm_eval_stereoset.scoring.questions import Question

# What is passed around as a transformers PreTrainedModel and PreTrainedTokenizerBase. Their attributes differ from
# architecture to architecture, and transformers makes many of them up at run time: a type checker cannot know them.
Model = Any
Tokenizer = Any

CASES = ("orig", "b", "c", "d", "e", "f")  # what the inter-sentence score of a causal model compares
RATIOS = ("orig", "b", "e", "f")  # of these, the ones that divide one probability by another


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
