"""What a model answers to a request, and how a candidate's score is read from it.

Harness models answer (sum of log-likelihoods, is greedy) and leave the count of tokens to the task. A model that
scores StereoSet in its own way (`stereoset-hf`) brings the count it has divided by: it stands in the place of `is
greedy`, which StereoSet's metrics have no use for, as an int and never a bool. A third element would break the
harness's own --predict_only. Logged samples hold answers as texts: ["-33.4", "False"] or ["-33.4", "6"].
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from lm_eval_stereoset.errors import UserError, short

PlainAnswer = tuple[float, bool | int]

LARGEST_SUM = 1e9  # no sentence is so unlikely
LARGEST_COUNT = 10**6  # nor so long
ROUNDING = 1e-6  # a certain token may have a log-likelihood of 1e-9 in a model's arithmetic
_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,4})?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,20}", re.ASCII)


def encode(log_score: float, tokens: int) -> tuple[float, int]:
    """The answer of a model that brings its own count."""
    return log_score, tokens


def own_count(answer: Sequence[Any]) -> int | None:
    """The count that the model has brought; None if the task must know it."""
    _, second = answer
    return second if type(second) is int else None


def parse_logged(logged: Any, where: str, signed: bool = False) -> PlainAnswer:
    """An answer from a line of logged samples; one that no model can give is refused.

    `signed`: the score is a difference of log-likelihoods, which may lie above 0.
    """
    if not isinstance(logged, list) or len(logged) != 2:
        raise UserError(f"{where}: an answer must be [log-likelihood, second part], is {short(logged)}")
    total, second = (part if isinstance(part, str) else json.dumps(part) for part in logged)
    largest = LARGEST_SUM if signed else ROUNDING
    if not _NUMBER.fullmatch(total) or not -LARGEST_SUM <= float(total) <= largest:
        raise UserError(
            f"{where}: {short(logged[0])} is not a log-likelihood, which is a finite number not above 0"
        )
    value = float(total) if signed else min(float(total), 0.0)
    if second.lower() in ("true", "false"):
        return value, second.lower() == "true"
    if not _WHOLE_NUMBER.fullmatch(second):
        raise UserError(f"{where}: {short(logged[1])} is neither True, False nor a number of tokens")
    check_count(int(second), where)
    return value, int(second)


def check_count(count: Any, where: str) -> None:
    if type(count) is not int or not 1 <= count <= LARGEST_COUNT:
        raise UserError(f"{where}: {short(count)} is not a number of tokens, which is 1 or more")


def candidate_scores(doc: dict[str, Any], answers: Sequence[Sequence[Any]]) -> list[float]:
    """The score of each candidate, in the order of doc["candidates"]: the sum divided by its count."""
    counts = doc.get("counts") or [None] * len(answers)
    own = [own_count(answer) for answer in answers]
    return [
        answer[0] / (count if brought is None else brought)
        for answer, count, brought in zip(answers, counts, own, strict=True)
    ]
