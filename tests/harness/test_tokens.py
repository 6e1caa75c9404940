"""Counts of tokens must be those that the harness really scores."""

import sys

import pytest

from lm_eval_stereoset.data.store import load
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness import tokens
from lm_eval_stereoset.harness.docs import example_to_doc, requests_of

KINDS = ["bos added", "bos known", "no bos", "seq2seq"]


@pytest.fixture(scope="module")
def requests():
    docs = [
        example_to_doc(e, "en") for split in ("intra", "inter") for e in load(split, "en", "sample").examples
    ]
    return [request for doc in docs for request in requests_of(doc)]


@pytest.fixture
def scored(monkeypatch):
    """Runs the harness's own model and notes how many tokens of each request it reads logits for."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    lengths = []
    original = HFLM._loglikelihood_tokens

    def spy(self, encoded, **options):
        lengths.extend(len(continuation) for _, _, continuation in encoded)
        return original(self, encoded, **options)

    monkeypatch.setattr(HFLM, "_loglikelihood_tokens", spy)

    def run(requests, **model_args):
        model = HFLM(device="cpu", batch_size=16, **model_args)
        instances = [Instance("loglikelihood", {}, request, i) for i, request in enumerate(requests)]
        model.loglikelihood(instances, disable_tqdm=True)
        return lengths

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_what_the_harness_scores(tiny_models, requests, scored, kind):
    counts, unit = tokens.count(requests, {"pretrained": str(tiny_models[kind])})
    assert counts == scored(requests, pretrained=str(tiny_models[kind]))
    assert unit == f"tokens of {tiny_models[kind]}"


@pytest.mark.parametrize("add_bos", [True, False])
@pytest.mark.parametrize("kind", ["bos added", "bos known"])
def test_counts_follow_add_bos_token(tiny_models, requests, scored, kind, add_bos):
    arguments = {"pretrained": str(tiny_models[kind]), "add_bos_token": add_bos}
    assert tokens.count(requests, arguments)[0] == scored(requests, **arguments)


def test_odd_texts_are_counted_as_scored(tiny_models, scored):
    odd = [
        ("", "<s> starts with BOS"),
        ("Ends in spaces.  ", "next"),
        ("<s>Has BOS.", " Then."),
        ("Emoji \U0001f600.", " ı\u2028İ"),
    ]
    for kind in ("bos added", "bos known"):
        lengths = scored(odd, pretrained=str(tiny_models[kind]))
        assert tokens.count(odd, {"pretrained": str(tiny_models[kind])})[0] == lengths
        lengths.clear()


def test_an_explicit_tokenizer_goes_first(tiny_models, requests):
    _, unit = tokens.count(requests, {"pretrained": "no/such-model", "tokenizer": str(tiny_models["no bos"])})
    assert unit == f"tokens of {tiny_models['no bos']}"


def test_without_a_tokenizer_bytes_are_counted_and_it_is_said(caplog):
    counts, unit = tokens.count([("", "Müll"), ("A.", " ab")], {})
    assert (counts, unit) == ([5, 2], "utf-8 bytes")
    assert "normalised by UTF-8 bytes" in caplog.text


def test_options_of_the_model_reach_the_tokenizer(monkeypatch):
    seen = {}
    monkeypatch.setattr(
        "transformers.AutoTokenizer.from_pretrained", lambda name, **options: seen.update(options, name=name)
    )
    arguments = {"revision": "abc", "subfolder": "deep", "trust_remote_code": True, "gguf_file": "m.gguf"}
    tokens.load_tokenizer("some/model", arguments)
    assert seen == {"name": "some/model", **arguments}


def test_revision_and_subfolder_choose_the_tokenizer(tiny_models, tmp_path, requests):
    """A folder whose subfolder holds another tokenizer than the folder itself."""
    import shutil

    shutil.copytree(tiny_models["bos known"], tmp_path / "model" / "inner")
    counts, _ = tokens.count(requests, {"pretrained": str(tmp_path / "model"), "subfolder": "inner"})
    assert counts == tokens.count(requests, {"pretrained": str(tiny_models["bos known"])})[0]
    with pytest.raises(UserError):
        tokens.count(requests, {"pretrained": str(tmp_path / "model")})


def test_a_tokenizer_that_does_not_exist_is_one_line(requests, tmp_path):
    with pytest.raises(UserError, match=r"cannot load the tokenizer .*tokenizer=NAME"):
        tokens.count(requests, {"tokenizer": str(tmp_path / "nothing")})


def test_a_candidate_without_tokens_is_an_error(tiny_models):
    with pytest.raises(UserError, match="no token is left of candidate '<s>'"):
        tokens.count([("", "<s>")], {"pretrained": str(tiny_models["bos known"])})


@pytest.mark.parametrize(("kind", "warned"), [("mt5", True), ("t5", False)])
def test_a_model_whose_head_the_harness_loses_is_warned_of(tmp_path, caplog, monkeypatch, kind, warned):
    monkeypatch.delitem(sys.modules, "lm_eval_stereoset.models.stereoset_hf", raising=False)
    (tmp_path / "config.json").write_text(f'{{"model_type": "{kind}"}}')
    tokens.warn_of_a_lost_head({"pretrained": str(tmp_path)})
    assert ("these scores are WRONG" in caplog.text) == warned


def test_our_own_model_is_not_warned_of(tmp_path, caplog, monkeypatch):
    monkeypatch.setitem(sys.modules, "lm_eval_stereoset.models.stereoset_hf", object())
    (tmp_path / "config.json").write_text('{"model_type": "mt5"}')
    tokens.warn_of_a_lost_head({"pretrained": str(tmp_path)})
    assert not caplog.text
