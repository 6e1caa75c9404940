"""Texts changed and lines deleted in the files themselves: kept by every step, recorded, told apart from kills."""

import json
import os

import pytest
from stereoset_translation import review, sheet
from stereoset_translation.columns import put
from stereoset_translation.folder import Folder
from stereoset_translation.reviews import BY_HAND
from translation_examples import english_examples
from translation_review_folder import LOST, correct, repaired

from lm_eval_stereoset.benchmarks.stereoset.example import read_examples
from lm_eval_stereoset.files import write_examples


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
    lines = [row for _, row in sheet.read(tmp_path / "all.csv").rows]
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


def stop_before(count, monkeypatch, call):
    """False if `call` ends before it has put `count` files in place."""
    real, left = os.replace, iter(range(count - 1, -1, -1))

    def stopping(*args):
        if next(left) == 0:
            raise KeyboardInterrupt
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stopping)
        try:
            call()
        except KeyboardInterrupt:
            return True
    return False


def test_stop_between_two_files_is_no_edit(work, tmp_path, monkeypatch):
    path = Folder(tmp_path / "it" / "repaired", "it")
    count = 1
    changed = {"inter": path.read()["inter"]}
    while True:
        changed = {"inter": [put(e, "context", e.context + " Nuovo.") for e in changed["inter"]]}
        stopped = stop_before(count, monkeypatch, lambda changed=changed: path.write(changed))
        assert path.write(changed) == 0
        assert path.read()["inter"] == changed["inter"]
        assert path.reviews() == []
        if not stopped:
            break
        count += 1
    assert count > 4


def test_stop_before_new_examples_are_in_the_file_is_no_deletion(work, tmp_path, monkeypatch):
    data = Folder(tmp_path / "it" / "repaired", "it").read()
    for count in range(1, 6):
        path = Folder(tmp_path / f"small {count}", "it")
        path.write({"inter": data["inter"][:3]})
        assert stop_before(count, monkeypatch, lambda path=path: path.write({"inter": data["inter"][1:]}))
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
