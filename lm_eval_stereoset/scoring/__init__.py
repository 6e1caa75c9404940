"""Scores of candidates under a model, one file a family of models; nothing here knows the harness.

from lm_eval_stereoset.data import store
from lm_eval_stereoset.scoring import load, score

model, tokenizer = load("bert-base-german-cased")
examples = store.load("intra", "de").examples
scores = score(model, tokenizer, examples)        # one triple an example, in the order given
scores[0][0].probability                          # the papers' quantity of its first candidate
"""

import importlib
import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.data.format import SPLITS, Example, split_of
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.near_ties import is_near_tie
from lm_eval_stereoset.scoring.types import CASES, RATIOS, CandidateScore, Scores, Settings

if TYPE_CHECKING:
    from types import ModuleType

logger = logging.getLogger(__name__)

__all__ = [
    "CASES",
    "CandidateScore",
    "Scores",
    "Settings",
    "cut_pairs",
    "family_module",
    "load",
    "score",
    "score_with",
]

FAMILY_MODULES = {"masked": "masked", "causal": "causal", "seq2seq": "seq2seq", "nsp": "next_sentence"}


def family_module(method: str) -> "ModuleType":
    return importlib.import_module(f"lm_eval_stereoset.scoring.{FAMILY_MODULES[method]}")


def load(pretrained: Any, scoring: str = "auto", **options: Any) -> tuple[Any, Any]:
    """(model, tokenizer) of a checkpoint, recognised by its config; see loading.py for the options."""
    from lm_eval_stereoset.scoring import loading

    return loading.load(pretrained, scoring, **options)


def score(
    model: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    *,
    scoring: str = "auto",
    case: str = "d",
    exact: bool = False,
    batch_tokens: int | None = None,
    batch_size: int | None = None,
    progress: bool = False,
    prefix_token_id: int | None = None,
) -> list[Scores]:
    """Scores of the three candidates of every example, in the order given; intra and inter may be mixed."""
    from lm_eval_stereoset.scoring.architecture import methods_of

    settings = Settings(case, exact, batch_tokens, batch_size, progress, prefix_token_id)
    if hasattr(model, "training") and model.training:
        raise UserError(
            "the model is in training mode, its dropout would make scores random; call model.eval()"
        )
    methods = methods_of(model, scoring)
    scores = score_with(methods, model, tokenizer, examples, settings)
    cut_pairs(methods, model, tokenizer, examples)
    return scores


def score_with(
    methods: dict[str, str], model: Any, tokenizer: Any, examples: Sequence[Example], settings: Settings
) -> list[Scores]:
    """As `score`, with the method of each split given: {"intra": "masked", "inter": "nsp"}.

    A near tie is scored again on its own, so that no ranking depends on what else was in its batch.
    """
    from lm_eval_stereoset.scoring.cpu_linear import usual_linear
    from lm_eval_stereoset.scoring.tokenizer_check import ids_within_embeddings, refuse_useless_tokenizer

    results: list[Scores | None] = [None] * len(examples)
    alone = replace(settings, batch_size=1, batch_tokens=None, progress=False)
    for split in SPLITS:
        where = [i for i, example in enumerate(examples) if split_of(example) == split]
        if not where:
            continue
        if split not in methods:
            raise UserError(
                f"this model cannot take the {split}-sentence test, only "
                f"{' and '.join(methods)}-sentence; choose its tasks or split accordingly"
            )
        function = getattr(family_module(methods[split]), f"score_{split}")
        here = [examples[i] for i in where]
        texts = [text for e in here for text in (e.context, *(c.sentence for c in e.candidates))]
        refuse_useless_tokenizer(tokenizer, texts, tokenizer.name_or_path or type(tokenizer).__name__)
        ratio = methods[split] == "causal" and split == "inter" and settings.case in RATIOS
        with ids_within_embeddings(model.core if hasattr(model, "core") else model, tokenizer):
            found = function(model, tokenizer, here, settings)
            for i, triple in zip(where, found, strict=True):
                if is_near_tie(examples[i], triple, settings.exact):
                    with usual_linear():
                        (triple,) = function(model, tokenizer, [examples[i]], alone)
                results[i] = checked(examples[i], triple, ratio)
    return results


def cut_pairs(methods: dict[str, str], model: Any, tokenizer: Any, examples: Sequence[Example]) -> int:
    """How many pairs of sentences a next-sentence head could not read whole; says so in the log."""
    from lm_eval_stereoset.scoring import next_sentence

    inter = [example for example in examples if split_of(example) == "inter"]
    if methods.get("inter") != "nsp" or not inter:
        return 0
    count = next_sentence.cut_pairs(model, tokenizer, inter)
    if count:
        logger.warning(
            "%d of %d pairs are longer than the model has positions: the longer text of each was cut at its end",
            count,
            3 * len(inter),
        )
    return count


def checked(example: Example, triple: Scores, ratio: bool = False) -> Scores:
    """The scores, if each of them is one: written, finite, of at least one token, and of a probability of at most 1.

    `ratio`: they are quotients of probabilities, which may be above 1.
    """
    for candidate, one in zip(example.candidates, triple, strict=True):
        name = f"example {example.id}, candidate {candidate.id}"
        if one.tokens < 1:
            raise UserError(f"{name}: the tokenizer leaves no token of it to score")
        if not math.isfinite(one.log_score) or (one.log_score > 0 and not ratio):
            what = "a probability above 1" if math.isfinite(one.log_score) else "not a finite number"
            raise UserError(
                f"{name}: the model's score is {what} (its logarithm is {one.log_score}); is the checkpoint damaged? "
                "In half precision, try dtype=float32"
            )
    return triple
