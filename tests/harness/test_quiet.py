"""What a user sees before the first score."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_stereoset.harness.bends import Quiet, quiet

ROOT = Path(__file__).resolve().parents[2]
BARS = {"hf": "Running loglikelihood requests:", "stereoset-hf": "causal scoring:"}


@pytest.mark.parametrize("kind", BARS)
def test_at_most_ten_lines_before_the_progress_bar(tiny_models, tmp_path, kind):
    command = [sys.executable, "-m", "lm_eval_stereoset", "run", "--model", kind, "--tasks", "stereoset"]
    command += [
        "--model_args",
        f"pretrained={tiny_models['bos known']}",
        "--metadata",
        "data=sample",
        "--limit",
        "6",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    environment.pop("LMEVAL_LOG_LEVEL", None)
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.replace("\r", "\n").splitlines() if line.strip()]
    first = next(number for number, line in enumerate(lines) if line.startswith(BARS[kind]))
    said = [line for line in lines[:first] if "it/s]" not in line]
    assert len(said) <= 10, "\n".join(said)
    assert sum("bundled sample" in line for line in said) == 1
    assert "fatal: not a git repository" not in done.stderr
    (undefined,) = (line for line in lines if "NaN" in line)
    assert "standard errors of SS, LMS, ICAT of gender, profession" in undefined


def record(name: str, level: int, message: str) -> logging.LogRecord:
    return logging.LogRecord(name, level, "", 0, message, None, None)


def test_only_what_is_known_is_left_out():
    shown = Quiet().filter
    assert not shown(record("lm_eval.evaluator", logging.INFO, "Setting random seed to 0"))
    assert shown(record("lm_eval.evaluator", logging.WARNING, "something else"))
    assert shown(record("lm_eval.tasks._index", logging.WARNING, "Task 'stereoset_de' from a overrides b"))
    assert shown(record("lm_eval.evaluator_utils", logging.ERROR, "an error"))


def test_debug_shows_everything():
    harness = logging.getLogger("lm_eval")
    handler, before = logging.NullHandler(), harness.level
    harness.addHandler(handler)
    try:
        for level, filters in ((logging.DEBUG, 0), (logging.INFO, 1)):
            harness.setLevel(level)
            with quiet():
                assert len(handler.filters) == filters
            assert not handler.filters
    finally:
        harness.setLevel(before)
        harness.removeHandler(handler)
