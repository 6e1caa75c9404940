"""Texts from data and numbers as cells of tables that other programs open."""

import csv
import html
import io
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

# What spreadsheet programs take for the beginning of a formula, and the two that some strip before looking.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def spreadsheet_cell(value: Any) -> Any:
    """For CSV: a text that a spreadsheet would run as a formula gets an apostrophe in front. Numbers stay."""
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return "'" + value
    return value


def markdown_cell(text: str) -> str:
    """For Markdown tables: no HTML, no cell or line break from data."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\|`*_\[\]])", r"\\\1", escaped)


_LATEX = {
    "\\": "\\textbackslash{}", "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
}  # fmt: skip


def latex_cell(text: str) -> str:
    """Special characters escaped; also < and >, which LaTeX's default font encoding prints as ¡ and ¿."""
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))


def full_number(number: float) -> str:
    """For CSV: all digits, and a word for what is undefined."""
    return "NaN" if math.isnan(number) else repr(float(number))


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([spreadsheet_cell(cell) for cell in row] for row in rows)
    return text.getvalue()
