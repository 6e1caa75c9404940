"""From the harness's answers to one score a candidate."""

from collections.abc import Sequence
from typing import Any


def candidate_scores(doc: dict[str, Any], answers: Sequence[Sequence[Any]]) -> list[float]:
    """Mean log-likelihood of each candidate, in the order of doc["candidates"].

    An answer is (sum of log-likelihoods, is greedy) and is divided by the document's own count, or, from
    `stereoset-hf`, (sum, is greedy, count) and is divided by the count it brings.
    """
    return [
        float(answer[0]) / (answer[2] if len(answer) > 2 else count)
        for answer, count in zip(answers, doc["counts"], strict=True)
    ]
