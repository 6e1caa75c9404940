"""An interrupted `stereoset predict` goes on and ends with the same bits; notes that cannot be trusted are not used."""

import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.cli import main, predict, predict_notes
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import CandidateScore

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = 28  # in the sample's intra split


@pytest.fixture
def model(shared, tmp_path):
    return shutil.copytree(shared / "golden" / "models" / "tiny-gpt2", tmp_path / "model")


@pytest.fixture
def scored(monkeypatch):
    """Few examples at once; how many were scored."""
    monkeypatch.setattr(predict, "AT_ONCE", 4)
    numbers = []
    adding = predict_notes.Notes.add
    monkeypatch.setattr(
        predict_notes.Notes,
        "add",
        lambda self, part, s: (numbers.append(len(part.examples)), adding(self, part, s)),
    )
    return numbers


def run(model, out, *more) -> int:
    arguments = [
        str(model),
        "--language",
        "en",
        "--split",
        "intra",
        "--data",
        "sample",
        "-o",
        str(out),
        "--quiet",
    ]
    return main(["predict", *arguments, *more])


def interrupt_after(number, monkeypatch):
    adding = predict_notes.Notes.add
    left = [number]

    def add(self, part, scores):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        adding(self, part, scores)

    monkeypatch.setattr(predict_notes.Notes, "add", add)
    return adding


def interrupted(model, out, monkeypatch, after=3) -> Path:
    with monkeypatch.context() as patch:
        interrupt_after(after, patch)
        assert run(model, out) == 130
    assert not out.exists()
    return out.with_name(out.name + ".part")


def test_an_interrupted_run_goes_on_and_ends_with_the_same_bytes(model, tmp_path, scored, monkeypatch):
    whole, out = tmp_path / "whole.json", tmp_path / "out.json"
    assert run(model, whole) == 0
    part = interrupted(model, out, monkeypatch)
    with open(part, "a") as handle:
        handle.write('["intra 12", [["cut off')
    scored.clear()
    assert run(model, out) == 0
    assert sum(scored) == EXAMPLES - 12
    assert out.read_bytes() == whole.read_bytes()
    assert not part.exists()


DAMAGES = {
    "not a number": lambda rows: rows[1][1].__setitem__(0, math.nan),
    "infinity": lambda rows: rows[1][1].__setitem__(0, math.inf),
    "text": lambda rows: rows[1][1].__setitem__(0, "0.5"),
    "a truth value": lambda rows: rows[1][1].__setitem__(0, True),
    "below zero": lambda rows: rows[1][1].__setitem__(0, -0.5),
    "two scores": lambda rows: rows[1][1].pop(),
    "four scores": lambda rows: rows[1][1].append(0.5),
    "no scores": lambda rows: rows[1].__setitem__(1, None),
    "an unknown example": lambda rows: rows[1].__setitem__(0, "nobody"),
    "an example twice": lambda rows: rows[1].__setitem__(0, rows[0][0]),
    "an example too few": lambda rows: rows.pop(),
    "an example too many": lambda rows: rows.append(["nobody", [0.1, 0.2, 0.3]]),
}


LINES = [
    b"",
    b"null",
    b"[]",
    b"\xff\xfe",
    b"[" * 50_000,
    b'["intra 4", 5]',
    b'[["intra 4"], []]',
    b'["intra 5", []]',
]


@pytest.fixture
def part():
    return predict_notes.Part("intra", 4, store.load(STEREOSET, "intra", "en", "sample").examples[4:8])


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_part_with_a_wrong_entry_is_not_used(part, damage):
    rows = [[example.id, [0.1, 0.2, 0.3]] for example in part.examples]
    expected = {part.name: part}
    good = predict_notes.usable(json.dumps([part.name, rows]).encode(), expected)
    assert good == {"intra 4": [[0.1, 0.2, 0.3]] * 4}
    DAMAGES[damage](rows)
    assert predict_notes.usable(json.dumps([part.name, rows]).encode(), expected) == {}


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_line_of_another_kind_is_not_used(part, line):
    assert predict_notes.usable(line, {part.name: part}) == {}


def test_parts_with_wrong_lines_are_scored_again(model, tmp_path, scored, monkeypatch):
    whole, out = tmp_path / "whole.json", tmp_path / "out.json"
    assert run(model, whole) == 0
    notes = interrupted(model, out, monkeypatch, after=4)
    lines = notes.read_bytes().split(b"\n")
    name, rows = json.loads(lines[2])
    rows[0][1][0] = math.nan
    lines[2], lines[3] = json.dumps([name, rows]).encode(), b"\xff\xfe"
    notes.write_bytes(b"\n".join(lines))
    scored.clear()
    assert run(model, out) == 0
    assert sum(scored) == EXAMPLES - 8
    assert out.read_bytes() == whole.read_bytes()


def test_a_checkpoint_that_has_changed_meanwhile_starts_anew(model, tmp_path, scored, monkeypatch):
    """Half of the scores from one model and half from another would look like any file."""
    from safetensors.torch import load_file, save_file

    interrupted(model, tmp_path / "out.json", monkeypatch)
    weights = load_file(model / "model.safetensors")
    name = min(weights)
    weights[name] = weights[name] + 0.01
    save_file(weights, model / "model.safetensors", {"format": "pt"})
    scored.clear()
    assert run(model, tmp_path / "out.json") == 0
    assert sum(scored) == EXAMPLES


def test_a_moved_checkpoint_goes_on(model, tmp_path, scored, monkeypatch):
    interrupted(model, tmp_path / "out.json", monkeypatch)
    scored.clear()
    assert run(model.rename(tmp_path / "moved"), tmp_path / "out.json") == 0
    assert sum(scored) == EXAMPLES - 12


@pytest.mark.parametrize("more", [["--dtype", "bfloat16"], ["--exact"]])
def test_other_settings_start_anew(model, tmp_path, scored, monkeypatch, more):
    interrupted(model, tmp_path / "out.json", monkeypatch)
    scored.clear()
    assert run(model, tmp_path / "out.json", *more) == 0
    assert sum(scored) == EXAMPLES


def test_a_second_process_on_the_same_file_is_told_so(model, tmp_path, capsys):
    with predict_notes.Notes(tmp_path / "out.json"):
        assert run(model, tmp_path / "out.json") == 2
    assert "another `stereoset predict` is writing to it" in capsys.readouterr().err
    assert run(model, tmp_path / "out.json") == 0


def test_a_full_disk_is_one_line_and_the_notes_are_kept(tmp_path):
    examples = store.load(STEREOSET, "intra", "en", "sample").examples
    parts = predict_notes.parts_of({"intra": examples}, 4)
    scores = [tuple(CandidateScore(-1.0 - i, 1) for i in range(3))] * 4
    output = tmp_path / "out.json"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with predict_notes.Notes(output) as notes:
            notes.begin({}, parts)
            notes.add(parts[0], scores)
            resource.setrlimit(resource.RLIMIT_FSIZE, (notes.path.stat().st_size + 50, hard))
            with pytest.raises(UserError, match="the notes so far are kept"):
                notes.add(parts[1], scores)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    with predict_notes.Notes(output) as notes:
        notes.begin({}, parts)
        assert list(notes.scores) == ["intra 0"]


KILLED_RUN = """
import sys
from lm_eval_stereoset.cli import main, predict, predict_notes
predict.AT_ONCE = 2
adding = predict_notes.Notes.add
def slowly(self, part, scores):
    import time
    time.sleep(0.05)
    adding(self, part, scores)
predict_notes.Notes.add = slowly
sys.exit(main(sys.argv[1:]))
"""


def test_kills_at_any_moment_change_no_byte(model, tmp_path):
    arguments = ["predict", str(model), "--language", "en", "--data", "sample", "--quiet", "-o"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment["STEREOSET_MATMUL"] = (
        "torch"  # chosen by timing otherwise, which each process does for itself
    )

    def start(out):
        command = [sys.executable, "-c", KILLED_RUN, *arguments, str(out)]
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    whole, out = tmp_path / "whole.json", tmp_path / "out.json"
    assert start(whole).wait(120) == 0
    notes = tmp_path / "out.json.part"
    for lines in (1, 9, 20):  # killed once so many lines are there
        process = start(out)
        while process.poll() is None and not (notes.exists() and notes.read_bytes().count(b"\n") > lines):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not out.exists()
    assert start(out).wait(120) == 0
    assert out.read_bytes() == whole.read_bytes()
    assert not notes.exists()
