"""Masked models, kind compare: how probable each text's own tokens are where the two texts differ.

Texts of equal numbers of tokens are compared as GEST does it: the positions at which their tokens differ are masked,
all at once, and in each text the log-probabilities of its own tokens there are averaged. Once masked, the two texts are
the same input, so it runs once and is read twice:

    [CLS] [MASK] said : " i cried " [SEP]      position 1: "he" for one text, "she" for the other

Texts of different numbers of tokens have no such positions in common. The stretch in which they differ (compare.py)
is read token by token, each with itself and the later tokens of its word masked, as in every pseudo-log-likelihood
here. With exact=True they are compared position by position as far as the shorter one goes, as the authors' program
does; each text is then masked at those positions and is an input of its own.
"""

from collections.abc import Sequence

import numpy as np

from lm_eval_stereoset.scoring.compare import differing, pair_of, stretches
from lm_eval_stereoset.scoring.masked import Reads, mask_id, read
from lm_eval_stereoset.scoring.questions import (
    CandidateScore,
    Model,
    Question,
    Scores,
    Settings,
    Tokenizer,
    by_question,
)
from lm_eval_stereoset.scoring.text import Tokenised, tokenise


def score_compare(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    reads = comparing_reads(tokenizer, questions, settings.exact)
    log_p = read(model, tokenizer, reads, settings)
    owner, texts = np.array(reads.owner), 2 * len(questions)
    totals = np.bincount(owner, weights=log_p, minlength=texts).tolist()
    tokens = np.bincount(owner, minlength=texts).tolist()
    return by_question(questions, [CandidateScore(*one) for one in zip(totals, tokens, strict=True)])


METHODS = {"compare": score_compare}


def comparing_reads(tokenizer: Tokenizer, questions: Sequence[Question], exact: bool) -> Reads:
    """The reads of all texts; text t of question q is owner 2 q + t."""
    mask = mask_id(tokenizer)
    sentences = [candidate.sentence for question in questions for candidate in pair_of(question)]
    encoded = tokenizer(sentences, add_special_tokens=True, verbose=False)["input_ids"]
    reads = Reads()
    for number, question in enumerate(questions):
        here = slice(2 * number, 2 * number + 2)
        names = [question.name(candidate) for candidate in question.candidates]
        # by tokens, not as given: swapping the texts then swaps the scores to the last bit
        order = sorted((0, 1), key=lambda t: encoded[here][t])
        ids = [encoded[here][t] for t in order]
        owners = [2 * number + t for t in order]
        if ids[0] != ids[1] and (exact or len(ids[0]) == len(ids[1])):
            _add_differing(reads, ids, mask, owners, [names[t] for t in order])
        else:
            texts = tokenise(tokenizer, [sentences[here][t] for t in order], words=True)
            _add_stretches(reads, texts, mask, owners, [names[t] for t in order])
    return reads


def _add_differing(
    reads: Reads, ids: Sequence[Sequence[int]], mask: int, owners: Sequence[int], names: Sequence[str]
) -> None:
    positions = differing(*ids)
    for text, owner, name in zip(ids, owners, names, strict=True):
        line = np.array(text)
        line[positions] = mask
        reads.add_input(line.tolist(), name)  # equal inputs run once
        for position in positions:
            reads.add_read(position, text[position], owner)


def _add_stretches(
    reads: Reads, texts: Sequence[Tokenised], mask: int, owners: Sequence[int], names: Sequence[str]
) -> None:
    first, second = texts
    for text, stretch, owner, name in zip(
        texts, stretches(first, second, names[0]), owners, names, strict=True
    ):
        for position in range(*stretch):
            hidden = (text.words == text.words[position]) & (np.arange(len(text.ids)) >= position)
            reads.add_input(np.where(hidden, mask, text.ids).tolist(), name)
            reads.add_read(position, text.ids[position], owner)
