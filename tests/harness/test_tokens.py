"""Counts of tokens must be those of the requests that the model really scores, whatever the flags."""

import pytest
import yaml

from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness import answers
from lm_eval_stereoset.harness.paths import task_folder

CAUSAL = ["bos added", "bos known", "no bos", "chatml", "llama 2"]


@pytest.fixture
def scored(monkeypatch):
    """{(context, candidate): tokens that the harness's model reads logits for}, filled while it runs."""
    from lm_eval.models.huggingface import HFLM

    lengths = {}
    original = HFLM._loglikelihood_tokens

    def spy(self, encoded, **options):
        lengths.update({texts: len(continuation) for texts, _, continuation in encoded})
        return original(self, encoded, **options)

    monkeypatch.setattr(HFLM, "_loglikelihood_tokens", spy)
    return lengths


@pytest.fixture
def check(evaluate, scored):
    """Runs the sample and compares the counts that scores were divided by with those that were scored."""

    def run(folder, task="stereoset_en", model_args=(), **flags):
        model_args = {"pretrained": str(folder), **dict(model_args)}
        results = evaluate(model_args, [task], batch_size=16, log_samples=True, limit=24, **flags)
        samples = results["samples"][task]
        requests = [tuple(texts) for sample in samples for texts in sample["arguments"]]
        counts = [n for sample in samples for n in sample["doc"]["counts"]]
        assert len(counts) == 72
        assert counts == [scored[request] for request in requests]
        for sample in samples:
            assert len(sample["doc"]["counts"]) == 3
            assert sample["doc"]["normaliser"] == f"tokens of {folder}"
        return requests, counts

    return run


@pytest.mark.parametrize("kind", [*CAUSAL, "seq2seq"])
def test_counts_are_what_the_harness_scores(tiny_models, check, kind):
    check(tiny_models[kind])


@pytest.mark.parametrize("kind", [*CAUSAL, "seq2seq"])
@pytest.mark.parametrize("instruction", ["Answer briefly.", "Answer briefly:\n"])
def test_counts_follow_a_system_instruction(tiny_models, check, kind, instruction):
    requests, _ = check(tiny_models[kind], system_instruction=instruction)
    assert all(context.startswith("Answer briefly") for context, _ in requests)


@pytest.mark.parametrize("instruction", [None, "Answer briefly."])
@pytest.mark.parametrize("kind", ["chatml", "llama 2"])
def test_counts_follow_a_chat_template(tiny_models, check, kind, instruction):
    _, plain = check(tiny_models[kind])
    requests, counts = check(
        tiny_models[kind], apply_chat_template=True, system_instruction=instruction, fewshot_as_multiturn=True
    )
    assert all("[/INST]" in context or "<|im_start|>assistant" in context for context, _ in requests)
    assert counts != plain, "the template must matter, or this test shows nothing"


@pytest.mark.parametrize("kind", ["chatml", "llama 2", "seq2seq"])
def test_counts_follow_few_shot_examples_descriptions_and_prefixes(tiny_models, check, tmp_path, kind):
    changed = {
        "include": str(task_folder() / "stereoset" / "_common"), "task": "changed", "num_fewshot": 2,
        "dataset_kwargs": {"language": "en", "splits": ["intra", "inter"]},
        "description": "Texts from {{language}}:\n\n", "gen_prefix": "Next:", "target_delimiter": "  ",
    }  # fmt: skip
    (tmp_path / "changed.yaml").write_text(yaml.safe_dump(changed))
    for flags in ({}, {"apply_chat_template": True}) if kind != "seq2seq" else ({},):
        requests, _ = check(tiny_models[kind], task="changed", include=[tmp_path], **flags)
        assert all("Texts from en:" in context and "Next:" in context for context, _ in requests)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("bos added", {"add_bos_token": False}),
        ("bos known", {"add_bos_token": True}),
        ("bos known", {"prefix_token_id": 5}),
        ("llama 2", {"add_bos_token": True}),
        ("bos known", {"backend": "causal", "logits_cache": False}),
    ],
)
def test_counts_follow_the_models_own_settings(tiny_models, check, kind, option):
    check(tiny_models[kind], model_args=option)


def test_a_prefix_that_would_cost_texts_their_start_token_is_refused(tiny_models):
    """The harness takes every text for one that begins with a prefix that decodes to nothing."""
    from lm_eval.models.huggingface import HFLM

    from lm_eval_stereoset.harness.preflight import refuse_lost_start

    lm = HFLM(pretrained=str(tiny_models["bos added"]), device="cpu", prefix_token_id=5)
    letter = lm.tokenizer.decode(5)
    refuse_lost_start(lm, ["", "\u00a0Nothing begins so."])
    with pytest.raises(UserError, match="stereoset-hf"):
        refuse_lost_start(lm, [f"{letter} begins so."])
    lm.tokenizer.decode = lambda token: ""
    with pytest.raises(UserError, match="stereoset-hf"):
        refuse_lost_start(lm, ["Any text."])
    lm.custom_prefix_token_id = None
    refuse_lost_start(lm, ["Any text."])


def test_counts_follow_another_tokenizer(tiny_models, evaluate, scored):
    arguments = {"pretrained": str(tiny_models["bos known"]), "tokenizer": str(tiny_models["no bos"])}
    results = evaluate(arguments, ["stereoset_intra_de"], batch_size=16, log_samples=True, limit=5)
    for sample in results["samples"]["stereoset_intra_de"]:
        assert sample["doc"]["counts"] == [scored[tuple(texts)] for texts in sample["arguments"]]
        assert sample["doc"]["normaliser"] == f"tokens of {tiny_models['no bos']}"


def test_odd_texts_are_counted_as_scored(tiny_models, scored):
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    odd = [
        ("", "<s> starts with BOS"),
        ("Ends in spaces.  ", "next"),
        ("<s>Has BOS.", " Then."),
        ("Emoji \U0001f600.", " ı\u2028İ"),
    ]
    for kind in ("bos added", "bos known", "llama 2"):
        lm = HFLM(pretrained=str(tiny_models[kind]), device="cpu")
        instances = [Instance("loglikelihood", {"id": "x"}, request, i) for i, request in enumerate(odd)]
        counts, _ = answers.count(lm, instances)
        assert not scored, "counting must not run the model"
        lm.loglikelihood(instances, disable_tqdm=True)
        assert counts == [scored[request] for request in odd]
        scored.clear()


def test_a_model_in_memory_is_counted_like_any_other(tiny_models, evaluate, scored):
    from lm_eval.models.huggingface import HFLM
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tiny_models["llama 2"]
    lm = HFLM(
        pretrained=AutoModelForCausalLM.from_pretrained(folder),
        tokenizer=AutoTokenizer.from_pretrained(folder),
    )
    results = evaluate({}, ["stereoset_inter_fr"], model=lm, limit=4, log_samples=True)
    for sample in results["samples"]["stereoset_inter_fr"]:
        assert sample["doc"]["counts"] == [scored[tuple(texts)] for texts in sample["arguments"]]


def test_a_request_that_the_harness_would_cut_is_refused(tiny_models, evaluate):
    arguments = {"pretrained": str(tiny_models["bos known"]), "max_length": 40}
    with pytest.raises(
        UserError, match=r"tokens and the model takes 40, .* cut .* shorter system instruction"
    ):
        evaluate(arguments, ["stereoset_inter_en"], system_instruction="Please go on. " * 12)


def test_a_request_of_just_the_greatest_length_is_taken(tiny_models, evaluate):
    """A left-to-right model reads all tokens but the last."""
    from lm_eval.models.huggingface import HFLM

    lm = HFLM(pretrained=str(tiny_models["no bos"]), device="cpu")
    texts = [c.sentence for e in load("intra", "en", "sample").examples for c in e.candidates]
    longest = max(len(lm.tok_encode(text, add_special_tokens=False)) for text in texts)
    arguments = {"pretrained": str(tiny_models["no bos"]), "max_length": longest}
    assert evaluate(arguments, ["stereoset_intra_en"], batch_size=16)
    with pytest.raises(UserError, match=f"has {longest} tokens and the model takes {longest - 1}"):
        evaluate(arguments | {"max_length": longest - 1}, ["stereoset_intra_en"], batch_size=16)


def test_an_empty_tokenizer_is_refused(tiny_models, evaluate, tmp_path):
    import shutil

    for name in ("config.json", "model.safetensors"):
        shutil.copy(tiny_models["bos known"] / name, tmp_path)
    with pytest.raises(UserError, match=r"tokenizer.*tokenizer=…"):
        evaluate(tmp_path, ["stereoset_intra_en"])


def test_a_candidate_without_tokens_is_an_error(tiny_models):
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    lm = HFLM(pretrained=str(tiny_models["bos known"]), device="cpu")
    with pytest.raises(UserError, match=r"candidate '<s>': tokenizer .* leaves no token of it"):
        answers.count(lm, [Instance("loglikelihood", {"id": "x"}, ("", "<s>"), 0)])


def test_api_models_are_counted_with_their_own_tokenizer(tiny_models):
    """Made without its constructor, which wants packages for the network."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.openai_completions import LocalCompletionsAPI
    from transformers import AutoTokenizer

    lm = object.__new__(LocalCompletionsAPI)
    lm.tokenizer = AutoTokenizer.from_pretrained(tiny_models["llama 2"])
    lm.tokenizer_backend, lm.add_bos_token, lm.max_length = "huggingface", False, 100
    lm.custom_prefix_token_id = None
    requests = [("", "The cook came."), ("A cook came.", " He ate."), ("Go on:\n", "He ate.")]
    counts, unit = answers.count(lm, [Instance("loglikelihood", {"id": "x"}, r, 0) for r in requests])
    assert unit == f"tokens of {tiny_models['llama 2']}"
    seen = []
    for context, continuation in requests:
        if context:
            _, encoded = lm._encode_pair(context, continuation)
        else:
            encoded = lm.tok_encode(continuation)
        _, context_lengths, _ = lm.batch_loglikelihood_requests([[(None, [1], encoded)]])
        assert context_lengths == [1]
        seen.append(len(encoded))
    assert counts == seen
    lm.tokenizer, lm.tokenizer_backend = None, None
    with pytest.raises(UserError, match="tokenizer=NAME"):
        answers.count(lm, [Instance("loglikelihood", {"id": "x"}, requests[0], 0)])


class ChatApi:
    """As the harness's chat APIs: text only."""

    tokenizer = None

    def _loglikelihood_tokens(self, requests):
        raise AssertionError("must not be asked")

    def loglikelihood(self, requests):
        raise NotImplementedError("Loglikelihood is not supported for chat completions.")


def test_a_model_without_log_likelihoods_is_one_line():
    with pytest.raises(UserError, match="ChatApi gives no log-likelihoods"):
        answers.count(ChatApi(), [])


class Jumbled(ChatApi):
    """Encodes requests in an order of its own."""

    def loglikelihood(self, requests):
        return self._loglikelihood_tokens([(request.args, [1], [2]) for request in reversed(requests)])


def test_a_model_whose_requests_cannot_be_matched_is_refused():
    from lm_eval.api.instance import Instance

    instances = [Instance("loglikelihood", {"id": "x"}, ("", text), i) for i, text in enumerate("ab")]
    with pytest.raises(UserError, match="cannot be known"):
        answers.count(Jumbled(), instances)


def test_without_tokens_bytes_are_counted_and_it_is_said(caplog):
    from lm_eval.api.instance import Instance

    instances = [
        Instance("loglikelihood", {"id": "x"}, request, 0) for request in (("", "Müll"), ("A.", " ab"))
    ]
    assert answers.count(object(), instances) == ([5, 2], "utf-8 bytes")
    assert "normalised by UTF-8 bytes" in caplog.text
