"""An intervention on disk: a folder with debias.json (what and where) and projections.safetensors (bases, weights).

The JSON holds the checksum of the tensors, so that files of two fits are never taken for one.
"""

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_bytes, read_json, replacing_folder, write_json
from lm_eval_stereoset.interventions.projection import (
    POSITIONS,
    Intervention,
    Projection,
    base_of,
)
from lm_eval_stereoset.scoring.identity import weights_of
from lm_eval_stereoset.scoring.questions import Model

logger = logging.getLogger(__name__)

ABOUT, TENSORS = "debias.json", "projections.safetensors"
FORMAT = 1
STRAIGHT = 1e-6  # how far from orthonormal the rows of a basis may be: they are stored in float64


def save(intervention: Intervention, folder: Path | str) -> None:
    """The folder is there complete or not at all."""
    from safetensors.torch import save as to_bytes

    tensors = {}
    for number, one in enumerate(intervention.projections):
        tensors[f"{number}.basis"] = one.basis.double().contiguous()
        tensors[f"{number}.weights"] = one.weights.double().contiguous()
    content = to_bytes(tensors)
    about = {
        "format": FORMAT,
        "name": intervention.name,
        "projections": [{"module": p.module, "positions": p.positions} for p in intervention.projections],
        "sha256": hashlib.sha256(content).hexdigest(),
    } | intervention.about
    with replacing_folder(Path(folder)) as temporary:
        (temporary / TENSORS).write_bytes(content)
        write_json(temporary / ABOUT, about)


def refuse_other_folder(folder: Path) -> None:
    """A folder that was not made by `save` is not replaced."""
    if folder.exists() and not (
        folder.is_dir() and ((folder / ABOUT).is_file() or not any(folder.iterdir()))
    ):
        raise UserError(f"-o {folder}: exists and does not hold projections; name another folder")


def load(folder: Path | str) -> Intervention:
    """What `save` has written; anything else is one line."""
    folder = Path(folder)
    if not (folder / ABOUT).is_file():
        raise UserError(
            f"{folder}: not a folder with projections (it has no {ABOUT}); `stereoset debias fit` makes one"
        )
    about = read_json(folder / ABOUT)
    where = str(folder / ABOUT)
    listed = about.get("projections") if isinstance(about, dict) else None
    if not isinstance(about, dict) or not isinstance(listed, list) or not listed:
        raise _damaged(where, "it names no projections")
    if about.get("format") != FORMAT:
        raise UserError(
            f"{where}: format {about.get('format')!r:.40} is unknown; fit again with this version"
        )
    if not isinstance(about.get("name"), str):
        raise _damaged(where, "it has no name")
    content = read_bytes(folder / TENSORS)
    if hashlib.sha256(content).hexdigest() != about.get("sha256"):
        raise _damaged(str(folder / TENSORS), f"its checksum is not the one in {ABOUT}")
    tensors = _tensors(content, folder / TENSORS)
    projections = tuple(_projection(entry, number, tensors, where) for number, entry in enumerate(listed))
    if len({one.module for one in projections}) != len(projections):
        raise _damaged(where, "it names a module twice")
    kept = {
        key: value for key, value in about.items() if key not in ("format", "name", "projections", "sha256")
    }
    return Intervention(about["name"], projections, kept)


def _tensors(content: bytes, path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load as from_bytes

    try:
        return from_bytes(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise _damaged(str(path), f"not a safetensors file ({error})") from error


def _projection(entry: Any, number: int, tensors: dict[str, torch.Tensor], where: str) -> Projection:
    if not isinstance(entry, dict) or not isinstance(entry.get("module"), str):
        raise _damaged(where, f"projection {number} names no module")
    if entry.get("positions") not in POSITIONS:
        raise _damaged(where, f"positions of projection {number} are neither {' nor '.join(POSITIONS)}")
    basis, weights = (tensors.get(f"{number}.{part}") for part in ("basis", "weights"))
    if (
        basis is None
        or weights is None
        or basis.ndim != 3
        or weights.shape != basis.shape[:2]
        or not basis.numel()
    ):
        raise _damaged(where, f"projection {number} has no basis, or weights of another shape")
    if not (torch.isfinite(basis).all() and ((weights >= 0) & (weights <= 1)).all()):
        raise _damaged(where, f"projection {number} holds numbers that no fit gives")
    products = torch.einsum("bkd,bjd->bkj", basis.double(), basis.double())
    if (products - torch.eye(basis.shape[1], dtype=torch.float64)).abs().max() > STRAIGHT:
        raise _damaged(where, f"the basis of projection {number} is not orthonormal")
    return Projection(entry["module"], basis, weights, entry["positions"])


def _damaged(where: str, why: str) -> UserError:
    return UserError(f"{where}: damaged: {why}; fit again with `stereoset debias fit`")


# Loading and applying at once: what debias=DIR does


def attach(folder: Path | str, model: Model, methods: Mapping[str, str]) -> Intervention:
    """Loads an intervention and puts it on a model that has just been loaded, for as long as it lives.

    `methods`: {kind of question: family that answers it}; says in the log what the projections do not reach.
    """
    found = load(folder)
    about = found.about.get("fitted_on")
    fitted_on = about if isinstance(about, dict) else {}
    known = fitted_on.get("weights")
    if known and known != base_weights(model):
        logger.warning(
            "%s was fitted on other weights than these (on %s): its directions may not be this model's",
            folder,
            fitted_on.get("model"),
        )
    found.attach(model)
    logger.info("debiased by %s (%s)", found.name, folder)
    blind = [kind for kind, family in methods.items() if family == "masked"]
    if blind and not found.reaches_every_token:
        logger.warning(
            "%s changes what the next-sentence head reads and nothing else: scores by the masked-language-model head "
            "are those of the model as it was",
            found.name,
        )
    return found


def base_weights(model: Model) -> str:
    """Checksum of the weights below the heads: the same under any head."""
    return weights_of(base_of(model))


def folded(model: Model) -> dict[str, Any] | None:
    """What `stereoset debias save` has left in a checkpoint's config."""
    note = getattr(base_of(model).config, "stereoset_debias", None)
    return dict(note) if isinstance(note, dict) else None
