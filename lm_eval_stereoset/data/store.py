"""Where data sets are kept, and the way from a name to examples with their provenance.

load("intra", "de")                  the data folder, fetched if it is missing
load("intra", "de", data="sample")   the sample that comes with the package
load("intra", "it", data="my/dir")   any folder laid out as <split>/<language>.jsonl
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lm_eval_stereoset.data.facts import refuse_other_facts
from lm_eval_stereoset.data.format import SPLITS, Example, encoded, read_examples
from lm_eval_stereoset.data.together import finish, write_together
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, sha256_of
from lm_eval_stereoset.languages import LANGUAGES

logger = logging.getLogger(__name__)

SAMPLE = Path(__file__).parent / "sample"
SAMPLE_VERSION = "1.0"
LANGUAGE_CODE = r"[a-z]{2,3}(_[a-z0-9]+)*"  # usable in file names and names of tasks


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
    for journal in folder.glob(journal_of(folder, "*").name):
        finish(journal)
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
        finish(journal_of(data_folder(), language))
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
            "To try the bundled sample instead: `--metadata data=sample` with run, `--data sample` elsewhere"
        ) from error


def _read(path: Path, split: str, language: str, name: str) -> Dataset:
    provenance = provenance_of(path, name)
    examples = read_examples(path, split)
    refuse_other_facts(examples, str(path))
    return Dataset(split, language, path, provenance, examples)


def provenance_of(path: Path, name: str) -> Provenance:
    from lm_eval_stereoset.data.upstream import CANONICAL_SHA256, COMMIT, REPOSITORY

    digest = sha256_of(path)
    if path.is_relative_to(SAMPLE):
        return Provenance("sample", "lm-eval-stereoset", SAMPLE_VERSION, digest)
    if digest in CANONICAL_SHA256.values():
        return Provenance(name, REPOSITORY, COMMIT[:7], digest)
    about = about_file(path)
    if about.is_file():
        fields = _note(path)
        if fields.get("sha256") == digest:
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


def _note(path: Path) -> dict[str, Any]:
    """What the note beside a data file says; nothing if there is none, or none that can be understood."""
    fields = read_json(about_file(path)) if about_file(path).is_file() else {}
    return fields if isinstance(fields, dict) else {}


MoreFiles = Callable[[str, Sequence[str]], Mapping[Path, bytes]]  # of a language and its splits


@dataclass(frozen=True)
class Origin:
    """Where data comes from; written into the note beside each file."""

    source: str  # as results show it
    version: str
    place: str | None = None  # the command and folder that may replace it without being asked


def save(
    folder: Path, split: str, language: str, examples: Sequence[Example], source: str, version: str
) -> Path:
    """Writes a data file and the note of its origin; both or none."""
    return save_splits(folder, language, {split: examples}, {split: Origin(source, version)})[0]


def save_splits(
    folder: Path,
    language: str,
    data: Mapping[str, Sequence[Example]],
    origins: Mapping[str, Origin],
    more: Mapping[Path, bytes] | None = None,
) -> list[Path]:
    """Writes the data files of several splits and their notes, and more files of the folder; all or none."""
    contents: dict[Path, bytes] = dict(more or {})
    for split, examples in data.items():
        path = file_in(folder, split, language)
        contents[path] = encoded(examples)
        note = {k: v for k, v in asdict(origins[split]).items() if v is not None}
        note |= {"sha256": hashlib.sha256(contents[path]).hexdigest(), "examples": len(examples)}
        contents[about_file(path)] = (json.dumps(note, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
    write_together(contents, journal_of(folder, language))
    return [file_in(folder, split, language) for split in data]


def journal_of(folder: Path, language: str) -> Path:
    return folder / f".{language}.unfinished.json"


def add(
    folder: Path | str,
    language: str,
    version: str | None = None,
    replace: bool = False,
    more_files: MoreFiles | None = None,
) -> list[Dataset]:
    """Takes a user's own data into the data folder: every line is validated before anything is written."""
    folder = Path(folder)
    refuse_language(language, folder)
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    found = {split: file_in(folder, split, language) for split in SPLITS}
    found = {split: path for split, path in found.items() if path.exists()}
    if not found:
        raise UserError(
            f"{folder}: neither intra/{language}.jsonl nor inter/{language}.jsonl is there; "
            "docs/data.md shows the layout"
        )
    data = {split: read_examples(path, split) for split, path in found.items()}
    for split, examples in data.items():
        refuse_other_facts(examples, str(found[split]))
    versions = {split: version or f"sha256:{sha256_of(path)[:12]}" for split, path in found.items()}
    name = folder.resolve().name
    origins = {s: Origin(f"added from {name}", versions[s], f"data add {folder.resolve()}") for s in data}
    return take_in(language, data, origins, replace, more_files)


def refuse_language(language: str, folder: Path) -> None:
    if not re.fullmatch(LANGUAGE_CODE, language):
        raise UserError(f"language {language!r}: give a code such as it or pt_br (small letters, digits, _)")
    if language in LANGUAGES:
        raise UserError(
            f"language {language!r} is built in; to evaluate your own version of it use "
            f"`--metadata data={folder}`, or add it under another code such as {language}_mine"
        )


def take_in(
    language: str,
    data: Mapping[str, Sequence[Example]],
    origins: Mapping[str, Origin],
    replace: bool = False,
    more_files: MoreFiles | None = None,
) -> list[Dataset]:
    """Puts examples that have been checked into the data folder, both splits or none.

    Data of another origin that is there already is replaced only if the user has said so. `more_files` gives
    the files that go with the language's splits (its tasks); they are put in place together with the data.
    """
    finish(journal_of(data_folder(), language))
    for split, examples in data.items():
        path = file_in(data_folder(), split, language)
        if path.is_file() and not replace:
            _refuse_replacing(path, split, language, examples, origins[split])
    splits = [s for s in SPLITS if s in data or file_in(data_folder(), s, language).is_file()]
    save_splits(data_folder(), language, data, origins, more_files(language, splits) if more_files else None)
    return [load(split, language) for split in data]


def _refuse_replacing(
    path: Path, split: str, language: str, examples: Sequence[Example], origin: Origin
) -> None:
    try:
        if read_examples(path, split) == examples:
            return
        there = provenance_of(path, "own")
        what = f"{there.source}, version {there.version}"
        mine = there.source == origin.source and _note(path).get("place", origin.place) == origin.place
    except UserError:
        what, mine = "damaged, or changed by hand since it was put there", False
    if not mine:
        raise UserError(
            f"{split}/{language} is there already ({what}) in {path}; nothing was changed: "
            "add --replace to put this in its place, or choose another language code"
        )
