"""Sheets as they come back from people and their programs: no edit is lost, and nothing odd gets into the data."""

import csv
import io
import subprocess
import sys
import zipfile

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.chart import BarChart
from stereoset_translation import review, sheet
from stereoset_translation.review import CORRECTED
from translation_review_folder import LOST, correct, repaired

from lm_eval_stereoset.errors import UserError

ERROR_VALUES = ("#NAME?", "#REF!", "#VALUE!", "#N/A", "#DIV/0!", "#NULL!", "#NUM!", "#BEZUG!", "Err:508")


def refused(apply, tmp_path) -> str:
    """Applies a sheet that must change nothing; gives what was said."""
    before = repaired(tmp_path)
    code, _, err = apply()
    assert code == 2
    assert "Traceback" not in err
    assert repaired(tmp_path) == before
    assert not (tmp_path / "it" / "repaired" / "it.reviews.jsonl").exists()
    return err


@pytest.mark.parametrize("verdict", ["ok", "drop", "", "unsure", "corrected"])
@pytest.mark.parametrize("column", ["context", "target", "c2_sentence", "English context"])
def test_an_edit_of_a_text_that_is_only_shown_is_refused(rows, tmp_path, verdict, column):
    content, apply = rows
    row = content["e5"]
    row["verdict"] = verdict
    if verdict == "corrected":
        row[CORRECTED + "c3_sentence"] = "La zuppa bolle."
    row[column] += " ecco"
    err = refused(apply, tmp_path)
    assert f"the column '{column}' was changed" in err
    assert "row 4" in err
    if column == "context":
        assert "put the change into 'corrected context' and restore 'Ouro" in err


def test_line_ends_and_outer_spaces_that_a_spreadsheet_changes_are_no_edit(rows):
    content, apply = rows
    content["e5"]["verdict"] = "drop"
    content["e5"]["context"] = " " + content["e5"]["context"] + "\r\n"
    assert apply()[0] == 0


@pytest.mark.parametrize("space", [" ", "\u00a0", "\t"])
def test_a_second_row_of_an_example_is_found_behind_spaces(rows, tmp_path, space):
    content, apply = rows
    content["e5"]["verdict"] = "drop"
    content["again"] = content["e5"] | {"id": space + "e5", "verdict": "drop"}
    assert "row 5: the same example as row 4" in refused(apply, tmp_path)


def rewritten(tmp_path, change):
    """The sheet as a person might leave it: `change` gets the list of rows, the head first."""
    path = tmp_path / "it" / "review.csv"
    table = list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
    change(table)
    with open(path, "w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows(table)
    return path


@pytest.mark.parametrize("name", ["corrected context", "context", "verdict", "id"])
def test_a_doubled_column_head_is_refused(rows, work, translate, tmp_path, name):
    def double(table):
        table[0].append(f" {name} ")
        for row in table[1:]:
            row.append("Era BLANK.")

    path = rewritten(tmp_path, double)
    err = refused(lambda: translate("apply", path, *work, "--by", "Ada"), tmp_path)
    assert f"the column '{name}' is there twice" in err


@pytest.mark.parametrize(
    "head",
    [
        "Corrected c2_word",
        "corrected  c2_word",
        "CORRECTED C2_WORD",
        "corrected c2 word",
        "corrected c9_word",
    ],
)
def test_a_column_head_that_is_almost_right_is_refused(rows, work, translate, tmp_path, head):
    def rename(table):
        table[0][table[0].index("corrected c2_word")] = head

    path = rewritten(tmp_path, rename)
    err = refused(lambda: translate("apply", path, *work, "--by", "Ada"), tmp_path)
    assert f"the column '{' '.join(head.split())}' must be named" in err


def test_a_missing_column_is_refused_and_a_column_of_notes_is_not(rows, work, translate, tmp_path):
    def add_notes(table):
        for number, row in enumerate(table):
            row.append("my notes" if number == 0 else "?")

    path = rewritten(tmp_path, add_notes)
    assert translate("apply", path, *work, "--by", "Ada")[0] == 0
    path = rewritten(tmp_path, lambda table: [row.pop(8) for row in table])
    err = refused(lambda: translate("apply", path, *work, "--by", "Ada"), tmp_path)
    assert "the column 'context' is missing" in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\u200b", "holds only invisible characters"),
        ("\u2060\u200d", "holds only invisible characters"),
        ("cal\0mo", "holds a NUL character"),
        ("calm\ufffd", "holds U+FFFD"),
        ("cal\x07mo", "holds a control character (U+0007)"),
        ("calmo\u200b", "begins or ends with an invisible character (U+200B)"),
        *((value, f"is {value}, a spreadsheet's error") for value in ERROR_VALUES),
    ],
)
def test_a_correction_that_is_no_text_is_refused(rows, tmp_path, text, says):
    content, apply = rows
    correct(content[LOST], context="Il maestro era BLANK.", c1_word=text)
    assert f"corrected c1_word {says}" in refused(apply, tmp_path)


def test_words_that_differ_only_in_invisible_characters_are_the_same(rows, tmp_path):
    content, apply = rows
    correct(content[LOST], context="Il maestro era BLANK.", c1_word="cal\u200bmo", c2_word="calmo")
    assert "two candidates are the same" in refused(apply, tmp_path)


def test_a_cell_without_a_head_is_refused(rows, work, translate, tmp_path):
    path = rewritten(tmp_path, lambda table: table[2].append("lost?"))
    err = refused(lambda: translate("apply", path, *work, "--by", "Ada"), tmp_path)
    assert "row 3: more cells than the head has columns" in err


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_sheet_without_rows_is_written_again_and_a_file_of_another_kind_is_not(
    tmp_path, work, translate, kind
):
    path = tmp_path / f"x.{kind}"
    review.write(path, "it", [], {})
    assert translate("review", *work, "--output", path)[0] == 0
    sheet.write(path, ["my", "table"], [], [{"my": "1", "table": "2"}])
    code, _, err = translate("review", *work, "--output", path)
    assert (code, "it is not overwritten" in err) == (2, True)


def chart_sheet(path):
    book = load_workbook(path)
    chart = book.create_chartsheet("Chart1", 0)
    chart.add_chart(BarChart())
    book.active = 0
    book.save(path)


def only_a_chart_sheet(path):
    book = Workbook()
    book.create_chartsheet("review").add_chart(BarChart())
    book.remove(book.worksheets[0])
    book.save(path)


def test_a_chart_sheet_in_front_does_not_hide_the_review(rows, work, translate, tmp_path):
    path = tmp_path / "it" / "review.xlsx"
    chart_sheet(path)
    assert translate("apply", path, *work, "--by", "Ada")[0] == 0


def cut(path):
    path.write_bytes(path.read_bytes()[:-3000])


def cut_to_nothing(path):
    path.write_bytes(b"")


def other_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "hello")


def bomb(path):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b"\0" * (201 << 20))


def entities(path):
    content = {}
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            if name == "xl/workbook.xml":
                data = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaa">]>' + data
            archive.writestr(name, data)


def far_cell(path):
    book = load_workbook(path)
    book["review"].cell(1_048_576, 16_384, "x")
    book.save(path)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (cut, "not an XLSX file that can be read"),
        (cut_to_nothing, "not an XLSX file that can be read"),
        (other_zip, "not an XLSX file that can be read"),
        (bomb, "unpacks to more than 200 MB"),
        (entities, "defines its own XML entities"),
        (far_cell, "its cells reach to 1,048,576 rows and 16,384 columns"),
        (only_a_chart_sheet, "no sheet with cells, only charts"),
    ],
)
def test_a_workbook_that_is_damaged_or_hostile_is_one_line(rows, work, translate, tmp_path, damage, says):
    path = tmp_path / "it" / "review.xlsx"
    damage(path)
    err = refused(lambda: translate("apply", path, *work, "--by", "Ada"), tmp_path)
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_text_longer_than_a_cell_is_refused_and_not_cut(tmp_path):
    row = {"id": "a1", "context": "x" * 40_000, "verdict": ""}
    with pytest.raises(UserError, match="context of example a1 has 40000 characters, more than a cell"):
        sheet.write(tmp_path / "a.xlsx", ["id", "context", "verdict"], [], [row])
    sheet.write(tmp_path / "a.csv", ["id", "context", "verdict"], [], [row])
    assert sheet.read(tmp_path / "a.csv").rows == [(2, row)]


@pytest.mark.parametrize("step", ["review", "apply"])
def test_without_openpyxl_the_pip_command_is_named(rows, work, translate, tmp_path, monkeypatch, step):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.delitem(sys.modules, "stereoset_translation.sheet_xlsx", raising=False)
    path = tmp_path / "it" / "review.xlsx"
    if step == "review":
        path.unlink()
    more = () if step == "review" else ("--by", "Ada")
    code, _, err = translate(step, *([path] if more else []), *work, *more)
    assert code == (0 if step == "review" else 2)  # review.csv is written without it
    assert 'needs the package openpyxl; install it with: pip install "lm-eval-stereoset[translate]"' in err
    assert len(err.splitlines()) == 1


def test_a_full_disk_while_a_workbook_is_written_is_one_line(rows, work, tmp_path):
    before = (tmp_path / "it" / "review.xlsx").read_bytes()
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))\n"
        "from lm_eval_stereoset.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "translate", "review", *map(str, work), "--everything"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert (
        f"stereoset translate: cannot write {tmp_path / 'it' / 'review.xlsx'}" in done.stderr.splitlines()[-1]
    )
    assert "Traceback" not in done.stderr
    assert (tmp_path / "it" / "review.xlsx").read_bytes() == before
