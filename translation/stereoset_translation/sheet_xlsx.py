"""Review sheets as XLSX files, with drop-downs for the verdict and yellow columns for the reviewer."""

import gc
import io
import re
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError, missing_package
from lm_eval_stereoset.files import atomic_write, read_bytes
from stereoset_translation.sheet import DANGEROUS, KEYS, VERDICTS, Row

UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # not allowed in XML
ESCAPE = re.compile("_(x[0-9a-fA-F]{4}_)")  # how XLSX writes a character that XML cannot hold
LONGEST_CELL = 32_767  # characters; spreadsheets cut what is longer
# Bounds for files from elsewhere: a sheet of all of StereoSet unpacks to about 5 MB.
UNPACKED = 200 << 20
MOST_ROWS, MOST_COLUMNS = 100_000, 500


def write_xlsx(path: Path, columns: Sequence[str], editable: Sequence[str], rows: Sequence[Row]) -> None:
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Alignment
    except ImportError as error:
        raise needs_openpyxl(" (--output FILE.csv works without)") from error

    book = Workbook()
    sheet = book.active
    sheet.title = "review"
    wrapped = Alignment(wrap_text=True, vertical="top")
    head = dict(zip(columns, columns, strict=True))
    for number, row in enumerate([head, *rows], start=1):
        for place, column in enumerate(columns, start=1):
            cell = sheet.cell(number, place)
            if text := as_shown(row.get(column, "")):
                if len(text) > LONGEST_CELL:
                    raise UserError(
                        f"{path}: {column} of example {row.get('id')} has {len(text)} characters, more than a "
                        f"cell of a spreadsheet holds ({LONGEST_CELL}); write a .csv with --output"
                    )
                cell.value = ESCAPE.sub(r"_x005F_\1", text)
                cell.data_type = "s"  # openpyxl would take "=…" for a formula
                cell.quotePrefix = bool(DANGEROUS.match(text))  # and so would a spreadsheet, when edited
            cell.number_format = "@"
            cell.alignment = wrapped
    _layout(sheet, columns, editable, len(rows))
    content = io.BytesIO()
    try:
        book.save(content)
    except _disk_errors() as error:
        _close_quietly(error)
        raise UserError(
            f"cannot write {path}: the folder for temporary files, {tempfile.gettempdir()}, has no room ({error})"
        ) from error
    with atomic_write(path, "wb") as handle:
        handle.write(content.getvalue())


def _disk_errors() -> tuple[type[Exception], ...]:
    """openpyxl writes each sheet into a temporary file first, with lxml if that is installed."""
    try:
        from lxml.etree import SerialisationError
    except ImportError:
        return (OSError,)
    return (OSError, SerialisationError)


def _close_quietly(error: Exception) -> None:
    """openpyxl 3.1 leaves a half-written sheet open; closing it fails once more, which Python would print with a
    traceback at some later time. It is closed here and now, without a word."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        traceback.clear_frames(error.__traceback__)
        gc.collect()
    finally:
        sys.unraisablehook = hook


def as_shown(text: str) -> str:
    """A text as a sheet can show it; characters that XML does not allow become U+FFFD."""
    return UNWRITABLE.sub("\ufffd", text)


def _layout(sheet: Any, columns: Sequence[str], editable: Sequence[str], rows: int) -> None:
    from openpyxl.styles import Font, PatternFill
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    for place, column in enumerate(columns, start=1):
        letter = get_column_letter(place)
        wide = column.endswith(("context", "sentence"))
        sheet.column_dimensions[letter].width = 44 if wide else 22 if column == "problems" else 16
        sheet.column_dimensions[letter].hidden = column in ("fingerprint",)
        sheet.cell(1, place).font = Font(bold=True)
        if column in editable:
            sheet.cell(1, place).fill = PatternFill("solid", fgColor="FFF2CC")
    if rows and "verdict" in columns:
        choice = DataValidation(
            type="list", formula1='"' + ",".join(VERDICTS) + '"', allow_blank=True, showErrorMessage=True,
            errorTitle="verdict", error="one of " + ", ".join(VERDICTS),
        )  # fmt: skip
        letter = get_column_letter(list(columns).index("verdict") + 1)
        choice.add(f"{letter}2:{letter}{rows + 1}")
        sheet.add_data_validation(choice)
    sheet.freeze_panes = "B2"


def needs_openpyxl(else_: str = "") -> UserError:
    return missing_package("openpyxl", f"an .xlsx sheet{else_}", "translate")


def read_xlsx(path: Path) -> tuple[list[tuple[int, list[str]]], list[str]]:
    """Numbered rows of cells, and the names of the other worksheets that are not empty.

    Every cell that is not a plain text or number is an error.
    """
    sheets = _worksheets(path)
    sheet = _chosen(sheets, path)
    if sheet.max_row > MOST_ROWS or sheet.max_column > MOST_COLUMNS:
        raise UserError(
            f"{path}: its cells reach to {sheet.max_row:,} rows and {sheet.max_column:,} columns, which no review "
            "sheet has; delete what is below and beside the table"
        )
    if merged := [str(cells) for cells in sheet.merged_cells.ranges]:
        raise UserError(
            f"{path}: merged cells ({', '.join(merged[:5])}), whose text counts for the first cell only; unmerge "
            "them and fill in every row"
        )
    rows = [
        (number, [_text(cell, path) for cell in cells])
        for number, cells in enumerate(sheet.iter_rows(min_row=1), start=1)
    ]
    return rows, [other.title for other in sheets if other is not sheet and _filled_from(other, 1)]


def _chosen(sheets: Sequence[Any], path: Path) -> Any:
    """The worksheet with the review; two of them are refused, because one would be lost without a word."""
    headed = [sheet for sheet in sheets if set(KEYS) <= _head(sheet)]
    filled = [sheet for sheet in headed if _filled_from(sheet, 2)]
    if len(filled) > 1:
        raise UserError(
            f"{path}: {len(filled)} worksheets hold review rows: {', '.join(repr(s.title) for s in filled)}; save "
            "each as a file of its own and apply one after the other, or delete the others"
        )
    candidates = filled or headed or sheets
    return next((sheet for sheet in candidates if sheet.title == "review"), candidates[0])


def _head(sheet: Any) -> set[str]:
    cells = next(sheet.iter_rows(max_row=1, max_col=min(sheet.max_column, MOST_COLUMNS)), ())
    return {str(cell.value).strip() for cell in cells if cell.value is not None}


def _filled_from(sheet: Any, first: int) -> bool:
    """Whether a cell in this row or below holds anything."""
    # The cells that openpyxl (3.1) has read; iter_rows would make all those up to the last, which may be far off.
    return any(row >= first and cell.value is not None for (row, _), cell in sheet._cells.items())


def _worksheets(path: Path) -> list[Any]:
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise needs_openpyxl(" (a .csv works without)") from error

    content = read_bytes(path)
    try:
        _refuse_bomb(content, path)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # on decoration that openpyxl does not know; the texts are all there
            book = load_workbook(io.BytesIO(content), read_only=False, data_only=False)
        sheets = book.worksheets  # without chart sheets
    except UserError:
        raise
    except Exception as error:  # a broken file can fail in any way within openpyxl; none of them is our bug
        reason = f"{type(error).__name__}: {error}"[:120]
        raise UserError(
            f"{path}: not an XLSX file that can be read ({reason}); is it cut off? Save it again, or as 'CSV UTF-8'"
        ) from error
    if not sheets:
        raise UserError(f"{path}: the workbook has no sheet with cells, only charts")
    return sheets


def _refuse_bomb(content: bytes, path: Path) -> None:
    """A small archive can unpack to more than the memory holds, and so can XML that defines entities."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        if sum(part.file_size for part in parts) > UNPACKED:
            raise UserError(f"{path}: unpacks to more than {UNPACKED >> 20} MB; this is no review sheet")
        for part in parts:
            if b"<!DOCTYPE" in archive.read(part)[:1000]:
                raise UserError(
                    f"{path}: {part.filename} defines its own XML entities; this is no review sheet"
                )


def _text(cell: Any, path: Path) -> str:
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "s":
        return re.sub("_x005F_(x[0-9a-fA-F]{4}_)", r"_\1", str(value))
    if cell.data_type == "n" and not cell.is_date:
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    kinds = {"f": "a formula", "b": "a truth value", "e": f"an error ({value})"}
    kind = kinds.get(cell.data_type, "a date")
    raise UserError(f"{path}, cell {cell.coordinate}: {kind} instead of a text; format the cell as text")
