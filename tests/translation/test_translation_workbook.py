"""Workbooks as people leave them: further worksheets, merged cells; and what works without openpyxl."""

import sys

import pytest
from openpyxl import load_workbook
from stereoset_translation.folder import Folder
from translation_review_folder import LOST, repaired


@pytest.fixture
def book(rows, work, translate, tmp_path):
    """Changes review.xlsx: a function gets the workbook, its worksheet and a function from column name to letter."""
    path = tmp_path / "it" / "review.xlsx"

    def change(how):
        opened = load_workbook(path)
        sheet = opened["review"]
        letters = {cell.value: cell.column_letter for cell in sheet[1]}
        how(opened, sheet, letters)
        opened.save(path)
        return translate("apply", path, *work, "--by", "Ada")

    return change


def drop(sheet, letters, id_):
    (row,) = [cell.row for cell in sheet[letters["id"]] if cell.value == id_]
    sheet[f"{letters['verdict']}{row}"] = "drop"


def test_two_worksheets_with_review_rows_are_refused_by_name(book, tmp_path):
    def split_up(opened, sheet, letters):
        drop(sheet, letters, LOST)
        second = opened.copy_worksheet(sheet)
        second.title = "Bruno"
        drop(second, letters, "e5")

    code, _, err = book(split_up)
    assert code == 2
    assert "2 worksheets hold review rows: 'review', 'Bruno'" in err
    assert LOST in repaired(tmp_path)


def test_review_rows_in_a_worksheet_of_another_name_are_found(book, tmp_path):
    def rename(opened, sheet, letters):
        drop(sheet, letters, "e5")
        sheet.title = "done"
        opened.create_sheet("review", 0)["A1"] = "see the other sheet"

    code, _, err = book(rename)
    assert code == 0
    assert "not read, because they have no review rows: 'review'" in err
    assert "e5" not in repaired(tmp_path)


def test_a_worksheet_of_notes_is_told_and_not_overwritten(book, work, translate, tmp_path):
    def notes(opened, sheet, letters):
        drop(sheet, letters, "e5")
        opened.create_sheet("notes")["B2"] = "calmo or quieto?"
        opened.create_sheet("Sheet2")  # empty, as many programs add it

    code, out, err = book(notes)
    assert code == 0
    assert "1 verdicts of Ada in 3 rows" in out
    assert err.splitlines() == [
        line for line in err.splitlines() if "'notes'" in line and "Sheet2" not in line
    ]
    assert len(err.splitlines()) == 1
    before = (tmp_path / "it" / "review.xlsx").read_bytes()
    code, _, err = translate("review", *work)
    assert code == 2
    assert "'notes'" in err
    assert (tmp_path / "it" / "review.xlsx").read_bytes() == before


def test_a_copy_of_the_head_alone_is_no_second_review(book):
    def head_only(opened, sheet, letters):
        drop(sheet, letters, "e5")
        opened.create_sheet("empty").append([cell.value for cell in sheet[1]])

    assert book(head_only)[0] == 0


@pytest.mark.parametrize("column", ["verdict", "corrected context", "comment"])
def test_merged_cells_are_refused_with_their_range(book, tmp_path, column):
    place = []

    def merge(opened, sheet, letters):
        place.append(f"{letters[column]}2:{letters[column]}4")
        sheet[f"{letters['verdict']}2"] = "drop"
        sheet.merge_cells(place[0])

    code, _, err = book(merge)
    assert code == 2
    assert f"merged cells ({place[0]})" in err
    assert Folder(tmp_path / "it" / "repaired", "it").reviews() == []


def test_without_openpyxl_review_writes_the_csv_and_says_what_the_xlsx_needs(
    work, translate, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    code, out, err = translate("review", *work)
    assert code == 0
    assert (tmp_path / "it" / "review.csv").is_file()
    assert not (tmp_path / "it" / "review.xlsx").exists()
    assert "review.csv" in out
    assert "review.xlsx" not in out
    assert "an .xlsx sheet needs the package openpyxl; install it with: pip install" in err
    code, _, err = translate("review", *work, "--output", tmp_path / "mine.xlsx")
    assert code == 2
    assert "--output FILE.csv" in err
