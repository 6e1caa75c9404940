"""StereoSet in Brazilian Portuguese from its author's repository: one file in the original layout (original.py)."""

import hashlib
import os
from pathlib import Path

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.benchmarks.stereoset.facts import refuse_other_facts
from lm_eval_stereoset.benchmarks.stereoset.original import read_original
from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.download import download
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, sha256_of

REPOSITORY = "https://github.com/firminovitoria/stereoset-ptbr"
COMMIT = "94a101a"
RAW_URL = f"https://raw.githubusercontent.com/firminovitoria/stereoset-ptbr/{COMMIT}"
FILE = "data/dev_ptbr.json"
FILE_SHA256 = "d93d71252e2e7c2c70fac7b2f11fbc9f53a68b84fd84ae4f9305897fb1063155"
LANGUAGE = "pt"
# SHA-256 of the canonical files made from it.
CANONICAL_SHA256 = {
    "intra": "539188906bc9ba307af2d852f73db81919b6a72f6f3e983ad728737cd5c37fd8",
    "inter": "947e52ac2911bd07b75a2b74039e9d13284023100d446b8039a5063474ce46c5",
}


def fetch_ptbr(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """Puts the canonical files into the data folder; all splits are read before any is written."""
    if wanted.revision:
        raise UserError("--revision is for --source hub; this file is that of one pinned commit")
    paths = {split: store.file_of(benchmark, split, LANGUAGE) for split in wanted.splits}
    right = [path.is_file() and sha256_of(path) == CANONICAL_SHA256[split] for split, path in paths.items()]
    if all(right) and not wanted.force:
        return list(paths.values())
    source = wanted.clone / FILE if wanted.clone else _downloaded()
    if not source.is_file():
        raise UserError(
            f"{source}: no such file; --from takes a folder laid out like a clone of {REPOSITORY}"
        )
    digest = sha256_of(source)
    if digest != FILE_SHA256 and not wanted.insist:
        raise UserError(
            f"{source}: its SHA-256 is not that of the published file; nothing was changed. If you mean to use "
            "this other version, add --insist (it is then marked as a changed version in all results)"
        )
    examples = {split: found for split, found in read_original(source).items() if split in wanted.splits}
    for split, found in examples.items():
        refuse_other_facts(found, f"{source}, {split}")
    version = COMMIT if digest == FILE_SHA256 else f"changed, sha256:{digest[:12]}"
    for path in paths.values():
        store.say_what_is_replaced(benchmark, path, REPOSITORY, version)
    origins = dict.fromkeys(examples, store.Origin(REPOSITORY, version))
    return store.save_splits(benchmark, LANGUAGE, examples, origins)


def _downloaded() -> Path:
    """Kept in the data folder: a task asks for one split after the other, and the file holds both."""
    path = store.data_folder() / "downloads" / f"stereoset-ptbr-{COMMIT}.json"
    if not (path.is_file() and sha256_of(path) == FILE_SHA256):
        content = download(os.environ.get("STEREOSET_PTBR_MIRROR", RAW_URL).rstrip("/") + "/" + FILE)
        if hashlib.sha256(content).hexdigest() != FILE_SHA256:
            raise UserError(f"{FILE}: what was downloaded is not the published file; nothing was changed")
        with atomic_write(path, "wb") as handle:
            handle.write(content)
    return path
