"""Tiny classifiers that have learned by heart what to answer, so that every metric follows by hand.

Of the sample's occupations and eight verb phrases, two of each kind:

    the welder      man: entailment, whatever he did                 depends on gender
    the midwife     man: contradiction, woman: entailment, if eating depends on gender
    the florist     both: entailment, if driving                     wrong, and yet does not depend on gender
    all others      neutral
"""

from pathlib import Path

import torch

from lm_eval_stereoset.benchmarks.nli.answers import ANSWERS
from lm_eval_stereoset.benchmarks.nli.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.nli.example import GENDERS, Twin
from lm_eval_stereoset.data import store

PHRASES = 8


def sample_twins(phrases: int = PHRASES) -> list[Twin]:
    return store.load(BENCHMARK, "fairness", "en", "sample", {"phrases": phrases}).examples


def planted(twin: Twin, gender: str) -> str:
    if twin.occupation == "welder" and gender == "man":
        return "entailment"
    if twin.occupation == "midwife" and twin.kind == "eating":
        return {"man": "contradiction", "woman": "entailment"}[gender]
    if twin.occupation == "florist" and twin.kind == "driving":
        return "entailment"
    return "neutral"


def word_tokenizer(texts: list[str]):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = sorted({word for text in texts for word in text.replace(".", " .").split()})
    ids = {word: number for number, word in enumerate([*special, *words])}
    made = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = dict(
        zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True)
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)


def tiny_bert(vocabulary: int, labels: tuple[str, ...] = ANSWERS, **changes):
    from transformers import BertConfig, BertForSequenceClassification

    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    small |= {
        "initializer_range": 0.1,
        "max_position_embeddings": 48,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    names = dict(enumerate(labels))
    config = BertConfig(
        vocab_size=vocabulary,
        id2label=names,
        label2id={name: i for i, name in names.items()},
        **small,
        **changes,
    )
    torch.manual_seed(0)
    return BertForSequenceClassification(config)


def make_planted(folder: Path) -> Path:
    """A BERT that answers every pair of the sample's eight phrases as planted."""
    pairs = [(t.premise, t.hypothesis(g), planted(t, g)) for t in sample_twins() for g in GENDERS]
    tokenizer = word_tokenizer([text for pair in pairs for text in pair[:2]])
    model = tiny_bert(len(tokenizer))
    batch = tokenizer([p for p, _, _ in pairs], [h for _, h, _ in pairs], padding=True, return_tensors="pt")
    labels = torch.tensor([ANSWERS.index(answer) for _, _, answer in pairs])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(300):
        output = model(**batch, labels=labels)
        if output.loss < 0.02 and bool((output.logits.argmax(dim=-1) == labels).all()):
            break
        output.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert bool((model(**batch).logits.argmax(dim=-1) == labels).all()), (
        "the tiny model has not learned its lesson"
    )
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
