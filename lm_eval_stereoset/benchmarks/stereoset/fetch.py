"""Fetching StereoSet from the authors' repository, or from a local clone of it.

One file after the other is checked, converted and put in place; an interrupted fetch keeps what it has
finished and goes on with the rest.
"""

import hashlib
import json
import os
from pathlib import Path

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.benchmarks.stereoset.example import Example, parse_example
from lm_eval_stereoset.benchmarks.stereoset.facts import refuse_other_facts
from lm_eval_stereoset.benchmarks.stereoset.pickles import (
    frame_to_annotations,
    frame_to_examples,
    read_frame,
)
from lm_eval_stereoset.benchmarks.stereoset.upstream import (
    CANONICAL_SHA256,
    COMMIT,
    PICKLE_SHA256,
    RAW_URL,
    REPOSITORY,
    pickle_path,
)
from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.download import download
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, read_bytes, sha256_of


def fetch_authors(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """Puts the canonical files into the data folder; what is there and right already is kept.

    `wanted.clone` is a folder laid out like the authors' repository; `wanted.insist` takes a file whose checksum is
    not the known one (it is still read without running anything in it).
    """
    if wanted.revision:
        raise UserError("--revision is for --source hub; the authors' files are those of one pinned commit")
    pairs = [(split, language) for split in wanted.splits for language in wanted.languages]
    return [_fetch_one(benchmark, split, language, wanted) for split, language in pairs]


def _fetch_one(benchmark: Benchmark, split: str, language: str, wanted: Fetch) -> Path:
    path = store.file_of(benchmark, split, language)
    if not wanted.force and path.is_file() and sha256_of(path) == CANONICAL_SHA256[split, language]:
        return path
    relative = pickle_path(split, language)
    if wanted.clone is None:
        content = download(os.environ.get("STEREOSET_MIRROR", RAW_URL).rstrip("/") + "/" + relative)
        where = relative
    else:
        where = str(wanted.clone / relative)
        content = _read_local(Path(where))
    known = hashlib.sha256(content).hexdigest() == PICKLE_SHA256[split, language]
    if not known and not wanted.insist:
        raise UserError(
            f"{where}: its SHA-256 is not that of the published file; nothing was changed. If you mean to use "
            "this other version, add --insist (it is then marked as a changed version in all results)"
        )
    rows, columns = read_frame(content, where)
    examples = _validated(frame_to_examples(columns, split, where), split, where)
    _write_annotations(split, language, frame_to_annotations(rows, columns))
    version = COMMIT[:7] if known else f"changed, pickle sha256:{hashlib.sha256(content).hexdigest()[:12]}"
    store.say_what_is_replaced(benchmark, path, REPOSITORY, version)
    return store.save(benchmark, split, language, examples, REPOSITORY, version)


def _validated(examples: list[Example], split: str, where: str) -> list[Example]:
    valid = [parse_example(e.to_dict(), split, f"{where}, row {row}") for row, e in enumerate(examples)]
    refuse_other_facts(valid, where)
    return valid


def annotations_file(split: str, language: str) -> Path:
    return store.data_folder() / "annotations" / split / f"{language}.jsonl"


def _write_annotations(split: str, language: str, annotations: list[dict]) -> None:
    """The annotators' labels, which no score needs, beside the data: so nothing of upstream is lost."""
    with atomic_write(annotations_file(split, language)) as handle:
        for line in annotations:
            handle.write(json.dumps(line, ensure_ascii=False) + "\n")


def _read_local(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except UserError as error:
        raise UserError(f"{error}; --from takes a folder laid out like a clone of {REPOSITORY}") from error
