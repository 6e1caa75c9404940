"""Damaged translations, sheets and rules: success or one line, inputs unchanged, no command that hangs."""

import csv
import io
import tempfile
import zipfile
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stereoset_translation import review, rules, sheet
from stereoset_translation.folder import Folder
from stereoset_translation.repair import repair
from stereoset_translation.sheet_xlsx import as_shown
from stereoset_translation.source import assemble, by_id, strings_of
from translation_examples import english_examples
from translation_stand_in import pseudo

from lm_eval_stereoset.cli import main
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import write_examples

BOUNDED = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
ENGLISH = {split: examples[:3] for split, examples in english_examples().items()}
ITALIAN = {
    split: [assemble(e, {t: pseudo(t, True) for t in strings_of(e)}) for e in examples]
    for split, examples in ENGLISH.items()
}
ODD_CELLS = (
    "", " ", "\0", "\ufffd", "\u200b", "#NAME?", "=1+1", "'=x", "-", "@x", "ok", "drop", "corrected", "unsure", "OK ",
    "intra", "inter", "a0", " a0", "e1", "it", "BLANK", "Era BLANK.", "x" * 3000, "a\r\nb", '"', ";", "1e400", "007",
    "\u2028", "\x07", "id", "verdict", "corrected context",
)  # fmt: skip


def flipped(draw, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        how = draw(st.sampled_from(("flip", "insert", "remove", "cut")))
        if how == "flip" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif how == "insert":
            data[place:place] = draw(
                st.sampled_from((b"\xff", b"\0", b"\n", b'"', b",", b"[" * 2000, b"<!DOCTYPE x>"))
            )
        elif how == "remove":
            del data[place : place + draw(st.integers(1, 60))]
        else:
            del data[place:]
    return bytes(data)


@pytest.fixture
def folder(tmp_path, capfd):
    """Translated examples with their English, and a way to type a command and see that it changed no input."""
    for split, examples in ENGLISH.items():
        write_examples(tmp_path / "english" / split / "en.jsonl", examples)
    Folder(tmp_path / "it" / "repaired", "it").write(ITALIAN)
    for kind in ("csv", "xlsx"):
        rows = [review.Item(split, e, []) for split, examples in ITALIAN.items() for e in examples]
        review.write(tmp_path / f"review.{kind}", "it", rows, by_id(ENGLISH))
    yield tmp_path
    capfd.readouterr()


def files(folder: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"
    }


def apply(folder: Path, name: str, content: bytes) -> None:
    """Applies a sheet to a copy of the folder: all of its rows, or none."""
    with tempfile.TemporaryDirectory() as copy:
        for split, examples in ITALIAN.items():
            write_examples(Path(copy) / "it" / split / "it.jsonl", examples)
        path = Path(copy) / name
        path.write_bytes(content)
        before = files(Path(copy))
        code = main([
            "translate", "apply", str(path), "--to", "it", "--input", f"{copy}/it", "--by", "A",
            "--data", str(folder / "english"),
        ])  # fmt: skip
        assert code in (0, 2)
        after = files(Path(copy))
        assert after[path] == content
        if code == 2:
            assert {p: c for p, c in after.items() if p.suffix == ".jsonl"} == {
                p: c for p, c in before.items() if p.suffix == ".jsonl"
            }
        Folder(Path(copy) / "it", "it").read()


@BOUNDED
@given(st.data())
def test_a_damaged_csv_sheet_ends_with_success_or_one_line(folder, data):
    content = (folder / "review.csv").read_bytes()
    if data.draw(st.booleans()):
        apply(folder, "x.csv", flipped(data.draw, content))
        return
    table = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.sampled_from(table))
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(st.sampled_from(ODD_CELLS))
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=data.draw(st.sampled_from(",;\t"))).writerows(table)
    apply(folder, "x.csv", text.getvalue().encode("utf-8"))


@BOUNDED
@given(st.data())
def test_a_damaged_xlsx_sheet_ends_with_success_or_one_line(folder, data):
    content = (folder / "review.xlsx").read_bytes()
    if data.draw(st.booleans()):
        apply(folder, "x.xlsx", flipped(data.draw, content))
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:  # damage within one of the parts
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = data.draw(st.sampled_from(sorted(parts)))
    parts[name] = flipped(data.draw, parts[name])
    if data.draw(st.integers(0, 9)) == 0:
        del parts[name]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    apply(folder, "x.xlsx", packed.getvalue())


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(ODD_CELLS)


@settings(BOUNDED, max_examples=150)
@given(st.lists(TEXTS, min_size=1, max_size=4), st.sampled_from(["csv", "xlsx"]))
def test_the_way_through_a_sheet_changes_no_text(texts, kind):
    columns = ["id", *(f"c{i}" for i in range(len(texts))), "verdict"]
    row = {"id": "x"} | {f"c{i}": text for i, text in enumerate(texts)} | {"verdict": ""}
    if kind == "xlsx":  # XML has no way to write these
        row = {name: as_shown(text) for name, text in row.items()}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"a.{kind}"
        sheet.write(path, columns, ["verdict"], [row])
        assert sheet.read(path).rows == [(2, row)]


@BOUNDED
@given(st.data())
def test_damaged_translations_end_with_success_or_one_line(folder, data):
    split = data.draw(st.sampled_from(("intra", "inter")))
    with tempfile.TemporaryDirectory() as copy:
        for name, examples in ITALIAN.items():
            write_examples(Path(copy) / name / "it.jsonl", examples)
        path = Path(copy) / split / "it.jsonl"
        path.write_bytes(flipped(data.draw, path.read_bytes()))
        before = path.read_bytes()
        options = ["--to", "it", "--input", copy, "--data", str(folder / "english")]
        assert main(["translate", "repair", *options, "--output", f"{copy}/out"]) in (0, 2)
        assert main(["translate", "review", *options, "--output", f"{copy}/x.csv"]) in (0, 2)
        assert main(["translate", "build", *options, "--replace"]) in (0, 2)
        assert path.read_bytes() == before


RULE = {
    "name": "r", "splits": ["intra"], "columns": ["context", "word"], "examples": ["a0"],
    "when": {"target_missing": True}, "replace": {"a": "b"}, "regex": {"(a)": r"\1"}, "keep": "a-z",
    "strip": "punctuation", "set": "x",
    "closest_word": {"cutoff": 0.4, "skip": ["x"], "single_words_only": True}, "rebuild_sentences": True,
    "manual_fixes": [{"file": "a.csv", "split": "intra", "columns": {"a": "context"}}],
}  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(ODD_CELLS) | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)
PATTERNS = st.text("ab.*+?()[]{}|\\^$1,-:<=!#w ", max_size=14)


@settings(BOUNDED, max_examples=300)
@given(st.data())
def test_odd_rules_end_with_success_or_one_line(data):
    rule = {
        key: RULE[key] for key in data.draw(st.sets(st.sampled_from(sorted(RULE)), max_size=4)) | {"name"}
    }
    how = data.draw(st.sampled_from(("value", "regex", "keep", "bytes")))
    if how == "value":
        rule[data.draw(st.sampled_from(sorted(rule)))] = data.draw(VALUES)
    elif how != "bytes":
        rule = {"name": "r", how: data.draw(PATTERNS)}
        if how == "regex":
            rule["regex"] = {rule["regex"]: data.draw(PATTERNS)}
    content = {"steps": [{"name": "s", "rules": [rule]}]}
    text = yaml.safe_dump(content, allow_unicode=True)
    if how == "bytes":
        text = flipped(data.draw, text.encode("utf-8")).decode("utf-8", "replace")
    try:
        repaired = repair(ITALIAN, rules.parse(text, "x.yaml"))
    except UserError:
        return
    assert [len(examples) for examples in repaired.data.values()] == [3, 3]
