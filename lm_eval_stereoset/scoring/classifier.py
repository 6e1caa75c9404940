"""Sequence classifiers: which label a pair of texts has, such as entailment, neutral or contradiction.

    [CLS] The accountant bought a lamp. [SEP] The man bought a lamp. [SEP]   -> three logits -> probabilities

The classes are told apart by the names that the checkpoint gives them (id2label), never by their order, which differs
from checkpoint to checkpoint. Names that do not tell are refused.

A pair is encoded as the tokenizer lays pairs out, and goes in whole; only if it has more tokens than the model has
positions is the longer of its two texts shortened. nsp_finetune's NLI training encodes with the same function.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.batching import distinct, max_positions, pad, run_batches
from lm_eval_stereoset.scoring.questions import (
    CandidateScore,
    Model,
    Question,
    Scores,
    Settings,
    Tokenizer,
    by_question,
    flat,
)

STEM = (
    6  # letters by which two names of a label are the same: entailment, ENTAIL; contradiction, contradictory
)
SEPARATOR = "/"  # between the labels that a user names
Pair = tuple[str, str]
Encoded = dict[str, list[int]]


def score_judge(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    if settings.exact:
        raise UserError("exact=true: there is no published program for classifiers; leave it out")
    asked = [candidate.judged for _, candidate in flat(questions)]
    place = classes_of(model.config, dict.fromkeys(one.label for one in asked))
    log_p = log_probabilities(model, tokenizer, [(one.first, one.second) for one in asked], settings)
    scores = [CandidateScore(float(row[place[one.label]]), 1) for row, one in zip(log_p, asked, strict=True)]
    return by_question(questions, scores)


METHODS = {"judge": score_judge}


# Labels


def classes_of(config: Any, labels: Iterable[str]) -> dict[str, int]:
    """{label: number of its class}, by the names that the config gives its classes."""
    labels = list(labels)
    names = class_names(config)
    if len(names) != len(labels):
        raise UserError(
            f"the model has {len(names)} labels ({', '.join(names.values())}), {len(labels)} are needed: "
            f"{', '.join(labels)}; choose a model that was trained on them"
        )
    found = {label: [number for number, name in names.items() if _same(label, name)] for label in labels}
    if any(len(numbers) != 1 for numbers in found.values()):
        raise UserError(
            f"which of the model's labels ({', '.join(names.values())}) are {', '.join(labels)} cannot be told; name "
            f"them in the order of its classes: labels={SEPARATOR.join(labels)} in --model_args, --labels in "
            '`stereoset predict`, or "id2label" in its config.json'
        )
    return {label: numbers[0] for label, numbers in found.items()}


def class_names(config: Any) -> dict[int, str]:
    names = getattr(config, "id2label", None) or {}
    return {int(number): str(name) for number, name in names.items()}


def _same(one: str, other: str) -> bool:
    return _stem(one) == _stem(other)


def _stem(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalpha())[:STEM]


def name_classes(config: Any, labels: str) -> None:
    """Gives the classes the names that the user has listed for them: "contradiction/neutral/entailment"."""
    names = [name.strip() for name in str(labels).split(SEPARATOR)]
    count = len(class_names(config))
    if len(names) != count or not all(names) or len(set(names)) != count:
        raise UserError(
            f"labels={labels}: name each of the model's {count} classes once, in their order, with {SEPARATOR} "
            "between them"
        )
    config.id2label = dict(enumerate(names))
    config.label2id = {name: number for number, name in enumerate(names)}


# Pairs


def log_probabilities(
    model: Model, tokenizer: Tokenizer, pairs: Sequence[Pair], settings: Settings
) -> np.ndarray:
    """(pairs, classes): log p of every class; each different pair runs once."""
    different, where = distinct(pairs)
    encoded = fitting(model, tokenizer, different)
    lengths = np.array([len(one["input_ids"]) for one in encoded], dtype=np.int64)
    result = np.full((len(different), len(class_names(model.config))), np.nan)
    if reads_last_token(model) and pad_id_of(model) is None:
        settings = replace(settings, batch_size=1)  # it finds the last token by the padding behind it

    def forward(batch: np.ndarray) -> None:
        logits = model(**collate(model, [encoded[i] for i in batch], model.device)).logits
        result[batch] = logits.double().log_softmax(dim=-1).clamp(max=0).cpu().numpy()

    run_batches(lengths, forward, settings, model.device)
    return result[where]


def cut_pairs(model: Model, tokenizer: Tokenizer, questions: Sequence[Question]) -> int:
    """How many pairs are longer than the model has positions, so that they are cut."""
    limit = max_positions(model)
    if limit is None:
        return 0
    verdicts = [candidate.judged for _, candidate in flat(questions)]
    pairs, _ = distinct([(one.first, one.second) for one in verdicts])
    return sum(len(one["input_ids"]) > limit for one in encode(model, tokenizer, pairs, None))


def fitting(model: Model, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> list[Encoded]:
    """Each pair as the model reads it; those longer than its positions are cut longest first."""
    encoded, limit = encode(model, tokenizer, pairs, None), max_positions(model)
    long = [i for i, one in enumerate(encoded) if limit is not None and len(one["input_ids"]) > limit]
    for i, one in zip(long, encode(model, tokenizer, [pairs[i] for i in long], limit), strict=True):
        encoded[i] = one
    return encoded


def encode(model: Model, tokenizer: Tokenizer, pairs: Sequence[Pair], limit: int | None) -> list[Encoded]:
    """Token ids of each pair, not padded; at most `limit` of them (None: all), cut longest first.

    Token types go only to models that have embeddings for both: GPT-2, for one, would take them for words.
    """
    if not pairs:
        return []
    columns = tokenizer(
        [first for first, _ in pairs],
        [second for _, second in pairs],
        truncation=limit is not None and "longest_first",
        max_length=limit,
        verbose=False,  # of lengths: ours is the count that matters
    )
    keys = ["input_ids"]
    if "token_type_ids" in columns and (getattr(model.config, "type_vocab_size", None) or 0) > 1:
        keys.append("token_type_ids")
    return [{key: columns[key][i] for key in keys} for i in range(len(pairs))]


def collate(
    model: Model, encoded: Sequence[Mapping[str, list[int]]], device: torch.device
) -> dict[str, torch.Tensor]:
    """Right-padded to the longest of the batch; the attention mask tells what is real."""
    ids, mask = pad([one["input_ids"] for one in encoded], pad_id_of(model) or 0, device)
    batch = {"input_ids": ids, "attention_mask": mask}
    if "token_type_ids" in encoded[0]:
        batch["token_type_ids"], _ = pad([one["token_type_ids"] for one in encoded], 0, device)
    return batch


def pad_id_of(model: Model) -> int | None:
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    found = getattr(config, "pad_token_id", None)
    return found if isinstance(found, int) and found >= 0 else None


def reads_last_token(model: Model) -> bool:
    """Left-to-right models classify by the last token that is no padding."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    kind = model.config.model_type
    return kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
