"""What a user sees before the first score."""

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_stereoset.harness.bends import Quiet, quiet, without_repetition

ROOT = Path(__file__).resolve().parents[2]
BARS = {"hf": "Running loglikelihood requests:", "stereoset-hf": "scoring:"}


@pytest.mark.parametrize("server", ["", "true"])  # on build servers transformers logs more
@pytest.mark.parametrize("kind", BARS)
def test_at_most_ten_lines_before_the_progress_bar(tiny_models, tmp_path, kind, server):
    checkpoint = ids_outside_the_vocabulary(tiny_models["bos known"], tmp_path / "checkpoint")
    command = [sys.executable, "-m", "lm_eval_stereoset", "run", "--model", kind, "--tasks", "stereoset"]
    command += [
        "--model_args",
        f"pretrained={checkpoint}",
        "--metadata",
        "data=sample",
        "--limit",
        "6",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    environment["CI"] = server
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
    assert [
        sum(f"{token} must be" in line for line in lines) for token in ("bos_token_id", "eos_token_id")
    ] == [1, 1]
    assert "fatal: not a git repository" not in done.stderr
    (undefined,) = (line for line in lines if "NaN" in line)
    assert "standard errors of SS, LMS, ICAT of gender, profession" in undefined


def ids_outside_the_vocabulary(model: Path, folder: Path) -> Path:
    """As in many checkpoints with a tokenizer of their own and GPT-2's config: transformers warns of each id."""
    shutil.copytree(model, folder)
    for name in ("config.json", "generation_config.json"):
        ids = {"bos_token_id": 50256, "eos_token_id": 50256}
        (folder / name).write_text(json.dumps(json.loads((folder / name).read_text()) | ids))
    return folder


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


def test_a_warning_is_shown_once_and_an_error_every_time():
    library, seen = logging.getLogger("transformers"), []
    before = library.level
    library.setLevel(logging.WARNING)  # another test in this process may have raised it
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    library.addHandler(handler)
    try:
        with without_repetition():
            for message in ("the same %s", "the same %s", "another %s"):
                library.warning(message, "warning")
                library.error(message, "error")
        library.warning("the same warning")
    finally:
        library.setLevel(before)
        library.removeHandler(handler)
    assert [message for message in seen if "warning" in message] == [
        "the same warning",
        "another warning",
        "the same warning",
    ]
    assert len([message for message in seen if "error" in message]) == 3
