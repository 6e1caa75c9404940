"""Where data sets are kept, and the way from a name to examples with their provenance.

load("intra", "de")                  the data folder, fetched if it is missing
load("intra", "de", data="sample")   the sample that comes with the package
load("intra", "it", data="my/dir")   any folder laid out as <split>/<language>.jsonl
"""

import hashlib
import logging
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lm_eval_stereoset.data.format import SPLITS, Example, dump_examples, read_examples
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, read_json, sha256_of, write_json
from lm_eval_stereoset.languages import LANGUAGES

logger = logging.getLogger(__name__)

SAMPLE = Path(__file__).parent / "sample"
SAMPLE_VERSION = "1.0"


@dataclass(frozen=True)
class Provenance:
    """Which data a number is from; written into every result."""

    data: str  # "stereoset", "sample", "own" (added by the user) or a folder's name
    source: str  # where it came from
    version: str
    sha256: str  # of the canonical file


@dataclass(frozen=True)
class Dataset:
    split: str
    language: str
    path: Path
    provenance: Provenance
    examples: list[Example] = field(repr=False)

    def describe(self) -> dict[str, Any]:
        return asdict(self.provenance) | {"examples": len(self.examples)}


def data_folder() -> Path:
    """STEREOSET_DATA, else the user's cache folder."""
    if folder := os.environ.get("STEREOSET_DATA"):
        return Path(folder).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("lm-eval-stereoset", appauthor=False)


def file_in(folder: Path, split: str, language: str) -> Path:
    return folder / split / f"{language}.jsonl"


def about_file(path: Path) -> Path:
    """The note beside a data file: source and version, and the checksum they hold for."""
    return path.with_suffix(".about.json")


def languages_in(folder: Path) -> list[str]:
    """All languages with a file in the folder, the built-in ones first."""
    found = {path.stem for split in SPLITS for path in (folder / split).glob("*.jsonl")}
    return [code for code in LANGUAGES if code in found] + sorted(found - set(LANGUAGES))


def load(split: str, language: str, data: str | Path | None = None) -> Dataset:
    """Examples of a split in a language; data missing from the data folder is fetched."""
    if split not in SPLITS:
        raise UserError(f"no split {split!r}; the splits are {', '.join(SPLITS)}")
    if data == "sample":
        path = file_in(SAMPLE, split, language)
        if not path.is_file():
            raise UserError(
                f"the sample has no language {language!r}, only {', '.join(languages_in(SAMPLE))}"
            )
        logger.warning("%s/%s: using the bundled sample, not StereoSet", split, language)
        return _read(path, split, language, "sample")
    if data in (None, "", "stereoset"):
        path = file_in(data_folder(), split, language)
        if not path.is_file():
            _fetch_missing(split, language)
        return _read(path, split, language, "stereoset" if language in LANGUAGES else "own")
    folder = Path(data).expanduser()
    path = file_in(folder, split, language)
    if not path.is_file():
        raise UserError(
            f"data {str(data)!r}: no file {path}; give 'sample', or a folder laid out as <split>/<language>.jsonl"
        )
    return _read(path, split, language, folder.name)


def _fetch_missing(split: str, language: str) -> None:
    if language not in LANGUAGES:
        raise UserError(
            f"no data for language {language!r} in {data_folder()}; built in are {', '.join(LANGUAGES)}; "
            f"add your own with: stereoset data add DIR --language {language}"
        )
    from lm_eval_stereoset.data.fetch import fetch

    try:
        fetch([language], [split])
    except UserError as error:
        raise UserError(
            f"no data for {split}/{language} in {data_folder()}, and fetching it failed ({error}). "
            "With a network: `stereoset data fetch`. Without: copy a clone of "
            "https://github.com/slds-lmu/stereotypes-multi here and `stereoset data fetch --from CLONE`. "
            "To try the bundled sample instead: --metadata data=sample"
        ) from error


def _read(path: Path, split: str, language: str, name: str) -> Dataset:
    provenance = provenance_of(path, name)
    return Dataset(split, language, path, provenance, read_examples(path, split))


def provenance_of(path: Path, name: str) -> Provenance:
    from lm_eval_stereoset.data.upstream import CANONICAL_SHA256, COMMIT, REPOSITORY

    digest = sha256_of(path)
    if path.is_relative_to(SAMPLE):
        return Provenance("sample", "lm-eval-stereoset", SAMPLE_VERSION, digest)
    if digest in CANONICAL_SHA256.values():
        return Provenance(name, REPOSITORY, COMMIT[:7], digest)
    about = about_file(path)
    if about.is_file():
        fields = read_json(about)
        if isinstance(fields, dict) and fields.get("sha256") == digest:
            return Provenance(name, str(fields.get("source")), str(fields.get("version")), digest)
        way_out = (
            "restore it with `stereoset data fetch --force`"
            if path.stem in LANGUAGES
            else f"take the change in with `stereoset data add DIR --language {path.stem}`"
        )
        raise UserError(
            f"{path}: changed since it was put there (its checksum is not the one in {about.name}); {way_out}"
        )
    return Provenance(name, "local file", f"sha256:{digest[:12]}", digest)


def save(
    folder: Path, split: str, language: str, examples: Sequence[Example], source: str, version: str
) -> Path:
    """Writes a data file and the note of its origin; each of them whole or not at all."""
    path = file_in(folder, split, language)
    with atomic_write(path) as handle:
        dump_examples(handle, examples)
        handle.flush()  # a full disk is found out here, while the old file still has its note
        about_file(path).unlink(missing_ok=True)  # a kill from here on leaves a file without a note
    note = {"source": source, "version": version, "sha256": sha256_of(path), "examples": len(examples)}
    write_json(about_file(path), note)
    return path


def add(folder: Path | str, language: str, version: str | None = None) -> list[Dataset]:
    """Takes a user's own data into the data folder: every line is validated before anything is written."""
    folder = Path(folder)
    if not re.fullmatch(r"[a-z]{2,3}(_[a-z0-9]+)*", language):
        raise UserError(f"language {language!r}: give a code such as it or pt_br (small letters, digits, _)")
    if language in LANGUAGES:
        raise UserError(
            f"language {language!r} is built in; to evaluate your own version of it use "
            f"`--metadata data={folder}`, or add it under another code such as {language}_mine"
        )
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    found = {split: file_in(folder, split, language) for split in SPLITS}
    found = {split: path for split, path in found.items() if path.is_file()}
    if not found:
        raise UserError(
            f"{folder}: neither intra/{language}.jsonl nor inter/{language}.jsonl is there; "
            "docs/data.md shows the layout"
        )
    examples = {split: read_examples(path, split) for split, path in found.items()}
    for split in found:
        digest = hashlib.sha256(found[split].read_bytes()).hexdigest()
        about = version or f"sha256:{digest[:12]}"
        save(data_folder(), split, language, examples[split], f"added from {folder.name}", about)
    return [load(split, language) for split in found]
