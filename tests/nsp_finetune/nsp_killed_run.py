"""Trains until a given point and there kills itself for good: python nsp_killed_run.py POINT ARGUMENTS_OF_TRAIN

POINT: step=N (SIGKILL in the middle of optimiser step N) or checkpoint=N (while the checkpoint of step N is written).
"""

import os
import signal
import sys

from nsp_finetune import checkpoints, cli
from nsp_finetune.train import Run

kind, number = sys.argv[1].split("=")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


optimise, write_json = Run.optimise, checkpoints.write_json


def optimise_or_die(run, step, batches):
    if kind == "step" and step == int(number):
        run.optimizer.step()  # weights already differ from those of the last checkpoint
        die()
    optimise(run, step, batches)


def write_or_die(path, value):
    if kind == "checkpoint" and path.name == checkpoints.PROGRESS and value["step"] == int(number):
        die()
    write_json(path, value)


Run.optimise, checkpoints.write_json = optimise_or_die, write_or_die
cli.main(["train", *sys.argv[2:]])
