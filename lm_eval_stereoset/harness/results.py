"""From the harness's answers to one score a candidate."""

from collections.abc import Sequence
from typing import Any


def candidate_scores(doc: dict[str, Any], answers: Sequence[Sequence[Any]]) -> list[float]:
    """Mean log-likelihood of each candidate, in the order of doc["candidates"]."""
    return [answer[0] / _count(answer, count) for answer, count in zip(answers, doc["counts"], strict=True)]


def _count(answer: Sequence[Any], count: int) -> int:
    """The document's count, unless the model brings its own.

    Harness models answer (sum of log-likelihoods, is greedy); `stereoset-hf` puts the number of tokens that it has
    scored, an int and never a bool, in the second place, which the metrics do not need.
    """
    _, second = answer  # a third element would break the harness's own --predict_only
    return second if type(second) is int else count
