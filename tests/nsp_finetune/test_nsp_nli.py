"""Training a classifier for natural language inference: from SNLI's format to a folder that the tasks take."""

import json
import shutil

import numpy as np
import pytest
from nli_small import make_base, rows, write_folder
from nsp_runs import weights

from lm_eval_stereoset.benchmarks.snli.example import make_pairs
from lm_eval_stereoset.benchmarks.snli.rows import read_rows
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import load, score
from nsp_finetune import nli_data
from nsp_finetune.cli import main
from nsp_finetune.nli import NLI
from nsp_finetune.nli_settings import nli_settings
from nsp_finetune.train import TrainingRun, train

SHORT = {
    "core_lr": 5e-3, "head_lr": 5e-3, "batch_size": 8, "accumulation": 2, "epochs": 4, "log_every": 16,
    "eval_every": 200, "tracker": "none", "checkpoint_every": 0.25,
}  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return make_base(tmp_path_factory.mktemp("nli") / "base")


@pytest.fixture(scope="module")
def snli(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("nli") / "snli_1.0")


def settings(base, **changes):
    return nli_settings(None, {"base": str(base), **SHORT, **changes})


@pytest.fixture(scope="module")
def trained(base, snli, tmp_path_factory):
    from accelerate.state import AcceleratorState

    folder = tmp_path_factory.mktemp("nli") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELERATE_USE_CPU", "true")
        train(settings(base), snli, folder, job=NLI)
    AcceleratorState._reset_state(True)
    return folder


def test_the_folder_is_a_classifier_of_transformers_with_named_labels(trained):
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(trained)
    assert model.config.id2label == {0: "entailment", 1: "neutral", 2: "contradiction"}
    assert (trained / "learning_curve.png").stat().st_size > 10_000
    card = (trained / "README.md").read_text()
    assert "with the labels 0: entailment, 1: neutral, 2: contradiction" in card
    assert "| train | 95 | 1 |" in card


def test_the_task_reads_the_pairs_as_the_training_did(trained, snli):
    """The test accuracy of the run is that of snli_accuracy on the same file."""
    found = json.loads((trained / "training.json").read_text())["test"]["all"]
    made = make_pairs(read_rows(snli / "snli_1.0_test.jsonl"), "test", {}, "x")
    assert (made.about["left_out"], len(made.examples)) == (1, found["pairs"])
    model, tokenizer = load(trained, device="cpu")
    answers = [
        pair.labels[int(np.argmax([one.log_score for one in scores]))]
        for pair, scores in zip(made.examples, score(model, tokenizer, made.examples), strict=True)
    ]
    right = [answer == pair.label for answer, pair in zip(answers, made.examples, strict=True)]
    assert np.mean(right) == pytest.approx(found["accuracy"])
    assert found["accuracy"] > 0.5  # chance is a third


def test_a_resumed_run_ends_with_the_same_weights(base, snli, trained, tmp_path, monkeypatch):
    optimise = TrainingRun.optimise

    def stop(run, step, batches):
        if step == 15:
            raise KeyboardInterrupt
        optimise(run, step, batches)

    monkeypatch.setattr(TrainingRun, "optimise", stop)
    with pytest.raises(KeyboardInterrupt):
        train(settings(base), snli, tmp_path / "model", job=NLI)
    monkeypatch.setattr(TrainingRun, "optimise", optimise)
    assert (tmp_path / "model.run" / "checkpoints" / "step-000000012").is_dir()
    train(settings(base), snli, tmp_path / "model", resume=True, job=NLI)
    assert weights(tmp_path / "model") == weights(trained)


def test_a_run_is_not_resumed_on_other_data(base, trained, tmp_path):
    shutil.copytree(trained.with_name("model.run"), tmp_path / "model.run")
    other = write_folder(tmp_path / "other", train=60)
    with pytest.raises(UserError, match="belongs to a run with other pairs"):
        train(settings(base), other, tmp_path / "model", resume=True, job=NLI)


def test_a_single_file_is_split_by_premise(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(900)))
    parts = {split: {row.premise for row in nli_data.gold_rows(path, split)} for split in nli_data.SPLITS}
    assert all(parts.values())
    assert not parts["train"] & parts["test"]
    assert not parts["train"] & parts["validation"]
    assert sum(len(nli_data.gold_rows(path, split)) for split in parts) == 900


def test_the_hub_s_layout_is_read(tmp_path):
    path = tmp_path / "test.jsonl"
    lines = [{"premise": "A b.", "hypothesis": "C.", "label": label} for label in (0, 1, 2, -1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [row.label for row in read_rows(path)] == ["entailment", "neutral", "contradiction", None]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"gold_label": "neutral", "sentence1": "A b."}', "line 3: sentence2 is missing"),
        (
            '{"gold_label": "maybe", "sentence1": "A b.", "sentence2": "C."}',
            "line 3: gold_label 'maybe' is not one",
        ),
        ('{"gold_label": "neutral", "sentence1": "A b.", ', "line 3: not valid JSON"),
        ('{"text": "A b."}', "line 3: not a row of SNLI"),
        ('{"label": 3, "premise": "A.", "hypothesis": "B."}', "line 3: label 3 is not one of"),
    ],
)
def test_a_broken_line_is_named(base, snli, tmp_path, capsys, line, message):
    folder = tmp_path / "snli"
    shutil.copytree(snli, folder)
    path = folder / "snli_1.0_dev.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, *lines[3:]]) + "\n")
    with pytest.raises(UserError, match=message):
        main(
            [
                "nli",
                "--base",
                str(base),
                "--data",
                str(folder),
                "--output",
                str(tmp_path / "m"),
                "--tracker",
                "none",
            ]
        )
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("nowhere", "no such file or folder, nor the name OWNER/NAME"),
        (".", "needs one file of the train split in SNLI's format"),
    ],
)
def test_missing_data_is_one_line(base, tmp_path, monkeypatch, data, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        main(
            ["nli", "--base", str(base), "--data", data, "--output", str(tmp_path / "m"), "--tracker", "none"]
        )


def test_a_left_to_right_model_gets_a_padding_token(tmp_path, snli):
    from nsp_finetune.nli_model import new_classifier

    model = new_classifier(settings(make_base(tmp_path / "gpt2", "gpt2")))
    assert model.core.config.pad_token_id == model.tokenizer.pad_token_id is not None
    pairs = [("The welder parked a lorry.", "Someone parked a lorry."), ("The welder parked.", "Nobody.")]
    together = model.eval()(**model.collate(model.encode(pairs))).logits
    alone = [model(**model.collate(model.encode([pair]))).logits[0] for pair in pairs]
    for one, row in zip(alone, together, strict=True):
        assert one.tolist() == pytest.approx(row.tolist(), abs=1e-6)
    core, head = model.parameter_groups()
    assert len(head) == 1
    assert len(core) + len(head) == len(list(model.core.parameters()))
