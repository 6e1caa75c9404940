"""Nothing lost, nothing wrong without a word, nothing that hangs: typed as users type it."""

import json
import os
import sqlite3
import sys

import pytest
from stereoset_translation.folder import Folder
from stereoset_translation.source import assemble, strings_of
from translation_examples import english_examples
from translation_stand_in import pseudo

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.data import adding
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import write_examples

SWAP = {"stereotype": "anti-stereotype", "anti-stereotype": "stereotype", "unrelated": "unrelated"}


def snapshot(*folders):
    return {
        path: path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".sqlite-shm", ".sqlite-wal", ".lock")
    }


def one_line(outcome) -> str:
    code, _, err = outcome
    assert code == 2, err
    assert len(err.splitlines()) == 1, err
    return err


# Labels


@pytest.fixture
def swapped_german(fetched, tmp_path):
    folder = tmp_path / "swapped"
    for split in ("intra", "inter"):
        (folder / split).mkdir(parents=True)
        lines = (fetched / split / "de.jsonl").read_bytes().split(b"\n")[:50]
        content = [json.loads(line) for line in lines]
        for example in content:
            for candidate in example["candidates"]:
                candidate["label"] = SWAP[candidate["label"]]
        (folder / split / "de.jsonl").write_text("\n".join(map(json.dumps, content)), encoding="utf-8")
    return folder


@pytest.mark.parametrize("command", [("check",), ("build", "--as", "de_mine"), ("repair",), ("review",)])
def test_german_with_swapped_labels_is_refused_without_the_english_data(
    swapped_german, translate, tmp_path, command
):
    before = snapshot(swapped_german)
    step, *more = command
    if step == "repair":
        more += ["--output", tmp_path / "out"]
    if step == "review":
        more += ["--output", tmp_path / "out.csv"]
    err = one_line(translate(step, "--to", "de", "--input", swapped_german, *more))
    assert "50 examples have StereoSet's ids but not its labels" in err
    assert snapshot(swapped_german) == before
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("change", ["labels", "bias_type", "target_original"])
@pytest.mark.parametrize("step", ["check", "build", "review"])
def test_labels_are_compared_with_the_english_data_that_was_translated(
    work, translate, tmp_path, change, step
):
    path = tmp_path / "it" / "repaired" / "inter" / "it.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if change == "labels":
        for candidate in lines[7]["candidates"]:
            candidate["label"] = SWAP[candidate["label"]]
    else:
        lines[7][change] = {"bias_type": "race", "target_original": "sailore"}[change]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "it" / "repaired" / "it.written.json").unlink()
    err = one_line(translate(step, *work))
    assert "1 inter examples differ from the English data in more than their texts, e.g. e7: " in err
    if change == "labels":
        assert "candidate e7-0 is anti-stereotype here and stereotype in the English data" in err


# Outputs


@pytest.mark.parametrize("flag", ["--json", "--picture"])
@pytest.mark.parametrize(
    "name",
    [
        "repaired/intra/it.jsonl",
        "repaired/it.written.json",
        "raw/inter/it.jsonl",
        "memory.sqlite",
        "link.json",
    ],
)
def test_check_does_not_overwrite_what_it_reads(work, translate, tmp_path, flag, name):
    (tmp_path / "it" / "memory.sqlite").write_bytes(b"mine")
    (tmp_path / "it" / "link.json").symlink_to(tmp_path / "it" / "repaired" / "inter" / "it.jsonl")
    before = snapshot(tmp_path / "it")
    assert "would overwrite" in one_line(translate("check", *work, flag, tmp_path / "it" / name))
    assert snapshot(tmp_path / "it") == before


def test_no_output_is_one_of_the_english_files_or_rules_or_another_output(work, translate, english, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("include: generic\nsteps: []\n", encoding="utf-8")
    before = snapshot(tmp_path)
    picture = tmp_path / "x.png"
    for command in (
        ("check", "--json", english / "intra" / "en.jsonl"),
        ("check", "--picture", picture, "--json", picture),
        ("repair", "--rules", rules, "--report", rules),
        ("repair", "--report", tmp_path / "it" / "raw" / "intra" / "it.jsonl"),
        ("repair", "--report", tmp_path / "it" / "repaired" / "it.written.json"),
    ):
        assert "would overwrite" in one_line(translate(command[0], *work, *command[1:]))
    assert snapshot(tmp_path) == before


def test_a_kind_of_picture_that_does_not_exist_is_said_first(work, translate, tmp_path):
    err = one_line(
        translate("check", *work, "--picture", tmp_path / "x.jsonl", "--json", tmp_path / "x.json")
    )
    assert "no such kind of picture" in err
    assert not (tmp_path / "x.json").exists()


def test_a_dollar_in_a_target_term_is_drawn(work, translate, tmp_path):
    path = tmp_path / "it" / "repaired" / "intra" / "it.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line |= {"target_original": r"$\frac{", "target": "elsewhere", "id": f"own-{line['id']}"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "it" / "repaired" / "it.written.json").unlink()
    assert translate("check", *work, "--picture", tmp_path / "x.svg")[0] == 0
    assert (tmp_path / "x.svg").read_text(encoding="utf-8").count("<svg") == 1


def test_build_and_data_add_do_not_replace_each_other_unasked(work, translate, tmp_path):
    own = tmp_path / "own"
    for split, examples in english_examples().items():
        write_examples(own / split / "it.jsonl", examples[:4])
    adding.add(STEREOSET, own, "it")
    before = snapshot(tmp_path / "data")
    err = one_line(translate("build", *work, "--drop-unresolved"))
    assert "intra/it is there already (added from own, version sha256:" in err
    assert snapshot(tmp_path / "data") == before
    assert translate("build", *work, "--drop-unresolved", "--replace")[0] == 0
    assert translate("build", *work, "--drop-unresolved")[0] == 0  # its own it may replace
    before = snapshot(tmp_path / "data")
    with pytest.raises(UserError, match=r"intra/it is there already .translated in it, version"):
        adding.add(STEREOSET, own, "it")
    assert snapshot(tmp_path / "data") == before


# Files in the working folder


@pytest.mark.parametrize(
    "content",
    ["", "{", "null", '{"intra": 5}', '{"intra": {"a0": 7}}', '{"intra": {"a0": [1]}}', "[" * 10_000, '[{"step": 1}]',
     "9" * 5000, '{"intra": "\\ud800"}'],
)  # fmt: skip
@pytest.mark.parametrize(
    "name", ["written.json", "english.json", "steps.json", "reviews.jsonl", "changes.jsonl"]
)
def test_damaged_notes_are_one_line_or_not_needed(work, translate, tmp_path, name, content):
    path = tmp_path / "it" / "repaired" / f"it.{name}"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    for step in ("check", "build", "review"):
        code, _, err = translate(step, *work, *(["--drop-unresolved"] if step == "build" else []))
        assert code in (0, 2)
        if code == 2:
            assert len(err.splitlines()) == 1
            assert path.name in err


@pytest.mark.parametrize(
    "change",
    [
        {"after": {}},
        {"after": 5},
        {"split": "both"},
        {"before": {"id": 1}},
        {"by": None},
        {"more": 1},
        {"base": 7},
    ],
)
def test_a_damaged_review_is_one_line(rows, work, translate, tmp_path, change):
    content, apply = rows
    content["e5"]["verdict"] = "drop"
    assert apply()[0] == 0
    path = tmp_path / "it" / "repaired" / "it.reviews.jsonl"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    assert "it.reviews.jsonl, line 1" in one_line(translate("repair", *work))


def filled_memory(amazon, translate, english, tmp_path):
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it", "--backend", "aws")
    assert translate("run", *options)[0] == 0
    return options, tmp_path / "it" / "memory.sqlite"


@pytest.mark.parametrize(
    "statement",
    ["UPDATE answers SET answer = x'ff00'", "UPDATE answers SET answer = 5.5",
     "DROP TABLE answers; CREATE TABLE answers (a)",
     "DROP TABLE runs; CREATE TABLE runs (backend, strings, seconds); INSERT INTO runs VALUES ('aws', NULL, 5)"],
)  # fmt: skip
def test_a_memory_with_other_content_is_one_line(amazon, translate, english, tmp_path, statement):
    options, path = filled_memory(amazon, translate, english, tmp_path)
    with sqlite3.connect(path) as connection:
        connection.executescript(statement)
    connection.close()
    code, _, err = translate("run", *options)
    assert code in (0, 2)
    if code == 2:
        assert "memory" in one_line((code, "", err))


@pytest.mark.parametrize("how", ["cut", "text", "empty", "fifo", "folder"])
def test_a_damaged_memory_is_one_line(amazon, translate, english, tmp_path, how):
    options, path = filled_memory(amazon, translate, english, tmp_path)
    content = path.read_bytes()
    path.unlink()
    if how == "fifo":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    else:
        path.write_bytes({"cut": content[: len(content) // 2], "text": b"hello " * 999, "empty": b""}[how])
    code, _, err = translate("run", *options)
    assert code == (0 if how == "empty" else 2)
    assert len(err.splitlines()) == (0 if how == "empty" else 1)


def test_half_a_character_in_an_answer_is_refused_like_a_text_that_cannot_be_translated(
    amazon, translate, english, tmp_path, monkeypatch
):
    from stereoset_translation.backends.aws import AmazonTranslate

    monkeypatch.setattr(AmazonTranslate, "translate", lambda self, texts: ["a\ud800"] * len(texts))
    err = translate("run", "--to", "it", "--data", english, "--dir", tmp_path / "it", "--backend", "aws")[2]
    assert "lone surrogate" in err


def test_a_translation_with_a_damaged_text_goes_to_review_and_not_into_data(translate, english, tmp_path):
    raw = {
        split: [assemble(e, {t: pseudo(t, True) for t in strings_of(e)}) for e in examples]
        for split, examples in english_examples().items()
    }
    broken = raw["inter"][2].to_dict()
    broken["context"] = "Il fornaio abita in citt\ufffd."
    folder = Folder(tmp_path / "it" / "raw", "it")
    folder.write(raw)
    path = folder.file("inter")
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[2] = json.dumps(broken)
    path.write_text("\n".join(lines), encoding="utf-8")
    options = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    assert translate("repair", *options)[0] == 0
    assert "a text holds NUL, U+FFFD" in one_line(translate("build", *options))
    assert "1 examples for a person" in translate("review", *options)[1]


# Packages that are not there


def test_without_boto3_the_pip_command_is_named(translate, english, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    err = one_line(
        translate("run", "--to", "it", "--data", english, "--dir", tmp_path / "it", "--backend", "aws")
    )
    assert (
        '--backend aws needs the package boto3; install it with: pip install "lm-eval-stereoset[translate]"'
        in err
    )


def test_without_sacrebleu_the_pip_command_is_named_before_anything_is_sent(
    work, translate, amazon, monkeypatch
):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    err = one_line(translate("review", *work, "--round-trip", "--backend", "aws"))
    assert "needs the package sacrebleu" in err
    assert amazon.asked == []
