"""Fetching StereoSet: from the authors' repository, from a local clone of it, or from the hub.

One file after the other is checked, converted and put in place; an interrupted fetch keeps what it has
finished and goes on with the rest.
"""

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.facts import refuse_other_facts
from lm_eval_stereoset.data.format import SPLITS, Example, parse_example
from lm_eval_stereoset.data.pickles import frame_to_annotations, frame_to_examples, read_frame
from lm_eval_stereoset.data.upstream import (
    CANONICAL_SHA256,
    COMMIT,
    PICKLE_SHA256,
    RAW_URL,
    REPOSITORY,
    pickle_path,
)
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, read_bytes, sha256_of
from lm_eval_stereoset.languages import LANGUAGES

logger = logging.getLogger(__name__)

TIMEOUT = (10, 60)  # seconds to connect, and between two pieces of an answer
ATTEMPTS = 4
BACKOFF = 0.5  # seconds before the second attempt, doubled with each further one


def fetch(
    languages: Sequence[str] = tuple(LANGUAGES),
    splits: Sequence[str] = SPLITS,
    clone: Path | str | None = None,
    force: bool = False,
    insist: bool = False,
) -> list[Path]:
    """Puts the canonical files into the data folder; what is there and right already is kept.

    `clone` is a folder laid out like the authors' repository; `insist` takes a file whose checksum is
    not the known one (it is still read without running anything in it).
    """
    if unknown := [code for code in languages if code not in LANGUAGES]:
        raise UserError(f"no language {', '.join(unknown)}; StereoSet is there in {', '.join(LANGUAGES)}")
    if clone is not None and not Path(clone).is_dir():
        raise UserError(f"--from {clone}: no such folder")
    wanted = [(split, language) for split in splits for language in languages]
    return [_fetch_one(split, language, clone, force, insist) for split, language in wanted]


def _fetch_one(split: str, language: str, clone: Path | str | None, force: bool, insist: bool) -> Path:
    path = store.file_in(store.data_folder(), split, language)
    if not force and path.is_file() and sha256_of(path) == CANONICAL_SHA256[split, language]:
        return path
    relative = pickle_path(split, language)
    if clone is None:
        content = _download(os.environ.get("STEREOSET_MIRROR", RAW_URL).rstrip("/") + "/" + relative)
        where = relative
    else:
        where = str(Path(clone) / relative)
        content = _read_local(Path(where))
    known = hashlib.sha256(content).hexdigest() == PICKLE_SHA256[split, language]
    if not known and not insist:
        raise UserError(
            f"{where}: its SHA-256 is not that of the published file; nothing was changed. If you mean to use "
            "this other version, add --insist (it is then marked as a changed version in all results)"
        )
    rows, columns = read_frame(content, where)
    examples = _validated(frame_to_examples(columns, split, where), split, where)
    _write_annotations(split, language, frame_to_annotations(rows, columns))
    version = COMMIT[:7] if known else f"changed, pickle sha256:{hashlib.sha256(content).hexdigest()[:12]}"
    say_what_is_replaced(path, REPOSITORY, version)
    return store.save(store.data_folder(), split, language, examples, REPOSITORY, version)


def say_what_is_replaced(path: Path, source: str, version: str) -> None:
    """Results of before came from the other version; whoever compares with them should know."""
    if not path.is_file():
        return
    try:
        old = store.provenance_of(path, "stereoset")
    except UserError:
        return  # damaged: nothing came from it that could be compared
    if (old.source, old.version) != (source, version):
        logger.warning(
            "%s: %s, version %s, is replaced by %s, version %s",
            *(path, old.source, old.version, source, version),
        )


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


def _download(url: str) -> bytes:
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    retry = Retry(total=ATTEMPTS - 1, backoff_factor=BACKOFF, status_forcelist=(429, 500, 502, 503, 504))
    with requests.Session() as session:
        session.mount("https://", HTTPAdapter(max_retries=retry))
        session.mount("http://", HTTPAdapter(max_retries=retry))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return _read_body(session, url)
            except requests.RequestException as error:
                # urllib3 has repeated what it can; an answer cut off in the middle it leaves to us.
                if isinstance(error, requests.exceptions.ChunkedEncodingError) and attempt < ATTEMPTS:
                    continue
                reason = (
                    type(error).__name__ if error.response is None else f"HTTP {error.response.status_code}"
                )
                raise UserError(
                    f"cannot download {url} ({reason}); without a network: `stereoset data fetch --from CLONE`"
                ) from error
    raise AssertionError("unreachable")


def _read_body(session: Any, url: str) -> bytes:
    from tqdm import tqdm

    answer = session.get(url, stream=True, timeout=TIMEOUT)
    answer.raise_for_status()
    size = int(answer.headers.get("Content-Length", 0)) or None
    pieces = []
    with tqdm(total=size, unit="B", unit_scale=True, desc=url.rsplit("/", 1)[-1]) as bar:
        for piece in answer.iter_content(1 << 16):
            pieces.append(piece)
            bar.update(len(piece))
    return b"".join(pieces)
