"""Pairs of sentences that differ in one property only, such as gender: what projections are fitted on."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_text

Pair = tuple[str, str]


def read_pairs(path: Path) -> list[Pair]:
    """A CSV file with a header and two columns: a sentence, and what it becomes. Pairs that come twice count once."""
    try:
        rows = list(csv.reader(io.StringIO(read_text(path).removeprefix("\ufeff"), newline=""), strict=True))
    except csv.Error as error:
        raise UserError(f"{path}: not a CSV file ({error})") from error
    filled = [(number, row) for number, row in enumerate(rows, start=1) if any(cell.strip() for cell in row)]
    if len(filled) < 2:
        raise UserError(f"{path}: no pairs; it needs a header and one pair of sentences per row")
    for number, row in filled:
        if len(row) != 2:
            raise UserError(
                f"{path}, row {number}: {len(row)} columns; a row is two sentences, with a comma between them (and "
                "quotes round a sentence that holds a comma)"
            )
    cells = [(number, tuple(cell.strip() for cell in row)) for number, row in filled[1:]]
    for number, (first, second) in cells:
        if not first or not second:
            raise UserError(
                f"{path}, row {number}: only one sentence; every row needs two (are the columns of the same length?)"
            )
        if first == second:
            raise UserError(
                f"{path}, row {number}: both sentences are {first!r:.60}; the two of a pair must differ, take it out"
            )
    return list(dict.fromkeys((row[0], row[1]) for _, row in cells))


def paired(first: Sequence[str], second: Sequence[str]) -> list[Pair]:
    """Two lists, sentence by sentence."""
    if len(first) != len(second):
        raise UserError(
            f"not paired: {len(first)} sentences on one side, {len(second)} on the other; each needs its counterpart"
        )
    for number, (one, other) in enumerate(zip(first, second, strict=True), start=1):
        if one == other:
            raise UserError(f"pair {number}: both sentences are {one!r:.60}; the two of a pair must differ")
    return list(dict.fromkeys(zip(first, second, strict=True)))
