"""Checkpoints that are there completely or not at all, and that prove it before they are loaded.

accelerate writes its state into a hidden folder; a manifest with the size and SHA-256 of every file comes last;
then the folder gets its name.
"""

import logging
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, sha256_of, write_json

if TYPE_CHECKING:
    from accelerate import Accelerator

logger = logging.getLogger(__name__)

MANIFEST, PROGRESS = "manifest.json", "progress.json"


def save(accelerator: "Accelerator", folder: Path, step: int, progress: dict[str, Any], keep: int) -> None:
    """Called by every process."""
    final = folder / f"step-{step:09d}"
    building = folder / f".{final.name}.building"
    if accelerator.is_main_process:
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
    accelerator.wait_for_everyone()
    accelerator.save_state(str(building))
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        write_json(building / PROGRESS, progress)
        files = sorted(path for path in building.rglob("*") if path.is_file())
        for path in files:
            _to_disk(path)
        manifest = {str(p.relative_to(building)): [p.stat().st_size, sha256_of(p)] for p in files}
        write_json(building / MANIFEST, manifest)
        if final.exists():
            shutil.rmtree(final)
        building.rename(final)
        _to_disk(folder)
        for old in _all(folder)[keep:]:
            shutil.rmtree(old, ignore_errors=True)
    accelerator.wait_for_everyone()


def newest(folder: Path) -> Path | None:
    """The newest checkpoint that is whole; others are named in the log and passed over."""
    for checkpoint in _all(folder):
        if (fault := find_fault(checkpoint)) is None:
            return checkpoint
        logger.warning("%s is not whole (%s): not used", checkpoint, fault)
    return None


def read_progress(checkpoint: Path) -> dict[str, Any]:
    return read_json(checkpoint / PROGRESS)


def find_fault(checkpoint: Path) -> str | None:
    try:
        manifest = read_json(checkpoint / MANIFEST)
        if not manifest:
            return "empty manifest"
        for name, (size, digest) in manifest.items():
            path = checkpoint / name
            if not path.is_file():
                return f"{name} is missing"
            if path.stat().st_size != size:
                return f"{name} has {path.stat().st_size} bytes instead of {size}"
            if sha256_of(path) != digest:
                return f"{name} has other contents"
    except (UserError, OSError, ValueError, AttributeError, TypeError) as error:
        return str(error)
    return None


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
