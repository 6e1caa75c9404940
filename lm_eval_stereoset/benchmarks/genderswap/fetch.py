"""Fetching gender-swapped StereoSet from its authors' repository, or from a local clone of it."""

import csv
import hashlib
import io
from pathlib import Path

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.benchmarks.genderswap.example import KINDS, Swap, Triple, parse_triple
from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.download import download
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_bytes, sha256_of

REPOSITORY = "https://github.com/hillary-dawkins/GenderSwappedStereoSet"
COMMIT = "381abe4eacdf688a3c421011d9366cb51c0238ef"
RAW_URL = f"https://raw.githubusercontent.com/hillary-dawkins/GenderSwappedStereoSet/{COMMIT}"

# SHA-256 of each CSV file at COMMIT, and of the canonical file made from it.
CSV_SHA256 = {
    "dev": "be65a6d213e6092cf2389955ff9ffff22e933fd8e0d6b655e18a54a670a6c54c",
    "test": "cd7258a2262d007dc0d26b7df2728cdcfbc87e091bb468142c4ec80371af906e",
}
CANONICAL_SHA256 = {
    "dev": "a54eade10c50dcbcf21f70a81e0f6a97e74611657827db4a44efcf6e85118a89",
    "test": "bc03f8eebcd53006adcc395f7adedeb04c3cd8e0cb2003cbf727dd0b594fa11b",
}

GENDERS = {"F": "female", "M": "male"}
SWAPPED_CONTEXT = ("gender_swapped_context", "gender_swapped_conext")  # test.csv has the second spelling
COLUMNS = ("context_id", "context", "next_sentence", "label", "gender", "gender_swapped_next_sentence")


def fetch_authors(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """Puts the canonical files into the data folder; what is there and right already is kept."""
    if wanted.revision:
        raise UserError("--revision: the authors' files are those of one pinned commit; leave it out")
    return [_fetch_one(benchmark, split, wanted) for split in wanted.splits]


def _fetch_one(benchmark: Benchmark, split: str, wanted: Fetch) -> Path:
    path = store.file_of(benchmark, split, "en")
    if not wanted.force and path.is_file() and sha256_of(path) == CANONICAL_SHA256[split]:
        return path
    content, where = _content(split, wanted.clone)
    digest = hashlib.sha256(content).hexdigest()
    known = digest == CSV_SHA256[split]
    if not known and not wanted.insist:
        raise UserError(
            f"{where}: its SHA-256 is not that of the published file; nothing was changed. If you mean to use this "
            "other version, add --insist (it is then marked as a changed version in all results)"
        )
    triples = [parse_triple(one.to_dict(), split, where) for one in triples_of(content, split, where)]
    version = COMMIT[:7] if known else f"changed, csv sha256:{digest[:12]}"
    store.say_what_is_replaced(benchmark, path, REPOSITORY, version)
    return store.save(benchmark, split, "en", triples, REPOSITORY, version)


def _content(split: str, clone: Path | None) -> tuple[bytes, str]:
    relative = f"data/{split}.csv"
    if clone is None:
        return download(f"{RAW_URL}/{relative}"), relative
    try:
        return read_bytes(clone / relative), str(clone / relative)
    except UserError as error:
        raise UserError(f"{error}; --from takes a folder laid out like a clone of {REPOSITORY}") from error


def triples_of(content: bytes, split: str, where: str) -> list[Triple]:
    """The rows of a CSV file, three for each context_id, one of each label."""
    try:
        reader = csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""), strict=True)
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{where}: not a CSV file in UTF-8 ({error})") from error
    columns = reader.fieldnames or ()
    swapped = next((name for name in SWAPPED_CONTEXT if name in columns), None)
    if swapped is None or not set(COLUMNS) <= set(columns):
        raise UserError(f"{where}: needs the columns {', '.join((*COLUMNS, SWAPPED_CONTEXT[0]))}")
    by_id: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_id.setdefault(row["context_id"], []).append(row)
    return [_triple(f"{split}-{id_}", split, found, swapped, where) for id_, found in by_id.items()]


def _triple(id_: str, split: str, rows: list[dict[str, str]], swapped: str, where: str) -> Triple:
    if sorted(row["label"] for row in rows) != sorted(KINDS):
        raise UserError(f"{where}: context_id {id_.partition('-')[2]}: needs one row of each label")
    first, second, third = (
        Swap(row["label"], row["next_sentence"], row[swapped], row["gender_swapped_next_sentence"])
        for row in rows
    )
    contexts, genders = {row["context"] for row in rows}, {row["gender"] for row in rows}
    if len(contexts) != 1 or len(genders) != 1 or not genders <= set(GENDERS):
        raise UserError(
            f"{where}: context_id {id_.partition('-')[2]}: its rows need one context and one gender"
        )
    return Triple(id_, split, GENDERS[genders.pop()], contexts.pop(), (first, second, third))
