"""Damaged models, pairs and checkpoints, typed as a user would: one line, exit code 2, nothing written."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from nsp_runs import SHORT, arguments, short
from safetensors.torch import load_file, save_file

from lm_eval_stereoset.cli import guarded
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.nsp_folder import load_nsp_model, save_nsp_model
from nsp_finetune.cli import main
from nsp_finetune.data import token_table
from nsp_finetune.lengths import long_test_pairs
from nsp_finetune.models import new_model
from nsp_finetune.train import TrainingRun, train


def refused(capfd, command: list, message: str) -> None:
    assert guarded("nsp_finetune", lambda: main(list(map(str, command)))) == 2
    error = capfd.readouterr().err
    assert "Traceback" not in error
    lines = [line for line in error.splitlines() if line.startswith("nsp_finetune: ")]
    assert len(lines) == 1
    assert message in lines[0]


def replace(path: Path, content: bytes) -> None:
    """A new file: shortening one that this process has mapped would end it with a bus error."""
    path.unlink()
    path.write_bytes(content)


def cut(path: Path) -> None:
    replace(path, path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    replace(path, b"")


def with_tensors(change):
    def apply(path: Path) -> None:
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path, metadata={"format": "pt"})

    return apply


DAMAGES = [
    ("model.safetensors", cut, "not a readable safetensors file"),
    ("model.safetensors", empty, "not a readable safetensors file"),
    (
        "model.safetensors",
        with_tensors(lambda t: t.update({min(t): torch.ones(3)})),
        "by config.json it should",
    ),
    ("model.safetensors", with_tensors(lambda t: t.pop(min(t))), "lacks 1 weights"),
    ("model.safetensors", Path.unlink, "no file named model.safetensors"),
    ("config.json", lambda path: path.write_text("[" * 20000), "nested too deeply"),
    ("config.json", lambda path: path.write_text("[1]"), "must be a JSON object"),
    ("tokenizer.json", cut, "not valid JSON"),
    ("tokenizer.json", lambda path: (path.unlink(), os.mkfifo(path)), "is a pipe"),
]


@pytest.mark.parametrize(("name", "damage", "message"), DAMAGES)
def test_damaged_base_model_is_refused(name, damage, message, bases, pairs, tmp_path, capfd):
    shutil.copytree(bases["decoder"], tmp_path / "base")
    damage(tmp_path / "base" / name)
    run = ["train", "--base", tmp_path / "base", "--pairs", pairs, "--output", tmp_path / "out"]
    refused(capfd, [*run, *arguments(SHORT)], message)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def model(bases, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("damage") / "model"
    save_nsp_model(new_model(str(bases["decoder"])), folder)
    return folder


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        *DAMAGES,
        ("model.safetensors", with_tensors(lambda t: t[min(t)].fill_(torch.nan)), "are not numbers"),
        ("nsp_head.safetensors", with_tensors(lambda t: t[min(t)].fill_(torch.inf)), "are not numbers"),
        ("nsp_head.safetensors", cut, "not a readable safetensors file"),
        ("nsp_head.safetensors", Path.unlink, "lacks its next-sentence head"),
    ],
)
def test_damaged_model_is_not_evaluated(name, damage, message, model, pairs, tmp_path, capfd):
    shutil.copytree(model, tmp_path / "model")
    damage(tmp_path / "model" / name)
    refused(capfd, ["evaluate", tmp_path / "model", "--pairs", pairs, "--max-examples", 8], message)


def test_tokenizer_that_knows_nothing_of_the_text_is_refused(bases, pairs, tmp_path, capfd):
    shutil.copytree(bases["decoder"], tmp_path / "base")
    path = tmp_path / "base" / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {
        word if word[0] in "<[" else f"x{number}": number for word, number in vocabulary.items()
    }
    path.write_text(json.dumps(tokenizer))
    run = ["train", "--base", tmp_path / "base", "--pairs", pairs, "--output", tmp_path / "out"]
    refused(capfd, [*run, *arguments(SHORT)], "put the tokenizer's files into the model's folder")


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("test/00000.arrow", cut, "Make the pairs anew"),
        ("test/00000.arrow", empty, "Make the pairs anew"),
        ("test/00000.arrow", lambda path: (path.unlink(), os.mkfifo(path)), "is a pipe"),
        ("test/00000.arrow", Path.unlink, "no Arrow files; make the pairs anew"),
        ("statistics.json", lambda path: path.write_text("{}"), "make the pairs anew"),
        ("inputs.json", lambda path: path.write_text("["), "not valid JSON"),
    ],
)
def test_damaged_pairs_are_refused_before_the_training(name, damage, message, bases, pairs, tmp_path, capfd):
    shutil.copytree(pairs, tmp_path / "pairs")
    damage(tmp_path / "pairs" / name)
    run = ["train", "--base", bases["decoder"], "--pairs", tmp_path / "pairs", "--output", tmp_path / "out"]
    refused(capfd, [*run, *arguments(SHORT)], message)
    assert not (tmp_path / "out").exists()


def test_arrow_file_of_something_else_is_refused(model, pairs, tmp_path, capfd):
    from datasets import Dataset

    from nsp_finetune.pairs import features

    shutil.copytree(pairs, tmp_path / "pairs")
    good = {"first": ["a", "b"], "second": ["c", "d"], "label": [0, 1], "language": ["en", "en"],
            "first_article": [0, 1], "second_article": [2, 2]}  # fmt: skip
    for change, columns, message in (
        ({"label": [1, 5]}, features(), "a label is neither 0 nor 1"),
        ({"first": ["a", None]}, features(), "empty cells"),
        ({"first": [1, 2]}, None, "other columns"),
    ):
        Dataset.from_dict(good | change, features=columns).save_to_disk(tmp_path / "made")
        content = next((tmp_path / "made").glob("*.arrow")).read_bytes()
        replace(tmp_path / "pairs" / "test" / "00000.arrow", content)
        refused(capfd, ["evaluate", model, "--pairs", tmp_path / "pairs"], message)


def test_damaged_token_ids_are_made_anew(model, pairs, tmp_path):
    loaded = load_nsp_model(model)
    first = list(token_table(loaded, pairs, "test", tmp_path, None)["input_ids"])
    kept = next(tmp_path.glob("*.arrow"))
    for damage in (cut, empty):
        damage(kept)
        assert list(token_table(loaded, pairs, "test", tmp_path, None)["input_ids"]) == first


def test_saved_tokenizer_does_not_cut_other_users_texts(bases, pairs, tmp_path):
    train(short(bases, "encoder", max_examples=8, max_length=12), pairs, tmp_path / "model")
    saved = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    assert saved["truncation"] is None
    assert saved["padding"] is None
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["stereoset_nsp"]["max_length"] == 12  # of the training
    assert config["max_position_embeddings"] == 66  # of the architecture
    assert "cut to 12 tokens in training" in (tmp_path / "model" / "README.md").read_text()


def test_test_pairs_longer_than_the_training_are_counted_beforehand(
    bases, pairs, tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("STEREOSET_DATA", str(tmp_path / "none"))
    TrainingRun(short(bases, max_length=12), pairs, tmp_path / "out", resume=False)
    shown = capfd.readouterr().out
    assert "inter-sentence test, en: " in shown
    assert "pairs of the bundled sample longer than --max-length 12 (the longest has" in shown
    model = new_model(str(bases["decoder"]), max_length=64)
    (line,) = long_test_pairs(model, ["en"])
    assert line.startswith("inter-sentence test, en: none of 84 pairs of the bundled sample longer than")
    (line,) = long_test_pairs(model, ["xx"])
    assert "is unknown, the data are not here" in line
    broken = tmp_path / "none" / "inter" / "en.jsonl"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    assert "is unknown (" in long_test_pairs(model, ["en"])[0]


def test_tracker_on_a_full_disk_does_not_end_the_run(bases, pairs, tmp_path, monkeypatch, caplog):
    run = TrainingRun(short(bases, max_examples=8), pairs, tmp_path / "model", resume=False)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run.accelerator, "log", full)
    run.train()
    assert "the tracker cannot write (No space left on device)" in caplog.text
    assert run.progress["step"] == 1


def test_sharded_training_is_refused_instead_of_saving_parts(bases, pairs, tmp_path, monkeypatch):
    from accelerate import Accelerator
    from accelerate.utils import DistributedType

    monkeypatch.setattr(Accelerator, "distributed_type", DistributedType.FSDP)
    with pytest.raises(UserError, match="configured for FSDP, which spreads the weights"):
        TrainingRun(short(bases), pairs, tmp_path / "model", resume=False)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (5, "no weights in it"),
        ([torch.ones(1)], "no weights in it"),
        ({1: torch.ones(1)}, "the entry '1' of its model_state_dict is not a weight"),
        ({"core_model.wte.weight": 5}, "is not a weight"),
        ({"core_model.wte.weight": torch.tensor(1.0)}, "no token embeddings that are known"),
        ({"core_model.wte.weight": torch.full((9, 24), torch.nan)}, "does not hold finite numbers"),
        ({"core_model.wte.weight": torch.ones(9, 24).to_sparse()}, "does not hold finite numbers"),
        ({"core_model.wte.weight": torch.ones(9, 24, dtype=torch.complex64)}, "does not hold finite numbers"),
        ({"core_model.wte.weight": torch.ones(9, 24, device="meta")}, "nsp_model.pth"),
    ],
)
def test_authors_checkpoint_without_plain_weights_is_refused(state, message, bases, tmp_path, capfd):
    torch.save({"model_state_dict": state}, tmp_path / "nsp_model.pth")
    command = [
        "convert",
        tmp_path / "nsp_model.pth",
        "--base",
        bases["decoder"],
        "--output",
        tmp_path / "out",
    ]
    refused(capfd, command, message)
    assert not (tmp_path / "out").exists()


def test_disk_full_while_converting_leaves_nothing(shared, tmp_path, monkeypatch, capfd):
    """tokenizers is written in Rust and raises a plain exception."""
    from transformers import PreTrainedTokenizerBase

    def full(*_, **__):
        raise Exception("No space left on device (os error 28)")

    monkeypatch.setattr(PreTrainedTokenizerBase, "save_pretrained", full)
    source = shared / "golden/models/tiny-gpt2-nsp"
    command = ["convert", source / "nsp_model.pth", "--base", source, "--output", tmp_path / "out"]
    refused(capfd, command, "cannot write")
    assert list(tmp_path.iterdir()) == []
