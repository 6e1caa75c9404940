"""Every setting of a model on the same questions."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from lm_eval_stereoset.interventions.fitting import Directions, fit, intervention
from lm_eval_stereoset.interventions.levels import LEVEL, all_settings
from lm_eval_stereoset.interventions.pairs import Pair
from lm_eval_stereoset.interventions.places import layer_names, places_of
from lm_eval_stereoset.interventions.projection import Intervention
from lm_eval_stereoset.interventions.tree import Tree
from lm_eval_stereoset.scoring import method_for
from lm_eval_stereoset.scoring.questions import Model, Question, Scores, Settings, Tokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, and all settings of projections fitted on it."""

    model: Model
    tokenizer: Tokenizer
    methods: Mapping[str, str]  # {kind of question: family}
    directions: Mapping[str, Sequence[Directions]]
    settings: Mapping[str, Intervention]  # by name, the base first

    @property
    def names(self) -> list[str]:
        return list(self.settings)


def subject(
    model: Model,
    tokenizer: Tokenizer,
    methods: Mapping[str, str],
    pairs: Sequence[Pair],
    pooler: str = LEVEL,
    shown: bool = False,
) -> Subject:
    """Fits once, on the model as it is. Settings have the paper's names, whatever `pooler` is."""
    directions = fit(model, tokenizer, places_of(model), pairs, shown)
    made = {
        setting.name: intervention(directions, setting, pooler=pooler)
        for setting in all_settings(tuple(directions))
    }
    return Subject(model, tokenizer, methods, directions, made)


def scores(asked: Subject, questions: Sequence[Question], settings: Settings) -> dict[str, list[Scores]]:
    """{setting: the scores of questions of one kind}; they agree with those of a plain run to rounding."""
    (kind,) = {question.kind for question in questions}
    family = asked.methods[kind]
    function = method_for(family, kind)
    found = {}
    with tree_for(asked.model, family) as tree:
        for name, prepared in asked.settings.items():
            if tree is not None:
                tree.take(prepared)
            with prepared.applied(asked.model):
                found[name] = function(asked.model, asked.tokenizer, questions, settings)
    return found


def tree_for(model: Model, family: str) -> Any:
    """Layers of a causal language model may keep keys and values between passes, so those run every time."""
    if family == "causal" or not layer_names(model):
        return nullcontext(None)
    return Tree(model)
