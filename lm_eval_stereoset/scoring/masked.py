"""Masked language models: BERT and its relatives.

Intra-sentence: the candidate word is unmasked from left to right. In step j the sentence holds the word's
first j tokens and one mask token for all the rest; p_j is the probability of token j + 1 at the mask. The
score is the arithmetic mean of the p_j.

Inter-sentence, for encoders without a next-sentence head: pseudo-log-likelihood of the candidate given the
context; each token is read with itself and the later tokens of its word masked. The score is the geometric
mean (paper eq. 4). `pseudo_log_likelihoods` gives the same for any pair of texts.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.batching import (
    check_lengths,
    distinct,
    max_positions,
    max_rows,
    pad,
    run_batches,
)
from lm_eval_stereoset.scoring.head import GatheredHead
from lm_eval_stereoset.scoring.questions import (
    BLANK,
    CandidateScore,
    Model,
    Question,
    Scores,
    Settings,
    Tokenizer,
    by_question,
    flat,
    names_of,
    requests_of,
)
from lm_eval_stereoset.scoring.reading import log_probabilities, logits_at
from lm_eval_stereoset.scoring.text import tokenise

TEXTS_AT_ONCE = 1024  # for pseudo-log-likelihoods: bounds the inputs, one a token, held in memory


@dataclass
class Reads:
    """Which token ids are looked up where: read i is p(token[i]) at position[i] of inputs[source[i]]."""

    inputs: list[tuple[int, ...]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # what each input is, for messages
    source: list[int] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    token: list[int] = field(default_factory=list)
    owner: list[int] = field(default_factory=list)  # the candidate (or pair of texts) whose score it enters
    weight: list[float] = field(default_factory=list)  # its share in that score, where scores are means

    def add_input(self, ids: Sequence[int], name: str) -> None:
        self.inputs.append(tuple(ids))
        self.names.append(name)

    def add_read(self, position: int, token: int, owner: int, weight: float = 1.0) -> None:
        """A read of the input added last."""
        self.source.append(len(self.inputs) - 1)
        self.position.append(position)
        self.token.append(token)
        self.owner.append(owner)
        self.weight.append(weight)


def score_fill(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    reads = (unmasking_reads_exact if settings.exact else unmasking_reads)(tokenizer, questions)
    log_p = read(model, tokenizer, reads, settings)
    means = log_mean(log_p, np.array(reads.owner), len(flat(questions)), np.array(reads.weight))
    return by_question(questions, [CandidateScore(float(value), 1) for value in means])


def score_text(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    """Kinds "follow" and "whole": pseudo-log-likelihood of the sentence, given the context if there is one."""
    pairs = [request for question in questions for request in requests_of(question)]
    results = pseudo_log_likelihoods(model, tokenizer, pairs, settings, names_of(questions))
    return by_question(questions, [CandidateScore(total, count) for total, count, _ in results])


METHODS = {"fill": score_fill, "follow": score_text, "whole": score_text}


def pseudo_log_likelihoods(
    model: Model,
    tokenizer: Tokenizer,
    pairs: Sequence[tuple[str, str]],
    settings: Settings,
    names: Sequence[str] | None = None,
    truncate: bool = False,
) -> list[tuple[float, int, bool]]:
    """For each (context, continuation): summed log p of the continuation's tokens, their number, and
    whether each was the model's first choice. `truncate`: drop the beginning of contexts that are too long."""
    limit = max_positions(model) if truncate else None
    names = names or [f"the text {(context + continuation)[:60]!r}" for context, continuation in pairs]
    quiet = dataclasses.replace(settings, progress=None)
    results: list[tuple[float, int, bool]] = []
    for start in range(0, len(pairs), TEXTS_AT_ONCE):
        part = slice(start, start + TEXTS_AT_ONCE)
        reads = pseudo_reads(tokenizer, pairs[part], names[part], limit)
        best = np.zeros(len(reads.source), dtype=bool)
        log_p = read(model, tokenizer, reads, quiet, best)
        owner, count = np.array(reads.owner), len(pairs[part])
        totals = np.bincount(owner, weights=log_p, minlength=count).tolist()
        missed = np.bincount(owner, weights=~best, minlength=count) > 0
        tokens = np.bincount(owner, minlength=count).tolist()
        results += zip(totals, tokens, (~missed).tolist(), strict=True)
        if settings.progress:
            settings.progress.done(len(results), of=len(pairs))
    return results


def unmasking_reads(tokenizer: Tokenizer, questions: Sequence[Question]) -> Reads:
    """The tokens of each word as they occur in the filled-in sentence, by ids (never decoded and re-encoded).

    A context with several BLANKs is unmasked in all of them in step, and all masks are read. Each BLANK has the same
    share in the score: a word that begins the text can have fewer tokens there than in mid-sentence (RoBERTa, Turkish:
    "çok fakir" has 5 and " çok fakir" 6), and must not count less for it.
    """
    mask = mask_id(tokenizer)
    asked = flat(questions)
    filled = [question.context.replace(BLANK, candidate.filler) for question, candidate in asked]
    sentences = tokenise(tokenizer, filled)
    reads = Reads()
    for owner, sentence in enumerate(sentences):
        question, candidate = asked[owner]
        name = question.name(candidate)
        words = [sentence.tokens_in(*span, name) for span in blank_spans(question.context, candidate.filler)]
        for step in range(max(end - start for start, end in words)):
            _add_step(reads, sentence.ids, words, step, mask, owner, name)
    return reads


def _add_step(
    reads: Reads,
    ids: Sequence[int],
    words: Sequence[tuple[int, int]],
    step: int,
    mask: int,
    owner: int,
    name: str,
) -> None:
    """The sentence with `step` tokens of each word (token indices start to end) and one mask for the rest."""
    line: list[int] = []
    masks: list[tuple[int, int, float]] = []  # position, token, share
    done = 0
    for start, end in words:
        shown = min(start + step, end)
        line += ids[done:shown]
        if shown < end:
            masks.append((len(line), ids[shown], 1 / (end - start)))
            line.append(mask)
        done = end
    line += ids[done:]
    reads.add_input(line, name)
    for position, token, share in masks:
        reads.add_read(position, token, owner, share)


def blank_spans(context: str, word: str) -> list[tuple[int, int]]:
    """Where the word stands (first and one past the last character) once it has replaced every BLANK."""
    spans, end = [], 0
    for part in context.split(BLANK)[:-1]:
        start = end + len(part)
        end = start + len(word)
        spans.append((start, end))
    return spans


def unmasking_reads_exact(tokenizer: Tokenizer, questions: Sequence[Question]) -> Reads:
    """The authors' way: the word tokenised on its own, its beginning decoded into the text again, the first
    mask read."""
    mask = mask_id(tokenizer)
    asked = flat(questions)
    words = tokenizer([candidate.filler for _, candidate in asked], add_special_tokens=False)["input_ids"]
    texts, owners, tokens = [], [], []
    for owner, ((question, candidate), word) in enumerate(zip(asked, words, strict=True)):
        if not word:
            raise UserError(f"{question.name(candidate)}: no tokens in its word")
        for step, token in enumerate(word):
            shown = clean_up(tokenizer.decode(word[:step])) if step else ""
            texts.append(question.context.replace(BLANK, shown + tokenizer.mask_token))
            owners.append(owner)
            tokens.append(token)
    different, where = distinct(texts)
    encoded = tokenizer(different, add_special_tokens=True)["input_ids"]
    reads = Reads()
    for text, owner, token in zip(where.tolist(), owners, tokens, strict=True):
        ids = encoded[text]
        question, candidate = asked[owner]
        reads.add_input(ids, question.name(candidate))
        reads.add_read(ids.index(mask), token, owner)
    return reads


def clean_up(text: str) -> str:
    """English punctuation joined to the word before it, as decoding did by default in the authors' time."""
    for spaced in (" .", " ?", " !", " ,", " n't", " 'm", " 's", " 've", " 're"):
        text = text.replace(spaced, spaced[1:])
        if spaced == " ,":
            text = text.replace(" ' ", "'")
    return text


def pseudo_reads(
    tokenizer: Tokenizer,
    pairs: Sequence[tuple[str, str]],
    names: Sequence[str],
    limit: int | None = None,
) -> Reads:
    """One input a token of the continuation: it and the later tokens of its word are masks, it is read."""
    mask = mask_id(tokenizer)
    texts = tokenise(tokenizer, [context + continuation for context, continuation in pairs], words=True)
    reads = Reads()
    for owner, ((context, continuation), text) in enumerate(zip(pairs, texts, strict=True)):
        name = names[owner]
        start, end = text.tokens_in(len(context), len(context) + len(continuation), name)
        ids = np.array(text.ids)
        here = np.arange(start, end)
        same_word = text.words[here][:, None] == text.words[None, :]
        hidden = same_word & (np.arange(len(ids)) >= here[:, None])
        lines = np.where(hidden, mask, ids)
        cut = text.cut(limit, start) if limit else slice(0, 0)
        kept = np.delete(lines, cut, axis=1)
        for line, position in zip(kept.tolist(), here.tolist(), strict=True):
            reads.add_input(line, name)
            reads.add_read(position - (cut.stop - cut.start), int(ids[position]), owner)
    return reads


def read(
    model: Model, tokenizer: Tokenizer, reads: Reads, settings: Settings, best: np.ndarray | None = None
) -> np.ndarray:
    """log p of every read; each different input runs once. `best`, if given, is filled with whether the token
    read was the most probable one (which takes whole rows of logits, so it is slower)."""
    inputs, where = distinct(reads.inputs)
    source = where[np.array(reads.source, dtype=np.int64)]
    lengths = np.fromiter(map(len, inputs), np.int64, len(inputs))
    first = dict(zip(reversed(where.tolist()), reversed(reads.names), strict=True))
    check_lengths(lengths, max_positions(model), [first[i] for i in range(len(inputs))])

    order = np.argsort(source, kind="stable")  # reads of one input side by side
    counts = np.bincount(source, minlength=len(inputs))
    begin = np.concatenate([[0], np.cumsum(counts)])
    position, token = np.array(reads.position), np.array(reads.token)
    log_p = np.full(len(source), np.nan)
    padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    head, device = GatheredHead(model), model.device

    def forward(batch: np.ndarray) -> None:
        ids, attention = pad([inputs[i] for i in batch], padding, device)
        chosen = np.concatenate([order[begin[i] : begin[i + 1]] for i in batch])
        line = np.repeat(np.arange(len(batch)), counts[batch])
        rows, row_of = np.unique(line * ids.shape[1] + position[chosen], return_inverse=True)
        if best is None:
            store = partial(log_p.__setitem__, chosen)
            head.read(store, rows, row_of, token[chosen], input_ids=ids, attention_mask=attention)
            return
        rows, row_of, wanted = (torch.from_numpy(a).to(device) for a in (rows, row_of, token[chosen]))
        logits = logits_at(model, rows, input_ids=ids, attention_mask=attention)
        log_p[chosen] = log_probabilities(logits, row_of, wanted).numpy()
        best[chosen] = (logits.argmax(-1)[row_of] == wanted).cpu().numpy()

    rows_limit = head.reader.rows_limit if best is None else max_rows(model.config.vocab_size)
    run_batches(lengths, forward, settings, device, counts, rows_limit)
    head.flush()
    return log_p


def log_mean(
    log_p: np.ndarray, owner: np.ndarray, owners: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """log of the arithmetic mean of the probabilities of each owner (weighted, if asked for), without underflow."""
    weight = np.ones(len(owner)) if weight is None else weight
    top = np.full(owners, -np.inf)
    with np.errstate(
        invalid="ignore"
    ):  # a value that is missing stays NaN, and is refused where scores are checked
        np.maximum.at(top, owner, log_p)
    total = np.bincount(owner, weights=weight * np.exp(log_p - top[owner]), minlength=owners)
    share = total / np.bincount(owner, weights=weight, minlength=owners)
    return top + np.log(np.minimum(share, 1))  # a rounding above 1 when all probabilities are the same


def mask_id(tokenizer: Tokenizer) -> int:
    if tokenizer.mask_token_id is None:
        raise UserError(
            f"the tokenizer {tokenizer.name_or_path or type(tokenizer).__name__} has no mask token, which "
            "masked scoring needs; give another with tokenizer=… or choose scoring=causal or seq2seq"
        )
    return tokenizer.mask_token_id
