"""Review sheets: written with the English beside, read back row by row, and never overwritten later."""

import csv
import json

import pytest
from openpyxl import load_workbook
from stereoset_translation import review, sheet
from stereoset_translation.columns import put
from stereoset_translation.folder import Folder
from stereoset_translation.review import CORRECTED
from translation_examples import english_examples
from translation_review_folder import FORMULA, LOST, correct, repaired

from lm_eval_stereoset.benchmarks.stereoset.example import read_examples
from lm_eval_stereoset.files import write_examples
from lm_eval_stereoset.scoring.questions import BLANK


def test_sheet_has_what_needs_a_person_with_the_english_beside(rows):
    content, _ = rows
    assert set(content) == {LOST, "a0", "e5"}
    assert next(iter(content)) == LOST  # what may never get into the data comes first
    lost = content[LOST]
    assert lost["English context"] == english_examples()["intra"][3].context
    assert "vuoto" in lost["context"]
    assert lost["problems"] == "BLANK is missing in the context"
    assert content["e5"]["problems"] == "two candidates are the same"
    assert content["e5"]["English c1_sentence"] == "Quiet days 5."


def test_formulas_stay_texts_in_both_formats(rows, tmp_path):
    content, _ = rows
    assert content["a0"]["context"] == "'" + FORMULA
    book = load_workbook(tmp_path / "it" / "review.xlsx")["review"]
    cells = [cell for row in book.iter_rows() for cell in row if cell.value]
    assert all(cell.data_type == "s" for cell in cells)
    assert FORMULA in [cell.value for cell in cells]
    read = {row["id"]: row for _, row in sheet.read(tmp_path / "it" / "review.xlsx").rows}
    assert read["a0"]["context"] == FORMULA
    assert dict(sheet.read(tmp_path / "it" / "review.csv").rows[1][1])["context"] == FORMULA


@pytest.mark.parametrize("text", ["=1+1", "+39", "-a", "@b", "'=x", "''=x", "'quoted'", "\tx", "plain", ""])
def test_guard_of_csv_texts_can_be_undone_exactly(text):
    assert sheet.unguard(sheet.guard(text)) == text
    assert not sheet.guard(text).startswith(("=", "+", "-", "@", "\t"))


def test_xlsx_has_a_drop_down_for_every_verdict(rows, tmp_path):
    book = load_workbook(tmp_path / "it" / "review.xlsx")["review"]
    (validation,) = book.data_validations.dataValidation
    assert validation.formula1 == '"ok,corrected,drop,unsure"'
    head = [cell.value for cell in book[1]]
    letter = book.cell(1, head.index("verdict") + 1).column_letter
    assert str(validation.sqref) == f"{letter}2:{letter}4"


def test_corrections_are_applied_and_intra_sentences_follow(rows, tmp_path):
    content, apply = rows
    correct(content[LOST], context="Il maestro era BLANK.", target="maestro", c2_word="feroce")
    content["e5"]["verdict"] = "drop"
    code, out, err = apply()
    assert (code, err) == (0, "")
    assert "2 verdicts of Ada in 3 rows: 0 ok, 1 corrected, 1 drop" in out
    after = repaired(tmp_path)
    assert after[LOST].context == "Il maestro era BLANK."
    assert after[LOST].target == "maestro"
    assert after[LOST].candidates[1].sentence == "Il maestro era feroce."
    assert "e5" not in after


def test_who_changed_what_is_kept(rows, tmp_path):
    content, apply = rows
    correct(content[LOST], context="Il maestro era BLANK.")
    content[LOST]["comment"] = "was lost"
    apply(by="Ada Rossi")
    (line,) = (tmp_path / "it" / "repaired" / "it.reviews.jsonl").read_text(encoding="utf-8").splitlines()
    kept = json.loads(line)
    assert (kept["by"], kept["example"], kept["verdict"], kept["comment"]) == (
        "Ada Rossi", LOST, "corrected", "was lost",
    )  # fmt: skip
    assert kept["at"].endswith("+00:00")
    assert "vuoto" in kept["before"]["context"]
    assert kept["after"]["context"] == "Il maestro era BLANK."


@pytest.mark.parametrize("step", ["run", "repair", "check", "review", "apply", "build"])
def test_reviewed_example_survives_every_step(rows, work, translate, amazon, tmp_path, step):
    content, apply = rows
    correct(content[LOST], context="Il maestro era BLANK.")
    content["e5"]["verdict"] = "drop"
    apply()
    reviewed = repaired(tmp_path)
    if step == "run":  # the raw folder was not made by Amazon: all of it comes anew
        assert translate("run", *work, "--backend", "aws")[0] == 0
    if step == "apply":
        assert "0 verdicts" in apply()[1]
    elif step != "run":
        assert translate(step, *work)[0] == 0
    assert translate("repair", *work)[0] == 0
    after = repaired(tmp_path)
    assert after[LOST] == reviewed[LOST]
    assert "e5" not in after
    if step == "build":
        built = read_examples(tmp_path / "data" / "intra" / "it.jsonl")
        assert reviewed[LOST] in built


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"verdict": "perfect"}, "is not one of ok, corrected, drop, unsure"),
        ({"verdict": "ok"}, "ok, but BLANK is missing"),
        ({"verdict": "corrected"}, "no correction is given"),
        ({CORRECTED + "context": "Il maestro era BLANK."}, "corrections without the verdict"),
        ({"verdict": "drop", CORRECTED + "target": "x"}, "'drop' with corrections"),
        ({"verdict": "corrected", CORRECTED + "context": "Il maestro."}, "BLANK is missing"),
        ({"verdict": "corrected", CORRECTED + "context": "BLANK e BLANK"}, "more or fewer BLANKs"),
        (
            {"verdict": "corrected", CORRECTED + "context": "Era BLANK", CORRECTED + "c1_word": "wild3o"},
            "the same",
        ),
        (
            {"verdict": "corrected", CORRECTED + "context": "Era BLANK", CORRECTED + "c1_word": BLANK},
            "has BLANK",
        ),
        ({"verdict": "corrected", CORRECTED + "context": "Era\nBLANK"}, "line break"),
        ({"verdict": "corrected", CORRECTED + "c1_sentence": "x"}, "have no c1_sentence"),
        ({"language": "fr"}, "made for the language 'fr'"),
        ({"verdict": "drop", "fingerprint": "x0"}, "made for other data"),
        ({"verdict": "drop", "id": "zz"}, "made for other data"),
        ({"id": "a0"}, "the same example as row"),
    ],
)
def test_wrong_row_is_named_and_nothing_is_changed(rows, tmp_path, change, says):
    content, apply = rows
    content["e5"]["verdict"] = "drop"  # a good row, which must not go in alone
    content[LOST].update(change)
    before = repaired(tmp_path)
    code, _, err = apply()
    assert code == 2
    assert "row " in err
    assert says in err
    assert "nothing was changed" in err
    assert repaired(tmp_path) == before
    assert not (tmp_path / "it" / "repaired" / "it.reviews.jsonl").exists()


def test_sheet_of_other_data_is_refused(rows, work, translate, tmp_path):
    content, apply = rows
    content["e5"]["verdict"] = "drop"
    raw = Folder(tmp_path / "it" / "raw", "it")
    data = raw.read()
    data["inter"][5] = put(data["inter"][5], "context", "Un altro testo, paintero.")
    raw.write(data)
    translate("repair", *work)
    code, _, err = apply()
    assert code == 2
    assert "another text now" in err


def test_second_reviewer_does_not_overrule_the_first_unasked(rows, tmp_path):
    content, apply = rows
    content["e5"]["verdict"] = "drop"
    assert apply(by="Ada")[0] == 0
    content["e5"]["verdict"] = "ok"
    code, _, err = apply(by="Bruno")
    assert code == 2
    assert "Ada has given a verdict already" in err
    assert apply("--replace", by="Bruno")[0] == 0
    assert list(repaired(tmp_path))[16:] == [e.id for e in english_examples()["inter"]]  # at its old place
    kept = Folder(tmp_path / "it" / "repaired", "it").reviews()
    assert [(r.by, r.verdict) for r in kept] == [("Ada", "drop"), ("Bruno", "ok")]


def test_reviewer_may_change_their_mind(rows, tmp_path):
    content, apply = rows
    correct(content[LOST], context="Il maestro era BLANK.")
    apply()
    correct(content[LOST], context="Il professore era BLANK.")
    assert apply()[0] == 0
    assert repaired(tmp_path)[LOST].context == "Il professore era BLANK."


def test_reviewed_examples_are_not_asked_again(rows, work, translate):
    content, apply = rows
    correct(content[LOST], context="Il maestro era BLANK.")
    apply()
    assert "2 examples for a person" in translate("review", *work)[1]
    assert "3 examples for a person" in translate("review", *work, "--again", "--everything", "--rows", 3)[1]


def test_xlsx_filled_in_by_a_person_is_applied(rows, work, translate, tmp_path):
    path = tmp_path / "it" / "review.xlsx"
    book = load_workbook(path)
    page = book["review"]
    head = [cell.value for cell in page[1]]
    line = next(row for row in page.iter_rows(min_row=2) if row[head.index("id")].value == LOST)
    line[head.index("verdict")].value = "corrected"
    line[head.index(CORRECTED + "context")].value = "Il maestro era BLANK."
    line[head.index(CORRECTED + "c1_word")].value = 7  # typed as a number
    book.save(path)
    assert translate("apply", path, *work, "--by", "Ada")[0] == 0
    assert repaired(tmp_path)[LOST].candidates[0].sentence == "Il maestro era 7."


def test_formula_typed_into_a_sheet_is_refused(rows, work, translate, tmp_path):
    path = tmp_path / "it" / "review.xlsx"
    book = load_workbook(path)
    page = book["review"]
    head = [cell.value for cell in page[1]]
    page.cell(2, head.index(CORRECTED + "context") + 1).value = "=A1"
    book.save(path)
    code, _, err = translate("apply", path, *work, "--by", "Ada")
    assert code == 2
    assert "a formula instead of a text" in err


def test_csv_with_semicolons_of_a_european_spreadsheet_is_read(rows, work, translate, tmp_path):
    content, _ = rows
    correct(content[LOST], context="Il maestro; era BLANK.")
    path = tmp_path / "semicolons.csv"
    with open(path, "w", encoding="utf-8-sig", newline="") as handle:
        writer = csv.DictWriter(handle, review.columns(), delimiter=";")
        writer.writeheader()
        writer.writerows(content.values())
    assert translate("apply", path, *work, "--by", "Ada")[0] == 0
    assert repaired(tmp_path)[LOST].context == "Il maestro; era BLANK."


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.csv", b"a,b\n1,2\n", "not a review sheet"),
        ("x.csv", b"split,id\n\xff\xfe,1\n", "not UTF-8"),
        ("x.xlsx", b"no zip", "not an XLSX file"),
        ("x.txt", b"a", "an .xlsx or a .csv"),
    ],
)
def test_file_that_is_no_sheet_is_one_line(work, translate, tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    code, _, err = translate("apply", tmp_path / name, *work, "--by", "Ada")
    assert (code, len(err.splitlines())) == (2, 1)
    assert says in err


def test_round_trip_puts_the_worst_first(work, translate, amazon, tmp_path):
    code, _, _ = translate("review", *work, "--everything", "--round-trip", "--backend", "aws", "--rows", 20)
    assert code == 0
    scores = [float(row["score"]) for _, row in sheet.read(tmp_path / "it" / "review.csv").rows]
    assert scores == sorted(scores)
    assert 0 <= scores[0] < scores[-1] <= 100
    asked = list(amazon.asked)
    translate("review", *work, "--everything", "--round-trip", "--backend", "aws")
    assert amazon.asked == asked  # the way back is kept in the memory, too
    assert not any(text.startswith("calm") for text in asked)  # whole sentences only


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_sheet_being_filled_in_is_not_overwritten(rows, work, translate, tmp_path, kind):
    path = tmp_path / "it" / f"review.{kind}"
    content = [row for _, row in sheet.read(path).rows]
    content[0] |= {"verdict": "unsure", "comment": "ask Bea"}
    sheet.write(path, review.columns(), review.editable(), content)
    before = path.read_bytes()
    code, _, err = translate("review", *work)
    assert code == 2
    assert "1 rows are filled in and not applied yet (the first is row 2)" in err
    assert path.read_bytes() == before
    assert translate("review", *work, "--output", tmp_path / "second.xlsx")[0] == 0


def test_applied_sheet_makes_room_for_the_next(rows, work, translate):
    content, apply = rows
    correct(content[LOST], context="Un altro BLANK qui")
    assert apply()[0] == 0
    assert translate("review", *work)[0] == 0


def test_sheet_without_its_english_is_told(work, translate, english, tmp_path):
    other = tmp_path / "other"
    for split, examples in english_examples().items():
        write_examples(other / split / "en.jsonl", examples[1:])
    options = [other if option == english else option for option in work]
    code, _, err = translate("review", *options)
    assert code == 0
    assert "2 examples have no English text" in err
    code, _, err = translate("review", *work[:-3], tmp_path / "nowhere", *work[-2:])
    assert code == 2
    assert "no file" in err


def test_nameless_reviewer_is_refused(rows):
    assert rows[1](by=" ")[0] == 2
