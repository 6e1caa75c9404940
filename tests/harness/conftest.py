"""Tiny causal and seq2seq models with tokenizers of each kind, made once."""

from pathlib import Path

import pytest

from lm_eval_stereoset.benchmarks.stereoset.data import load


def sample_texts() -> list[str]:
    examples = [
        e
        for language in ("en", "de", "tr")
        for s in ("intra", "inter")
        for e in load(s, language, "sample").examples
    ]
    return [text for e in examples for text in (e.context, *(c.sentence for c in e.candidates))]


def make_tokenizer(bos: str | None):
    """Byte-level BPE. `bos`: "added" in front of every text (as Llama), "known" but not added (as GPT-2), or None."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=800,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),  # line breaks, too, which chat templates have
        show_progress=False,
    )
    tokenizer.train_from_iterator(sample_texts(), trainer)
    if bos == "added":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
        )
    names = {"eos_token": "</s>", "pad_token": "</s>"} | ({"bos_token": "<s>"} if bos else {})
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA_2 = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %} {{ m.content }} {{ eos_token }}"
    "{% else %}[INST] {{ m.content }} [/INST]{% endif %}{% endfor %}"
)


def make_sentencepiece_tokenizer():
    """As Llama 2's: a space is written ▁ and one is put in front of every text; BOS is added."""
    from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Metaspace()
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator([" ".join(text.split()) for text in sample_texts()], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory) -> dict[str, Path]:
    """{"bos added" | "bos known" | "no bos" | "chatml" | "llama 2": a causal model, "seq2seq": a T5, "mt5"}."""
    import torch
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        MT5Config,
        MT5ForConditionalGeneration,
        T5Config,
        T5ForConditionalGeneration,
    )

    folders = {}
    tokenizers = {"bos added": make_tokenizer("added"), "bos known": make_tokenizer("known")}
    tokenizers |= {"no bos": make_tokenizer(None), "chatml": make_tokenizer("known")}
    tokenizers["chatml"].chat_template = CHATML
    tokenizers["llama 2"] = make_sentencepiece_tokenizer()
    tokenizers["llama 2"].chat_template = LLAMA_2
    for name, tokenizer in tokenizers.items():
        torch.manual_seed(1)
        size = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 512, "vocab_size": len(tokenizer)}
        folders[name] = tmp_path_factory.mktemp("models") / name.replace(" ", "-")
        ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
        GPT2LMHeadModel(GPT2Config(**size, **ends, initializer_range=0.5)).save_pretrained(folders[name])
        tokenizer.save_pretrained(folders[name])
    tokenizer = make_tokenizer("known")
    size = {
        "d_model": 32,
        "d_kv": 16,
        "d_ff": 64,
        "num_layers": 2,
        "num_heads": 2,
        "vocab_size": len(tokenizer),
    }
    folders["seq2seq"] = tmp_path_factory.mktemp("models") / "seq2seq"
    config = T5Config(**size, decoder_start_token_id=1, pad_token_id=1, eos_token_id=1)
    T5ForConditionalGeneration(config).save_pretrained(folders["seq2seq"])
    tokenizer.save_pretrained(folders["seq2seq"])
    folders["mt5"] = tmp_path_factory.mktemp("models") / "mt5"
    config = MT5Config(**size, decoder_start_token_id=1, pad_token_id=1, eos_token_id=1)
    MT5ForConditionalGeneration(config).save_pretrained(folders["mt5"])
    tokenizer.save_pretrained(folders["mt5"])
    return folders


@pytest.fixture(scope="session")
def evaluate():
    """simple_evaluate on the sample, with our tasks: model folder or arguments, tasks, further options."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    from lm_eval_stereoset.harness.paths import include_paths

    def run(model_args, tasks, model="hf", data="sample", include=(), **options):
        if isinstance(model_args, Path):
            model_args = {"pretrained": str(model_args)}
        metadata = {**model_args, **({"data": data} if data else {})}
        manager = TaskManager(
            include_path=[str(p) for p in (*include_paths(), *include)],
            metadata=metadata,
            include_defaults=False,
        )
        device = {"device": "cpu"} if model == "hf" else {}
        return lm_eval.simple_evaluate(
            model=model,
            model_args=dict(model_args),
            tasks=tasks,
            task_manager=manager,
            bootstrap_iters=0,
            **device,
            **options,
        )

    return run
