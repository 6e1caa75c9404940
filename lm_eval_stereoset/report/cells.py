"""Texts from data as cells of tables that other programs open."""

import html
import re
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
