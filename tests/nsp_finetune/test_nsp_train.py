"""Training: it learns, comes out the same on one process or two, and goes on after a kill as if nothing had been."""

import json
import shutil
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from nsp_runs import ENVIRONMENT, SHORT, arguments, short, weights

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.nsp_folder import load_nsp_model
from nsp_finetune.evaluate import accuracy_with_interval, evaluate
from nsp_finetune.settings import TrainSettings
from nsp_finetune.train import TrainingRun, train


@pytest.mark.parametrize("family", ["decoder", "encoder", "seq2seq"])
def test_model_learns_its_pairs_and_its_folder_is_complete(family, bases, pairs, tmp_path):
    settings = TrainSettings(
        base=str(bases[family]), batch_size=8, accumulation=1, max_examples=32, core_lr=5e-3,
        epochs=120 if family == "seq2seq" else 50,
        eval_every=800, eval_examples=16, test_examples=32, tracker="tensorboard" if family == "decoder" else "none",
    )  # fmt: skip
    accuracy = train(settings, pairs, tmp_path / "model")["all"]
    folder = tmp_path / "model"
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md", "learning_curve.png"} <= {
        path.name for path in folder.iterdir()
    }
    assert (folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert f"{100 * accuracy['accuracy']:.2f} %" in (folder / "README.md").read_text()
    saved = {
        split: evaluate(folder, pairs, split, 8, 32, tmp_path / "cache")["all"] for split in ("train", "test")
    }
    assert saved["test"]["accuracy"] == accuracy["accuracy"]  # the saved model is the trained one
    assert saved["train"]["accuracy"] > 0.9  # it has learnt these by heart
    assert saved["train"]["no_answer"] == 0
    if family == "decoder":
        assert list((tmp_path / "model.run").rglob("events.out.tfevents.*"))


# At large rates float32 noise (another order of the same sums) grows with every step, hence the papers' small one.
@pytest.mark.parametrize(
    ("family", "rate"), [("decoder", SHORT["core_lr"]), ("encoder", 5e-6), ("seq2seq", 5e-6)]
)
def test_two_processes_have_the_loss_curve_of_one(family, rate, bases, pairs, tmp_path):
    """Dropout is on, the last step is short, and one of the two has no share in it."""
    settings = short(bases, family, epochs=2, core_lr=rate)
    train(settings, pairs, tmp_path / "one")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [
        "-m",
        "nsp_finetune",
        "train",
        "--base",
        settings.base,
        "--pairs",
        str(pairs),
        "--epochs",
        "2",
    ]
    run = subprocess.run(
        [*command, "--output", str(tmp_path / "two"), *arguments(SHORT | {"core_lr": rate})],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    one, two = (json.loads((tmp_path / name / "training.json").read_text()) for name in ("one", "two"))
    points = [[point["examples"] for point in run["history"]["train"]] for run in (one, two)]
    assert points[0] == points[1]
    assert points[0][-1] == 2 * 84
    losses = [[point["loss"] for point in run["history"]["train"]] for run in (one, two)]
    assert len(set(losses[0])) > 10
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)
    assert two["test"]["all"]["accuracy"] == one["test"]["all"]["accuracy"]
    assert two["history"]["validation"][-1]["accuracy"] == one["history"]["validation"][-1]["accuracy"]


def test_text_to_text_accuracy_costs_no_second_pass(bases, pairs, tmp_path, monkeypatch):
    run = TrainingRun(short(bases, "seq2seq", max_examples=8), pairs, tmp_path / "model", resume=False)
    calls = []
    run.plain.core.get_encoder().register_forward_hook(lambda *_: calls.append("encoder"))
    run.plain.core.decoder.register_forward_hook(lambda *_: calls.append("decoder"))
    monkeypatch.setattr(run, "validate", lambda: None)
    monkeypatch.setattr(run, "save", lambda: None)
    run.train()
    assert calls == ["encoder", "decoder"] * 2  # one optimiser step of two batches
    assert 0 <= run.progress["history"]["train"][0]["accuracy"] <= 1


def test_training_accuracy_is_that_of_generating_the_answer(bases, pairs, tmp_path):
    """What one pass says is what the model's own greedy generation says."""
    import torch

    run = TrainingRun(short(bases, "seq2seq"), pairs, tmp_path / "model", resume=False)
    rows = run.tokens.select(range(16))
    batch = run.plain.collate([{"input_ids": ids} for ids in rows["input_ids"]])
    run.plain.eval()
    with torch.no_grad():
        generated = run.plain.core.generate(**batch, max_new_tokens=1, do_sample=False)[:, 1]
        predicted = run.plain(**batch).predicted
    zero, one = run.plain.label_ids
    assert predicted.tolist() == [{zero: 0, one: 1}.get(token, -1) for token in generated.tolist()]


def test_two_learning_rates_and_the_papers_schedule(bases, pairs, tmp_path):
    run = TrainingRun(short(bases, core_lr=5e-6, head_lr=1e-3), pairs, tmp_path / "model", resume=False)
    assert [(group["name"], group["initial_lr"]) for group in run.optimizer.param_groups] == [
        ("core", 5e-6),
        ("head", 1e-3),
    ]
    head = {id(p) for p in run.plain.head.parameters()}
    assert {id(p) for p in run.optimizer.param_groups[1]["params"]} == head
    run.train()
    rates = [point["head_lr"] for point in run.progress["history"]["train"]]
    assert rates[0] == 0  # 11 steps // 100 + 1 = one step of warm-up
    assert rates[1] == 1e-3
    assert rates[1:] == sorted(rates[1:], reverse=True)
    assert 0 < rates[-1] < 5e-5


def test_run_stops_early_and_keeps_the_best_weights(bases, pairs, tmp_path, monkeypatch):
    settings = short(bases, patience=2, eval_every=8)
    run = TrainingRun(settings, pairs, tmp_path / "model", resume=False)
    given = iter([0.5, 0.7, 0.6, 0.7])
    from nsp_finetune import train as train_module

    original = train_module.summarise

    def summarise(result, tokens):
        value = original(result, tokens)
        return value.__class__(next(given), value.low, value.high, value.pairs, value.articles)

    monkeypatch.setattr(train_module, "summarise", summarise)
    run.train()
    assert run.progress["step"] == 4
    best = weights(tmp_path / "model.run" / "best")
    monkeypatch.undo()
    run.finish()
    assert weights(tmp_path / "model") == best


@pytest.mark.parametrize("changes", [{"gradient_checkpointing": True}, {"mixed_precision": "bf16"}])
def test_options_that_save_memory_train_too(changes, bases, pairs, tmp_path):
    train(short(bases, max_examples=16, **changes), pairs, tmp_path / "model")
    assert load_nsp_model(tmp_path / "model").core.dtype.itemsize == 4


def test_fp16_without_a_gpu_is_one_line(bases, pairs, tmp_path):
    with pytest.raises(UserError, match="fp16 needs a GPU; choose --mixed-precision bf16 or no"):
        train(short(bases, mixed_precision="fp16"), pairs, tmp_path / "model")


def test_a_run_that_diverges_stops_and_keeps_its_good_checkpoints(bases, pairs, tmp_path):
    """The gradient is looked at before it reaches the weights, so no checkpoint holds anything but numbers."""
    from safetensors.numpy import load_file

    settings = short(bases, core_lr=1e30, head_lr=1e30, checkpoint_every=0.05, keep_checkpoints=50)
    with pytest.raises(UserError, match=r"has diverged at step .*start again in another --output"):
        train(settings, pairs, tmp_path / "out")
    for file in tmp_path.rglob("model*.safetensors"):
        assert all(np.isfinite(tensor).all() for tensor in load_file(file).values()), file


def test_too_little_disk_is_said_before_training(bases, pairs, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**12, 10**12, 10))
    with pytest.raises(UserError, match="too little disk"):
        train(short(bases), pairs, tmp_path / "model")


def test_interval_is_wilsons_for_independent_pairs_and_wider_for_articles():
    correct = np.array([1.0] * 80 + [0.0] * 20)
    alone = accuracy_with_interval(correct, np.arange(100))
    assert alone == pytest.approx((0.8, 0.7112, 0.8666), abs=2e-3)
    clustered = accuracy_with_interval(correct, np.repeat(np.arange(10), 10))
    assert clustered[1] < alone[1]
    assert clustered[2] > alone[2]
    assert accuracy_with_interval(np.ones(50), np.arange(50))[1:] == pytest.approx((0.9287, 1.0), abs=1e-3)
