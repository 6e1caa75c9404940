"""A user's own data: taken into the data folder after every line of it has been checked, all splits or none."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.data.store import (
    Dataset,
    Origin,
    file_in,
    file_of,
    folder_of,
    journal_of,
    load,
    note_of,
    provenance_of,
    read_file,
    save_splits,
)
from lm_eval_stereoset.data.together import finish
from lm_eval_stereoset.errors import UserError, page
from lm_eval_stereoset.files import sha256_of

LANGUAGE_CODE = r"[a-z]{2,3}(_[a-z0-9]+)*"  # usable in file names and names of tasks

MoreFiles = Callable[[Benchmark, str, Sequence[str]], Mapping[Path, bytes]]  # of a language and its splits


def fetch_folder(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """`data fetch NAME --from FOLDER` for a benchmark that is published in our own format."""
    if wanted.clone is None:
        raise UserError(f"{benchmark.title} has no address to fetch it from; name a folder with --from DIR")
    pairs = [(split, code) for split in wanted.splits for code in wanted.languages]
    found = {pair: path for pair in pairs if (path := file_in(wanted.clone, *pair)).is_file()}
    if not found:
        example = file_in(Path(), *pairs[0])
        raise UserError(f"--from {wanted.clone}: no data of {benchmark.title} there, such as {example}")
    examples = {pair: read_file(benchmark, path, pair[0]) for pair, path in found.items()}
    written = []
    for (split, code), path in found.items():
        origin = Origin(f"copied from {wanted.clone.resolve().name}", f"sha256:{sha256_of(path)[:12]}")
        written += save_splits(benchmark, code, {split: examples[split, code]}, {split: origin})
    return written


def add(
    benchmark: Benchmark,
    folder: Path | str,
    language: str,
    version: str | None = None,
    replace: bool = False,
    more_files: MoreFiles | None = None,
) -> list[Dataset]:
    """Takes a user's own data into the data folder: every line is validated before anything is written."""
    folder = Path(folder)
    refuse_language(benchmark, language, folder)
    if folder.is_file():
        return _add_file(benchmark, folder, language, version, replace, more_files)
    if not folder.is_dir():
        raise UserError(f"{folder}: no such file or folder")
    found = {split: file_in(folder, benchmark.file_of(split), language) for split in benchmark.stored_splits}
    found = {split: path for split, path in found.items() if path.exists()}
    if not found:
        places = " nor ".join(f"{name}/{language}.jsonl" for name in benchmark.files)
        neither = "neither " if len(benchmark.files) > 1 else "no "
        raise UserError(f"{folder}: {neither}{places} is there; {page('data.md')} shows the layout")
    data = {split: read_file(benchmark, path, split) for split, path in found.items()}
    versions = {split: version or f"sha256:{sha256_of(path)[:12]}" for split, path in found.items()}
    name = folder.resolve().name
    origins = {s: Origin(f"added from {name}", versions[s], f"data add {folder.resolve()}") for s in data}
    return take_in(benchmark, language, data, origins, replace, more_files)


def _add_file(
    benchmark: Benchmark,
    path: Path,
    language: str,
    version: str | None,
    replace: bool,
    more_files: MoreFiles | None,
) -> list[Dataset]:
    """A file in another layout that the benchmark can read, all splits at once."""
    if benchmark.read_other is None or path.suffix == ".jsonl":
        places = " or ".join(f"{name}/{language}.jsonl" for name in benchmark.files)
        raise UserError(
            f"{path}: name the folder with {places} instead of a file; {page('data.md')} shows the layout"
        )
    data = benchmark.read_other(path)
    for split, examples in data.items():
        benchmark.check(examples, f"{path}, {split}")
    origin = Origin(
        f"added from {path.name}", version or f"sha256:{sha256_of(path)[:12]}", f"data add {path.resolve()}"
    )
    return take_in(benchmark, language, data, dict.fromkeys(data, origin), replace, more_files)


def refuse_language(benchmark: Benchmark, language: str, folder: Path) -> None:
    if not re.fullmatch(LANGUAGE_CODE, language):
        raise UserError(f"language {language!r}: give a code such as it or pt_br (small letters, digits, _)")
    if language in benchmark.built_in:
        raise UserError(
            f"language {language!r} is built in; to evaluate your own version of it use "
            f"`--metadata data={folder}`, or add it under another code such as {language}_mine"
        )


def take_in(
    benchmark: Benchmark,
    language: str,
    data: Mapping[str, Sequence[Any]],
    origins: Mapping[str, Origin],
    replace: bool = False,
    more_files: MoreFiles | None = None,
) -> list[Dataset]:
    """Puts examples that have been checked into the data folder, all splits or none.

    Data of another origin that is there already is replaced only if the user has said so. `more_files` gives
    the files that go with the language's splits (its tasks); they are put in place together with the data.
    """
    finish(journal_of(folder_of(benchmark), language))
    for split, examples in data.items():
        path = file_of(benchmark, split, language)
        if path.is_file() and not replace:
            _refuse_replacing(benchmark, path, split, language, examples, origins[split])
    there = [
        benchmark.file_of(s)
        for s in benchmark.splits
        if s in data or file_of(benchmark, s, language).is_file()
    ]
    splits = [s for s in benchmark.splits if benchmark.file_of(s) in there]
    more = more_files(benchmark, language, splits) if more_files else None
    save_splits(benchmark, language, data, origins, more)
    return [load(benchmark, split, language) for split in data]


def _refuse_replacing(
    benchmark: Benchmark, path: Path, split: str, language: str, examples: Sequence[Any], origin: Origin
) -> None:
    try:
        if read_file(benchmark, path, split) == examples:
            return
        there = provenance_of(benchmark, path, "own")
        what = f"{there.source}, version {there.version}"
        mine = there.source == origin.source and note_of(path).get("place", origin.place) == origin.place
    except UserError:
        what, mine = "damaged, or changed by hand since it was put there", False
    if not mine:
        raise UserError(
            f"{split}/{language} is there already ({what}) in {path}; nothing was changed: "
            "add --replace to put this in its place, or choose another language code"
        )
