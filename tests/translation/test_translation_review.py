"""Review sheets: written with the English beside, read back row by row, and never overwritten later."""

import csv
import json

import pytest
from openpyxl import load_workbook
from translation_examples import english_examples
from translation_stand_in import pseudo

from lm_eval_stereoset.data.format import BLANK, read_examples, write_examples
from translation import review, sheet
from translation.columns import put, rebuilt
from translation.folder import BY_HAND, Folder
from translation.review import CORRECTED
from translation.source import assemble, strings_of

LOST = "a3"  # its BLANK was translated away
FORMULA = '=HYPERLINK("http://example.com") gardenero BLANK'


@pytest.fixture
def work(english, tmp_path, translate):
    """A working folder with raw and repaired examples; a few of them need a person."""
    raw = {
        split: [assemble(e, {t: pseudo(t, e.id != LOST) for t in strings_of(e)}) for e in examples]
        for split, examples in english_examples().items()
    }
    raw["intra"][0] = rebuilt(put(raw["intra"][0], "context", FORMULA))
    raw["intra"][0] = put(raw["intra"][0], "target", "-giardiniere x")
    raw["inter"][5] = put(raw["inter"][5], "c1_sentence", raw["inter"][5].candidates[1].sentence)
    Folder(tmp_path / "it" / "raw", "it").write(raw)
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    assert translate("repair", *options)[0] == 0
    return options


@pytest.fixture
def rows(work, translate, tmp_path):
    """Writes the sheet; gives its rows by id and a function that saves and applies them."""
    assert translate("review", *work)[0] == 0
    path = tmp_path / "it" / "review.csv"
    with open(path, encoding="utf-8-sig", newline="") as handle:
        content = {row["id"]: row for row in csv.DictReader(handle)}

    def apply(*more, by="Ada"):
        with open(path, "w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, review.columns())
            writer.writeheader()
            writer.writerows(content.values())
        return translate("apply", path, *work, "--by", by, *more)

    return content, apply


def repaired(tmp_path):
    data = Folder(tmp_path / "it" / "repaired", "it").read()
    return {example.id: example for examples in data.values() for example in examples}


def correct(row, **texts):
    row["verdict"] = "corrected"
    row.update({CORRECTED + column: text for column, text in texts.items()})


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
    read = {row["id"]: row for _, row in sheet.read(tmp_path / "it" / "review.xlsx")}
    assert read["a0"]["context"] == FORMULA
    assert dict(sheet.read(tmp_path / "it" / "review.csv")[1][1])["context"] == FORMULA


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
    assert "2 verdicts of Ada: 0 ok, 1 corrected, 1 drop" in out
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


def test_edit_in_the_file_itself_survives_too(work, translate, tmp_path):
    path = tmp_path / "it" / "repaired" / "inter" / "it.jsonl"
    examples = read_examples(path)
    examples[2] = put(examples[2], "context", "Scritto a mano, bakero.")
    write_examples(path, examples)
    _, out, _ = translate("repair", *work)
    assert "1 reviewed examples stay" in out
    assert read_examples(path)[2].context == "Scritto a mano, bakero."
    assert Folder(tmp_path / "it" / "repaired", "it").reviews()[0].by == BY_HAND
    raw = tmp_path / "it" / "raw" / "inter" / "it.jsonl"
    examples = read_examples(raw)
    examples[4] = put(examples[4], "context", "Anche qui, minero.")
    write_examples(raw, examples)
    translate("repair", *work)
    assert read_examples(path)[4].context == "Anche qui, minero."


def delete(path, id_):
    """A person takes the line of an example out of its file; gives it back."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (line,) = [line for line in lines if json.loads(line)["id"] == id_]
    path.write_text("".join(x for x in lines if x != line), encoding="utf-8")
    return line


def test_line_deleted_in_the_file_stays_dropped_and_is_told(work, translate, tmp_path):
    path = tmp_path / "it" / "repaired" / "inter" / "it.jsonl"
    line = delete(path, "e5")
    code, out, err = translate("repair", *work)
    assert code == 0
    assert "1 examples were deleted" in err
    assert "e5" in err
    assert "1 reviewed examples stay as the reviewers left them (1 of them dropped)" in out
    assert "e5" not in repaired(tmp_path)
    (kept,) = Folder(tmp_path / "it" / "repaired", "it").reviews()
    assert (kept.split, kept.example, kept.verdict, kept.by, kept.after) == (
        "inter",
        "e5",
        "drop",
        BY_HAND,
        None,
    )
    _, out, err = translate("repair", *work)  # told as an edit once, kept for ever
    assert err == ""
    assert "(1 of them dropped)" in out
    assert "e5" not in repaired(tmp_path)
    with open(path, "a", encoding="utf-8") as handle:  # and undone by putting the line back
        handle.write(line)
    translate("repair", *work)
    assert list(repaired(tmp_path))[16:] == [e.id for e in english_examples()["inter"]]


@pytest.mark.parametrize("step", ["review", "apply", "build"])
def test_deleted_line_is_noticed_by_every_step_that_reads_it(rows, work, translate, tmp_path, step):
    content, apply = rows
    delete(tmp_path / "it" / "repaired" / "inter" / "it.jsonl", "e7")
    more = ("--drop-unresolved",) if step == "build" else ()
    content["e5"]["verdict"] = "ok"
    code, _, err = apply() if step == "apply" else translate(step, *work, *more)
    assert code == 0
    assert "1 examples were deleted" in err
    assert "e7" not in repaired(tmp_path)
    translate("repair", *work)
    assert "e7" not in repaired(tmp_path)
    assert len(repaired(tmp_path)) == 31


def test_row_of_a_deleted_line_says_how_to_get_it_back(rows, tmp_path):
    content, apply = rows
    delete(tmp_path / "it" / "repaired" / "inter" / "it.jsonl", "e5")
    content["e5"]["verdict"] = "ok"
    code, _, err = apply()
    assert code == 2
    assert "was deleted in its file; put the line back" in err
    content["e5"]["verdict"] = "drop"
    assert apply()[0] == 0


def test_line_deleted_in_the_raw_file_stays_dropped_and_is_recorded(amazon, translate, english, tmp_path):
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    translate("run", *options, "--backend", "aws")
    delete(tmp_path / "it" / "raw" / "intra" / "it.jsonl", "a4")
    _, out, err = translate("repair", *options)
    assert "1 examples were deleted" in err
    assert "1 examples dropped" in out
    last = (tmp_path / "it" / "repaired" / "it.changes.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    assert (json.loads(last)["example"], json.loads(last)["column"]) == ("a4", None)
    translate("run", *options, "--backend", "aws")
    translate("repair", *options)
    assert "a4" not in repaired(tmp_path)


def test_example_that_the_input_no_longer_has_is_no_deletion(work, translate, tmp_path):
    raw = Folder(tmp_path / "it" / "raw", "it")
    data = raw.read()
    raw.write({"inter": data["inter"][:9]})
    assert translate("repair", *work)[2] == ""
    raw.write(data)
    assert translate("repair", *work)[2] == ""
    assert len(repaired(tmp_path)) == 32


def test_changes_overruled_by_a_review_are_not_in_the_record(work, translate, tmp_path):
    raw = Folder(tmp_path / "it" / "raw", "it")
    data = raw.read()
    data["intra"][int(LOST[1:])] = put(data["intra"][int(LOST[1:])], "c1_word", "calmo.")
    data["intra"][5] = put(data["intra"][5], "c1_word", "calmo.")
    raw.write(data)
    record = tmp_path / "it" / "repaired" / "it.changes.jsonl"

    def changed():
        translate("repair", *work)
        return {json.loads(line)["example"] for line in record.read_text(encoding="utf-8").splitlines()}

    assert {LOST, "a5"} <= changed()
    assert translate("review", *work, "--again", "--everything", "--output", tmp_path / "all.csv")[0] == 0
    lines = [row for _, row in sheet.read(tmp_path / "all.csv")]
    for row in lines:
        if row["id"] == LOST:
            correct(row, context="Il maestro era BLANK.")
        if row["id"] == "a5":
            row["verdict"] = "ok"  # the reviewer takes what the rule has made
    sheet.write(tmp_path / "all.csv", review.columns(), review.editable(), lines)
    assert translate("apply", tmp_path / "all.csv", *work, "--by", "Ada")[0] == 0
    after = changed()
    assert LOST not in after
    assert "a5" in after


def test_going_back_to_an_older_text_by_hand_is_an_edit_too(rows, work, translate, tmp_path):
    content, apply = rows
    older = repaired(tmp_path)["e5"]
    correct(content["e5"], c1_sentence="Giorni quieti.")
    apply()
    path = tmp_path / "it" / "repaired" / "inter" / "it.jsonl"
    write_examples(path, [older if e.id == "e5" else e for e in read_examples(path)])
    translate("repair", *work)
    assert repaired(tmp_path)["e5"] == older


def test_kill_between_record_and_data_is_no_edit(work, translate, tmp_path, monkeypatch):
    from translation import folder

    path = Folder(tmp_path / "it" / "repaired", "it")
    data = path.read()
    changed = {"inter": [put(e, "context", e.context + " Nuovo.") for e in data["inter"]]}

    class Killed(BaseException):
        pass

    def killed(*args):
        raise Killed

    monkeypatch.setattr(folder, "write_examples", killed)
    with pytest.raises(Killed):
        path.write(changed)
    monkeypatch.undo()
    monkeypatch.setenv("STEREOSET_DATA", str(tmp_path / "data"))
    assert path.write(changed) == 0
    assert path.read()["inter"] == changed["inter"]
    assert path.reviews() == []


def test_kill_before_new_examples_are_in_the_file_is_no_deletion(work, tmp_path, monkeypatch):
    from translation import folder

    path = Folder(tmp_path / "small", "it")
    data = Folder(tmp_path / "it" / "repaired", "it").read()
    path.write({"inter": data["inter"][:3]})

    def killed(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(folder, "write_examples", killed)
    with pytest.raises(KeyboardInterrupt):
        path.write({"inter": data["inter"][1:]})
    monkeypatch.undo()
    path.write({"inter": data["inter"]})
    assert path.read()["inter"] == data["inter"]
    assert path.reviews() == []


def test_edit_in_the_raw_file_survives_a_new_run(amazon, translate, english, tmp_path):
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it", "--backend", "aws")
    translate("run", *options)
    raw = tmp_path / "it" / "raw" / "inter" / "it.jsonl"
    examples = read_examples(raw)
    examples[4] = put(examples[4], "context", "A mano, minero.")
    write_examples(raw, examples)
    _, out, _ = translate("run", *options)
    assert "1 examples stay as they were edited" in out
    assert read_examples(raw)[4].context == "A mano, minero."


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"verdict": "perfect"}, "none of ok, corrected, drop, unsure"),
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
    scores = [float(row["score"]) for _, row in sheet.read(tmp_path / "it" / "review.csv")]
    assert scores == sorted(scores)
    assert 0 <= scores[0] < scores[-1] <= 100
    asked = list(amazon.asked)
    translate("review", *work, "--everything", "--round-trip", "--backend", "aws")
    assert amazon.asked == asked  # the way back is kept in the memory, too
    assert not any(text.startswith("calm") for text in asked)  # whole sentences only


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_sheet_being_filled_in_is_not_overwritten(rows, work, translate, tmp_path, kind):
    path = tmp_path / "it" / f"review.{kind}"
    content = [row for _, row in sheet.read(path)]
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
