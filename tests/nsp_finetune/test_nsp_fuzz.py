"""Damaged settings, pairs, corpora and checkpoints: a result or one line, never a traceback, and nothing runs.

Examples are few and the same every time, so that the suite stays quick.
"""

import json
import pickle
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nsp_runs import short
from test_nsp_checkpoints import Bomb, only_checkpoint, seal

from lm_eval_stereoset.errors import UserError
from nsp_finetune import checkpoints
from nsp_finetune.convert import read_authors_state, split_state
from nsp_finetune.corpus import read, resolve
from nsp_finetune.data import load_pairs
from nsp_finetune.prepare import read_statistics
from nsp_finetune.settings import TrainSettings, load_settings, refuse_other_run
from nsp_finetune.state import read_state
from nsp_finetune.train import TrainingRun

QUICK = settings(
    max_examples=60, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
NAMES = st.sampled_from([*TrainSettings.__dataclass_fields__, "batch", "", "<<"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from([10**400, -(10**20), "\ud800", "\0", "9" * 5000, "5e-6", "no"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damages(draw, content: bytes):
    """The same bytes with some cut off, changed, doubled or put in."""
    begin = draw(st.integers(0, len(content)))
    end = min(len(content), begin + draw(st.sampled_from([0, 1, 8, 200, len(content)])))
    put_in = draw(st.sampled_from([b"", b"\0", b"\xff\xfe", b"[" * 3000, b"9" * 5000, b"null", b'"\\ud800"']))
    kind = draw(st.sampled_from(["replace", "flip", "double"]))
    middle = {
        "replace": put_in,
        "flip": bytes(byte ^ 0xA5 for byte in content[begin:end]),
        "double": content[begin:end] * 2,
    }
    return content[:begin] + middle[kind] + content[end:]


@st.composite
def changed_json(draw, value):
    """The same tree with one place changed or removed."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 3)) == 0:
        return draw(VALUES)
    copy = value.copy()
    key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    if draw(st.booleans()):
        copy.pop(key)
    else:
        copy[key] = draw(changed_json(value[key]))
    return copy


def attempt(action):
    """(result, "") or (None, the line that the user sees); anything else that is raised fails the test."""
    try:
        return action(), ""
    except UserError as error:
        return None, str(error)


def dumped(value) -> bytes:
    return json.dumps(value).encode()


@QUICK
@given(st.data())
def test_settings_files(tmp_path, data):
    path = tmp_path / "own.yaml"
    table = data.draw(st.dictionaries(NAMES, VALUES, max_size=3))
    path.write_bytes(
        data.draw(st.just(dumped(table)) | damages(b"batch_size: 4\nprefix: 'a: '\ncore_lr: 5e-6\n"))
    )
    try:
        loaded = load_settings(str(path), {})
    except UserError:
        return
    assert isinstance(loaded.batch_size, int)
    assert loaded.core_lr > 0
    loaded.prefix.encode()


@QUICK
@given(st.data())
def test_corpora(tmp_path, data):
    path = tmp_path / "en.jsonl"
    good = b'{"id": "1", "text": "A ship. A wave."}\n{"id": 2, "text": "Soup. Bread."}\n'
    path.write_bytes(data.draw(damages(good) | VALUES.map(dumped)))
    articles, line = attempt(lambda: list(read(resolve([f"en={path}"], [])[0])))
    if articles is None:
        assert "en.jsonl" in line
    else:
        assert all(isinstance(part, str) for article in articles for part in article)
        "".join(text for _, text in articles).encode()


@QUICK
@given(st.data())
def test_pair_files(pairs, tmp_path, data):
    folder = tmp_path / "pairs"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pairs, folder)
    victim = next((folder / "test").glob("*.arrow"))
    victim.write_bytes(data.draw(damages(victim.read_bytes())))
    statistics = json.loads((pairs / "statistics.json").read_text())
    (folder / "statistics.json").write_bytes(data.draw(changed_json(statistics).map(dumped)))
    loaded, line = attempt(lambda: load_pairs(folder, "test"))
    if loaded is None:
        assert "make the pairs anew" in line.lower()
    else:
        assert set(loaded["label"]) <= {0, 1}
        assert all(isinstance(text, str) for text in loaded["first"])
    statistics, line = attempt(lambda: read_statistics(folder))
    assert line or statistics["languages"]


@pytest.fixture(scope="module")
def run_at_its_end(finished, bases, pairs, tmp_path_factory):
    """A run with the objects that a checkpoint is read into."""
    from accelerate.state import AcceleratorState

    run = TrainingRun(short(bases, "seq2seq"), pairs, tmp_path_factory.mktemp("fuzz") / "model", resume=False)
    AcceleratorState._reset_state(True)
    return run


@QUICK
@given(st.data())
def test_checkpoints(run_at_its_end, copied, data):
    """Each file damaged, or another value in it, or a pickle in its place, under a manifest that fits or does not."""
    whole, ran = only_checkpoint(copied), copied.with_name("ran")
    original = {path.name: path.read_bytes() for path in whole.iterdir()}
    checkpoint = copied.with_name("damaged") / whole.name
    shutil.rmtree(checkpoint, ignore_errors=True)
    shutil.copytree(whole, checkpoint)
    name = data.draw(st.sampled_from(sorted(original)))
    damaged = st.just(pickle.dumps(Bomb(ran), protocol=2)) | damages(original[name])
    if name.endswith(".json"):
        damaged |= changed_json(json.loads(original[name])).map(dumped)
    (checkpoint / name).write_bytes(data.draw(damaged))
    if name != checkpoints.MANIFEST and data.draw(st.booleans()):
        seal(checkpoint)
    run = run_at_its_end
    before = {key: value.clone() for key, value in run.plain.state_dict().items()}

    def resume() -> bool:
        found = checkpoints.newest(checkpoint.parent)
        progress = checkpoints.read_progress(found)
        refuse_other_run(progress["settings"], run.progress["settings"], found)
        read_state(found, run.plain, run.optimizer.optimizer, run.scheduler, None)
        return True

    if attempt(resume)[0] is None:  # nothing is half-read
        assert all(value.equal(run.plain.state_dict()[key]) for key, value in before.items())
    assert not ran.exists()


@QUICK
@given(st.data())
def test_authors_checkpoints(shared, tmp_path, data):
    ran = tmp_path / "ran"
    content = (shared / "golden/models/tiny-gpt2-nsp/nsp_model.pth").read_bytes()
    path: Path = tmp_path / "nsp_model.pth"
    path.write_bytes(data.draw(st.just(pickle.dumps(Bomb(ran), protocol=2)) | damages(content)))
    state, line = attempt(lambda: split_state(read_authors_state(path), str(path)))
    assert state or "nsp_model.pth" in line
    assert not ran.exists()
