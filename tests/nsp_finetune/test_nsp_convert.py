"""The authors' checkpoints: the same scores as their program, and nothing in them runs."""

import json
import os
import pickle
from pathlib import Path

import pytest
import torch

from lm_eval_stereoset.benchmarks.stereoset.pickles import read_pickle
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.nsp_folder import load_nsp_model
from lm_eval_stereoset.scoring.nsp_settings import read_settings
from nsp_finetune.convert import convert

ENGLISH = "upstream/stereotypes-multi/create_dataset/data/intersentence/df_intersentence_en.pkl"


@pytest.fixture(scope="module")
def candidates(shared: Path) -> list[tuple[str, tuple[str, str]]]:
    examples = read_pickle(shared / ENGLISH, "inter")
    return [(c.id, (example.context, c.sentence)) for example in examples for c in example.candidates]


@pytest.mark.parametrize("name", ["gpt2", "t5", "mt5"])
def test_converted_checkpoint_scores_as_the_authors_program(name, shared, candidates, tmp_path):
    source = shared / f"golden/models/tiny-{name}-nsp"
    convert(source / "nsp_model.pth", str(source), tmp_path / "converted")
    model = load_nsp_model(tmp_path / "converted")
    golden = json.loads(
        (shared / f"golden/scores/tiny-{name}-nsp__intersentence__ModelNSP__en.json").read_text()
    )
    assert len(golden) == len(candidates)
    for batch_size, chosen in ((64, candidates), (5, candidates[:400]), (1, candidates[-150:])):
        scores = model.is_next_probability([pair for _, pair in chosen], batch_size)
        assert scores == pytest.approx([golden[id_] for id_, _ in chosen], rel=1e-5)


def test_converted_settings_say_how_the_authors_program_reads_it(shared, tmp_path):
    expected = {
        "gpt2": ("decoder", "", 1),
        "t5": ("seq2seq", "binary classification: ", 2),
        "mt5": ("seq2seq", "", 2),
    }
    for name, values in expected.items():
        source = shared / f"golden/models/tiny-{name}-nsp"
        convert(source / "nsp_model.pth", str(source), tmp_path / name)
        settings = read_settings(tmp_path / name)
        assert (settings.family, settings.prefix, settings.label_step) == values
        assert settings.is_next_class == 1


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_code_in_a_checkpoint_does_not_run(bases, tmp_path):
    (tmp_path / "bomb.pth").write_bytes(
        pickle.dumps({"model_state_dict": Bomb(tmp_path / "ran")}, protocol=2)
    )
    torch.save({"model_state_dict": Bomb(tmp_path / "ran")}, tmp_path / "zip.pth")
    for name in ("bomb.pth", "zip.pth"):
        with pytest.raises(UserError, match="not a checkpoint of weights alone"):
            convert(tmp_path / name, str(bases["decoder"]), tmp_path / "out")
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "out").exists()


def checkpoint_of(bases, tmp_path, change) -> Path:
    """A checkpoint in the authors' format from our own model, after `change(state)`."""
    from nsp_finetune.models import new_model

    model = new_model(str(bases["decoder"]))
    state = {f"module.core_model.{key}": value for key, value in model.core.state_dict().items()}
    state |= {f"module.nsp_head.{key}": value for key, value in model.head.state_dict().items()}
    change(state)
    torch.save({"model_state_dict": state}, tmp_path / "nsp_model.pth")
    return tmp_path / "nsp_model.pth"


def test_extra_buffers_of_old_versions_are_left_out(bases, tmp_path):
    buffers = {f"module.core_model.h.0.attn.{name}": torch.ones(1) for name in ("bias", "masked_bias")}
    checkpoint = checkpoint_of(bases, tmp_path, lambda state: state.update(buffers))
    convert(checkpoint, str(bases["decoder"]), tmp_path / "out")
    assert load_nsp_model(tmp_path / "out").settings.family == "decoder"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: s.update({"module.nsp_head.0.weight": torch.zeros(300, 7)}),
            r"does not fit the model: 0\.weight",
        ),
        (lambda s: s.pop("module.nsp_head.2.bias"), r"does not fit the model: 2\.bias is missing"),
        (lambda s: s.update({"module.core_model.ln_f.weight": torch.zeros(7)}), "is --base the right model"),
        (lambda s: s.update({"module.core_model.h.5.x": torch.zeros(7)}), "no place in the base model"),
        (lambda s: s.pop("module.core_model.ln_f.bias"), "lacks ln_f.bias"),
        (lambda s: s.update({"classifier.weight": torch.zeros(7)}), "unknown entry 'classifier.weight'"),
    ],
)
def test_checkpoint_that_does_not_fit_is_refused_before_anything_is_written(bases, tmp_path, change, message):
    checkpoint = checkpoint_of(bases, tmp_path, change)
    with pytest.raises(UserError, match=message):
        convert(checkpoint, str(bases["decoder"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_cut_off_checkpoint_is_refused(bases, tmp_path):
    checkpoint = checkpoint_of(bases, tmp_path, lambda state: None)
    checkpoint.write_bytes(checkpoint.read_bytes()[:2000])
    with pytest.raises(UserError, match="not a checkpoint of weights alone: cut off"):
        convert(checkpoint, str(bases["decoder"]), tmp_path / "out")


def test_untied_output_weights_survive_a_tied_base(bases, tmp_path):
    """mT5 keeps its output weights apart; a base that ties them must not swallow them."""
    from nsp_finetune.models import new_model

    model = new_model(str(bases["seq2seq"]))
    state = {f"core_model.{key}": value.clone() for key, value in model.core.state_dict().items()}
    state["core_model.lm_head.weight"] += 1.0
    torch.save({"model_state_dict": state}, tmp_path / "nsp_model.pth")
    convert(tmp_path / "nsp_model.pth", str(bases["seq2seq"]), tmp_path / "out")
    core = load_nsp_model(tmp_path / "out").core
    torch.testing.assert_close(core.lm_head.weight.data, state["core_model.lm_head.weight"])
    torch.testing.assert_close(core.shared.weight.data, state["core_model.shared.weight"])
