"""What every family of models shares: the settings it is given and the score it returns.

A family (masked.py, causal.py, seq2seq.py, next_sentence.py) is two functions of the same shape:

    score_intra(model, tokenizer, examples, settings) -> list[Scores]     one triple an example
    score_inter(model, tokenizer, examples, settings) -> list[Scores]

Triples come in the order of the examples, their scores in the order of the candidates in the file,
whatever the batches were. None of them knows the harness.
"""

import math
from dataclasses import dataclass

from lm_eval_stereoset.errors import UserError

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


Scores = tuple[CandidateScore, CandidateScore, CandidateScore]


@dataclass(frozen=True)
class Settings:
    """How to score. `case`, `exact` and `prefix_token_id` change numbers, the rest only speed, memory and display."""

    case: str = "d"  # one of CASES; causal inter-sentence only
    exact: bool = False  # True: the authors' program with its quirks; False: the correct computation
    batch_tokens: int | None = None  # padded tokens of a batch; None: chosen for the device
    batch_size: int | None = None  # at most so many inputs a batch; None: as many as batch_tokens holds
    progress: bool = False  # a progress bar per pass through the model
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
