"""Fitting: the directions in which the two sentences of a pair differ, by one pass over all pairs.

Our reading of what the paper leaves open: each sentence goes in alone, with its special tokens. It is represented by
what a place gives for its first token where the place is the first token's, and by the mean over all its tokens,
special ones included, elsewhere. The differences of the pairs are decomposed by PCA without centring: the order of a
pair's two sentences is arbitrary, so the mean difference is that of the other order turned round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.interventions.levels import ATTN, LAYER11, LEVEL, LEVELS, OWN, SENT, Setting
from lm_eval_stereoset.interventions.pairs import Pair
from lm_eval_stereoset.interventions.places import Place
from lm_eval_stereoset.interventions.projection import (
    FIRST,
    Intervention,
    Projection,
    base_of,
    is_pooled,
    resolve,
)
from lm_eval_stereoset.scoring.batching import distinct, max_positions, pad, run_batches
from lm_eval_stereoset.scoring.progress import Progress
from lm_eval_stereoset.scoring.questions import Model, Settings, Tokenizer

NOTHING = 1e-12  # a share of variance below this is rounding


@dataclass(frozen=True, eq=False)
class Directions:
    """What was found at a place: the most telling directions of each block, and their shares of the variance."""

    place: Place
    basis: torch.Tensor  # (blocks, most, width), float64
    ratios: torch.Tensor  # (blocks, most)

    def projection(self, weighted: bool, count: int) -> Projection:
        basis, ratios = self.basis[:, :count], self.ratios[:, :count]
        weights = ratios.clone() if weighted else torch.ones_like(ratios)
        return Projection(self.place.module, basis.clone(), weights, self.place.positions)


def fit(
    model: Model,
    tokenizer: Tokenizer,
    places: Mapping[str, Sequence[Place]],
    pairs: Sequence[Pair],
    shown: bool = False,
) -> dict[str, tuple[Directions, ...]]:
    """{level: what was found at its places}, in one pass over the distinct sentences."""
    wanted = [place for level in LEVELS for place in places.get(level, ())]
    texts, where = distinct([text for pair in pairs for text in pair])
    found = representations(model, tokenizer, wanted, texts, shown)
    first, second = where.reshape(-1, 2).T
    return {
        level: tuple(
            principal(place, found[place.module][first] - found[place.module][second])
            for place in places[level]
        )
        for level in places
    }


def intervention(
    directions: Mapping[str, Sequence[Directions]],
    setting: Setting,
    about: Mapping[str, Any] | None = None,
    pooler: str = LEVEL,
) -> Intervention:
    """The projections of a setting, from the input outwards. `pooler`: whose direction the pooler loses (levels.py)."""
    projections = []
    for level, choice in setting.choices.items():
        for one in directions[level]:
            if level == SENT and pooler == LEVEL:
                one = replace(one, basis=_innermost(directions, setting).basis[:, :1])
            projections.append(one.projection(choice.weighted, choice.directions))
    name = setting.name + (f" {OWN}" if pooler == OWN and SENT in setting.choices else "")
    return Intervention(name, tuple(projections), dict(about or {}))


def _innermost(directions: Mapping[str, Sequence[Directions]], setting: Setting) -> Directions:
    """Of the level's own place; of the attention, the layer's output, since heads have another width."""
    return directions[LAYER11 if setting.level == ATTN else setting.level][0]


def representations(
    model: Model, tokenizer: Tokenizer, places: Sequence[Place], texts: Sequence[str], shown: bool
) -> dict[str, np.ndarray]:
    """{module: (texts, width)}."""
    encoded = encode(model, tokenizer, texts)
    lengths = np.array(list(map(len, encoded)), dtype=np.int64)
    rows: dict[str, list[Any]] = {place.module: [None] * len(texts) for place in places}
    run = runner(model)

    def forward(batch: np.ndarray) -> None:
        ids, mask = pad([encoded[i] for i in batch], pad_token(tokenizer), model.device)
        seen = outputs(model, places, lambda: run(ids, mask))
        for place in places:
            for i, row in zip(batch, represent(place, seen[place.module], mask), strict=True):
                rows[place.module][i] = row

    with Progress(len(texts), shown, "fitting") as progress, progress.part(len(texts)):
        run_batches(lengths, forward, Settings(progress=progress), model.device)
    return {module: np.stack(found) for module, found in rows.items()}


def encode(model: Model, tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Each text alone, as the model reads one; cut where the model has no more positions."""
    limit = max_positions(model.core if hasattr(model, "core") else model)
    options = {"truncation": True, "max_length": limit} if limit else {}
    encoded = tokenizer(list(texts), verbose=False, **options)["input_ids"]
    for text, ids in zip(texts, encoded, strict=True):
        if not ids:
            raise UserError(f"the tokenizer makes no token of {text!r:.60}; fit on other pairs")
    return encoded


def pad_token(tokenizer: Tokenizer) -> int:
    return 0 if tokenizer.pad_token_id is None else tokenizer.pad_token_id


def runner(model: Model) -> Any:
    """A forward pass of single texts that runs the places and no more than it must."""
    if hasattr(model, "core"):
        encoder = model.settings.family == "seq2seq"
        return base_of(model).get_encoder().forward if encoder else model.forward
    base = base_of(model)
    inner = base.get_encoder() if base.config.is_encoder_decoder else base
    return lambda ids, mask: inner(input_ids=ids, attention_mask=mask)


def outputs(model: Model, places: Sequence[Place], run: Any) -> dict[str, torch.Tensor]:
    """What the places give while `run` runs."""
    seen: dict[str, torch.Tensor] = {}

    def keeper(name: str) -> Any:
        def keep(_module: Any, _arguments: Any, output: Any) -> None:
            seen[name] = output[0] if isinstance(output, tuple) else output

        return keep

    handles = [resolve(model, place.module).register_forward_hook(keeper(place.module)) for place in places]
    try:
        run()
    finally:
        for handle in handles:
            handle.remove()
    if missing := [place.module for place in places if place.module not in seen]:
        raise RuntimeError(f"{', '.join(missing)}: not part of the forward pass of {type(model).__name__}")
    return seen


def represent(place: Place, output: torch.Tensor, mask: torch.Tensor) -> np.ndarray:
    """(texts, width), in float64."""
    if is_pooled(place.module):
        chosen = output
    elif place.positions == FIRST:
        chosen = output[:, 0]
    else:
        share = mask.to(torch.float64)
        share = share / share.sum(dim=1, keepdim=True)
        return torch.einsum("btd,bt->bd", output.double(), share).cpu().numpy()
    return chosen.double().cpu().numpy()


def principal(place: Place, differences: np.ndarray) -> Directions:
    """PCA without centring, block by block: `differences` is (pairs, width)."""
    blocks = differences.reshape(len(differences), place.blocks, -1)
    bases, ratios = zip(*(_principal(place, blocks[:, b]) for b in range(place.blocks)), strict=True)
    return Directions(place, torch.from_numpy(np.stack(bases)), torch.from_numpy(np.stack(ratios)))


def _principal(place: Place, differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(differences.T @ differences)  # from the smallest up
    total = values.clip(min=0).sum()
    shares = values[::-1][: place.most] / total if total > 0 else np.zeros(place.most)
    if not np.isfinite(differences).all() or (shares <= NOTHING).any() or len(shares) < place.most:
        raise UserError(
            f"the pairs differ in {int((shares > NOTHING).sum())} directions at {place.module}, {place.most} are "
            "needed: too few pairs, or the model does not see their difference there"
        )
    basis = vectors[:, ::-1].T[: place.most]
    # A direction has no sign of its own: the largest entry is made positive, so that files come out the same.
    signs = np.sign(basis[np.arange(len(basis)), np.abs(basis).argmax(axis=1)])
    return np.ascontiguousarray(basis * signs[:, None]), np.ascontiguousarray(shares)
