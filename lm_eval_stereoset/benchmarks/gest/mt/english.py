"""GEST's sentences with the stereotype of each, in all versions of its texts: what translations are joined to."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.gest import fetch
from lm_eval_stereoset.benchmarks.gest.sentence import FILE, SPLITS
from lm_eval_stereoset.benchmarks.gest.stereotypes import NAMES
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_text, sha256_of

FILES = ("gest_1.1.csv", "gest.csv")  # the newest texts first


@dataclass(frozen=True)
class Row:
    """A row of gest.csv. A corrected text and the one before it are the same sentence."""

    id: str
    stereotype: int
    texts: tuple[str, ...]  # the newest first


@dataclass(frozen=True)
class English:
    rows: tuple[Row, ...]
    data: tuple[dict[str, Any], ...]  # what was read, for results to record

    @property
    def texts(self) -> list[str]:
        """What is translated: the newest text of each row, the same text once."""
        return list(dict.fromkeys(row.texts[0] for row in self.rows))


def read_english(data: str | None = None) -> English:
    """Both versions of GEST's texts; or one version, the sample, a folder in our layout, or the authors' own files."""
    if data is None:
        return _from_store(fetch.VERSIONS)
    given = Path(data)
    if data in (*fetch.VERSIONS, "sample") or (given / FILE).is_dir():
        return _from_store((data,))
    paths = [given / name for name in FILES if (given / name).is_file()] if given.is_dir() else [given]
    if not paths:
        raise UserError(f"--data {data}: neither {FILE}/en.jsonl nor {' nor '.join(FILES)} is there")
    tables = [_read(path) for path in paths]
    _check_same_sentences(paths, tables)
    return _english(tables, [{"file": path.name, "sha256": sha256_of(path)} for path in paths])


def _from_store(versions: Sequence[str]) -> English:
    benchmark = benchmarks.find("gest")
    found = [store.load(benchmark, SPLITS[0], fetch.LANGUAGE, version) for version in versions]
    tables = [[(one.sentence, one.stereotype) for one in dataset.examples] for dataset in found]
    return _english(tables, [dataset.describe() for dataset in found])


def _english(tables: Sequence[Sequence[tuple[str, int]]], data: Sequence[dict[str, Any]]) -> English:
    """The tables are versions of the same rows, the newest first."""
    rows = []
    for number, same in enumerate(zip(*tables, strict=True)):
        rows.append(Row(str(number), same[0][1], tuple(dict.fromkeys(text for text, _ in same))))
    return English(tuple(rows), tuple(data))


def _check_same_sentences(paths: list[Path], tables: list[list[tuple[str, int]]]) -> None:
    """Two versions are joined row by row."""
    for path, table in zip(paths[1:], tables[1:], strict=True):
        if [number for _, number in table] != [number for _, number in tables[0]]:
            raise UserError(
                f"{path}: its rows are not those of {paths[0]}, whose sentences it should have in the same order; take "
                "both from one clone, or name one of the files"
            )


def _read(path: Path) -> list[tuple[str, int]]:
    try:
        rows = list(csv.reader(io.StringIO(read_text(path).removeprefix("\ufeff"), newline=""), strict=True))
    except csv.Error as error:
        raise UserError(f"{path}: not CSV ({error})") from error
    if not rows or rows[0] != ["sentence", "stereotype"]:
        raise UserError(f"{path}: the first line must name the columns sentence, stereotype")
    numbers = {str(number) for number in range(1, len(NAMES) + 1)}
    for line, row in enumerate(rows[1:], 2):
        if len(row) != 2 or row[1] not in numbers:
            raise UserError(f"{path}, row {line}: needs a sentence and the number of a stereotype, 1 to 16")
    return [(text, int(number)) for text, number in rows[1:]]
