"""Projections on disk: what is read is what was written, and damage of every kind is one line."""

import json
import shutil

import pytest
import torch
from debias_models import PAIRS, Words, answers, made

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.interventions import stored
from lm_eval_stereoset.interventions.fitting import fit, intervention
from lm_eval_stereoset.interventions.levels import LAYER11, LAYER12, SENT, Setting
from lm_eval_stereoset.interventions.places import places_of


@pytest.fixture(scope="module")
def model():
    return made("bert")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    found = fit(model, Words(), places_of(model), PAIRS)
    about = {"fitted_on": {"model": "toy", "weights": stored.base_weights(model)}, "pairs": {"count": 48}}
    path = tmp_path_factory.mktemp("stored") / "d"
    stored.save(intervention(found, Setting(LAYER11, (0, 1, 1, 0, 1)), about), path)
    return path


def test_what_is_read_is_what_was_written(folder, tmp_path):
    found = stored.load(folder)
    stored.save(found, tmp_path / "again")
    again = stored.load(tmp_path / "again")
    assert found.name == again.name == "layer11 (0,1,1,0,1)"
    assert found.fingerprint == again.fingerprint
    assert found.about == again.about
    for name in (stored.ABOUT, stored.TENSORS):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert {path.name for path in folder.iterdir()} == {stored.ABOUT, stored.TENSORS}


def damage(folder, about=None, tensors=None):
    """Rewrites entries of the JSON, or tensors with the checksum made to fit."""
    import hashlib

    from safetensors.torch import load_file, save

    path = folder / stored.ABOUT
    content = json.loads(path.read_text())
    if tensors:
        data = save({**load_file(folder / stored.TENSORS), **tensors})
        (folder / stored.TENSORS).write_bytes(data)
        content["sha256"] = hashlib.sha256(data).hexdigest()
    path.write_text(json.dumps(content | (about or {})))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: (f / stored.ABOUT).unlink(), "not a folder with projections"),
        (lambda f: (f / stored.TENSORS).unlink(), "no such file"),
        (lambda f: (f / stored.ABOUT).write_text("{"), "not valid JSON"),
        (lambda f: (f / stored.ABOUT).write_text("[]"), "names no projections"),
        (lambda f: (f / stored.TENSORS).write_bytes(b"x" * 90), "checksum is not the one"),
        (lambda f: damage(f, {"format": 99}), "format 99 is unknown"),
        (lambda f: damage(f, {"name": None}), "no name"),
        (lambda f: damage(f, {"projections": []}), "names no projections"),
        (lambda f: damage(f, {"projections": [3]}), "names no module"),
        (lambda f: damage(f, {"projections": [{"module": "x", "positions": "last"}]}), "positions"),
        (lambda f: damage(f, {"projections": [{"module": "x", "positions": "all"}] * 2}), "a module twice"),
        (lambda f: damage(f, tensors={"0.basis": torch.ones(1, 2, 24)}), "not orthonormal"),
        (lambda f: damage(f, tensors={"0.basis": torch.full((1, 2, 24), torch.nan)}), "no fit gives"),
        (lambda f: damage(f, tensors={"0.weights": torch.full((1, 2), 1.5)}), "no fit gives"),
        (lambda f: damage(f, tensors={"0.weights": torch.ones(1, 3)}), "another shape"),
        (lambda f: damage(f, tensors={"0.basis": torch.ones(24)}), "another shape"),
    ],
)
def test_a_damaged_folder_is_one_line(folder, tmp_path, spoil, says):
    copy = shutil.copytree(folder, tmp_path / "copy")
    spoil(copy)
    with pytest.raises(UserError, match=says) as caught:
        stored.load(copy)
    assert str(copy) in str(caught.value)


def test_somebody_elses_folder_is_not_replaced(folder, tmp_path):
    (tmp_path / "mine").mkdir()
    stored.refuse_other_folder(tmp_path / "mine")  # an empty one may be filled
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="does not hold projections"):
        stored.refuse_other_folder(tmp_path / "mine")
    stored.refuse_other_folder(folder)


def test_other_weights_and_what_is_not_reached_are_said(model, folder, tmp_path, caplog):
    found = fit(model, Words(), places_of(model), PAIRS)
    stored.attach(folder, made("bert"), {"fill": "masked", "follow": "nsp"})
    assert not caplog.records
    other = made("bert")
    other.bert.pooler.dense.bias.data[0] += 1
    stored.attach(folder, other, {})
    assert "fitted on other weights" in caplog.text
    caplog.clear()
    for level, numbers in ((SENT, (0,)), (LAYER12, (0, 0, 0))):
        stored.save(intervention(found, Setting(level, numbers)), tmp_path / level)
        stored.attach(tmp_path / level, made("bert"), {"fill": "masked", "follow": "nsp"})
        assert "are those of the model as it was" in caplog.text
        caplog.clear()
        stored.attach(tmp_path / level, made("bert"), {"follow": "nsp"})
        assert not caplog.records


def test_a_projection_that_says_it_reaches_nothing_else_is_right(model):
    """The masked-language-model head at all tokens but the first answers as before."""
    found = fit(model, Words(), places_of(model), PAIRS)
    before = answers(model)[0]
    with intervention(found, Setting(LAYER12, (0, 1, 0))).applied(model):
        after = answers(model)[0]
    assert torch.equal(after[:, 1:], before[:, 1:])
