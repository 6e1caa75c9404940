"""Numbers that a model gives to texts, one file per family of models; nothing here knows a benchmark or the harness.

from lm_eval_stereoset.benchmarks.stereoset.data import load as load_data
from lm_eval_stereoset.scoring import load, score

model, tokenizer = load("bert-base-german-cased")
examples = load_data("intra", "de").examples
scores = score(model, tokenizer, examples)        # one tuple of scores per example, in the order given
scores[0][0].probability                          # the papers' quantity of its first candidate
"""

import importlib
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.progress import Progress
from lm_eval_stereoset.scoring.questions import (
    CASES,
    KINDS,
    RATIOS,
    CandidateScore,
    Question,
    Scores,
    Settings,
    judged_texts,
    names_of,
    texts_of,
)

logger = logging.getLogger(__name__)

__all__ = [
    "CASES",
    "CandidateScore",
    "Question",
    "Scores",
    "Settings",
    "cut_pairs",
    "load",
    "method_for",
    "score",
    "score_with",
    "tell_about_pairs",
]

NEAR_TIE = 2e-5  # relative, of log scores; batches of other shapes differ by up to some 5e-6
FLOAT32_STEPS = 2**-22  # four steps of float32 just below 1

FAMILY_MODULES = {
    "masked": "masked",
    "causal": "causal",
    "seq2seq": "seq2seq",
    "nsp": "next_sentence",
    "classifier": "classifier",
}
COMPARE_MODULES = {"masked": "masked_compare", "causal": "causal_compare", "seq2seq": "seq2seq_compare"}


# What a question of each kind is called when a model cannot take it.
ASKED = {
    "fill": "to fill a gap in a sentence (intra-sentence)",
    "follow": "whether a sentence follows another (inter-sentence)",
    "whole": "how probable a sentence is",
    "compare": "which of two texts is more probable where they differ",
    "judge": "which label a pair of texts has (natural language inference)",
}


def method_for(family: str, kind: str) -> Callable[..., list[Scores]]:
    """The function by which a family answers questions of a kind. Families are imported when they are needed."""
    module = (COMPARE_MODULES if kind == "compare" else FAMILY_MODULES)[family]
    return importlib.import_module(f"lm_eval_stereoset.scoring.{module}").METHODS[kind]


def refuse_kind(kind: str, methods: Mapping[str, str]) -> None:
    """A model that cannot be asked such questions is refused."""
    if kind not in methods:
        can = " or ".join(ASKED[one] for one in methods)
        raise UserError(
            f"this model cannot be asked {ASKED[kind]}, only {can}; choose its tasks or split accordingly"
        )


def load(pretrained: Any, scoring: str = "auto", **options: Any) -> tuple[Any, Any]:
    """(model, tokenizer) of a checkpoint, recognised by its config; see loading.py for the options."""
    from lm_eval_stereoset.scoring import loading

    return loading.load(pretrained, scoring, **options)


def score(
    model: Any,
    tokenizer: Any,
    asked: Sequence[Any],
    *,
    scoring: str = "auto",
    case: str = "d",
    exact: bool = False,
    batch_tokens: int | None = None,
    batch_size: int | None = None,
    progress: bool = False,
    prefix_token_id: int | None = None,
) -> list[Scores]:
    """Scores of the candidates of questions, or of a benchmark's examples, in the order given; kinds may be mixed."""
    from lm_eval_stereoset.scoring.architecture import methods_of

    settings = Settings(case, exact, batch_tokens, batch_size, prefix_token_id=prefix_token_id)
    if hasattr(model, "training") and model.training:
        raise UserError(
            "the model is in training mode, its dropout would make scores random; call model.eval()"
        )
    questions = [one if isinstance(one, Question) else one.question for one in asked]
    methods = methods_of(model, scoring)
    with Progress(len(questions), shown=progress) as bar:
        scores = score_with(methods, model, tokenizer, questions, replace(settings, progress=bar))
    cut_pairs(methods, model, tokenizer, questions)
    tell_about_pairs(methods, tokenizer, questions, exact)
    return scores


def score_with(
    methods: Mapping[str, str], model: Any, tokenizer: Any, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    """As `score`, with the family for each kind of question given: {"fill": "masked", "follow": "nsp"}."""
    from lm_eval_stereoset.scoring.tokenizer_check import ids_within_embeddings, refuse_useless_tokenizer

    results: list[Scores] = [()] * len(questions)
    for kind in KINDS:
        where = [i for i, question in enumerate(questions) if question.kind == kind]
        if not where:
            continue
        refuse_kind(kind, methods)
        here = [questions[i] for i in where]
        texts = judged_texts(here) if methods[kind] == "classifier" else texts_of(here)
        refuse_useless_tokenizer(tokenizer, texts, tokenizer.name_or_path or type(tokenizer).__name__)
        part = settings.progress.part(len(where)) if settings.progress else nullcontext()
        with part, ids_within_embeddings(model.core if hasattr(model, "core") else model, tokenizer):
            function = method_for(methods[kind], kind)
            found = without_near_ties(function, model, tokenizer, here, settings)
        ratio = methods[kind] == "causal" and kind == "follow" and settings.case in RATIOS
        for i, scores in zip(where, found, strict=True):
            results[i] = checked(questions[i], scores, ratio)
    return results


def without_near_ties(
    function: Callable[..., list[Scores]],
    model: Any,
    tokenizer: Any,
    questions: Sequence[Question],
    settings: Settings,
) -> list[Scores]:
    """A near tie is scored again on its own, so that no ranking depends on what else was in its batch."""
    from lm_eval_stereoset.scoring.cpu_linear import usual_linear

    alone = replace(settings, batch_size=1, batch_tokens=None, progress=None)
    found = function(model, tokenizer, questions, settings)
    for i, (question, scores) in enumerate(zip(questions, found, strict=True)):
        if is_near_tie(question, scores, settings.exact):
            with usual_linear():
                (found[i],) = function(model, tokenizer, [question], alone)
    return found


def is_near_tie(question: Question, scores: Scores, exact: bool) -> bool:
    """Whether the rounding of a batch might decide which of two different candidates is preferred."""
    if question.kind == "judge":
        return _is_close_call(question, scores)
    means = {
        (candidate.context, candidate.sentence, candidate.word): score.log_score / score.tokens
        for candidate, score in zip(question.candidates, scores, strict=True)
    }
    step = FLOAT32_STEPS if exact else 0.0  # exact probabilities are rounded, as the authors' program does
    return any(b - a <= NEAR_TIE * abs(a) + step for a, b in pairwise(sorted(means.values())))


def _is_close_call(question: Question, scores: Scores) -> bool:
    """Whether two labels of a pair share the first place, as far as a batch's rounding lets one tell."""
    logs: dict[tuple[str, str], list[float]] = {}
    for candidate, score in zip(question.candidates, scores, strict=True):
        logs.setdefault((candidate.judged.first, candidate.judged.second), []).append(score.log_score)
    tops = [sorted(found)[-2:] for found in logs.values() if len(found) > 1]
    return any(top - second <= NEAR_TIE * max(1.0, abs(second)) for second, top in tops)


def cut_pairs(methods: Mapping[str, str], model: Any, tokenizer: Any, questions: Sequence[Question]) -> int:
    """How many pairs of texts a next-sentence head or a classifier could not read whole; says so in the log."""
    from lm_eval_stereoset.scoring import next_sentence

    kind = "judge" if methods.get("judge") == "classifier" else "follow"
    pairs = [question for question in questions if question.kind == kind]
    if methods.get(kind) not in ("nsp", "classifier") or not pairs:
        return 0
    if kind == "judge":
        from lm_eval_stereoset.scoring import classifier

        count = classifier.cut_pairs(model, tokenizer, pairs)
    else:
        count = next_sentence.cut_pairs(model, tokenizer, pairs)
    if count:
        logger.warning(
            "%d of %d pairs are longer than the model has positions: the longer text of each was cut at its end",
            count,
            len(names_of(pairs)),
        )
    return count


def tell_about_pairs(
    methods: Mapping[str, str], tokenizer: Any, questions: Sequence[Question], exact: bool
) -> None:
    """Says in the log how many pairs of texts the tokenizer cuts in a way that matters to their comparison."""
    from lm_eval_stereoset.scoring import compare

    pairs = [question for question in questions if question.kind == "compare"]
    if pairs and "compare" in methods:
        for line in compare.remarks(methods["compare"], tokenizer, pairs, exact):
            logger.warning("%s", line)


def checked(question: Question, scores: Scores, ratio: bool = False) -> Scores:
    """The scores, if each of them is one: written, finite, of at least one token, and of a probability of at most 1.

    `ratio`: they are quotients of probabilities, which may be above 1.
    """
    for candidate, one in zip(question.candidates, scores, strict=True):
        name = question.name(candidate)
        if one.tokens < 1:
            raise UserError(f"{name}: the tokenizer leaves no token of it to score")
        if not math.isfinite(one.log_score) or (one.log_score > 0 and not ratio):
            what = "a probability above 1" if math.isfinite(one.log_score) else "not a finite number"
            raise UserError(
                f"{name}: the model's score is {what} (its logarithm is {one.log_score}); is the checkpoint damaged? "
                "In half precision, try dtype=float32"
            )
    return scores
