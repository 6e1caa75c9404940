"""Files of predictions: every candidate's score, and at their head what the scores depend on.

{"benchmark", "language", "model", "data", "scoring", "identity", …}      the head, written by `stereoset predict`;
                                                                          readers of published files pass over it
{"scores": [{"id", "split", "scores": {label: number}}, …]}              the rest, unless a benchmark has its own format

Published files, and those of 0.1, have no head; a benchmark recognises those that are its own.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark, Example
from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.store import Dataset
from lm_eval_stereoset.errors import UserError, page, short
from lm_eval_stereoset.files import read_json, read_text, write_json

HEAD = (
    "benchmark", "language", "model", "data", "data_folder", "data_version", "options", "scoring", "limit", "identity",
    "matrix_products",
)  # fmt: skip
LARGEST = sys.float_info.max  # JSON has numbers beyond

Load = Callable[[str], Dataset]  # the data of a split


@dataclass(frozen=True)
class ScoredRows:
    """The scores of a split's examples, each row in the order of the example's candidates."""

    examples: Sequence[Example]
    rows: Sequence[Sequence[float]]

    def scored(self, benchmark: Benchmark) -> Scored:
        table = [benchmark.by_label(e, row) for e, row in zip(self.examples, self.rows, strict=True)]
        return Scored(benchmark, self.examples, np.array(table, dtype=float))


class FileName(NamedTuple):
    """What a file's name says."""

    model: str
    language: str | None
    variant: str | None  # how it was scored, as short as tells files apart
    scorers: Mapping[str, str] = MappingProxyType({})  # how each split was scored


@dataclass(frozen=True)
class Format:
    """How a benchmark writes predictions, if it has a way of its own."""

    encode: Callable[[Mapping[str, ScoredRows]], dict[str, Any]]
    decode: Callable[[dict[str, Any], Load, str], dict[str, Scored]]
    recognises: Callable[[Any], bool]  # the content of a file without a head
    keys: tuple[str, ...]  # of that content: a file that begins with one of them is worth opening
    parse_name: Callable[[str], FileName | None] = lambda stem: None  # published files may be named by a rule
    # Published files that are no JSON, .txt: (text, name without ending, where) -> content
    parse_text: Callable[[str, str, str], dict[str, Any]] | None = None


@dataclass(frozen=True)
class Predictions:
    benchmark: Benchmark
    language: str
    head: dict[str, Any]  # empty for files without one
    parts: dict[str, Scored]
    data: dict[str, Dataset]  # what the parts were matched with
    of: dict[str, int]  # how many examples the data has, where the file was made with --limit, too


def write(path: Path, benchmark: Benchmark, head: Mapping[str, Any], parts: Mapping[str, ScoredRows]) -> None:
    encode = benchmark.predictions.encode if benchmark.predictions else _encode
    write_json(path, {**head, **encode(parts)})


def head_of(content: Any) -> dict[str, Any]:
    """What a file says about itself; empty for published files and for anything else."""
    if not isinstance(content, dict) or content.get("benchmark") not in benchmarks.names():
        return {}
    return {key: content[key] for key in HEAD if key in content}


def benchmark_in(content: Any) -> Benchmark | None:
    """Whose predictions these are; None if they are nobody's."""
    if head := head_of(content):
        return benchmarks.find(head["benchmark"])
    for benchmark in map(benchmarks.find, benchmarks.names()):
        if benchmark.predictions and benchmark.predictions.recognises(content):
            return benchmark
    return None


def read(path: Path | str, language: str | None = None, data: str | None = None) -> Predictions:
    """`language`: of a file that does not say it. The data is loaded to find the examples of the scores."""
    return parse(content_of(Path(path)), str(path), language, data)


def content_of(path: Path, name: str | None = None) -> Any:
    """What is in a file, published ones that are no JSON among them. `name`: instead of its own, without the ending."""
    if path.suffix != ".txt":
        return read_json(path)
    for benchmark in map(benchmarks.find, benchmarks.names()):
        if benchmark.predictions and benchmark.predictions.parse_text:
            return benchmark.predictions.parse_text(read_text(path), name or path.stem, str(path))
    raise UserError(f"{path}: no benchmark has predictions in files of text")


def parse(
    content: Any,
    where: str,
    language: str | None = None,
    data: str | None = None,
    load_data: Callable[..., Dataset] = store.load,
) -> Predictions:
    """What the content of a file says; several files can share what `load_data` gives."""
    benchmark, head = _benchmark_of(content, where), head_of(content)
    if language is None and head.get("language") is None and len(benchmark.languages) == 1:
        language = benchmark.languages[0]
    language, data = _language_of(head, language, where), data or _data_of(head, where)
    loaded: dict[str, Dataset] = {}
    limit = head.get("limit")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise UserError(f"{where}: limit must be a number of examples, is {short(limit)}")

    options = head.get("options") or {}
    if not isinstance(options, dict):
        raise UserError(f"{where}: options must be an object, is {short(options)}")

    def load(split: str) -> Dataset:
        loaded[split] = load_data(benchmark, split, language, data, options)
        return (
            loaded[split]
            if limit is None
            else replace(loaded[split], examples=loaded[split].examples[:limit])
        )

    decode = benchmark.predictions.decode if benchmark.predictions else _decoder(benchmark)
    parts = decode(content, load, where)
    of = {split: len(dataset.examples) for split, dataset in loaded.items()}
    return Predictions(benchmark, language, head, parts, loaded, of)


def _benchmark_of(content: Any, where: str) -> Benchmark:
    benchmark = benchmark_in(content)
    if benchmark is None:
        raise UserError(
            f"{where}: not a prediction file of {', '.join(benchmarks.names())}; see {page('data.md')}"
        )
    return benchmark


def _language_of(head: Mapping[str, Any], given: str | None, where: str) -> str:
    made_for = head.get("language")
    if made_for is not None and not isinstance(made_for, str):
        raise UserError(f"{where}: the language must be a text, is {short(made_for)}")
    if given and made_for and given != made_for:
        # Ids are the same in all languages, so the scores would come out, under the wrong name.
        raise UserError(f"{where}: predictions for language {made_for}, not {given}")
    if language := given or made_for:
        return language
    raise UserError(f"{where}: of which language are the predictions? add --language, such as --language de")


def _data_of(head: Mapping[str, Any], where: str) -> str | None:
    """Where the data lies that the head names: "sample", a folder, or None for the benchmark's own."""
    if isinstance(version := head.get("data_version"), str):
        return version
    folder = head.get("data_folder")
    if folder is not None:
        if not isinstance(folder, str) or not _is_folder(folder):
            raise UserError(
                f"{where}: was made from data in {short(folder)}, which is not here; say where it is with --data DIR"
            )
        return folder
    entries = head["data"] if isinstance(head.get("data"), list) else []
    named = [entry.get("data") for entry in entries if isinstance(entry, dict)]
    return "sample" if named and all(name == "sample" for name in named) else None


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):  # too long, or a NUL in it
        return False


def scoring_of(head: Mapping[str, Any], split: str) -> dict[str, str]:
    """How the file says that a split was scored: what was compared, and the normaliser."""
    said = head.get("scoring")
    said = said.get(split) if isinstance(said, dict) else None
    return {k: str(said[k]) for k in ("scoring", "normaliser") if k in said} if isinstance(said, dict) else {}


def unlike_data(head: Mapping[str, Any], split: str, sha256: str) -> str | None:
    """One line if the predictions were made from other data than those of the given checksum."""
    entries: Sequence[Any] = head["data"] if isinstance(head.get("data"), list) else []
    made_from = next((d for d in entries if isinstance(d, dict) and d.get("split") == split), None)
    if made_from is None or made_from.get("sha256") == sha256:
        return None
    return (
        f"{split}: the predictions were made from other data (sha256 {str(made_from.get('sha256'))[:12]}) than they "
        f"are scored with now (sha256 {sha256[:12]})"
    )


def number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST <= value <= LARGEST:
        raise UserError(f"{where} is not a finite number: {short(value)}")
    return float(value)


def _encode(parts: Mapping[str, ScoredRows]) -> dict[str, Any]:
    return {
        "scores": [
            {"id": e.id, "split": split, "scores": dict(zip(e.labels, row, strict=True))}
            for split, part in parts.items()
            for e, row in zip(part.examples, part.rows, strict=True)
        ]
    }


def _decoder(benchmark: Benchmark) -> Callable[[dict[str, Any], Load, str], dict[str, Scored]]:
    def decode(content: dict[str, Any], load: Load, where: str) -> dict[str, Scored]:
        found: dict[str, dict[str, list[float]]] = {}
        entries = content.get("scores")
        if not isinstance(entries, list) or not entries:
            raise UserError(f"{where}: no scores in it")
        for place, entry in enumerate(entries, start=1):
            split, id_, row = _entry(benchmark, entry, f"{where}, entry {place}")
            if id_ in found.setdefault(split, {}):
                raise UserError(f"{where}, entry {place}: duplicate id {id_}")
            found[split][id_] = row
        return {split: _matched(benchmark, load(split), rows, where) for split, rows in found.items()}

    return decode


def _entry(benchmark: Benchmark, entry: Any, where: str) -> tuple[str, str, list[float]]:
    if not isinstance(entry, dict) or not isinstance(entry.get("scores"), dict):
        raise UserError(f"{where}: needs id, split and scores")
    split, id_, scores = entry.get("split"), entry.get("id"), entry["scores"]
    if split not in benchmark.splits or not isinstance(id_, str):
        raise UserError(f"{where}: split {short(split)} or id {short(id_)} is not one of {benchmark.title}")
    if set(scores) != set(benchmark.labels):
        raise UserError(f"{where}: needs a score for each of {', '.join(benchmark.labels)}")
    return split, id_, [number(scores[label], f"{where}: {label}") for label in benchmark.labels]


def _matched(benchmark: Benchmark, data: Dataset, rows: Mapping[str, list[float]], where: str) -> Scored:
    missing = [e.id for e in data.examples if e.id not in rows]
    known = {e.id for e in data.examples}
    if missing or (unknown := [id_ for id_ in rows if id_ not in known]):
        what = (
            f"no score for {len(missing)} of {len(data.examples)} examples"
            if missing
            else (f"{len(unknown)} ids are not in the data")
        )
        raise UserError(f"{where}: {what}; is it the right language and data version?")
    return Scored(benchmark, data.examples, np.array([rows[e.id] for e in data.examples], dtype=float))
