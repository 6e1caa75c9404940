"""Where data sets are kept, and the way from a name to examples with their provenance.

load(BENCHMARK, "intra", "de")                  the data folder, fetched if it is missing
load(BENCHMARK, "intra", "de", data="sample")   the sample that comes with the package
load(BENCHMARK, "intra", "it", data="my/dir")   any folder laid out as <split>/<language>.jsonl
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.data.together import finish, write_together
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import encoded, read_json, read_lines, sha256_of

logger = logging.getLogger(__name__)

SAMPLE_VERSION = "1.0"


@dataclass(frozen=True)
class Provenance:
    """Which data a number is from; written into every result."""

    data: str  # the benchmark's name, "sample", "own" (added by the user) or a folder's name
    source: str  # where it came from
    version: str
    sha256: str  # of the canonical file


@dataclass(frozen=True)
class Dataset:
    benchmark: Benchmark = field(repr=False)
    split: str
    language: str
    path: Path
    provenance: Provenance
    examples: list[Any] = field(repr=False)
    about: Mapping[str, Any] = field(default_factory=dict)  # how the examples were made, if they were

    def describe(self) -> dict[str, Any]:
        """As results and notes record it."""
        return (
            {"split": self.split, "language": self.language}
            | asdict(self.provenance)
            | {"examples": len(self.examples)}
            | dict(self.about)
        )


def data_folder() -> Path:
    """STEREOSET_DATA, else the user's cache folder."""
    if folder := os.environ.get("STEREOSET_DATA"):
        return Path(folder).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("lm-eval-stereoset", appauthor=False)


def folder_of(benchmark: Benchmark) -> Path:
    """A benchmark's part of the data folder."""
    return data_folder() / (benchmark.data_name if benchmark.folder is None else benchmark.folder)


def file_in(folder: Path, split: str, language: str) -> Path:
    return folder / split / f"{language}.jsonl"


def file_of(benchmark: Benchmark, split: str, language: str) -> Path:
    return file_in(folder_of(benchmark), benchmark.file_of(split), language)


def file_of_version(benchmark: Benchmark, split: str, language: str, version: str | Path | None) -> Path:
    """Of versions other than the default one, each has a folder of its own."""
    folder = folder_of(benchmark)
    if version in benchmark.versions[1:]:
        folder = folder / str(version)
    return file_in(folder, benchmark.file_of(split), language)


def about_file(path: Path) -> Path:
    """The note beside a data file: source and version, and the checksum they hold for."""
    return path.with_suffix(".about.json")


def languages_in(benchmark: Benchmark, folder: Path | None = None) -> list[str]:
    """All languages with a file in the folder, the built-in ones first."""
    folder = folder_of(benchmark) if folder is None else folder
    for journal in folder.glob(journal_of(folder, "*").name):
        finish(journal)
    found = {path.stem for name in benchmark.files for path in (folder / name).glob("*.jsonl")}
    built_in = benchmark.built_in
    return [code for code in built_in if code in found] + sorted(found - set(built_in))


def load(
    benchmark: Benchmark,
    split: str,
    language: str,
    data: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> Dataset:
    """Examples of a split in a language; data missing from the data folder is fetched.

    `options`: of benchmarks whose examples are made (declaration.Making).
    """
    options = checked_options(benchmark, options or {})
    if split not in benchmark.splits:
        raise UserError(f"no split {split!r}; the splits are {', '.join(benchmark.splits)}")
    if data == "sample":
        return _load_sample(benchmark, split, language, options)
    if data is None or data in ("", benchmark.data_name, *benchmark.versions):
        path = file_of_version(benchmark, split, language, data)
        finish(journal_of(folder_of(benchmark), language))
        if not path.is_file():
            _fetch_missing(benchmark, split, language)
        return _read(benchmark, path, split, language, _name_of(benchmark, language), options)
    folder = Path(data).expanduser()
    single = folder.is_file() and len(benchmark.splits) == 1
    path = folder if single else file_in(folder, benchmark.file_of(split), language)
    if not path.is_file():
        raise UserError(
            f"data {str(data)!r}: no file {path}; give 'sample', or a folder laid out as <split>/<language>.jsonl"
        )
    return _read(benchmark, path, split, language, folder.name, options)


def checked_options(benchmark: Benchmark, given: Mapping[str, Any]) -> dict[str, int]:
    """Every option of the benchmark with its value."""
    known = benchmark.making.options if benchmark.making else {}
    if unknown := [name for name in given if name not in known]:
        what = f"takes {', '.join(known)} only" if known else "takes none"
        raise UserError(f"{unknown[0]}={given[unknown[0]]}: {benchmark.title} has no such option, it {what}")
    for name, value in given.items():
        if type(value) is not int or value < 1:
            raise UserError(f"{name}={value}: must be a whole number of at least 1")
    return {name: given.get(name, option.default) for name, option in known.items()}


def _name_of(benchmark: Benchmark, language: str) -> str:
    return benchmark.data_name if language in benchmark.built_in else "own"


def _load_sample(benchmark: Benchmark, split: str, language: str, options: Mapping[str, int]) -> Dataset:
    if benchmark.sample is None:
        raise UserError(f"{benchmark.title} has no sample; leave data=sample out")
    path = file_in(benchmark.sample, benchmark.file_of(split), language)
    if not path.is_file():
        known = ", ".join(languages_in(benchmark, benchmark.sample))
        raise UserError(f"the sample of {benchmark.title} has no language {language!r}, only {known}")
    logger.warning("%s/%s: using the bundled sample, not %s", split, language, benchmark.title)
    return _read(benchmark, path, split, language, "sample", options)


def _fetch_missing(benchmark: Benchmark, split: str, language: str) -> None:
    folder, named = (
        folder_of(benchmark),
        "" if benchmark.data_name == "stereoset" else f" {benchmark.data_name}",
    )
    if language not in benchmark.built_in:
        raise UserError(
            f"no data for language {language!r} in {folder}; built in are {', '.join(benchmark.built_in)}; "
            f"add your own with: stereoset data add DIR --language {language}"
        )
    if not benchmark.sources:
        raise UserError(
            f"no data for {split}/{language} in {folder}; put it there with: stereoset data fetch{named} --from DIR"
        )
    source = benchmark.sources_of(language)[0]
    first = benchmark.sources[source]
    named = f" {source}" if first.languages else named
    try:
        first.fetch(benchmark, Fetch((language,), (split,)))
    except UserError as error:
        sample = (
            "To try the bundled sample instead: `--metadata data=sample` with run, `--data sample` elsewhere"
            if benchmark.sample
            else ""
        )
        raise UserError(
            f"no data for {split}/{language} in {folder}, and fetching it failed ({error}). "
            f"With a network: `stereoset data fetch{named}`. Without: copy a clone of {first.help.split(',')[0]} here "
            f"and `stereoset data fetch{named} --from CLONE`. {sample}"
        ) from error


def _read(
    benchmark: Benchmark, path: Path, split: str, language: str, name: str, options: Mapping[str, int]
) -> Dataset:
    provenance = provenance_of(benchmark, path, name)
    lines = read_file(benchmark, path, split)
    if benchmark.making is None:
        return Dataset(benchmark, split, language, path, provenance, lines)
    made = benchmark.making.make(lines, split, options, str(path))
    return Dataset(benchmark, split, language, path, provenance, list(made.examples), made.about)


def read_file(benchmark: Benchmark, path: Path, split: str) -> list[Any]:
    """All lines of a file, checked one by one and as a whole: examples, or what they are made of."""
    making = benchmark.making
    if making is not None:
        return read_lines(path, making.parse)
    examples = read_lines(path, lambda fields, where: benchmark.parse(fields, split, where))
    benchmark.check(examples, str(path))
    return examples


def provenance_of(benchmark: Benchmark, path: Path, name: str) -> Provenance:
    digest = sha256_of(path)
    if benchmark.sample is not None and path.is_relative_to(benchmark.sample):
        return Provenance("sample", "lm-eval-stereoset", SAMPLE_VERSION, digest)
    if digest in benchmark.known:
        return Provenance(name, *benchmark.known[digest], digest)
    about = about_file(path)
    if about.is_file():
        fields = note_of(path)
        if fields.get("sha256") == digest:
            return Provenance(name, str(fields.get("source")), str(fields.get("version")), digest)
        way_out = (
            "restore it with `stereoset data fetch --force`"
            if path.stem in benchmark.built_in
            else f"take the change in with `stereoset data add DIR --language {path.stem}`"
        )
        raise UserError(
            f"{path}: changed since it was put there (its checksum is not the one in {about.name}); {way_out}"
        )
    return Provenance(name, "local file", f"sha256:{digest[:12]}", digest)


def note_of(path: Path) -> dict[str, Any]:
    """What the note beside a data file says; nothing if there is none, or none that can be understood."""
    fields = read_json(about_file(path)) if about_file(path).is_file() else {}
    return fields if isinstance(fields, dict) else {}


@dataclass(frozen=True)
class Origin:
    """Where data comes from; written into the note beside each file."""

    source: str  # as results show it
    version: str
    place: str | None = None  # the command and folder that may replace it without being asked


def save(
    benchmark: Benchmark, split: str, language: str, examples: Sequence[Any], source: str, version: str
) -> Path:
    """Writes a data file and the note of its origin into the data folder; both or none."""
    return save_splits(benchmark, language, {split: examples}, {split: Origin(source, version)})[0]


def save_splits(
    benchmark: Benchmark,
    language: str,
    data: Mapping[str, Sequence[Any]],
    origins: Mapping[str, Origin],
    more: Mapping[Path, bytes] | None = None,
    of_version: str | None = None,
) -> list[Path]:
    """Writes the data files of several splits and their notes, and more files of the folder; all or none.

    `of_version`: one of the benchmark's versions of its data, where that is not the default one.
    """
    contents: dict[Path, bytes] = dict(more or {})
    for split, examples in data.items():
        path = file_of_version(benchmark, split, language, of_version)
        contents[path] = encoded(examples)
        note = {k: v for k, v in asdict(origins[split]).items() if v is not None}
        note |= {"sha256": hashlib.sha256(contents[path]).hexdigest(), "examples": len(examples)}
        contents[about_file(path)] = (json.dumps(note, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
    write_together(contents, journal_of(folder_of(benchmark), language))
    return [file_of_version(benchmark, split, language, of_version) for split in data]


def journal_of(folder: Path, language: str) -> Path:
    return folder / f".{language}.unfinished.json"


def say_what_is_replaced(benchmark: Benchmark, path: Path, source: str, version: str) -> None:
    """Results of before came from the other version; whoever compares with them should know."""
    if not path.is_file():
        return
    try:
        old = provenance_of(benchmark, path, benchmark.name)
    except UserError:
        return  # damaged: nothing came from it that could be compared
    if (old.source, old.version) != (source, version):
        logger.warning(
            "%s: %s, version %s, is replaced by %s, version %s",
            *(path, old.source, old.version, source, version),
        )
