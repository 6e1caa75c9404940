"""The three answers of natural language inference, for classifiers and in words.

A classifier gives the pair of texts one of three labels. A left-to-right model is shown a prompt; its label is the
answer that it continues with most probably.
"""

import numpy as np

from lm_eval_stereoset.scoring.describe import ANSWER_IN_WORDS, Description
from lm_eval_stereoset.scoring.questions import Candidate, Verdict

ANSWERS = ("entailment", "contradiction", "neutral")
NEUTRAL = ANSWERS.index("neutral")
IN_WORDS = {"entailment": "True", "contradiction": "False", "neutral": "Neither"}
PROMPT = "{premise}\nQuestion: {hypothesis} True, False, or Neither?\nAnswer:"


def candidates(premise: str, hypothesis: str, mark: str = "") -> list[Candidate]:
    """The three answers to one pair; `mark` makes their ids differ from those of other pairs."""
    prompt = PROMPT.format(premise=premise, hypothesis=hypothesis)
    return [
        Candidate(
            answer + mark, IN_WORDS[answer], context=prompt, verdict=Verdict(premise, hypothesis, answer)
        )
        for answer in ANSWERS
    ]


def said(description: Description) -> Description:
    """Answers in words depend on the words, so results say them."""
    if description.scoring != ANSWER_IN_WORDS:
        return description
    shown = PROMPT.format(premise="PREMISE", hypothesis="HYPOTHESIS").replace("\n", " / ")
    words = ", ".join(IN_WORDS[answer] for answer in ANSWERS)
    return description._replace(
        scoring=f"{description.scoring}, the three made to add up to 1; prompt: {shown!r}, answers: {words}"
    )


def shares(scores: np.ndarray) -> np.ndarray:
    """(pairs, 3) probabilities that add up to 1; a classifier's do so already."""
    p = np.asarray(scores, dtype=float).reshape(-1, len(ANSWERS))
    totals = p.sum(axis=1, keepdims=True)
    if not ((p >= 0).all() and (totals > 0).all()):  # NaN is neither
        row = int(np.flatnonzero(~((p >= 0).all(axis=1) & (totals[:, 0] > 0)))[0])
        raise ValueError(f"these are no probabilities of three answers: {p[row].tolist()}")
    return p / totals


def answers_of(p: np.ndarray) -> np.ndarray:
    """The place of the most probable answer; a tie is never neutral, so that it does not pass for fair."""
    return p.argmax(axis=1)
