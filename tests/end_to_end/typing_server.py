"""Runs commands as a shell would, without paying for the imports of torch and the harness each time.

    python typing_server.py        reads one JSON object per line, answers with one exit code per line

The server imports the heavy libraries once (none of this project's modules) and forks for each command. The child
has its own folder, environment, standard output and standard error, runs `python -m MODULE ARGUMENTS`, and ends as
a Python process ends: exit handlers run, an exception that nobody caught prints its traceback.
"""

import importlib
import json
import os
import runpy
import signal
import sys
import time
from pathlib import Path

HEAVY = (
    "torch",
    "transformers",
    "lm_eval",
    "lm_eval.evaluator",
    "lm_eval.models.huggingface",
    "lm_eval._cli",
)
HEAVY += ("datasets", "accelerate", "scipy.stats", "jinja2", "requests")


def become(command: dict) -> None:
    """Turns the forked child into the process that the command asks for, and runs the module."""
    os.setpgid(0, 0)  # so that a command that hangs is ended together with what it has started
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    for number, name in enumerate((os.devnull, command["stdout"], command["stderr"])):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(name, flags, 0o644), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = [command["module"], *command["arguments"]]
    sys.path[:0] = [command["folder"], *command["environment"].get("PYTHONPATH", "").split(os.pathsep)]
    for file in Path(command["folder"]).glob(
        "*.py"
    ):  # in a new process these would come before installed packages
        sys.modules.pop(file.stem, None)
    runpy.run_module(command["module"], run_name="__main__", alter_sys=True)


def wait_for(child: int, seconds: float) -> int:
    """The exit code; a command that takes longer than `seconds` is killed and reported as 124."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 124
        time.sleep(0.01)


def main() -> None:
    for name in HEAVY:
        importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    answers.write("ready\n")
    for line in sys.stdin:
        command = json.loads(line)
        child = os.fork()
        if child == 0:
            answers.close()
            become(command)
            return
        answers.write(f"{wait_for(child, command['seconds'])}\n")


if __name__ == "__main__":
    main()
