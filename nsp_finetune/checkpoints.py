"""Checkpoints that are there completely or not at all, that prove it before they are loaded, and that hold no code.

The files of state.py and progress.json are written into a hidden folder; a manifest with the size and SHA-256 of
each comes last; then the folder gets its name.
"""

import logging
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, sha256_of, write_fault, write_json
from nsp_finetune.state import MOMENTS, STATE, WEIGHTS

if TYPE_CHECKING:
    from accelerate import Accelerator

logger = logging.getLogger(__name__)

MANIFEST, PROGRESS = "manifest.json", "progress.json"
FILES = {WEIGHTS, MOMENTS, STATE, PROGRESS}
PICKLED = "custom_checkpoint_0.pkl"  # in every checkpoint of version 0.1


def save(
    accelerator: "Accelerator",
    folder: Path,
    progress: dict[str, Any],
    keep: int,
    write_state: Callable[[Path], None],
) -> None:
    """Called by every process. `write_state(folder)` puts the files of state.py there."""
    if accelerator.is_main_process:
        final = folder / f"step-{progress['step']:09d}"
        building = folder / f".{final.name}.building"
        shutil.rmtree(building, ignore_errors=True)
        try:
            building.mkdir(parents=True)
            write_state(building)
            _complete(building, progress)
            if final.exists():  # a damaged one, which was passed over
                shutil.rmtree(final)
            building.rename(final)
            _to_disk(folder)
        except Exception as error:
            shutil.rmtree(building, ignore_errors=True)
            if (reason := write_fault(error)) is None:
                raise
            raise UserError(_not_written(folder, final.name, reason)) from error
        _rotate(folder, final, keep)
    accelerator.wait_for_everyone()


def _complete(building: Path, progress: dict[str, Any]) -> None:
    """progress.json, then the manifest, which says that all is there."""
    write_json(building / PROGRESS, progress)
    files = sorted(path for path in building.iterdir())
    for path in files:
        _to_disk(path)
    write_json(building / MANIFEST, {path.name: [path.stat().st_size, sha256_of(path)] for path in files})


def _rotate(folder: Path, newest_one: Path, keep: int) -> None:
    """Of those up to this step the newest stay. Later ones were damaged, or this run would have begun there."""
    others = [path for path in _all(folder) if path.name != newest_one.name]
    before = [path for path in others if path.name < newest_one.name]
    kept = {path.name for path in before[: keep - 1]}
    for path in others:
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)


def _not_written(folder: Path, name: str, reason: str) -> str:
    whole = next((path for path in _all(folder) if find_fault(path) is None), None)
    way_out = (
        f"{whole.name} is whole: make room and go on from it with --resume"
        if whole is not None
        else "there is none before it: make room and start again with --resume"
    )
    return f"cannot write the checkpoint {folder / name}: {reason}; {way_out}"


def newest(folder: Path) -> Path | None:
    """The newest checkpoint that is whole, None if there is none at all. Damaged ones are named and passed over."""
    faults = []
    for checkpoint in _all(folder):
        if (checkpoint / PICKLED).exists():
            raise UserError(
                f"{checkpoint} was written by version 0.1, with pickled state, which can run code and is not read "
                "any more: finish that run with version 0.1 or start again in another --output"
            )
        if (fault := find_fault(checkpoint)) is None:
            return checkpoint
        logger.warning("%s is not whole (%s): not used", checkpoint, fault)
        faults.append(f"{checkpoint.name}: {fault}")
    if faults:
        raise UserError(
            f"{folder}: no checkpoint is whole ({'; '.join(faults)}); delete the folder to start from the beginning"
        )
    return None


def find_fault(checkpoint: Path) -> str | None:
    try:
        manifest = read_json(checkpoint / MANIFEST)
        if not isinstance(manifest, dict) or set(manifest) != FILES:
            return f"{MANIFEST} does not list exactly {', '.join(sorted(FILES))}"
        for name, entry in manifest.items():
            path = checkpoint / name
            if not isinstance(entry, list) or len(entry) != 2:
                return f"{MANIFEST} has no size and checksum for {name}"
            size, digest = entry
            if not path.is_file():
                return f"{name} is missing"
            if path.stat().st_size != size:
                return f"{name} has {path.stat().st_size} bytes instead of {str(size)[:20]}"
            if sha256_of(path) != digest:
                return f"{name} has other contents"
    except UserError as error:
        return str(error)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return None


def clear_leftovers(folder: Path) -> None:
    """What a kill left behind while a checkpoint was written."""
    for path in folder.glob(".step-*.building"):
        shutil.rmtree(path, ignore_errors=True)


def read_progress(checkpoint: Path) -> dict[str, Any]:
    path = checkpoint / PROGRESS
    progress = read_json(path)
    if not isinstance(progress, dict) or set(progress) != set(CHECKS):
        raise UserError(f"{path}: must be an object with {', '.join(CHECKS)}")
    for name, fits in CHECKS.items():
        if not fits(progress[name]):
            raise UserError(f"{path}: {name} is not what a run writes there; delete this checkpoint")
    return progress


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and (value != value or abs(value) < 1e300)  # NaN is one too


def _is_curve(points: Any, names: set[str]) -> bool:
    return isinstance(points, list) and all(
        isinstance(point, dict) and names <= point.keys() and all(map(_is_number, point.values()))
        for point in points
    )


POINT = {"examples", "loss", "accuracy"}
# What each entry of progress.json must be.
CHECKS: dict[str, Callable[[Any], bool]] = {
    "settings": lambda value: isinstance(value, dict),
    "step": _is_count,
    "examples": _is_count,
    "window": lambda v: (
        isinstance(v, list) and len(v) == 4 and all(_is_number(x) and math.isfinite(x) for x in v)
    ),
    "best": lambda value: value is None or (_is_number(value) and 0 <= value <= 1),
    "waiting": _is_count,
    "stopped": lambda value: isinstance(value, bool),
    "history": lambda value: (
        isinstance(value, dict)
        and set(value) == {"train", "validation"}
        and _is_curve(value["train"], POINT)
        and _is_curve(value["validation"], POINT | {"low", "high"})
    ),
}


def _all(folder: Path) -> list[Path]:
    """Newest first."""
    return sorted((path for path in folder.glob("step-*") if path.is_dir()), reverse=True)


def _to_disk(path: Path) -> None:
    """A renamed folder must not hold files that a power cut would empty."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
