"""A step that is killed or runs out of disk is finished, or has changed nothing; two at once do not lose a verdict."""

import errno
import os
import shutil

import pytest
from stereoset_translation.columns import put
from stereoset_translation.folder import Folder
from translation_review_folder import LOST, correct, repaired

from lm_eval_stereoset.benchmarks.stereoset.example import read_examples
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.files import write_examples

KILLED = 9


def killed_before(count: int, argv: list[str]) -> bool:
    """Runs a command in a child that dies, as by SIGKILL, before the count-th file is put in place or removed."""
    child = os.fork()
    if child == 0:
        left = iter(range(count - 1, -1, -1))

        def dying(real):
            def call(*args, **options):
                if next(left) == 0:
                    os._exit(KILLED)
                return real(*args, **options)

            return call

        os.replace, os.unlink = dying(os.replace), dying(os.unlink)
        try:
            os._exit(main(argv))
        except BaseException:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED)
    return code == KILLED


def built(tmp_path) -> dict[str, bytes]:
    return {split: (tmp_path / "data" / split / "it.jsonl").read_bytes() for split in ("intra", "inter")}


@pytest.fixture
def filled(rows, work, translate, tmp_path):
    """A filled sheet, not applied; gives the command that applies it and the data of an uninterrupted run."""
    content, apply = rows
    correct(content[LOST], context="Il maestro era BLANK.")
    content["e5"]["verdict"] = "drop"
    content["a0"]["verdict"] = "ok"
    shutil.copytree(tmp_path / "it", tmp_path / "fresh")
    assert apply()[0] == 0
    assert translate("build", *work)[0] == 0
    expected = built(tmp_path)
    shutil.copy(tmp_path / "it" / "review.csv", tmp_path / "fresh" / "review.csv")

    def restore():
        shutil.rmtree(tmp_path / "it")
        shutil.rmtree(tmp_path / "data", ignore_errors=True)
        shutil.copytree(tmp_path / "fresh", tmp_path / "it")

    restore()
    command = ["translate", "apply", tmp_path / "it" / "review.csv", *work, "--by", "Ada"]
    return list(map(str, command)), expected, restore


@pytest.mark.parametrize("rerun", [["apply"], ["review"], ["check"], []])
def test_apply_killed_at_any_point_is_finished_or_has_changed_nothing(
    filled, work, translate, tmp_path, rerun
):
    command, expected, restore = filled
    untouched = repaired(tmp_path)
    count, finished = 1, 0
    while killed_before(count, command):
        for step in rerun:
            more = [*command[2:3], "--by", "Ada"] if step == "apply" else []
            more = ["--output", tmp_path / f"{count}.csv"] if step == "review" else more
            assert translate(step, *more, *work)[0] == 0
        folder = Folder(tmp_path / "it" / "repaired", "it")
        if rerun == ["apply"] or folder.reviews():
            assert translate("build", *work)[0] == 0
            assert built(tmp_path) == expected
            assert {r.example for r in folder.reviews()} == {LOST, "e5", "a0"}
            assert len(folder.reviews()) == 3  # and no half-written state was taken for a person's edit
            finished += 1
        else:
            assert repaired(tmp_path) == untouched
        restore()
        count += 1
    assert count > 5
    assert finished > 3


def test_apply_on_a_full_disk_changes_nothing_and_can_be_repeated(
    filled, work, translate, tmp_path, monkeypatch
):
    command, expected, _ = filled
    untouched = repaired(tmp_path)
    real, room = os.fsync, 0
    while True:
        left = iter(range(room, -1, -1))

        def full(descriptor, left=left):
            if next(left) == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor)

        monkeypatch.setattr(os, "fsync", full)
        code, _, err = translate(*command[1:])
        monkeypatch.setattr(os, "fsync", real)
        if code == 0:
            break
        assert code == 2
        assert "No space left" in err
        assert repaired(tmp_path) == untouched
        assert Folder(tmp_path / "it" / "repaired", "it").reviews() == []
        assert not list((tmp_path / "it" / "repaired").rglob(".*.new"))
        room += 1
    assert room > 3
    assert translate("build", *work)[0] == 0
    assert built(tmp_path) == expected


@pytest.mark.parametrize("step", ["build", "check", "repair", "apply"])
def test_every_step_brings_data_into_line_with_the_recorded_reviews(filled, work, translate, tmp_path, step):
    """Files put back from a backup, or written by a version that wrote the reviews first."""
    command, expected, _ = filled
    folder = tmp_path / "it" / "repaired"
    shutil.copytree(folder, tmp_path / "older")
    assert translate(*command[1:])[0] == 0
    for split in ("intra", "inter"):
        shutil.copy(tmp_path / "older" / split / "it.jsonl", folder / split / "it.jsonl")
    shutil.copy(tmp_path / "older" / "it.written.json", folder / "it.written.json")
    more = [command[2], "--by", "Ada"] if step == "apply" else []
    code, _, err = translate(step, *more, *work)
    assert code == 0
    assert err.count("1 examples in ") == 2
    assert "were not as it.reviews.jsonl has them" in err
    assert translate("build", *work)[0] == 0
    assert built(tmp_path) == expected


def test_an_edit_by_hand_is_recorded_once(work, translate, tmp_path):
    path = tmp_path / "it" / "repaired" / "inter" / "it.jsonl"
    examples = read_examples(path)
    examples[2] = put(examples[2], "context", "Scritto a mano, bakero.")
    write_examples(path, examples)
    for number in (1, 2):
        assert translate("review", *work, "--output", tmp_path / f"{number}.csv")[0] == 0
    assert len(Folder(tmp_path / "it" / "repaired", "it").reviews()) == 1


def test_a_second_apply_at_the_same_time_is_refused_and_loses_nothing(
    filled, work, translate, tmp_path, monkeypatch
):
    """Bruno's apply comes while Ada's has read the reviews and not written hers yet."""
    from stereoset_translation import verdicts

    command, _, _ = filled
    bruno = []
    real = verdicts.problems

    def meanwhile(*args):
        if not bruno:
            child = os.fork()
            if child == 0:
                os._exit(main([*command[:-1], "Bruno"]))
            bruno.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return real(*args)

    monkeypatch.setattr(verdicts, "problems", meanwhile)
    code, _, err = translate(*command[1:])
    assert bruno == [2]
    assert code == 0
    assert err.count("another `stereoset translate` is working in") == 1
    assert [r.by for r in Folder(tmp_path / "it" / "repaired", "it").reviews()] == ["Ada"] * 3


@pytest.mark.parametrize("step", ["repair", "review", "apply", "build", "run"])
def test_every_step_that_writes_waits_for_no_other(filled, work, translate, amazon, tmp_path, step):
    command, _, _ = filled
    more = {
        "apply": [command[2], "--by", "Ada"],
        "run": ["--backend", "aws"],
        "review": ["--output", "x.csv"],
    }
    busy = Folder(tmp_path / "it" / ("raw" if step == "run" else "repaired"), "it")
    with busy.alone():
        code, _, err = translate(step, *more.get(step, []), *work)
    assert code == 2
    assert "another `stereoset translate` is working in" in err
    assert len(err.splitlines()) == 1
