"""Review sheets as files: XLSX with drop-downs, or CSV. Texts stay texts: no cell becomes a formula."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write

VERDICTS = ("ok", "corrected", "drop", "unsure")
# A cell that begins like this is a formula to a spreadsheet. In CSV a leading apostrophe keeps it a text;
# apostrophes in front of such a beginning are doubled, so that reading gives back exactly what was written.
DANGEROUS = re.compile(r"'*[=+\-@\t\r]")
GUARDED = re.compile(r"'('*[=+\-@\t\r])")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # not allowed in XLSX
Row = dict[str, str]


def write(path: Path, columns: Sequence[str], editable: Sequence[str], rows: Sequence[Row]) -> None:
    if path.suffix.lower() == ".xlsx":
        _write_xlsx(path, columns, editable, rows)
    elif path.suffix.lower() == ".csv":
        _write_csv(path, columns, rows)
    else:
        raise UserError(f"{path}: a review sheet is an .xlsx or a .csv file")


def read(path: Path) -> list[tuple[int, Row]]:
    """Numbered rows as they stand in the sheet (the head is row 1); empty ones are left out."""
    if not path.is_file():
        raise UserError(f"{path}: no such sheet")
    if path.suffix.lower() == ".xlsx":
        rows = _read_xlsx(path)
    elif path.suffix.lower() == ".csv":
        rows = _read_csv(path)
    else:
        raise UserError(f"{path}: a review sheet is an .xlsx or a .csv file")
    return [(number, row) for number, row in rows if any(text.strip() for text in row.values())]


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    with atomic_write(path) as handle:
        handle.write("\ufeff")  # else Excel takes UTF-8 for something else
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([guard(row.get(column, "")) for column in columns] for row in rows)


def guard(text: str) -> str:
    return "'" + text if DANGEROUS.match(text) else text


def unguard(text: str) -> str:
    return text[1:] if GUARDED.match(text) else text


def _read_csv(path: Path) -> list[tuple[int, Row]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8; save it as 'CSV UTF-8'") from error
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)  # many spreadsheets write what their country is used to
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="", strict=True)
        rows = list(reader)
    except csv.Error as error:
        raise UserError(f"{path}: not a CSV file ({error})") from error
    if any(None in row for row in rows):
        number = 2 + next(i for i, row in enumerate(rows) if None in row)
        raise UserError(f"{path}, row {number}: more cells than the head has columns")
    return [
        (number, {key: unguard(value) for key, value in row.items()}) for number, row in enumerate(rows, 2)
    ]


def _write_xlsx(path: Path, columns: Sequence[str], editable: Sequence[str], rows: Sequence[Row]) -> None:
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font, PatternFill
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    book = Workbook()
    sheet = book.active
    sheet.title = "review"
    wrapped = Alignment(wrap_text=True, vertical="top")
    head = dict(zip(columns, columns, strict=True))
    for number, row in enumerate([head, *rows], start=1):
        for place, column in enumerate(columns, start=1):
            cell = sheet.cell(number, place)
            if text := row.get(column, ""):
                cell.value = CONTROL.sub("\ufffd", text)
                cell.data_type = "s"  # openpyxl would take "=…" for a formula
                cell.quotePrefix = bool(DANGEROUS.match(text))  # and so would a spreadsheet, when edited
            cell.number_format = "@"
            cell.alignment = wrapped
    for place, column in enumerate(columns, start=1):
        letter = get_column_letter(place)
        wide = column.endswith(("context", "sentence"))
        sheet.column_dimensions[letter].width = 44 if wide else 22 if column == "problems" else 16
        sheet.column_dimensions[letter].hidden = column in ("fingerprint",)
        sheet.cell(1, place).font = Font(bold=True)
        if column in editable:
            sheet.cell(1, place).fill = PatternFill("solid", fgColor="FFF2CC")
    if rows:
        choice = DataValidation(
            type="list", formula1='"' + ",".join(VERDICTS) + '"', allow_blank=True, showErrorMessage=True,
            errorTitle="verdict", error="one of " + ", ".join(VERDICTS),
        )  # fmt: skip
        letter = get_column_letter(columns.index("verdict") + 1)
        choice.add(f"{letter}2:{letter}{len(rows) + 1}")
        sheet.add_data_validation(choice)
    sheet.freeze_panes = "B2"
    content = io.BytesIO()
    book.save(content)
    with atomic_write(path, "wb") as handle:
        handle.write(content.getvalue())


def _read_xlsx(path: Path) -> list[tuple[int, Row]]:
    from zipfile import BadZipFile

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(path, read_only=False, data_only=False)
    except (BadZipFile, InvalidFileException, KeyError, ValueError, OSError) as error:
        raise UserError(f"{path}: not an XLSX file ({error})") from error
    sheet = book["review"] if "review" in book.sheetnames else book.worksheets[0]
    head = [str(cell.value or "").strip() for cell in sheet[1]]
    rows = []
    for cells in sheet.iter_rows(min_row=2):
        row = {name: _text(cell, path) for name, cell in zip(head, cells, strict=False) if name}
        rows.append((cells[0].row, row))
    return rows


def _text(cell, path: Path) -> str:
    if cell.value is None:
        return ""
    if cell.data_type == "s":
        return cell.value
    if cell.data_type == "n" and not cell.is_date:
        return str(int(cell.value)) if float(cell.value).is_integer() else str(cell.value)
    kind = {"f": "formula", "b": "truth value", "e": "error", "d": "date"}.get(cell.data_type, "date")
    raise UserError(f"{path}, cell {cell.coordinate}: a {kind} instead of a text; format the cell as text")
