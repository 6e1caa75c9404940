"""Scores of candidates under a model, one file a family of models; nothing here knows the harness.

from lm_eval_stereoset.data import store
from lm_eval_stereoset.scoring import load, score

model, tokenizer = load("bert-base-german-cased")
examples = store.load("intra", "de").examples
scores = score(model, tokenizer, examples)        # one triple an example, in the order given
scores[0][0].probability                          # the papers' quantity of its first candidate
"""

import importlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.data.format import SPLITS, Example, split_of
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.near_ties import is_near_tie
from lm_eval_stereoset.scoring.types import CASES, CandidateScore, Scores, Settings

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["CASES", "CandidateScore", "Scores", "Settings", "family_module", "load", "score", "score_with"]

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
) -> list[Scores]:
    """Scores of the three candidates of every example, in the order given; intra and inter may be mixed."""
    from lm_eval_stereoset.scoring.architecture import methods_of

    settings = Settings(case, exact, batch_tokens, batch_size, progress)
    if hasattr(model, "training") and model.training:
        raise UserError(
            "the model is in training mode, its dropout would make scores random; call model.eval()"
        )
    return score_with(methods_of(model, scoring), model, tokenizer, examples, settings)


def score_with(
    methods: dict[str, str], model: Any, tokenizer: Any, examples: Sequence[Example], settings: Settings
) -> list[Scores]:
    """As `score`, with the method of each split given: {"intra": "masked", "inter": "nsp"}.

    A near tie is scored again on its own, so that no ranking depends on what else was in its batch.
    """
    from lm_eval_stereoset.scoring.cpu_linear import usual_linear

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
        found = function(model, tokenizer, [examples[i] for i in where], settings)
        for i, triple in zip(where, found, strict=True):
            if is_near_tie(examples[i], triple, settings.exact):
                with usual_linear():
                    (triple,) = function(model, tokenizer, [examples[i]], alone)
            results[i] = finite(examples[i], triple)
    return results


def finite(example: Example, triple: Scores) -> Scores:
    for candidate, one in zip(example.candidates, triple, strict=True):
        if not math.isfinite(one.log_score):
            raise UserError(
                f"example {example.id}, candidate {candidate.id}: the model's score is not a finite number "
                f"({one.log_score}); is the checkpoint damaged? In half precision, try dtype=float32"
            )
    return triple
