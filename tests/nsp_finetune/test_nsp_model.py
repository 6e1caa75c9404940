"""The saved next-sentence model: its input, what is read from the core, saving and loading."""

import json
import shutil

import pytest
import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.nsp_folder import load_nsp_model, save_nsp_model
from lm_eval_stereoset.scoring.nsp_model import NSPModel, joined, mean_over_real
from lm_eval_stereoset.scoring.nsp_settings import NSPSettings, read_settings
from nsp_finetune.models import guess_family, load_config, new_model, usable_length

PAIRS = [
    ("The ship and the wave saw a storm.", "The sailor and the anchor saw a ship."),
    ("The soup saw a plate.", "The bee."),
    ("The rose and the bee and the lawn saw a spade.", "The drum and the choir saw a flute."),
]


@pytest.fixture(params=["decoder", "encoder", "seq2seq"])
def model(request, bases) -> NSPModel:
    torch.manual_seed(1)
    return new_model(str(bases[request.param])).eval()


def test_family_is_recognised_from_the_config(bases):
    assert {family: guess_family(load_config(str(path))) for family, path in bases.items()} == {
        "decoder": "decoder",
        "encoder": "encoder",
        "seq2seq": "seq2seq",
    }


def test_score_does_not_depend_on_the_batch(model):
    alone = [model.is_next_probability([pair])[0] for pair in PAIRS]
    together = model.is_next_probability(PAIRS, batch_size=3)
    assert together == pytest.approx(alone, rel=1e-5)
    assert len(set(together)) == 3  # an untrained model still tells them apart


def test_saved_model_comes_back_with_the_same_scores(model, tmp_path):
    before = model.is_next_probability(PAIRS)
    save_nsp_model(model, tmp_path / "saved")
    assert load_nsp_model(tmp_path / "saved").is_next_probability(PAIRS) == before
    assert read_settings(tmp_path / "saved") == model.settings
    assert (tmp_path / "saved" / "nsp_head.safetensors").exists() == (model.head is not None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["saved"]  # no temporary folder is left


def test_decoder_mean_leaves_padding_out():
    hidden = torch.tensor([[[1.0], [3.0], [100.0]]])
    assert mean_over_real(hidden, torch.tensor([[1, 1, 0]])).item() == 2.0


def test_decoder_gets_a_padding_token_and_one_more_embedding_row(bases):
    base = load_config(str(bases["decoder"])).vocab_size
    model = new_model(str(bases["decoder"]))
    assert model.tokenizer.pad_token_id == base
    assert model.core.get_input_embeddings().weight.shape[0] == base + 1
    assert [tuple(layer.weight.shape) for layer in model.head] == [(300, 24), (300, 300), (2, 300)]


def test_decoder_pair_is_the_ids_of_both_with_nothing_between(bases):
    model = new_model(str(bases["decoder"]))
    a, b = model.tokenizer("the ship")["input_ids"], model.tokenizer("a wave")["input_ids"]
    assert model.encode([("the ship", "a wave")]) == [{"input_ids": a + b}]


def test_text_to_text_pair_has_prefix_and_two_ends(bases):
    model = new_model(str(bases["seq2seq"]), prefix="the ")
    text = model.tokenizer.convert_ids_to_tokens(model.encode([("ship", "a wave")])[0]["input_ids"])
    assert text == ["the", "ship", "</s>", "a", "wave", "</s>"]


def test_text_to_text_model_reads_the_two_label_tokens_after_the_start_token(bases):
    model = new_model(str(bases["seq2seq"])).eval()
    batch = model.collate(model.encode(PAIRS[:1]))
    zero, one = model.tokenizer.convert_tokens_to_ids(["0", "1"])
    with torch.no_grad():
        full = model.core(**batch, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        output = model(**batch)
    torch.testing.assert_close(output.logits[0], full[[zero, one]])
    torch.testing.assert_close(output.log_normaliser[0], full.logsumexp(0))


def test_second_step_follows_the_models_own_first_token(bases):
    first = new_model(str(bases["seq2seq"])).eval()
    second = NSPModel(first.core, None, first.tokenizer, NSPSettings("seq2seq", label_step=2)).eval()
    batch = first.collate(first.encode(PAIRS[:1]))
    with torch.no_grad():
        said = first.core(**batch, decoder_input_ids=torch.tensor([[0]])).logits[0, 0].argmax().item()
        expected = first.core(**batch, decoder_input_ids=torch.tensor([[0, said]])).logits[0, 1]
        torch.testing.assert_close(second(**batch).logits[0], expected[first.label_ids])


def test_answer_that_is_no_label_counts_as_none(bases):
    model = new_model(str(bases["seq2seq"])).eval()
    word = model.tokenizer.convert_tokens_to_ids("ship")
    with torch.no_grad():
        model.core.lm_head.weight.zero_()
        output = model(**model.collate(model.encode(PAIRS)))
        assert output.predicted.tolist() == [-1, -1, -1]  # all tokens are equal: the first one of all wins
    assert word not in model.label_ids


@pytest.mark.parametrize(
    ("a", "b", "kept"),
    [
        (3, 3, (3, 3)),
        (9, 2, (8, 2)),
        (2, 9, (2, 8)),
        (9, 9, (5, 5)),
        (5, 9, (5, 5)),
        (6, 5, (5, 5)),
        (5, 6, (5, 5)),
    ],
)
def test_longer_sentence_is_shortened_first(a, b, kept):
    ids = joined([1] * a, [2] * b, 10)
    assert (ids.count(1), ids.count(2)) == kept
    assert ids == sorted(ids)


def test_no_more_tokens_than_the_model_has_positions(bases):
    assert usable_length(new_model(str(bases["encoder"])).core, 256) == 64
    assert usable_length(new_model(str(bases["decoder"])).core, 256) == 64
    assert usable_length(new_model(str(bases["seq2seq"])).core, 256) == 256


def test_ordinary_model_folder_is_no_next_sentence_model(bases, tmp_path):
    assert read_settings(bases["decoder"]) is None
    assert read_settings(tmp_path) is None
    with pytest.raises(UserError, match="not a next-sentence model"):
        load_nsp_model(bases["decoder"])


def saved(bases, tmp_path, family="decoder"):
    save_nsp_model(new_model(str(bases[family])), tmp_path / "saved")
    return tmp_path / "saved"


def test_missing_head_is_named(bases, tmp_path):
    folder = saved(bases, tmp_path)
    (folder / "nsp_head.safetensors").unlink()
    with pytest.raises(UserError, match=r"nsp_head\.safetensors: no such file"):
        load_nsp_model(folder)


def test_head_of_another_model_is_refused(bases, tmp_path):
    folder, other = saved(bases, tmp_path), saved(bases, tmp_path / "other", "encoder")
    shutil.copy(other / "nsp_head.safetensors", folder / "nsp_head.safetensors")
    with pytest.raises(
        UserError, match=r"does not fit the model: 0\.bias is \(24,\), the model needs \(300,\)"
    ):
        load_nsp_model(folder)


def test_cut_off_head_is_refused(bases, tmp_path):
    path = saved(bases, tmp_path) / "nsp_head.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UserError, match="cut off"):
        load_nsp_model(path.parent)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("family", "cnn", "family must be one of"),
        ("label_step", 3, "label_step"),
        ("colour", 1, "unknown entry colour"),
    ],
)
def test_wrong_entry_of_the_config_is_named(bases, tmp_path, key, value, message):
    path = saved(bases, tmp_path) / "config.json"
    config = json.loads(path.read_text())
    config["stereoset_nsp"][key] = value
    path.write_text(json.dumps(config))
    with pytest.raises(UserError, match=message):
        load_nsp_model(path.parent)


def test_model_without_tokenizer_is_refused_in_one_line(bases, tmp_path):
    shutil.copytree(bases["decoder"], tmp_path / "bare")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "bare" / name).unlink()
    with pytest.raises(UserError, match=r"no tokenizer|tokenizer is empty"):
        new_model(str(tmp_path / "bare"))
