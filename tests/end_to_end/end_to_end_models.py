"""Tiny checkpoints of every kind as users have them on disk: made here, from the sentences of the bundled sample."""

import json
from pathlib import Path

import torch

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, read_examples
from lm_eval_stereoset.data.store import file_in, languages_in

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
SMALL |= {"initializer_range": 0.3}


def sentences() -> list[str]:
    files = [
        file_in(STEREOSET.sample, split, language)
        for split in SPLITS
        for language in languages_in(STEREOSET, STEREOSET.sample)
    ]
    examples = [example for file in files for example in read_examples(file)]
    texts = [text for e in examples for text in (e.context, *(c.sentence for c in e.candidates))]
    return [*texts, *["0 1 2 3 4 5 6 7 8 9"] * 5]  # T5 answers next-sentence questions with 0 or 1


def make_all(folder: Path) -> dict[str, Path]:
    """{kind: checkpoint folder}; every model has random weights, large enough that positions and order matter."""
    makers = {
        "bert": bert,  # masked, with a next-sentence head
        "roberta": roberta,  # masked, without one
        "gpt2": gpt2,
        "chat": chat,
        "t5": t5,
        "mt5": mt5,
    }
    made = {}
    for kind, maker in makers.items():
        torch.manual_seed(0)
        model, tokenizer = maker()
        model.eval().save_pretrained(folder / kind)
        tokenizer.save_pretrained(folder / kind)
        made[kind] = folder / kind
    return made


def bert():
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForPreTraining, BertTokenizerFast

    made = BertWordPieceTokenizer(lowercase=False)
    made.train_from_iterator(sentences(), vocab_size=900, show_progress=False)
    tokenizer = BertTokenizerFast(tokenizer_object=made._tokenizer, do_lower_case=False)
    return BertForPreTraining(
        BertConfig(vocab_size=len(tokenizer), max_position_embeddings=96, **SMALL)
    ), tokenizer


def roberta():
    from tokenizers import AddedToken, processors
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    inner = _byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    inner.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = {
        "bos_token": "<s>",
        "cls_token": "<s>",
        "eos_token": "</s>",
        "sep_token": "</s>",
        "pad_token": "<pad>",
    }
    mask = AddedToken("<mask>", lstrip=True, special=True)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>", mask_token=mask, **names)
    config = RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=98, pad_token_id=1, type_vocab_size=1, **SMALL
    )
    return RobertaForMaskedLM(config), tokenizer


def gpt2(template: str | None = None):
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_byte_level(["<|endoftext|>", "<|im_start|>", "<|im_end|>"]),
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
    )
    tokenizer.chat_template = template
    size = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "initializer_range": 0.3}
    config = GPT2Config(vocab_size=len(tokenizer), bos_token_id=0, eos_token_id=0, **size)
    return GPT2LMHeadModel(config), tokenizer


def chat():
    return gpt2(CHATML)


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    return _sentinel_model(T5Config, T5ForConditionalGeneration, feed_forward_proj="relu")


def mt5():
    from transformers import MT5Config, MT5ForConditionalGeneration

    return _sentinel_model(MT5Config, MT5ForConditionalGeneration, tie_word_embeddings=False)


def _sentinel_model(config_class, model_class, **more):
    from tokenizers import SentencePieceUnigramTokenizer, processors
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "</s>", "<unk>", *(f"<extra_id_{i}>" for i in range(4))]
    made = SentencePieceUnigramTokenizer()
    made.train_from_iterator(
        sentences(), vocab_size=700, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    inner = made._tokenizer
    inner.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    size = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    names = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    return model_class(config_class(vocab_size=len(tokenizer), **size, **names, **more)), tokenizer


def _byte_level(special: list[str]):
    from tokenizers import ByteLevelBPETokenizer

    made = ByteLevelBPETokenizer()
    made.train_from_iterator(sentences(), vocab_size=900, special_tokens=special, show_progress=False)
    return made._tokenizer


def write_corpus(path: Path) -> Path:
    """Forty short articles for next-sentence training, from the sample's own contexts."""
    examples = read_examples(file_in(STEREOSET.sample, "inter", "en"))
    with open(path, "w", encoding="utf-8") as out:
        for number in range(40):
            texts = [examples[(number * 7 + i) % len(examples)].context.rstrip(".") + "." for i in range(6)]
            out.write(json.dumps({"id": f"article {number}", "text": " ".join(texts)}) + "\n")
    return path
