"""Trains until a given point and there kills itself for good: python nsp_killed_run.py POINT=N ARGUMENTS_OF_TRAIN

Several points, with commas between them: a process for each, one after the other, all but the first with --resume;
then what became of each is printed as JSON: {point: [exit status, checkpoint that is left]}.

step=N      in the middle of optimiser step N, when weights already differ from those of the last checkpoint
weights=N   while the weights of checkpoint N are written: half a file is there
moments=N   the same for the optimiser's state
state=N     before the schedule's numbers are written; progress=N, manifest=N: before those files
name=N      when checkpoint N is complete but has no name yet
rotate=N    after checkpoint N, when the first file of an old one has been deleted
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import safetensors.torch

from nsp_finetune import checkpoints, cli, state
from nsp_finetune.train import TrainingRun

FILES = {"state": state.STATE, "progress": checkpoints.PROGRESS, "manifest": checkpoints.MANIFEST}
TENSORS = {"weights": state.WEIGHTS, "moments": state.MOMENTS}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


optimise, write_json, save_file = TrainingRun.optimise, checkpoints.write_json, safetensors.torch.save_file
rename, rmtree = Path.rename, shutil.rmtree


def run_until(point: str, arguments: list[str]) -> None:
    kind, number = point.split("=")[0], int(point.split("=")[1])
    building = f".step-{number:09d}.building"

    def optimise_or_die(run, step, batches):
        if kind == "step" and step == number:
            run.optimizer.step()
            die()
        optimise(run, step, batches)

    def write_or_die(path, value):
        if path.parent.name == building and path.name == FILES.get(kind):
            die()
        write_json(path, value)

    def save_or_die(tensors, path, metadata=None):
        save_file(tensors, path, metadata)
        path = Path(path)
        if path.parent.name == building and path.name == TENSORS.get(kind):
            os.truncate(path, path.stat().st_size // 2)
            die()

    def rename_or_die(path, target):
        if kind == "name" and path.name == building:
            die()
        return rename(path, target)

    def remove_or_die(path, ignore_errors=False):
        newest = Path(path).parent / f"step-{number:09d}"
        if kind == "rotate" and newest.is_dir() and Path(path).name.startswith("step-"):
            min(Path(path).iterdir()).unlink()
            die()
        rmtree(path, ignore_errors=ignore_errors)

    TrainingRun.optimise, checkpoints.write_json, state.write_json = (
        optimise_or_die,
        write_or_die,
        write_or_die,
    )
    safetensors.torch.save_file, Path.rename, shutil.rmtree = save_or_die, rename_or_die, remove_or_die
    cli.main(["train", *arguments])


def run_in_a_process(point: str, arguments: list[str]) -> int:
    """Forked before anything was computed."""
    if (child := os.fork()) == 0:
        run_until(point, arguments)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


points, options = sys.argv[1].split(","), sys.argv[2:]
if len(points) == 1:
    run_until(points[0], options)
else:
    import accelerate  # noqa: F401  once here, not again in every process
    import datasets  # noqa: F401
    from transformers import (  # noqa: F401
        AutoModel,
        GPT2Model,
        PreTrainedTokenizerFast,
        get_cosine_with_hard_restarts_schedule_with_warmup,
    )

    folder = Path(options[options.index("--output") + 1] + ".run") / "checkpoints"
    result = {}
    for point in points:
        status = run_in_a_process(point, [*options, *(["--resume"] if result else [])])
        left = checkpoints.newest(folder)
        result[point] = [status, left and left.name]
    print(json.dumps(result))
