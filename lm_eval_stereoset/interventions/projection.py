"""Projections: directions taken out of what a module of a model computes.

    h' = h - sum_i w_i <h, g_i> g_i         g_i orthonormal, w_i = 1: gone for good (hard), w_i < 1: weighted

A `Projection` says where (the module's name), what (the basis g and the weights w) and at which positions; an
`Intervention` is a set of them under a name. It changes a model only while it is applied, by hooks:

    with intervention.applied(model):
        ...                             # every forward pass, whoever makes it
                                        # here the model is as it was, to the last bit

Query, key and value are projected head by head, so a basis comes in blocks: one for a hidden state, one per head for
the output of a query's layer, whose 768 numbers are 12 heads of 64.
"""

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.identity import fingerprint, mark_intervention
from lm_eval_stereoset.scoring.questions import Model

FIRST, ALL = "first", "all"  # positions: the first token (the sentence's own, in BERT), or all tokens
POSITIONS = (FIRST, ALL)


@dataclass(frozen=True, eq=False)
class Projection:
    module: str  # its name below the base model, as in "encoder.layer.10"
    basis: torch.Tensor  # (blocks, k, width of a block), the k rows of a block orthonormal
    weights: torch.Tensor  # (blocks, k)
    positions: str = ALL

    @property
    def width(self) -> int:
        """Of the module's output."""
        return self.basis.shape[0] * self.basis.shape[2]

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        """Of vectors, in the last dimension: half precision is projected in float32 and rounded once."""
        exact = hidden if hidden.dtype in (torch.float32, torch.float64) else hidden.float()
        basis, weights = (one.to(exact.device, exact.dtype) for one in (self.basis, self.weights))
        blocks = exact.unflatten(-1, (basis.shape[0], basis.shape[2]))
        along = torch.einsum("...bd,bkd->...bk", blocks, basis) * weights
        return (blocks - torch.einsum("...bk,bkd->...bd", along, basis)).flatten(-2).to(hidden.dtype)

    def of_output(self, output: torch.Tensor) -> torch.Tensor:
        """Of what the module gives: (examples, tokens, width), or (examples, width) for a pooler."""
        if output.shape[-1] != self.width:
            raise UserError(
                f"the projection of {self.module} is {self.width} numbers wide, the module's output "
                f"{output.shape[-1]}: it was fitted on another model"
            )
        if self.positions == ALL:
            return self(output)
        changed = output.clone()
        changed[:, 0] = self(output[:, 0])
        return changed

    @property
    def matrix(self) -> torch.Tensor:
        """The same as a matrix P with h' = P h; symmetric."""
        blocks = torch.einsum("bkd,bk,bke->bde", self.basis, self.weights, self.basis)
        return torch.eye(self.width, dtype=self.basis.dtype) - torch.block_diag(*blocks)

    @property
    def checksum(self) -> str:
        digest = hashlib.sha256(f"{self.module} {self.positions} {tuple(self.basis.shape)}".encode())
        for part in (self.basis, self.weights):
            digest.update(part.detach().double().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Intervention:
    """Projections that belong together, and where they are from."""

    name: str  # "layer11 (0,1,1,0,1)"
    projections: tuple[Projection, ...]
    about: dict[str, Any] = field(
        default_factory=dict
    )  # what it was fitted on; says nothing about its effect

    def __post_init__(self) -> None:
        modules = [one.module for one in self.projections]
        if len(set(modules)) != len(modules):
            raise ValueError(f"two projections of one module: {modules}")

    @property
    def fingerprint(self) -> str:
        """Of its effect: equal ones change a model in the same way."""
        return fingerprint(sorted(one.checksum for one in self.projections))

    @property
    def identity(self) -> dict[str, str]:
        """Its part in the identity of an answer."""
        return {"name": self.name, "fingerprint": self.fingerprint}

    def describe(self) -> dict[str, Any]:
        """As results name it."""
        return self.identity | {key: self.about[key] for key in ("fitted_on", "pairs") if key in self.about}

    def attach(self, model: Model) -> list[Any]:
        """Puts the hooks on the model, all of them or none, and returns their handles."""
        return self.prepared(model).attach()

    def applied(self, model: Model) -> AbstractContextManager:
        """While open, the model is changed."""
        return self.prepared(model).applied()

    def prepared(self, model: Model) -> "Prepared":
        """For a model that it will be applied to many times."""
        found = [(resolve(model, one.module), one) for one in self.projections]
        for module, one in found:
            refuse_other_width(module, one, model)
        return Prepared(tuple((module, _hook(one)) for module, one in found))

    @property
    def reaches_every_token(self) -> bool:
        """Whether it changes more than what is read off the first token (the next-sentence head)."""
        return any(one.positions == ALL and not is_pooled(one.module) for one in self.projections)


@dataclass(frozen=True)
class Prepared:
    """An intervention's hooks, and the modules of one model that they belong to."""

    hooks: tuple[tuple[Any, Any], ...]

    def attach(self) -> list[Any]:
        return [module.register_forward_hook(hook) for module, hook in self.hooks]

    @contextmanager
    def applied(self) -> Iterator[None]:
        handles = self.attach()
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _hook(projection: Projection) -> Any:
    """Layers answer with a tensor, or with a tuple that the hidden state comes first in."""

    def hook(_module: Any, _arguments: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (projection.of_output(output[0]), *output[1:])
        return projection.of_output(output)

    mark_intervention(hook, projection.checksum)
    return hook


# Where it is in a model

POOLED = ("pooler", "pooler_activation", "head.1")  # outputs that are one vector per input


def is_pooled(module: str) -> bool:
    return module in POOLED


def base_of(model: Model) -> Any:
    """The model below its heads and adapters: names of modules count from here, so that a projection fitted on
    BERT with its pre-training heads can be applied to BERT with another one."""
    inner = model.core if hasattr(model, "core") else model
    inner = inner.get_base_model() if hasattr(inner, "get_base_model") else inner
    base = inner.base_model
    return getattr(base, "language_model", base) if hasattr(base, "language_model") else base


def resolve(model: Model, name: str) -> torch.nn.Module:
    """The module of that name; an error if there is none, since nothing would be projected."""
    base = base_of(model)
    for root in (base, model):
        found = dict(root.named_modules()).get(name)
        if found is not None:
            return found
    raise UserError(
        f"the projection is for a module {name}, which {type(base).__name__} does not have: it was fitted on a "
        "model of another kind or depth; fit one with `stereoset debias fit`"
    )


def refuse_other_width(module: torch.nn.Module, projection: Projection, model: Model) -> None:
    """Before anything is computed; `of_output` looks at what really comes out."""
    width = width_of(module, model)
    if width != projection.width:
        raise UserError(
            f"the projection of {projection.module} is {projection.width} numbers wide, the module's output {width}: "
            "it was fitted on another model; fit one with `stereoset debias fit`"
        )


def width_of(module: torch.nn.Module, model: Model) -> int:
    """Of a linear layer, its own; of layers and poolers, the model's."""
    for name in ("out_features", "nf"):  # nf: GPT-2's Conv1D
        if isinstance(width := getattr(module, name, None), int):
            return width
    return base_of(model).config.get_text_config().hidden_size
