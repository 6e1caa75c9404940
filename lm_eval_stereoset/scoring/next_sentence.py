"""Next-sentence heads: the probability that the candidate follows the context, both as they are (no dot added).

BERT reads the pair with its own head (class 0 is "follows"); models made by nsp_finetune bring their input
layout and head with them (nsp_model.py). They answer questions of the kind follow only.

A pair goes in whole, however long the pairs of training were. Only if it has more tokens than the model has positions
is the longer of its two texts shortened, as in training; `cut_pairs` counts those.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from lm_eval_stereoset.scoring.batching import distinct, max_positions, run_batches
from lm_eval_stereoset.scoring.nsp_model import NSPModel
from lm_eval_stereoset.scoring.questions import Question, flat
from lm_eval_stereoset.scoring.reading import head_reads_nothing
from lm_eval_stereoset.scoring.types import CandidateScore, Model, Scores, Settings, Tokenizer, by_question

BERT_FOLLOWS = 0  # class of BERT's head


def score_follow(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    log_p = log_probability_next(model, tokenizer, _pairs(questions), settings).tolist()
    return by_question(questions, [CandidateScore(value, 1) for value in log_p])


METHODS = {"follow": score_follow}


def _pairs(questions: Sequence[Question]) -> list[tuple[str, str]]:
    return [(question.context_of(candidate), candidate.sentence) for question, candidate in flat(questions)]


def cut_pairs(model: Any, tokenizer: Any, questions: Sequence[Question]) -> int:
    """How many pairs of context and candidate are longer than the model has positions, so that they are cut."""
    limit = _positions(model)
    if limit is None:
        return 0
    pairs, where = distinct(_pairs(questions))
    too_long = np.array(
        [len(one["input_ids"]) > limit for one in _encode(model, tokenizer, pairs)], dtype=bool
    )
    return int(too_long[where].sum())


def log_probability_next(
    model: Model, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], settings: Settings
) -> np.ndarray:
    """log p(B follows A) of every pair (A, B), in the order given; each different pair runs once."""
    different, where = distinct(pairs)
    ours = isinstance(model, NSPModel)
    encoded = fitting(model, tokenizer, different)
    logits_of = _logits_of_ours(model) if ours else _logits_of_bert(model, tokenizer)
    follows = model.settings.is_next_class if ours else BERT_FOLLOWS
    lengths = np.array([len(one["input_ids"]) for one in encoded], dtype=np.int64)
    result = np.full(len(different), np.nan)

    def forward(batch: np.ndarray) -> None:
        logits = logits_of([encoded[i] for i in batch])
        if settings.exact:  # the authors' program rounds to float32: candidates near 1 become equal
            probability = logits.float().softmax(dim=-1)[:, follows].double()
            log_p = probability.clamp(min=1e-300).log()  # rounded to 0 it stays the smallest, and a number
        else:
            log_p = logits.double().log_softmax(dim=-1)[:, follows]
        result[batch] = log_p.cpu().numpy()

    run_batches(lengths, forward, settings, model.device)
    return result[where]


Encoded = dict[str, list[int]]
Pair = tuple[str, str]


def fitting(model: Model, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> list[Encoded]:
    """Each pair as the model reads it; those longer than its positions are cut longest first."""
    encoded, limit = _encode(model, tokenizer, pairs), _positions(model)
    long = [i for i, one in enumerate(encoded) if limit is not None and len(one["input_ids"]) > limit]
    for i, one in zip(long, _encode(model, tokenizer, [pairs[i] for i in long], limit), strict=True):
        encoded[i] = one
    return encoded


def _positions(model: Model) -> int | None:
    return max_positions(model.core if isinstance(model, NSPModel) else model)


def _encode(
    model: Model, tokenizer: Tokenizer, pairs: Sequence[Pair], limit: int | None = None
) -> list[Encoded]:
    """At most `limit` tokens of each pair; None: all."""
    if not pairs:
        return []
    if isinstance(model, NSPModel):
        return model.encode_up_to(pairs, limit)
    columns = tokenizer(
        [a for a, _ in pairs],
        [b for _, b in pairs],
        return_token_type_ids=True,
        truncation=False if limit is None else "longest_first",
        max_length=limit,
        verbose=False,  # of lengths: ours is the count that matters
    )
    return [{key: columns[key][i] for key in ("input_ids", "token_type_ids")} for i in range(len(pairs))]


def _logits_of_bert(model: Model, tokenizer: Tokenizer) -> Callable[[list[Encoded]], torch.Tensor]:
    def logits_of(batch: list[Encoded]) -> torch.Tensor:
        inputs = tokenizer.pad(batch, padding_side="right", return_tensors="pt").to(model.device)
        with head_reads_nothing(model):
            output = model(**inputs)
        return output.seq_relationship_logits if "seq_relationship_logits" in output else output.logits

    return logits_of


def _logits_of_ours(model: NSPModel) -> Callable[[list[Encoded]], torch.Tensor]:
    def logits_of(batch: list[Encoded]) -> torch.Tensor:
        return model(**{key: value.to(model.device) for key, value in model.collate(batch).items()}).logits

    return logits_of
