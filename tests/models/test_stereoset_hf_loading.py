"""stereoset-hf: start tokens, adapters, tokenizer classes, pairs that are cut, and damaged checkpoints."""

import json
import os
import shutil

import pytest
from harness_samples import requests

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness.model import StereoSetHF
from lm_eval_stereoset.scoring import load, score


def answers(harness, examples):
    return [answer[0] for answer in harness.loglikelihood(requests(examples))]


def test_prefix_token_id_is_the_start_token_as_in_the_harness(checkpoints, fetched):
    from lm_eval.models.huggingface import HFLM

    examples = store.load(STEREOSET, "intra", "en", fetched).examples[:6]
    folder, options = str(checkpoints["causal"]), {"device": "cpu", "batch_size": 4}
    ours = answers(StereoSetHF(folder, prefix_token_id=7, **options), examples)
    theirs = answers(HFLM(folder, prefix_token_id=7, **options), examples)
    assert ours == pytest.approx(theirs, rel=1e-4)
    assert ours != pytest.approx(answers(StereoSetHF(folder, **options), examples), abs=0.1)
    by_hand = score(*load(folder), examples, prefix_token_id=7)
    assert ours == pytest.approx([s.log_score for triple in by_hand for s in triple], rel=1e-5)


@pytest.mark.parametrize(
    ("family", "model_args", "message"),
    [
        ("masked", {"prefix_token_id": 7}, "prefix_token_id is for causal models"),
        ("causal", {"prefix_token_id": -1}, "must be the number of a token"),
        ("causal", {"prefix_token_id": "x"}, "must be the number of a token"),
        ("causal", {"prefix_token_id": 7, "exact": True}, "do not go together"),
        ("masked", {"tokenizer_class": "os.system"}, "transformers has no tokenizer of this name"),
        ("nsp", {"tokenizer_class": "GPT2TokenizerFast"}, "not for next-sentence models"),
    ],
)
def test_model_args_that_do_not_fit_are_one_line(checkpoints, family, model_args, message):
    with pytest.raises(UserError, match=message):
        StereoSetHF(str(checkpoints[family]), device="cpu", **model_args)


def test_a_prefix_token_beyond_the_embeddings_is_one_line(checkpoints, fetched):
    harness = StereoSetHF(str(checkpoints["causal"]), device="cpu", prefix_token_id=10**6)
    with pytest.raises(UserError, match="token id 1000000"):
        answers(harness, store.load(STEREOSET, "intra", "en", fetched).examples[:2])


@pytest.mark.parametrize("kind", ["PromptTuningConfig", "PromptEncoderConfig", "PrefixTuningConfig"])
def test_adapters_that_put_tokens_in_front_are_refused(checkpoints, tmp_path, kind):
    import peft

    model, tokenizer = load(checkpoints["causal"])
    options = {"encoder_hidden_size": 8} if kind == "PromptEncoderConfig" else {}
    config = getattr(peft, kind)(task_type="CAUSAL_LM", num_virtual_tokens=4, **options)
    adapted = peft.get_peft_model(model, config).eval()
    adapted.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="put learned tokens in front of the text"):
        StereoSetHF(str(checkpoints["causal"]), peft=str(tmp_path), device="cpu")
    with pytest.raises(UserError, match="put learned tokens in front of the text"):
        score(adapted, tokenizer, [])


def test_a_model_that_answers_with_more_positions_than_it_was_given_is_refused(
    checkpoints, fetched, monkeypatch
):
    import torch

    model, tokenizer = load(checkpoints["causal"])
    inner = model.transformer.forward

    def longer(*arguments, **keywords):
        output = inner(*arguments, **keywords)
        hidden = output.last_hidden_state
        output.last_hidden_state = torch.cat([hidden[:, :1], hidden], dim=1)
        return output

    monkeypatch.setattr(model.transformer, "forward", longer)
    with pytest.raises(UserError, match=r"an input of \d+ tokens with \d+ positions"):
        score(model, tokenizer, store.load(STEREOSET, "intra", "en", fetched).examples[:2])


def test_a_named_tokenizer_class_reads_a_checkpoint_that_does_not_name_it(checkpoints, fetched, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(checkpoints["masked"], folder, ignore=shutil.ignore_patterns("tokenizer.json"))
    about = folder / "tokenizer_config.json"
    about.chmod(0o644)
    settings = json.loads(about.read_text())
    about.write_text(json.dumps({key: settings[key] for key in settings if key != "tokenizer_class"}))
    examples = store.load(STEREOSET, "intra", "en", fetched).examples[:4]
    named = StereoSetHF(str(folder), device="cpu", tokenizer_class="BertTokenizerFast")
    assert answers(named, examples) == pytest.approx(
        answers(StereoSetHF(str(checkpoints["masked"]), device="cpu"), examples), rel=1e-6
    )


def test_pairs_that_are_cut_are_counted_in_the_results(checkpoints, fetched, tmp_path):
    example = store.load(STEREOSET, "inter", "en", fetched).examples[0].to_dict()
    example["context"] = "The people " + "very " * 400
    (tmp_path / "inter").mkdir()
    path = tmp_path / "inter" / "en.jsonl"
    path.write_text(json.dumps(example) + "\n", encoding="utf-8")
    harness = StereoSetHF(str(checkpoints["masked"]), device="cpu")
    answers(harness, store.load(STEREOSET, "inter", "en", tmp_path).examples)
    assert harness.get_model_info()["stereoset"]["pairs cut to the model's positions"] == 3
    answers(harness, store.load(STEREOSET, "inter", "en", fetched).examples[1:3])
    assert "pairs cut to the model's positions" not in harness.get_model_info()["stereoset"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "model.safetensors").write_bytes(b"junk"), "not a readable safetensors file"),
        (lambda f: [p.unlink() for p in (*f.glob("tokenizer*"), *f.glob("vocab*"))], "knows only 0 of the"),
    ],
    ids=["weights", "tokenizer"],
)
def test_damaged_checkpoints_are_one_line_under_run_too(checkpoints, command, tmp_path, damage, message):
    folder = tmp_path / "model"
    shutil.copytree(checkpoints["masked"], folder)
    for path in (folder, *folder.iterdir()):
        os.chmod(path, 0o755)
    damage(folder)
    arguments = ("--model", "stereoset-hf", "--model_args", f"pretrained={folder}", "--tasks", "stereoset_en")
    said = command("run", *arguments, "--limit", "4", expect=2)
    assert "Traceback" not in said
    assert message in said.strip().splitlines()[-1]
