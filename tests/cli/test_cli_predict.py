"""stereoset predict: the published format, agreement with the golden scores, going on after a kill, bad input."""

import json
import os
import shutil

import pytest

from lm_eval_stereoset.cli import main, predict
from lm_eval_stereoset.data import store


@pytest.fixture
def golden_models(shared):
    return shared / "golden" / "models"


def run(*arguments) -> int:
    return main(["predict", *map(str, arguments), "--quiet"])


def read(path) -> dict[str, dict[str, float]]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return {key: {entry["id"]: entry["score"] for entry in entries} for key, entries in content.items()}


def test_it_writes_the_golden_scores_in_the_published_format(golden_models, real_data, shared, tmp_path):
    out = tmp_path / "out.json"
    assert run(golden_models / "tiny-bert", "--language", "en", "--exact", "-o", out) == 0
    found = read(out)
    assert list(found) == ["intrasentence", "intersentence"]
    for key, variant in (("intrasentence", "BertLM"), ("intersentence", "BertNextSentence")):
        path = shared / "golden" / "scores" / f"tiny-bert__{key}__{variant}__en.json"
        assert found[key] == pytest.approx(json.loads(path.read_text()), rel=1e-5)
    order = [c.id for e in store.load("intra", "en").examples for c in e.candidates]
    assert list(found["intrasentence"]) == order
    assert sorted(p.name for p in tmp_path.glob("*.json*")) == ["out.json"]


@pytest.mark.parametrize("split", ["intra", "inter"])
def test_stereoset_score_reads_it(golden_models, tmp_path, capsys, split):
    out = tmp_path / "out.json"
    arguments = ("--language", "de", "--split", split, "--data", "sample")
    assert run(golden_models / "tiny-gpt2", *arguments, "-o", out) == 0
    assert list(read(out)) == [f"{split}sentence"]
    capsys.readouterr()
    assert main(["score", str(out), "--language", "de", "--data", "sample"]) == 0
    assert "SS" in capsys.readouterr().out


def test_case_changes_the_scores(golden_models, tmp_path):
    found = []
    for case in ("d", "e"):
        out = tmp_path / f"{case}.json"
        run(
            golden_models / "tiny-gpt2",
            "--language",
            "en",
            "--split",
            "inter",
            "--data",
            "sample",
            "--case",
            case,
            "-o",
            out,
        )
        found.append(read(out))
    assert found[0] != found[1]


def test_an_interrupted_run_goes_on_and_ends_the_same(golden_models, tmp_path, monkeypatch):
    monkeypatch.setattr(predict, "AT_ONCE", 4)
    arguments = (golden_models / "tiny-bert", "--language", "en", "--split", "intra", "--data", "sample")
    whole = tmp_path / "whole.json"
    run(*arguments, "-o", whole)
    scored = []
    adding = predict.Notes.add

    def add(self, examples, scores):
        if len(scored) == 2:
            raise KeyboardInterrupt
        scored.append(len(examples))
        adding(self, examples, scores)

    out = tmp_path / "out.json"
    monkeypatch.setattr(predict.Notes, "add", add)
    assert run(*arguments, "-o", out) == 130
    assert not out.exists()
    with open(tmp_path / "out.json.part", "a") as handle:
        handle.write(
            '["cut off',
        )
    monkeypatch.setattr(predict.Notes, "add", lambda self, e, s: (scored.append(len(e)), adding(self, e, s)))
    assert run(*arguments, "-o", out) == 0
    assert sum(scored) == len(store.load("intra", "en", "sample").examples)
    assert read(out)["intrasentence"] == pytest.approx(read(whole)["intrasentence"], rel=1e-6)
    assert not (tmp_path / "out.json.part").exists()


def test_a_checkpoint_that_has_changed_meanwhile_starts_anew(golden_models, tmp_path, monkeypatch):
    """Half of the scores from one model and half from another would look like any file."""
    folder = tmp_path / "model"
    shutil.copytree(golden_models / "tiny-bert", folder)
    monkeypatch.setattr(predict, "AT_ONCE", 4)
    arguments = (folder, "--language", "en", "--split", "intra", "--data", "sample")
    out = tmp_path / "out.json"
    adding = predict.Notes.add
    monkeypatch.setattr(predict.Notes, "add", lambda self, e, s: (adding(self, e, s), interrupt()))
    assert run(*arguments, "-o", out) == 130
    scored = []
    monkeypatch.setattr(predict.Notes, "add", lambda self, e, s: (scored.append(len(e)), adding(self, e, s)))
    weights = folder / "model.safetensors"
    os.utime(weights, ns=(0, weights.stat().st_mtime_ns + 1))
    assert run(*arguments, "-o", out) == 0
    assert sum(scored) == len(store.load("intra", "en", "sample").examples)


def interrupt():
    raise KeyboardInterrupt


def test_equal_ids_in_both_splits_keep_their_own_scores(golden_models, tmp_path):
    for split in ("intra", "inter"):
        (tmp_path / "mine" / split).mkdir(parents=True)
        examples = store.load(split, "en", "sample").examples[:6]
        lines = [json.dumps(e.to_dict() | {"id": str(i)}) for i, e in enumerate(examples)]
        (tmp_path / "mine" / split / "en.jsonl").write_text("\n".join(lines))
    arguments = (golden_models / "tiny-bert", "--language", "en", "--data", tmp_path / "mine")
    for split in ("both", "inter"):
        assert run(*arguments, "--split", split, "-o", tmp_path / f"{split}.json") == 0
    both, alone = (read(tmp_path / f"{split}.json")["intersentence"] for split in ("both", "inter"))
    assert both == pytest.approx(alone, rel=1e-6)


def test_a_damaged_note_is_scored_again(tmp_path):
    notes = predict.Notes(tmp_path / "out.json", {})
    notes.path.write_text('{}\n["intra x", [0.1, 0.2, 0.3]]\n["intra y", [0.1, 0.\n["intra z", null]\n')
    assert predict.Notes(tmp_path / "out.json", {}).scores == {"intra x": [0.1, 0.2, 0.3]}


def test_notes_of_other_settings_are_not_used(tmp_path):
    notes = predict.Notes(tmp_path / "out.json", {"case": "d"})
    notes.path.write_text('{"case": "d"}\n["x", [0.1, 0.2, 0.3]]\n')
    assert predict.Notes(tmp_path / "out.json", {"case": "d"}).scores == {"x": [0.1, 0.2, 0.3]}
    assert predict.Notes(tmp_path / "out.json", {"case": "e"}).scores == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "z"], "case 'z' is unknown"),
        (["--scoring", "nsp"], "has no next-sentence head"),
        (["--scoring", "mlm"], "scoring 'mlm' is unknown"),
        (["--batch-size", "0"], "batch_size must be a whole number of at least 1"),
        (["--dtype", "foo"], "dtype 'foo' is unknown"),
        (["--device", "foo"], "device 'foo' cannot be used"),
        (["--tokenizer", "nowhere/nothing"], "nowhere/nothing: cannot be loaded"),
        (["--data", "nowhere"], "no file"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(golden_models, tmp_path, capsys, arguments, message):
    out = tmp_path / "out.json"
    data = [] if "--data" in arguments else ["--data", "sample"]
    assert run(golden_models / "tiny-gpt2", "--language", "en", *data, *arguments, "-o", out) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("stereoset predict: ")
    assert message in said
    assert not out.exists()


def test_a_folder_as_output_is_refused(golden_models, tmp_path, capsys):
    assert run(golden_models / "tiny-gpt2", "--language", "en", "-o", tmp_path) == 2
    assert "is a folder" in capsys.readouterr().err
