"""A small corpus in SNLI's format with something to learn in it, and a tiny untrained BERT that can read it."""

import json
import random
from pathlib import Path

from benchmarks.nli_planted import sample_twins, word_tokenizer

HYPOTHESES = {
    "entailment": ("Someone", "A person"),
    "contradiction": ("Nobody",),
    "neutral": ("The man", "The woman"),
}


def rows(count: int, seed: int = 0) -> list[dict]:
    generator, twins = random.Random(seed), sample_twins(33)
    found = []
    for number in range(count):
        twin, label = generator.choice(twins), list(HYPOTHESES)[number % 3]
        hypothesis = f"{generator.choice(HYPOTHESES[label])} {twin.phrase}."
        found.append(
            {"pairID": f"p{number}", "gold_label": label, "sentence1": twin.premise, "sentence2": hypothesis}
        )
    return found


def write_folder(folder: Path, train: int = 96, held_out: int = 30) -> Path:
    folder.mkdir()
    for seed, (name, count) in enumerate((("train", train), ("dev", held_out), ("test", held_out))):
        found = rows(count, seed)
        found[1] |= {"gold_label": "-"}
        text = "".join(json.dumps(row | {"annotator_labels": [row["gold_label"]]}) + "\n" for row in found)
        (folder / f"snli_1.0_{name}.jsonl").write_text(text)
    return folder


def make_base(folder: Path, kind: str = "bert") -> Path:
    import torch
    from transformers import BertConfig, BertForPreTraining, GPT2Config, GPT2LMHeadModel

    texts = [text for row in rows(600, 9) for text in (row["sentence1"], row["sentence2"])]
    tokenizer = word_tokenizer(texts)
    torch.manual_seed(0)
    if kind == "bert":
        small = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 48}
        config = BertConfig(
            vocab_size=len(tokenizer), max_position_embeddings=48, initializer_range=0.1, **small
        )
        model = BertForPreTraining(config)
    else:
        model = GPT2LMHeadModel(
            GPT2Config(vocab_size=len(tokenizer), n_positions=48, n_embd=24, n_layer=1, n_head=2)
        )
        tokenizer.pad_token = None
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
