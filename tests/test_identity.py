"""What changes a score changes the identity; what does not, does not."""

import json
import shutil

import pytest

from lm_eval_stereoset.scoring.identity import (
    files_of,
    identity_by_arguments,
    identity_of,
    tokenizer_of,
    weights_of,
)


@pytest.fixture
def gpt2(shared):
    return shared / "golden" / "models" / "tiny-gpt2"


def load(folder, **options):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, **options).eval()


def tokenizer(folder, **options):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, **options)


def test_a_copy_has_the_same_identity_and_json_gives_it_back(gpt2, tmp_path):
    copy = shutil.copytree(gpt2, tmp_path / "elsewhere")
    first, second = (identity_of(load(f), tokenizer(f), {"case": "d"}) for f in (gpt2, copy))
    assert first == second
    assert first.scope == second.scope
    assert json.loads(json.dumps(first.to_dict())) == first.to_dict()


def test_one_changed_number_in_one_weight_is_seen(gpt2):
    import torch

    model = load(gpt2)
    before = weights_of(model)
    with torch.no_grad():
        model.transformer.h[1].mlp.c_fc.bias[3] += 1e-6
    assert weights_of(model) != before


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_precision_is_seen(gpt2, dtype):
    assert weights_of(load(gpt2, dtype=dtype)) != weights_of(load(gpt2))


def test_an_override_of_the_config_is_seen_though_the_weights_are_equal(gpt2):
    plain, other = load(gpt2), load(gpt2, activation_function="relu")
    assert weights_of(plain) == weights_of(other)
    words = tokenizer(gpt2)
    assert identity_of(plain, words, {}).fingerprint != identity_of(other, words, {}).fingerprint


def test_another_way_of_attention_is_seen(gpt2):
    words = tokenizer(gpt2)
    eager, sdpa = (load(gpt2, attn_implementation=kind) for kind in ("eager", "sdpa"))
    assert identity_of(eager, words, {}).fingerprint != identity_of(sdpa, words, {}).fingerprint


def test_adapters_are_seen(gpt2):
    peft = pytest.importorskip("peft")

    def adapted(**changes):
        import torch

        torch.manual_seed(0)
        config = peft.LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True, **changes)
        return peft.get_peft_model(load(gpt2), config).eval()

    words = tokenizer(gpt2)
    found = [identity_of(m, words, {}).fingerprint for m in (load(gpt2), adapted(), adapted(lora_alpha=99))]
    assert len(set(found)) == 3


def test_a_model_with_hooks_is_like_no_other(gpt2, caplog):
    """A hook can change every score and leaves no trace in the weights."""
    model = load(gpt2)
    model.transformer.h[0].register_forward_hook(lambda module, inputs, output: output)
    assert weights_of(model) != weights_of(model)
    assert "hooks" in caplog.text


def test_heads_that_are_random_and_unused_do_not_count(shared, tmp_path):
    from transformers import BertForMaskedLM

    from lm_eval_stereoset.scoring import load as load_for_scoring

    bert = shared / "golden" / "models" / "tiny-bert"
    BertForMaskedLM.from_pretrained(bert).save_pretrained(tmp_path)  # without the next-sentence head
    tokenizer(bert).save_pretrained(tmp_path)
    assert len({weights_of(load_for_scoring(tmp_path)[0]) for _ in range(2)}) == 1


def test_tokenizers_are_told_apart_by_what_they_do_and_not_by_use(gpt2, shared, tmp_path):
    words = tokenizer(gpt2)
    before = tokenizer_of(words)
    words.pad_token = words.pad_token or words.eos_token
    padded = tokenizer_of(words)
    words(["a b c", "d"], padding=True, truncation=True, max_length=2)
    assert tokenizer_of(words) == padded
    assert tokenizer_of(tokenizer(gpt2)) == before
    assert tokenizer_of(tokenizer(shared / "golden" / "models" / "tiny-bert")) != before
    words.add_tokens(["newword"])
    assert tokenizer_of(words) != padded
    copy = shutil.copytree(gpt2, tmp_path / "copy")
    content = json.loads((copy / "tokenizer.json").read_text())
    content["model"]["merges"].pop()
    (copy / "tokenizer.json").write_text(json.dumps(content))
    assert tokenizer_of(tokenizer(copy)) != before  # same name, same size of vocabulary


def test_models_out_of_sight_are_told_apart_by_arguments_and_files(tmp_path):
    def identity(**arguments):
        return identity_by_arguments("vllm", arguments).fingerprint

    assert identity(pretrained="org/a") != identity(pretrained="org/b")
    assert identity(pretrained="org/a") == identity(pretrained="org/a")
    (tmp_path / "weights.bin").write_text("1")
    before = identity(pretrained=str(tmp_path))
    (tmp_path / "weights.bin").write_text("22")
    assert identity(pretrained=str(tmp_path)) != before
    assert files_of("no such thing") == []
    assert files_of("a\0b") == []


def test_what_cannot_be_seen_equals_nothing():
    """Weights that accelerate keeps on disk, or packed in a form of their own."""
    import torch

    class WithState(torch.nn.Module):
        def get_extra_state(self):
            return [object()]

    for model in (torch.nn.Linear(2, 2, device="meta"), WithState()):
        assert weights_of(model) != weights_of(model)
    plain = torch.nn.BatchNorm1d(3)  # a number without dimensions among its buffers
    assert weights_of(plain) == weights_of(plain)


def test_code_of_a_checkpoint_counts_with_all_that_it_imports(gpt2, tmp_path):
    """A changed helper beside the model's file is another model, though the weights are the same."""
    import json

    from transformers import AutoModelForCausalLM

    model, words = load(gpt2), tokenizer(gpt2)
    seen = []
    for scale in (1.0, -0.3):
        folder = tmp_path / f"remote_{len(seen)}"
        model.save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        config["auto_map"] = {"AutoModelForCausalLM": "modeling_x.Scaled"}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "modeling_x.py").write_text(
            "from transformers import GPT2LMHeadModel\n\nfrom .helper_x import SCALE\n\n\n"
            "class Scaled(GPT2LMHeadModel):\n    scale = SCALE\n"
        )
        (folder / "helper_x.py").write_text(f"SCALE = {scale}\n")
        loaded = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
        assert loaded.scale == scale
        seen.append(identity_of(loaded, words, {}).fingerprint)
    assert seen[0] != seen[1]
