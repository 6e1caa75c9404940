"""What a reviewer put into a sheet is recorded, all of it, before the sheet may be overwritten."""

import csv

import pytest
from stereoset_translation import review
from stereoset_translation.folder import Folder
from stereoset_translation.review import CORRECTED
from translation_review_folder import LOST, correct, repaired


@pytest.fixture
def save(rows, tmp_path):
    """Saves the rows without applying them."""
    content, _ = rows

    def call():
        with open(tmp_path / "it" / "review.csv", "w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, review.columns())
            writer.writeheader()
            writer.writerows(content.values())

    return call


def sheet_rows(tmp_path) -> dict[str, dict[str, str]]:
    with open(tmp_path / "it" / "review.csv", encoding="utf-8-sig", newline="") as handle:
        return {row["id"]: row for row in csv.DictReader(handle)}


@pytest.mark.parametrize(
    "change",
    [
        {CORRECTED + "context": "Un altro maestro era BLANK."},
        {CORRECTED + "c1_word": "calmissimo"},
        {"comment": "seen again"},
        {"verdict": "drop", CORRECTED + "context": ""},
        {"verdict": "unsure", CORRECTED + "context": ""},
    ],
)
def test_row_changed_after_apply_is_not_overwritten_until_applied_again(
    rows, save, work, translate, tmp_path, change
):
    content, apply = rows
    correct(content[LOST], context="Il maestro era BLANK.")
    content[LOST]["comment"] = "was lost"
    assert apply()[0] == 0
    content[LOST].update(change)
    save()
    before = (tmp_path / "it" / "review.csv").read_bytes()
    code, _, err = translate("review", *work)
    assert code == 2
    assert "1 rows are filled in and not applied yet" in err
    assert (tmp_path / "it" / "review.csv").read_bytes() == before
    assert apply()[0] == 0
    assert translate("review", *work)[0] == 0


def test_second_reviewers_comment_on_the_same_verdict_is_kept_beside_the_first(
    rows, work, translate, tmp_path
):
    content, apply = rows
    content["e5"] |= {"verdict": "drop", "comment": "Ada's reason"}
    assert apply(by="Ada")[0] == 0
    content["e5"]["comment"] = "Bruno's reason"
    assert apply(by="Bruno")[0] == 0
    content["e5"]["comment"] = "Ada's reason"
    code, out, _ = apply(by="Ada")
    assert (code, "0 verdicts of Ada in 3 rows" in out) == (0, True)
    kept = Folder(tmp_path / "it" / "repaired", "it").reviews()
    assert [(r.by, r.verdict, r.comment) for r in kept] == [
        ("Ada", "drop", "Ada's reason"),
        ("Bruno", "drop", "Bruno's reason"),
    ]
    assert "e5" not in repaired(tmp_path)


@pytest.mark.parametrize("verdict", ["", "unsure"])
def test_comment_without_a_verdict_is_kept_and_comes_back_in_the_next_sheet(
    rows, work, translate, tmp_path, verdict
):
    content, apply = rows
    content[LOST] |= {"verdict": verdict, "comment": "ask Bea"}
    before = repaired(tmp_path)
    code, out, _ = apply()
    assert code == 0
    assert "0 verdicts of Ada in 3 rows" in out
    assert "1 rows without a verdict" in out
    for _ in range(2):  # also when the sheet that carries it is overwritten in its turn
        assert translate("review", *work)[0] == 0
        row = sheet_rows(tmp_path)[LOST]
        assert (row["verdict"], row["comment"]) == (verdict, "ask Bea")
    assert "rows without a verdict" not in apply()[1]
    assert repaired(tmp_path) == before  # nothing is decided, and a repair may still change the example
    assert "reviewed examples stay" not in translate("repair", *work)[1]
    code, _, err = translate("build", *work)
    assert code == 2
    assert "BLANK is missing" in err
    correct(content[LOST], context="Il maestro era BLANK.")
    assert "1 verdicts of Ada" in apply()[1]
    assert translate("review", *work)[0] == 0
    assert LOST not in sheet_rows(tmp_path)


def test_comment_on_an_example_that_is_not_there_is_refused(rows):
    content, apply = rows
    content[LOST] |= {"id": "zz", "comment": "ask Bea"}
    code, _, err = apply()
    assert code == 2
    assert "intra example zz is not there" in err


@pytest.mark.parametrize(
    ("id_", "column"), [("e5", "c1_sentence"), ("e5", "context"), ("e5", "target"), (LOST, "target")]
)
def test_blank_outside_intra_contexts_is_refused(rows, tmp_path, id_, column):
    content, apply = rows
    texts = {"context": "Il maestro era BLANK."} if id_ == LOST else {"c1_sentence": "Giorni quieti."}
    correct(content[id_], **(texts | {column: "Un BLANK di troppo."}))
    before = repaired(tmp_path)
    code, _, err = apply()
    assert code == 2
    assert f"'corrected {column}' has BLANK in it" in err
    assert "row " in err
    assert repaired(tmp_path) == before


def test_unsure_after_a_verdict_says_that_the_verdict_stands(rows, tmp_path):
    content, apply = rows
    content["e5"]["verdict"] = "drop"
    assert apply()[0] == 0
    content["e5"]["verdict"] = "unsure"
    code, out, _ = apply(by="Bruno")
    assert code == 0
    assert "1 of them have an earlier verdict, which stands, e.g. e5: drop (Ada)" in out
    assert "e5" not in repaired(tmp_path)
