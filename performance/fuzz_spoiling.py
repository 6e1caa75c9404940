"""Ways to spoil a file: bytes, lines, values inside JSON and YAML, cells inside a workbook, a pickle that runs code."""

import io
import json
import os
import pickle
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 1.5, -0.0, 1e308, float("nan"), float("inf"), 10**30, "", " ", "0", "nan", "x" * 5000,
    [], {}, [[]], [None], {"": ""}, "\0", "\u200b", "\ufffd", "\ud800", "\u2028", "a\nb", "=1+1", "@SUM(A1)", "#NAME?",
    "</script><script>alert(1)</script>", "../../x", "/dev/zero", "BLANK", "BLANK BLANK", "stereotype",
]  # fmt: skip
ODD_BYTES = [
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\n",
    b"{",
    b"}",
    b'"',
    b"\\",
    b"[" * 10_000,
    b"1" * 5000,
]
ODD_BYTES += [
    b"\xe2\x80\x8b",
    b"&a ",
    b"*a",
    b"!!python/object/apply:os.mkdir [executed]",
    b",,",
    b"\t",
    b"'",
]


class RunsCode:
    """Unpickled, it makes a folder called `executed`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder / "executed"),)


def spoil_file(path: Path, generator: random.Random, folder: Path) -> str:
    """Spoils the file in place; returns what was done."""
    if path.suffix == ".xlsx" and generator.random() < 0.6:
        return _spoil_workbook(path, generator)
    ways: list[Callable[[bytes, random.Random], bytes]] = [
        flip,
        cut,
        insert,
        remove,
        repeat,
        shuffle_lines,
        empty,
    ]
    if path.suffix in (".json", ".jsonl", ".part"):
        ways += [_json_lines if path.suffix != ".json" else _json] * 5
    if path.suffix == ".safetensors":
        ways += [_safetensors_header] * 4
    if generator.random() < 0.02:
        path.write_bytes(pickle.dumps(RunsCode(folder)))
        return "pickle"
    content, done = path.read_bytes(), []
    for _ in range(generator.choice((1, 1, 1, 2, 5))):
        way = generator.choice(ways)
        content = way(content, generator)
        done.append(way.__name__)
    path.write_bytes(content)
    return ", ".join(done)


def flip(content: bytes, generator: random.Random) -> bytes:
    if not content:
        return content
    place = generator.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << generator.randrange(8)]) + content[place + 1 :]


def cut(content: bytes, generator: random.Random) -> bytes:
    return content[: generator.randrange(len(content) + 1)]


def insert(content: bytes, generator: random.Random) -> bytes:
    place = generator.randrange(len(content) + 1)
    return content[:place] + generator.choice(ODD_BYTES) + content[place:]


def remove(content: bytes, generator: random.Random) -> bytes:
    place = generator.randrange(len(content) + 1)
    return content[:place] + content[place + generator.choice((1, 10, 1000)) :]


def repeat(content: bytes, generator: random.Random) -> bytes:
    place = generator.randrange(len(content) + 1)
    return content[:place] + content[place : place + 500] + content[place:]


def shuffle_lines(content: bytes, generator: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if lines:
        lines.insert(generator.randrange(len(lines)), generator.choice(lines))
        if generator.random() < 0.5:
            lines.pop(generator.randrange(len(lines)))
    return b"".join(lines)


def empty(content: bytes, generator: random.Random) -> bytes:
    return generator.choice((b"", b"\n", b" ", b"null", b"[]", b"{}", b"0", b'""'))


def _json(content: bytes, generator: random.Random) -> bytes:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return flip(content, generator)
    return json.dumps(_spoil_value(value, generator)).encode("utf-8", "surrogatepass")


def _json_lines(content: bytes, generator: random.Random) -> bytes:
    lines = content.splitlines()
    if not lines:
        return content
    place = generator.randrange(len(lines))
    lines[place] = _json(lines[place], generator)
    return b"\n".join(lines) + b"\n"


def _spoil_value(value: Any, generator: random.Random) -> Any:
    """Walks down to a random place in the value and puts something odd there, or removes or renames it."""
    if isinstance(value, dict) and value and generator.random() < 0.85:
        key = generator.choice(list(value))
        changed = dict(value)
        what = generator.random()
        if what < 0.08:
            del changed[key]
        elif what < 0.14:
            changed[generator.choice(("", "id", "x", key + " "))] = changed.pop(key)
        else:
            changed[key] = _spoil_value(value[key], generator)
        return changed
    if isinstance(value, list) and value and generator.random() < 0.85:
        place = generator.randrange(len(value))
        changed = list(value)
        what = generator.random()
        if what < 0.08:
            del changed[place]
        elif what < 0.16:
            changed.insert(place, generator.choice(value))
        else:
            changed[place] = _spoil_value(value[place], generator)
        return changed
    return generator.choice(ODD_VALUES)


def _safetensors_header(content: bytes, generator: random.Random) -> bytes:
    """Another name, shape, type or place of a tensor; the length in front fits the header again."""
    if len(content) < 8:
        return content
    size = int.from_bytes(content[:8], "little")
    header = _json(content[8 : 8 + size], generator)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def _spoil_workbook(path: Path, generator: random.Random) -> str:
    if generator.random() < 0.5:
        return _spoil_member(path, generator)
    import openpyxl

    book = openpyxl.load_workbook(path)
    sheet = book.active
    for _ in range(generator.choice((1, 1, 3, 10))):
        row, column = generator.randint(1, sheet.max_row), generator.randint(1, sheet.max_column)
        value = generator.choice(
            [v for v in ODD_VALUES if isinstance(v, str | int | float) and v not in ("\0", "\ud800")]
        )
        try:
            sheet.cell(row, column).value = value
        except ValueError:  # what openpyxl itself refuses to write
            sheet.cell(row, column).value = "x"
    if generator.random() < 0.1:
        book.create_chartsheet("chart", 0)
        book.active = 0
    if generator.random() < 0.2:
        sheet.delete_rows(generator.randint(1, sheet.max_row))
    if generator.random() < 0.2:
        sheet.delete_cols(generator.randint(1, sheet.max_column))
    book.save(path)
    return "cells of a workbook"


def _spoil_member(path: Path, generator: random.Random) -> str:
    """One of the files inside the workbook's archive."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = generator.choice(list(members))
    way = generator.choice((flip, cut, insert, remove, empty))
    members[name] = way(members[name], generator)
    if generator.random() < 0.1:
        del members[name]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    path.write_bytes(made.getvalue())
    return f"{way.__name__} in {name}"
