"""Checkpoints: a run goes on after a kill as if nothing had been, and nothing in a checkpoint can run or mislead."""

import hashlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
import torch
from nsp_runs import ENVIRONMENT, SHORT, arguments, short, weights

from lm_eval_stereoset.cli import guarded
from lm_eval_stereoset.errors import UserError
from nsp_finetune import checkpoints
from nsp_finetune.cli import main
from nsp_finetune.state import MOMENTS, STATE, WEIGHTS, read_state, write_state
from nsp_finetune.train import TrainingRun, train

KILLED_RUN = str(Path(__file__).with_name("nsp_killed_run.py"))
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
PICKLES = [
    "custom_checkpoint_0.pkl",
    "optimizer.bin",
    "random_states_0.pkl",
    "pytorch_model.bin",
    "scheduler.bin",
]


def history(folder: Path) -> dict:
    return json.loads((folder / "training.json").read_text())["history"]


def seal(checkpoint: Path) -> None:
    """A manifest that fits what is there, as an attacker would write it."""
    files = [path for path in checkpoint.iterdir() if path.name != checkpoints.MANIFEST]
    manifest = {p.name: [p.stat().st_size, hashlib.sha256(p.read_bytes()).hexdigest()] for p in files}
    (checkpoint / checkpoints.MANIFEST).write_text(json.dumps(manifest))


def only_checkpoint(output: Path) -> Path:
    """The newest checkpoint of a run; the others are deleted."""
    *older, last = sorted((output.with_name(f"{output.name}.run") / "checkpoints").iterdir())
    for folder in older:
        shutil.rmtree(folder)
    return last


def test_run_killed_at_any_moment_ends_with_the_same_weights(bases, pairs, tmp_path):
    settings = short(bases, epochs=2, keep_checkpoints=1)  # 22 steps, checkpoints after 6, 12, 18, 22
    train(settings, pairs, tmp_path / "whole")
    options = ["--base", settings.base, "--pairs", str(pairs), "--output", str(tmp_path / "killed")]
    options += arguments(SHORT | {"epochs": 2, "keep_checkpoints": 1})
    left = {"step=3": None, "weights=6": None, "moments=12": 6, "state=12": 6, "manifest=12": 6, "name=18": 12,
            "rotate=18": 18}  # fmt: skip
    command = [sys.executable, KILLED_RUN, ",".join(left), *options]
    run = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=180)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == {
        point: [-signal.SIGKILL, step and f"step-{step:09d}"] for point, step in left.items()
    }
    assert not (tmp_path / "killed").exists()
    train(settings, pairs, tmp_path / "killed", resume=True)
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    assert history(tmp_path / "killed") == history(tmp_path / "whole")
    assert [path.name for path in (tmp_path / "killed.run" / "checkpoints").iterdir()] == ["step-000000022"]


def test_two_processes_killed_and_resumed_end_with_the_same_weights(bases, pairs, tmp_path):
    options = ["--base", str(bases["decoder"]), "--pairs", str(pairs), *arguments(SHORT)]

    def run(output: str, *command: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*TORCHRUN, *command, *options, "--output", str(tmp_path / output)],
            env=ENVIRONMENT, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    assert run("whole", "-m", "nsp_finetune", "train").returncode == 0
    assert run("killed", KILLED_RUN, "step=7").returncode != 0
    assert checkpoints.newest(tmp_path / "killed.run" / "checkpoints").name == "step-000000006"
    resumed = run("killed", "-m", "nsp_finetune", "train", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.count("resumed from") == 1
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("decoder", {"mixed_precision": "bf16"}),
        ("seq2seq", {"mixed_precision": "bf16", "gradient_checkpointing": True}),
        ("encoder", {"patience": 9, "warmup_steps": 4, "cycles": 2}),
    ],
)
def test_interrupted_run_goes_on_bit_for_bit(family, changes, bases, pairs, tmp_path, monkeypatch):
    settings = short(bases, family, **changes)  # 11 steps, checkpoints after 3, 6, 9, 11
    train(settings, pairs, tmp_path / "whole")
    optimise = TrainingRun.optimise

    def stop_at_step_7(run, step, batches):
        if step == 7:
            raise KeyboardInterrupt
        optimise(run, step, batches)

    monkeypatch.setattr(TrainingRun, "optimise", stop_at_step_7)
    with pytest.raises(KeyboardInterrupt):
        train(settings, pairs, tmp_path / "stopped")
    monkeypatch.setattr(TrainingRun, "optimise", optimise)
    train(settings, pairs, tmp_path / "stopped", resume=True)
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole")
    assert history(tmp_path / "stopped") == history(tmp_path / "whole")


def test_every_number_of_the_state_comes_back(bases, pairs, tmp_path):
    """Weights, both moments, the schedule and fp16's loss scaler, whose own device is not needed for that."""
    one, other = (
        TrainingRun(short(bases), pairs, tmp_path / name, resume=False) for name in ("one", "other")
    )
    one.train()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.5, growth_interval=7)
    write_state(tmp_path, one.plain, one.optimizer, one.scheduler, scaler)
    fresh = torch.amp.GradScaler("cpu")
    read_state(tmp_path, other.plain, other.optimizer, other.scheduler, fresh)
    for a, b in zip(one.plain.parameters(), other.plain.parameters(), strict=True):
        assert a.equal(b)
        saved, back = one.optimizer.state.get(a, {}), other.optimizer.state.get(b, {})
        assert saved.keys() == back.keys()
        assert all(saved[key].equal(back[key]) for key in saved)
    assert other.optimizer.state_dict()["param_groups"] == one.optimizer.state_dict()["param_groups"]
    schedules = [{k: v for k, v in r.scheduler.state_dict().items() if k[0] != "_"} for r in (one, other)]
    assert schedules[0] == schedules[1]
    assert other.scheduler.get_last_lr() == one.scheduler.get_last_lr()
    assert fresh.state_dict() == scaler.state_dict()


def test_newest_checkpoints_are_kept(finished):
    names = sorted(path.name for path in (finished.with_name("model.run") / "checkpoints").iterdir())
    assert names == ["step-000000009", "step-000000011"]


def test_rotation_never_keeps_a_damaged_checkpoint_instead_of_a_good_one(tmp_path):
    for step in (3, 6, 9, 12):
        (tmp_path / f"step-{step:09d}").mkdir()
    checkpoints._rotate(tmp_path, tmp_path / "step-000000009", keep=2)  # resumed at 6: 12 was not whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000000006", "step-000000009"]


@pytest.mark.parametrize("damage", ["cut", "flipped", "missing", "manifest"])
def test_damaged_checkpoint_is_passed_over_for_the_one_before(damage, copied, finished, bases, pairs, caplog):
    folder = copied.with_name("model.run") / "checkpoints"
    victim = folder / "step-000000011" / "model.safetensors"
    content = victim.read_bytes()
    if damage == "cut":
        victim.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        victim.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "missing":
        victim.unlink()
    else:
        (victim.parent / checkpoints.MANIFEST).unlink()
    assert checkpoints.newest(folder).name == "step-000000009"
    assert "step-000000011 is not whole" in caplog.text
    if damage == "cut":
        train(short(bases, "seq2seq"), pairs, copied, resume=True)
        assert weights(copied) == weights(finished)


def test_run_whose_checkpoints_are_all_damaged_does_not_start_over_silently(copied, bases, pairs):
    (only_checkpoint(copied) / checkpoints.MANIFEST).unlink()
    with pytest.raises(UserError, match=r"no checkpoint is whole \(.*delete the folder to start from the"):
        train(short(bases, "seq2seq"), pairs, copied, resume=True)


class Bomb:
    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", [*sorted(checkpoints.FILES), checkpoints.MANIFEST, *PICKLES])
def test_pickle_in_the_place_of_any_file_is_refused_and_does_not_run(name, copied, bases, pairs, capfd):
    checkpoint, ran = only_checkpoint(copied), copied.with_name("ran")
    command = [
        "train",
        "--base",
        str(bases["seq2seq"]),
        "--pairs",
        str(pairs),
        "--output",
        str(copied),
        "--resume",
    ]
    for write in (
        lambda value, path: path.write_bytes(pickle.dumps(value, protocol=2)),
        torch.save,
    ):
        if name == "pytorch_model.bin":
            (checkpoint / WEIGHTS).unlink(missing_ok=True)
        write({"state": Bomb(ran), "last_epoch": Bomb(ran)}, checkpoint / name)
        if name != checkpoints.MANIFEST:
            seal(checkpoint)
        assert guarded("nsp_finetune", lambda: main([*command, *arguments(SHORT)])) == 2
        error = capfd.readouterr().err
        assert "Traceback" not in error
        assert len([line for line in error.splitlines() if line.startswith("nsp_finetune: ")]) == 1
        assert not ran.exists()
        assert not copied.exists()


def test_checkpoint_of_version_0_1_says_what_to_do(copied, bases, pairs):
    (only_checkpoint(copied) / "custom_checkpoint_0.pkl").write_bytes(b"")
    with pytest.raises(UserError, match=r"written by version 0\.1.*start again in another --output"):
        train(short(bases, "seq2seq"), pairs, copied, resume=True)


def change_json(name, change):
    def apply(checkpoint: Path) -> None:
        value = json.loads((checkpoint / name).read_text())
        change(value)
        (checkpoint / name).write_text(json.dumps(value))

    return apply


def change_tensors(name, change):
    def apply(checkpoint: Path) -> None:
        from safetensors.torch import load_file, save_file

        tensors = load_file(checkpoint / name)
        change(tensors)
        save_file(tensors, checkpoint / name)

    return apply


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change_tensors(WEIGHTS, lambda t: t.popitem()), "is missing; is it a checkpoint of this run"),
        (change_tensors(WEIGHTS, lambda t: t.update(x=torch.ones(2))), "x has no place in this model"),
        (
            change_tensors(WEIGHTS, lambda t: t.update({min(t): torch.ones(2)})),
            r"is \(\(2,\), torch.float32\)",
        ),
        (change_tensors(WEIGHTS, lambda t: t.update({min(t): t[min(t)] * torch.nan})), "not a finite number"),
        (change_tensors(WEIGHTS, lambda t: t.update({min(t): t[min(t)].double()})), r"torch\.float64"),
        (change_tensors(MOMENTS, lambda t: t.pop(min(t))), "is missing"),
        (change_tensors(MOMENTS, lambda t: t.update({max(t): torch.ones(3)})), "the model needs"),
        (change_json(STATE, lambda s: s.update(schedule_steps="3")), "schedule_steps must be a whole number"),
        (change_json(STATE, lambda s: s.update(scaler={})), "fits another --mixed-precision"),
        (change_json(STATE, lambda s: s.update(more=1)), "must be an object with"),
        (change_json("progress.json", lambda p: p.update(step=-1)), "step is not what a run writes there"),
        (
            change_json("progress.json", lambda p: p.update(step=10**9)),
            "step 1000000000 of a run of 11 steps",
        ),
        (change_json("progress.json", lambda p: p.update(window=[1, 2, 3])), "window is not what"),
        (change_json("progress.json", lambda p: p.update(best="good")), "best is not what"),
        (change_json("progress.json", lambda p: p["history"]["train"].append({})), "history is not what"),
        (change_json("progress.json", lambda p: p.pop("stopped")), "must be an object with"),
        (change_json("progress.json", lambda p: p.update(settings={})), "belongs to a run with another base"),
    ],
)
def test_checkpoint_with_wrong_contents_is_refused(damage, message, copied, bases, pairs):
    checkpoint = only_checkpoint(copied)
    damage(checkpoint)
    seal(checkpoint)
    with pytest.raises(UserError, match=message):
        train(short(bases, "seq2seq"), pairs, copied, resume=True)
    assert not copied.exists()


def test_resuming_with_other_settings_is_refused(copied, bases, pairs):
    with pytest.raises(UserError, match=r"belongs to a run with another core_lr \('0\.001', now 0\.5\)"):
        train(short(bases, "seq2seq", core_lr=0.5), pairs, copied, resume=True)


def test_resuming_with_other_pairs_or_another_tokenizer_is_refused(copied, bases, pairs):
    checkpoint = only_checkpoint(copied)
    for name, value, message in (
        ("pairs", {"seed": 1}, "other pairs"),
        ("tokenizer", "x", "another tokenizer"),
    ):
        progress = json.loads((finished := checkpoint / "progress.json").read_text())
        kept = progress["settings"][name]
        progress["settings"][name] = value
        finished.write_text(json.dumps(progress))
        seal(checkpoint)
        with pytest.raises(UserError, match=f"belongs to a run with {message}"):
            train(short(bases, "seq2seq"), pairs, copied, resume=True)
        progress["settings"][name] = kept
        finished.write_text(json.dumps(progress))


def test_existing_run_is_not_overwritten(finished, copied, bases, pairs):
    for output in (finished, copied):
        with pytest.raises(UserError, match="holds a run already"):
            train(short(bases, "seq2seq"), pairs, output)


def test_finished_run_resumed_stays_as_it_is_and_a_foreign_folder_is_never_replaced(
    finished, bases, pairs, tmp_path, capsys
):
    before = {path: path.stat().st_mtime_ns for path in finished.iterdir()}
    accuracy = train(short(bases, "seq2seq"), pairs, finished, resume=True)
    assert accuracy == json.loads((finished / "training.json").read_text())["test"]
    assert "has come to its end already" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in finished.iterdir()} == before
    with pytest.raises(UserError, match="belongs to a run with another seed"):
        train(short(bases, "seq2seq", seed=1), pairs, finished, resume=True)
    (tmp_path / "mine").mkdir()
    with pytest.raises(UserError, match="exists and was not made by this run"):
        train(short(bases, "seq2seq"), pairs, tmp_path / "mine", resume=True)
    for output in (bases["seq2seq"], pairs):
        with pytest.raises(UserError, match=r"is what the run starts from|was not made by this run"):
            train(short(bases, "seq2seq"), pairs, output, resume=True)


def test_disk_full_while_a_checkpoint_is_written_leaves_the_last_good_one(
    bases, pairs, tmp_path, monkeypatch
):
    from safetensors import SafetensorError

    settings, save_file, written = short(bases), __import__("safetensors.torch").torch.save_file, []

    def full(tensors, path, metadata=None):
        if ".building" in str(path):
            written.append(path)
            if len(written) == 4:  # the optimiser's state of the second checkpoint
                raise SafetensorError(
                    "Error while serializing: I/O error: No space left on device (os error 28)"
                )
        save_file(tensors, path, metadata)

    whole = train(settings, pairs, tmp_path / "whole")
    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(
        UserError, match=r"No space left on device.*step-000000003 is whole: make room and go on"
    ):
        train(settings, pairs, tmp_path / "full")
    folder = tmp_path / "full.run" / "checkpoints"
    assert [path.name for path in folder.iterdir()] == ["step-000000003"]
    monkeypatch.undo()
    assert train(settings, pairs, tmp_path / "full", resume=True) == whole
    assert weights(tmp_path / "full") == weights(tmp_path / "whole")


def test_too_little_disk_is_said_before_training(bases, pairs, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**12, 10**12, 10))
    with pytest.raises(UserError, match="too little disk"):
        train(short(bases), pairs, tmp_path / "model")
