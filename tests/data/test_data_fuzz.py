"""Damaged data files: whatever is in them, a command ends with success or one line, and changes no input."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import read_examples
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError

BOUNDED = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
VALID = {
    split: b"\n".join(store.file_in(STEREOSET.sample, split, "de").read_bytes().split(b"\n")[:4]) + b"\n"
    for split in ("intra", "inter")
}
ODD_TEXTS = (
    "",
    " ",
    "\0",
    "\ufffd",
    "\u200b",
    "\ud800",
    "BLANK",
    "=1+1",
    "\u2028",
    "a\nb",
    "x" * 5000,
    "#NAME?",
)
ODD_VALUES = (None, True, 0, -1.5, 10**400, [], {}, [[]], {"id": {}}, *ODD_TEXTS)
ODD_BYTES = (
    b"\xff",
    b"\0",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\n",
    b"\xed\xa0\x80",
    b'"',
    b"{",
    b"[" * 3000,
    b"9" * 5000,
    b"NaN",
)


@st.composite
def damaged_bytes(draw, content: bytes) -> bytes:
    """A valid file with bytes changed, inserted, cut out or cut off."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        how = draw(st.sampled_from(("flip", "insert", "remove", "cut", "double")))
        if how == "flip" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif how == "insert":
            data[place:place] = draw(st.sampled_from(ODD_BYTES))
        elif how == "remove":
            del data[place : place + draw(st.integers(1, 40))]
        elif how == "cut":
            del data[place:]
        else:
            data += data[:place]
    return bytes(data)


@st.composite
def damaged_values(draw, content: bytes) -> bytes:
    """A valid file in which a value somewhere in one line has another type, is odd, missing or doubled."""
    lines = [json.loads(line) for line in content.splitlines()]
    line = lines[draw(st.integers(0, len(lines) - 1))]
    table = draw(st.sampled_from([line, *line["candidates"]]))
    key = draw(st.sampled_from(sorted(table)))
    how = draw(st.sampled_from(("odd", "remove", "more", "copy", "swap")))
    if how == "odd":
        table[key] = draw(st.sampled_from(ODD_VALUES))
    elif how == "remove":
        del table[key]
    elif how == "more":
        table[draw(st.sampled_from(("", "ID", "label ", "word")))] = draw(st.sampled_from(ODD_VALUES))
    elif how == "copy":
        table[key] = lines[0].get(key, "stereotype")
    else:
        line["candidates"] = draw(st.permutations(line["candidates"]))
    return "\n".join(map(json.dumps, lines)).encode()


@pytest.fixture(autouse=True)
def quiet(capsys):
    yield
    capsys.readouterr()


@BOUNDED
@given(
    st.sampled_from(sorted(VALID)).flatmap(
        lambda s: st.tuples(st.just(s), damaged_bytes(VALID[s]) | damaged_values(VALID[s]))
    )
)
@example(("intra", b"[" * 10_000))
@example(("inter", b'{"id": ' + b"9" * 5000 + b"}"))
def test_commands_on_a_damaged_data_file_end_with_success_or_one_line(case):
    split, content = case
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "mine"
        path = store.file_in(folder, split, "it")
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        os.environ["STEREOSET_DATA"] = str(Path(name) / "data")
        try:
            examples = read_examples(path, split)
        except UserError:
            examples = None
        assert main(["data", "check", str(path)]) in (0, 1, 2)
        code = main(["data", "add", str(folder), "-l", "it"])
        assert code == (0 if examples else 2)
        assert path.read_bytes() == content
        added = store.file_in(Path(name) / "data", split, "it")
        assert added.exists() == (code == 0)
        if examples:
            assert read_examples(added, split) == examples
            assert main(["data", "list"]) == 0


@BOUNDED
@given(
    damaged_bytes(json.dumps({"source": "me", "version": "1", "sha256": "0" * 64, "examples": 4}).encode())
)
def test_a_damaged_note_beside_the_data_ends_with_success_or_one_line(note):
    with tempfile.TemporaryDirectory() as name:
        path = store.file_in(Path(name), "intra", "it")
        path.parent.mkdir(parents=True)
        path.write_bytes(VALID["intra"])
        store.about_file(path).write_bytes(note)
        os.environ["STEREOSET_DATA"] = name
        assert main(["data", "list"]) in (0, 2)
        assert store.about_file(path).read_bytes() == note
