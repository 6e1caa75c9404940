"""Many settings of one model on the same texts, with every layer run once for all settings that it is the same for.

Whatever lies below an intervention does not change with it. With twelve layers, for the 75 settings of the paper:

    layers 1 to 10      once                                                    10 runs of a layer
    layer 11            with its attention projected, and without                2
    layer 12            behind 5 variants of layer 11's output, and 4 of the     9
                        one with projected attention
    pooler, heads       every time, on one token of each text

21 runs of a layer instead of 75 x 12 = 900. The model's own forward pass runs for every setting: only its layers are
made to remember what they gave. A layer's answer is known by the texts of the batch and by the projections that it
depends on: those at the output of an earlier layer, and those inside it or inside an earlier one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from lm_eval_stereoset.interventions.places import layer_names
from lm_eval_stereoset.interventions.projection import Intervention, Projection, base_of
from lm_eval_stereoset.scoring.questions import Model

Key = tuple[Any, ...]


class Tree:
    """`with Tree(model) as tree:`, then tree.take(intervention) before each setting, tree.forget() between texts."""

    def __init__(self, model: Model):
        self.base = base_of(model)
        self.names = layer_names(model)
        self.layers = [self.base.get_submodule(name) for name in self.names]
        self.entry = self.base.get_encoder() if self.base.config.is_encoder_decoder else self.base
        self.embeddings = getattr(self.base, "embeddings", None)
        self.known: dict[Key, Any] = {}
        self.texts: bytes = b""  # of the batch under way
        self.keys: list[Key] = [()] * len(self.layers)
        self.runs = 0  # of a layer on a batch: what was really computed

    def take(self, intervention: Intervention) -> None:
        """The setting that the next forward passes are of."""
        self.keys = [
            tuple(one.checksum for one in intervention.projections if depends(self.names, number, one))
            for number in range(len(self.layers))
        ]

    def forget(self) -> None:
        self.known.clear()

    def __enter__(self) -> "Tree":
        self.handle = self.entry.register_forward_pre_hook(self._note_texts, with_kwargs=True)
        for number, layer in enumerate(self.layers):
            layer.forward = self._remembering(("layer", number), layer.forward, number)
        if self.embeddings is not None:
            self.embeddings.forward = self._remembering(("embeddings",), self.embeddings.forward)
        return self

    def __exit__(self, *_: Any) -> None:
        self.handle.remove()
        for module in (*self.layers, *([] if self.embeddings is None else [self.embeddings])):
            del module.forward  # what the class has comes to light again
        self.known.clear()

    def _note_texts(self, _module: Any, arguments: tuple, keywords: dict[str, Any]) -> None:
        tensors = [
            (name, value)
            for name, value in (*enumerate(arguments), *sorted(keywords.items()))
            if isinstance(value, torch.Tensor)
        ]
        self.texts = b"".join(
            f"{name} {tuple(value.shape)}".encode() + value.cpu().numpy().tobytes() for name, value in tensors
        )

    def _remembering(
        self, place: Key, forward: Callable[..., Any], number: int | None = None
    ) -> Callable[..., Any]:
        def remembered(*arguments: Any, **keywords: Any) -> Any:
            key = (*place, self.texts, () if number is None else self.keys[number])
            if key not in self.known:
                self.known[key] = forward(*arguments, **keywords)
                self.runs += number is not None
            return self.known[key]

        return remembered


def depends(names: Sequence[str], number: int, projection: Projection) -> bool:
    """Whether what layer `number` gives, before its own output is projected, changes with a projection."""
    for at, name in enumerate(names):
        if projection.module == name:
            return at < number
        if projection.module.startswith(f"{name}."):
            return at <= number
    return False  # behind all layers
