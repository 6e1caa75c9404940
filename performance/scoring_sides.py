"""The models and the ways to score them that performance/scoring.py compares; see there for what (a) to (c) are."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("STEREOSET_SHARED", ROOT.parent / "shared"))
KIND = {"intra": "fill", "inter": "follow"}  # the question that each split asks
PLAIN_SIZE = 16  # texts in a batch of the plain method


@dataclass(frozen=True)
class Size:
    family: str
    tokenizer: str
    config: dict[str, Any]
    note: str = ""


_T5 = {"d_model": 768, "d_kv": 64, "num_layers": 12, "num_heads": 12, "decoder_start_token_id": 0}
SIZES = {
    "bert-base": Size("masked", "bert-base-cased-vocab.txt", {"model_type": "bert", "vocab_size": 28996}),
    "mbert": Size(
        "masked", "bert-base-multilingual-cased-vocab.txt", {"model_type": "bert", "vocab_size": 119547}
    ),
    "xlm-r": Size(
        "masked",
        "bert-base-multilingual-cased-vocab.txt",
        {
            "model_type": "xlm-roberta",
            "vocab_size": 250002,
            "pad_token_id": 0,
            "max_position_embeddings": 514,
        },
        "tokenised with mBERT's vocabulary",
    ),
    "gpt2": Size("causal", "gpt2_tokenizer.json", {"model_type": "gpt2"}),
    "t5-base": Size(
        "seq2seq", "t5_tokenizer.json", {"model_type": "t5", "vocab_size": 32128, "d_ff": 3072, **_T5}
    ),
    "mt5-base": Size(
        "seq2seq",
        "t5_tokenizer.json",
        {
            "model_type": "mt5",
            "vocab_size": 250112,
            "d_ff": 2048,
            "feed_forward_proj": "gated-gelu",
            "initializer_factor": 0.05,  # 1 gives an untied head logits of +-100, and denormals in every softmax
            **_T5,
        },
        "tokenised with T5's vocabulary",
    ),
}


def build(size: Size):
    import transformers as t

    kind = dict(size.config)
    config = t.AutoConfig.for_model(kind.pop("model_type"), **kind)
    classes = {
        "masked": t.AutoModelForMaskedLM,
        "causal": t.AutoModelForCausalLM,
        "seq2seq": t.AutoModelForSeq2SeqLM,
    }
    torch.manual_seed(0)
    return classes[size.family].from_config(config).eval(), tokenizer_of(size)


def tokenizer_of(size: Size):
    from transformers import PreTrainedTokenizerFast

    path = SHARED / "tokenizers" / size.tokenizer
    if path.suffix == ".txt":
        from tokenizers import BertWordPieceTokenizer

        vocabulary = {line.rstrip("\n"): i for i, line in enumerate(path.open(encoding="utf-8"))}
        inner = BertWordPieceTokenizer(vocab=vocabulary, lowercase=False)._tokenizer
        names = ("cls", "sep", "mask", "pad", "unk")
        return PreTrainedTokenizerFast(
            tokenizer_object=inner, **{f"{name}_token": f"[{name.upper()}]" for name in names}
        )
    if size.family == "causal":
        names = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    else:
        names = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_file=str(path), **names)


def examples_of(split: str, language: str, count: int | None):
    """Every n-th example, so that all kinds are among them."""
    from lm_eval_stereoset.benchmarks.stereoset.data import load
    from lm_eval_stereoset.benchmarks.stereoset.pickles import read_pickle
    from lm_eval_stereoset.benchmarks.stereoset.upstream import pickle_path

    path = SHARED / "upstream" / "stereotypes-multi" / pickle_path(split, language)
    examples = read_pickle(path, split) if path.is_file() else load(split, language).examples
    if count is None or count >= len(examples):
        return examples
    return [examples[i] for i in np.linspace(0, len(examples) - 1, count).astype(int)]


# The sides: each a function of no arguments that scores all examples


def ours(
    model, tokenizer, examples, family: str, split: str, tokens: int | None, exact: bool = False
) -> Callable[[], list[float]]:
    from lm_eval_stereoset.scoring import Settings, method_for

    function = method_for(family, KIND[split])
    questions = [example.question for example in examples]

    def run() -> list[float]:
        scores = function(model, tokenizer, questions, Settings(batch_tokens=tokens, exact=exact))
        return [s.log_score for triple in scores for s in triple]

    return run


def harness(model, tokenizer, examples, split: str, size: int) -> Callable[[], list[float]]:
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    from lm_eval_stereoset.scoring.questions import with_final_dot

    lm = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=size, device="cpu")
    pairs = [
        ("", c.sentence) if split == "intra" else (with_final_dot(e.context), " " + c.sentence)
        for e in examples
        for c in e.candidates
    ]

    def run() -> list[float]:
        requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
        return [value for value, _ in lm.loglikelihood(requests, disable_tqdm=True)]

    return run


def plain(model, tokenizer, examples, family: str, split: str) -> Callable[[], list[float]]:
    if family == "masked":
        return lambda: plain_unmasking(model, tokenizer, examples, tokenizer.mask_token, _mask_probabilities)
    if split == "intra":
        return lambda: plain_unmasking(model, tokenizer, examples, "<extra_id_0>", _generated_probabilities)
    return lambda: plain_answers(model, tokenizer, examples)


def plain_unmasking(model, tokenizer, examples, mark: str, probabilities) -> list[float]:
    texts, tokens, owners = [], [], []
    for owner, (example, candidate) in enumerate((e, c) for e in examples for c in e.candidates):
        word = tokenizer(candidate.word, add_special_tokens=False)["input_ids"]
        for step, token in enumerate(word):
            shown = tokenizer.decode(word[:step]) if step else ""
            texts.append(example.context.replace("BLANK", shown + mark))
            tokens.append(token)
            owners.append(owner)
    found = []
    for start in range(0, len(texts), PLAIN_SIZE):
        part = slice(start, start + PLAIN_SIZE)
        batch = tokenizer(texts[part], padding=True, return_tensors="pt", return_token_type_ids=False)
        with torch.no_grad():
            found += probabilities(model, tokenizer, batch, tokens[part])
    totals = np.bincount(owners, weights=found) / np.bincount(owners)
    return np.log(totals).tolist()


def _mask_probabilities(model, tokenizer, batch, tokens) -> list[float]:
    distributions = model(**batch).logits.softmax(dim=-1)
    first = (batch["input_ids"] == tokenizer.mask_token_id).int().argmax(dim=1)
    return distributions[torch.arange(len(tokens)), first, torch.tensor(tokens)].tolist()


def _generated_probabilities(model, tokenizer, batch, tokens) -> list[float]:
    output = model.generate(
        **batch,
        max_new_tokens=2,
        min_new_tokens=2,
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
    )
    return output.scores[1].softmax(dim=-1)[torch.arange(len(tokens)), torch.tensor(tokens)].tolist()


def plain_answers(model, tokenizer, examples) -> list[float]:
    from lm_eval_stereoset.scoring.questions import with_final_dot

    pairs = [
        (with_final_dot(e.context) + " <extra_id_0>", c.sentence) for e in examples for c in e.candidates
    ]
    found = []
    for start in range(0, len(pairs), PLAIN_SIZE):
        part = pairs[start : start + PLAIN_SIZE]
        batch = tokenizer(
            [a for a, _ in part], padding=True, return_tensors="pt", return_token_type_ids=False
        )
        labels = tokenizer(["<extra_id_0> " + b for _, b in part], padding=True, return_tensors="pt")
        with torch.no_grad():
            logs = model(**batch, labels=labels["input_ids"]).logits.log_softmax(dim=-1)
        read = logs.gather(2, labels["input_ids"][:, :, None])[:, :, 0] * labels["attention_mask"]
        found += read[:, 1:].sum(dim=1).tolist()
    return found
