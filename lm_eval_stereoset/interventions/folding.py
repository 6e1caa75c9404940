"""Folding: a projection multiplied into the weights beside it, so that the checkpoint needs no hooks.

    y = W h + b,  h projected:  W (P h) + b = (W P) h + b      into the layer that reads h
    q = W h + b,  q projected:  P (W h + b) = (P W) h + P b    into the layer that makes q

The first is exact where one linear layer is all that reads h: the pooler's output is read by the next-sentence head,
the last layer's first token by the pooler. A layer's output at all tokens is also carried past the next layer, to be
added to what that gives: there is no weight on this way that could take the projection in.

Sums come out in another order, so folded and hooked models agree to rounding, not to the last bit.
"""

from typing import Any

import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.interventions.projection import (
    FIRST,
    Intervention,
    Projection,
    base_of,
    is_pooled,
    resolve,
)
from lm_eval_stereoset.scoring.questions import Model

WAY_OUT = "apply it as it is: debias=DIR with `stereoset run`, --debias DIR with `stereoset predict`"


@torch.no_grad()
def fold(model: Model, intervention: Intervention) -> list[str]:
    """Changes the model's weights; all projections or none. Returns what the weights cannot carry."""
    plan = [(one, *_target(model, one)) for one in intervention.projections]
    notes = []
    for projection, layer, reads in plan:
        if reads:
            _into_reader(layer, projection)
        else:
            _into_maker(layer, projection)
        if is_pooled(projection.module):
            notes.append("the pooler's output itself is as it was: only the head that reads it is changed")
        elif projection.positions == FIRST:
            notes.append(
                "the last layer's first token itself is as it was: only the pooler, which reads it, is changed (a "
                "masked-language-model head at the first token, or sentence vectors taken there, are not)"
            )
    return notes


def _target(model: Model, projection: Projection) -> tuple[Any, bool]:
    """(the linear layer that takes the projection in, whether it reads the projected output or makes it)."""
    module = resolve(model, projection.module)
    if is_pooled(projection.module):
        return _reader_of_pooler(model), True
    if projection.positions == FIRST:
        return _dense_of_pooler(model, projection), True
    if _is_linear(module):
        return module, False
    raise UserError(
        f"the projection of {projection.module} cannot be folded into weights: the layer's output at every token is "
        f"also added to what the next layer gives, past all weights; {WAY_OUT}"
    )


def _is_linear(module: Any) -> bool:
    return isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D"


def _reader_of_pooler(model: Model) -> Any:
    if hasattr(model, "core"):
        return model.head[2]
    for holder, name in ((getattr(model, "cls", None), "seq_relationship"), (model, "classifier")):
        if isinstance(found := getattr(holder, name, None), torch.nn.Linear):
            return found
    raise UserError(
        f"{type(model).__name__} has no linear layer that reads the pooler's output, so the projection there cannot be "
        f"folded; {WAY_OUT}"
    )


def _dense_of_pooler(model: Model, projection: Projection) -> Any:
    found = (
        model.head[0]
        if hasattr(model, "core")
        else getattr(getattr(base_of(model), "pooler", None), "dense", None)
    )
    if isinstance(found, torch.nn.Linear):
        return found
    raise UserError(
        f"{type(model).__name__} has no pooler that reads the first token of {projection.module}, so the projection "
        f"there cannot be folded; {WAY_OUT}"
    )


def _into_reader(layer: torch.nn.Linear, projection: Projection) -> None:
    weight = layer.weight.data
    folded = weight.double() @ projection.matrix.to(weight.device, torch.float64)
    layer.weight.data = folded.to(weight.dtype)


def _into_maker(layer: Any, projection: Projection) -> None:
    weight = layer.weight.data
    matrix = projection.matrix.to(weight.device, torch.float64)
    made = matrix @ weight.double() if isinstance(layer, torch.nn.Linear) else weight.double() @ matrix
    layer.weight.data = made.to(weight.dtype)
    if layer.bias is not None:
        layer.bias.data = (matrix @ layer.bias.data.double()).to(weight.dtype)
