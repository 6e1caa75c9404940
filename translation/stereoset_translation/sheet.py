"""Review sheets as files: XLSX with drop-downs, or CSV. Texts stay texts: no cell becomes a formula."""

import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lm_eval_stereoset.data.lines import damage, visible
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, read_bytes

KEYS = ("split", "id", "language", "verdict", "fingerprint")  # without these a file is no review sheet
VERDICTS = ("ok", "corrected", "drop", "unsure")
# A cell that begins like this is a formula to a spreadsheet. In CSV a leading apostrophe keeps it a text;
# apostrophes in front of such a beginning are doubled, so that reading gives back exactly what was written.
DANGEROUS = re.compile(r"'*[=+\-@\t\r]")
GUARDED = re.compile(r"'('*[=+\-@\t\r])")
# What a spreadsheet puts in place of a formula that it cannot work out, in any language: #NAME?, #BEZUG!, Err:508.
ERROR_VALUE = re.compile(r"#[^\W\d_][\w/]*[!?]|#N/A|#NV|Err:\d+")
Row = dict[str, str]


def write(path: Path, columns: Sequence[str], editable: Sequence[str], rows: Sequence[Row]) -> None:
    if _kind(path) == ".xlsx":
        from stereoset_translation.sheet_xlsx import write_xlsx

        write_xlsx(path, columns, editable, rows)
    else:
        _write_csv(path, columns, rows)


@dataclass(frozen=True)
class Sheet:
    head: list[str]
    rows: list[tuple[int, Row]]  # numbered as they stand in the sheet (the head is row 1), without empty ones
    not_read: tuple[str, ...] = ()  # the names of the workbook's other worksheets that are not empty


def read(path: Path) -> Sheet:
    kind = _kind(path)
    not_read: list[str] = []
    if not path.exists():
        raise UserError(f"{path}: no such sheet")
    if kind == ".xlsx":
        from stereoset_translation.sheet_xlsx import read_xlsx

        numbered, not_read = read_xlsx(path)
    else:
        numbered = _read_csv(path)
    head = [cell.strip() for cell in numbered[0][1]] if numbered else []
    if twice := sorted({name for name in head if name and head.count(name) > 1}):
        raise UserError(f"{path}: the column {twice[0]!r} is there twice; delete the one that is not meant")
    rows = []
    for number, cells in numbered[1:]:
        if stray := [cell for cell in cells[len(head) :] if cell.strip()]:
            raise UserError(f"{path}, row {number}: more cells than the head has columns ({stray[0][:40]!r})")
        cells = [*cells, *[""] * (len(head) - len(cells))]
        row = dict(zip(head, cells, strict=False))
        if row.pop("", "").strip():
            raise UserError(f"{path}, row {number}: a filled cell in a column without a head")
        if any(cell.strip() for cell in cells):
            rows.append((number, row))
    return Sheet([name for name in head if name], rows, tuple(not_read))


def fault(text: str) -> str | None:
    """Why a text that a person put into a sheet cannot be taken, or None."""
    if not visible(text):
        return "holds only invisible characters"
    if what := damage(text):
        return f"holds {what}"
    if ERROR_VALUE.fullmatch(text):
        return f"is {text}, a spreadsheet's error, not a text"
    if odd := [c for c in text if unicodedata.category(c) == "Cc" and c not in "\r\n"]:
        return f"holds a control character (U+{ord(odd[0]):04X})"
    if odd := [c for c in (text[0], text[-1]) if unicodedata.category(c) == "Cf"]:
        return f"begins or ends with an invisible character (U+{ord(odd[0]):04X})"
    return None


def _kind(path: Path) -> str:
    if path.suffix.lower() not in (".xlsx", ".csv"):
        raise UserError(f"{path}: a review sheet is an .xlsx or a .csv file")
    return path.suffix.lower()


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    with atomic_write(path) as handle:
        handle.write("\ufeff")  # else Excel takes UTF-8 for something else
        # Everything in quotes: a carriage return in a text would else end the row.
        writer = csv.writer(handle, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows([guard(row.get(column, "")) for column in columns] for row in rows)


def guard(text: str) -> str:
    return "'" + text if DANGEROUS.match(text) else text


def unguard(text: str) -> str:
    return text[1:] if GUARDED.match(text) else text


def _read_csv(path: Path) -> list[tuple[int, list[str]]]:
    return [
        (number, cells if number == 1 else [unguard(cell) for cell in cells])
        for number, cells in read_csv(path)
    ]


def read_csv(path: Path) -> list[tuple[int, list[str]]]:
    """Numbered rows of any CSV file in UTF-8, with whichever delimiter its head uses."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}); save it as 'CSV UTF-8'") from error
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)  # many spreadsheets write what their country is used to
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        return list(enumerate(reader, start=1))
    except csv.Error as error:
        raise UserError(f"{path}: not a CSV file ({error})") from error
