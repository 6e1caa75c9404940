"""Next-sentence heads: the probability that the candidate follows the context, both as they are (no dot added).

BERT reads the pair with its own head (class 0 is "follows"); models made by nsp_finetune bring their input
layout and head with them (nsp_model.py). The test is inter-sentence only.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from lm_eval_stereoset.data.format import Example
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.batching import check_lengths, distinct, max_positions, run_batches
from lm_eval_stereoset.scoring.nsp_model import NSPModel
from lm_eval_stereoset.scoring.reading import head_reads_nothing
from lm_eval_stereoset.scoring.types import CandidateScore, Scores, Settings

BERT_FOLLOWS = 0  # class of BERT's head


def score_intra(model, tokenizer, examples: Sequence[Example], settings: Settings) -> list[Scores]:
    raise UserError(
        "a next-sentence head takes the inter-sentence test only; for intra-sentence choose a language model "
        "(scoring=masked, causal or seq2seq)"
    )


def score_inter(model, tokenizer, examples: Sequence[Example], settings: Settings) -> list[Scores]:
    pairs = [(e.context, c.sentence) for e in examples for c in e.candidates]
    names = [f"candidate {c.id} of example {e.id}" for e in examples for c in e.candidates]
    log_p = log_probability_next(model, tokenizer, pairs, settings, names).tolist()
    scores = [CandidateScore(value, 1) for value in log_p]
    return [(scores[i], scores[i + 1], scores[i + 2]) for i in range(0, len(scores), 3)]


def log_probability_next(
    model, tokenizer, pairs: Sequence[tuple[str, str]], settings: Settings, names: Sequence[str]
) -> np.ndarray:
    """log p(B follows A) of every pair (A, B), in the order given; each different pair runs once."""
    different, where = distinct(pairs)
    first = dict(zip(reversed(where.tolist()), reversed(names), strict=True))
    names = [first[i] for i in range(len(different))]
    ours = isinstance(model, NSPModel)
    encoded, logits_of, follows = (_ours if ours else _bert)(model, tokenizer, different, names)
    lengths = np.array([len(one["input_ids"]) for one in encoded], dtype=np.int64)
    check_lengths(lengths, max_positions(model.core if ours else model), names)
    result = np.zeros(len(different))

    def forward(batch: np.ndarray) -> None:
        logits = logits_of([encoded[i] for i in batch])
        if settings.exact:  # the authors' program rounds to float32: candidates near 1 become equal
            probability = logits.float().softmax(dim=-1)[:, follows].double()
            log_p = probability.clamp(min=1e-300).log()  # rounded to 0 it stays the smallest, and a number
        else:
            log_p = logits.double().log_softmax(dim=-1)[:, follows]
        result[batch] = log_p.cpu().numpy()

    run_batches(lengths, forward, settings, model.device, description="next sentence")
    return result[where]


Encoded = dict[str, list[int]]


def _bert(
    model, tokenizer, pairs: list[tuple[str, str]], names: list[str]
) -> tuple[list[Encoded], Callable[[list[Encoded]], torch.Tensor], int]:
    columns = tokenizer([a for a, _ in pairs], [b for _, b in pairs], return_token_type_ids=True)
    encoded = [{key: columns[key][i] for key in ("input_ids", "token_type_ids")} for i in range(len(pairs))]

    def logits_of(batch: list[Encoded]) -> torch.Tensor:
        inputs = tokenizer.pad(batch, padding_side="right", return_tensors="pt").to(model.device)
        with head_reads_nothing(model):
            output = model(**inputs)
        return output.seq_relationship_logits if "seq_relationship_logits" in output else output.logits

    return encoded, logits_of, BERT_FOLLOWS


def _ours(
    model: NSPModel, tokenizer, pairs: list[tuple[str, str]], names: list[str]
) -> tuple[list[Encoded], Callable[[list[Encoded]], torch.Tensor], int]:
    encoded = model.encode(pairs)
    limit = model.settings.max_length
    for one, (a, b), name in zip(encoded, pairs, names, strict=True):
        if len(one["input_ids"]) >= limit:  # perhaps cut: a shortened text gets the score of something else
            whole = sum(len(model.tokenizer(text)["input_ids"]) for text in (a, b))
            check_lengths([whole], limit, [name])

    def logits_of(batch: list[Encoded]) -> torch.Tensor:
        return model(**{key: value.to(model.device) for key, value in model.collate(batch).items()}).logits

    return encoded, logits_of, model.settings.is_next_class
