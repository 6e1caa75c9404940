"""Examples whose ranking the rounding of a batch might decide; `score_with` scores them again, each alone."""

from itertools import pairwise

from lm_eval_stereoset.scoring.questions import Question
from lm_eval_stereoset.scoring.types import Scores

NEAR_TIE = 2e-5  # relative, of log scores; batches of other shapes differ by up to some 5e-6
FLOAT32_STEPS = 2**-22  # four steps of float32 just below 1


def is_near_tie(question: Question, scores: Scores, exact: bool) -> bool:
    """Whether the rounding of a batch might decide which of two different candidates is preferred."""
    means = {
        (candidate.context, candidate.sentence, candidate.word): score.log_score / score.tokens
        for candidate, score in zip(question.candidates, scores, strict=True)
    }
    step = FLOAT32_STEPS if exact else 0.0  # exact probabilities are rounded, as the authors' program does
    return any(b - a <= NEAR_TIE * abs(a) + step for a, b in pairwise(sorted(means.values())))
