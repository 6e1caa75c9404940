"""Left-to-right models (GPT-2, GPT-NeoX, Llama, Qwen, Mistral, BLOOM ...): probabilities of sentences.

Kinds fill and whole: G over the tokens of the candidate sentence, G = geometric mean of probabilities (paper eq. 4).
Kind judge: the summed log-likelihood of each answer behind the question in words.
Kind follow: context A and candidate B are joined to F = A + " " + B; `case` says what of F is compared.

The default puts the start token in front of all tokens, in one pass, and agrees with the log-likelihoods of the
harness's `hf`. With exact=True the first token comes from the start token alone and the others do not see it,
as in the authors' program.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.batching import check_lengths, max_positions
from lm_eval_stereoset.scoring.prefix_tree import Ids, next_token_log_probabilities
from lm_eval_stereoset.scoring.questions import (
    CandidateScore,
    Model,
    Question,
    Scores,
    Settings,
    Tokenizer,
    by_question,
    flat,
    names_of,
    with_final_dot,
)

START_TEXT = "<|endoftext|>"  # what the authors' program feeds as start, whatever the tokenizer makes of it


@dataclass(frozen=True)
class Text:
    """Tokens of a text; those before `first` are context, whose probabilities nobody asks for."""

    ids: Ids
    first: int = 0


def score_sentence(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    encoded = encode(tokenizer, [candidate.sentence for _, candidate in flat(questions)], settings.exact)
    logs = token_logs(model, tokenizer, [Text(ids) for ids in encoded], names_of(questions), settings)
    return by_question(questions, [_mean_of(log) for log in logs])


def score_follow(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    contexts = [with_final_dot(question.context_of(candidate)) for question, candidate in flat(questions)]
    candidates = [candidate.sentence for _, candidate in flat(questions)]
    names = names_of(questions)
    full = encode(tokenizer, [f"{a} {b}" for a, b in zip(contexts, candidates, strict=True)], settings.exact)
    # exact: a tokenizer that appends </s> (mGPT) counts it in A too, so that B's first token falls to A
    n_context = [len(ids) for ids in encode(tokenizer, contexts, settings.exact)]
    for ids, n, name in zip(full, n_context, names, strict=True):
        if n >= len(ids):
            raise UserError(f"{name}: no token of the candidate is left behind its context")
    reads_context = settings.case not in ("d", "e")
    texts = [Text(ids, 0 if reads_context else n) for ids, n in zip(full, n_context, strict=True)]
    if settings.case in ("orig", "e", "f"):
        texts += [Text(ids) for ids in encode(tokenizer, candidates, settings.exact)]
    logs = token_logs(model, tokenizer, texts, names * 2, settings)
    alone: list[Logs] = [*logs[len(full) :]] or [None] * len(full)
    scores = []
    for log, n, b in zip(logs, n_context, alone, strict=False):
        a, rest = (log[:n], log[n:]) if reads_context else (None, log)
        scores.append(_by_case(settings.case, a, rest, log, b))
    return by_question(questions, scores)


def score_judge(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    """The log-likelihood of each answer behind the question in words: its sum, since answers are whole."""
    asked = [question.context_of(candidate) for question, candidate in flat(questions)]
    answers = [candidate.sentence for _, candidate in flat(questions)]
    names = names_of(questions)
    full = encode(tokenizer, [f"{a} {b}" for a, b in zip(asked, answers, strict=True)], False)
    before = [len(ids) for ids in encode(tokenizer, asked, False)]
    for ids, n, name in zip(full, before, names, strict=True):
        if n >= len(ids):
            raise UserError(f"{name}: no token of the answer is left behind its question")
    texts = [Text(ids, n) for ids, n in zip(full, before, strict=True)]
    logs = token_logs(model, tokenizer, texts, names, settings)
    return by_question(questions, [CandidateScore(float(log.sum()), 1) for log in logs])


METHODS = {"fill": score_sentence, "whole": score_sentence, "follow": score_follow, "judge": score_judge}

Logs = np.ndarray | None  # log-probabilities of a text's tokens; None: not needed, and not computed


def _by_case(case: str, a: Logs, b_given_a: Logs, ab: Logs, b: Logs) -> CandidateScore:
    """The six comparisons; each argument holds the log-probabilities of its tokens, or None if not needed."""
    if case == "d":
        return _mean_of(b_given_a)
    if case == "c":
        return _mean_of(ab)
    numerator, denominator = {
        "orig": (b, a),
        "b": (b_given_a, ab),
        "e": (b_given_a, b),
        "f": (ab, b),
    }[case]
    return CandidateScore(float(_read(numerator).mean() - _read(denominator).mean()), 1)


def token_logs(
    model: Model, tokenizer: Tokenizer, texts: Sequence[Text], names: Sequence[str], settings: Settings
) -> list[np.ndarray]:
    """log p of each text's tokens from `first` on."""
    if settings.exact:
        check_lengths([len(text.ids) for text in texts], max_positions(model), names)
        return _token_logs_exact(model, tokenizer, texts, settings)
    start, own = (start_token(tokenizer, settings),), own_prefix(tokenizer)
    # A first token can be read behind a start token only. Where none is read (cases d, e) the text goes in as the
    # tokenizer gives it, like the harness does: GPT-2's has no start token then, Llama's has.
    prefixes = [start if text.first == 0 else own for text in texts]
    sequences = [(*prefix, *text.ids) for prefix, text in zip(prefixes, texts, strict=True)]
    first = [len(prefix) + text.first for prefix, text in zip(prefixes, texts, strict=True)]
    check_lengths(
        [len(ids) - 1 for ids in sequences], max_positions(model), names
    )  # the last one is only read
    return next_token_log_probabilities(model, sequences, first, settings)


def _token_logs_exact(
    model: Model, tokenizer: Tokenizer, texts: Sequence[Text], settings: Settings
) -> list[np.ndarray]:
    start = tokenizer(START_TEXT)["input_ids"][0]  # mGPT: the first of several pieces
    opening = [(start, text.ids[0]) for text in texts]  # few are distinct, and only distinct ones are run
    sequences = [text.ids for text in texts] + opening
    first = [max(1, text.first) for text in texts] + [1] * len(opening)
    logs = next_token_log_probabilities(model, sequences, first, settings)
    rest, opened = logs[: len(texts)], logs[len(texts) :]
    return [
        np.concatenate([one, log]) if text.first == 0 else log
        for text, one, log in zip(texts, opened, rest, strict=True)
    ]


def start_token(tokenizer: Tokenizer, settings: Settings) -> int:
    """The token in front of a text: the one asked for, or BOS, or EOS where there is none (as the harness does)."""
    for token in (settings.prefix_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return token
    raise UserError(
        f"{type(tokenizer).__name__} has neither a BOS nor an EOS token: the first token of a sentence has no "
        "probability; name one with prefix_token_id=…, or set tokenizer.bos_token"
    )


def own_prefix(tokenizer: Tokenizer) -> Ids:
    """The special tokens that the tokenizer itself puts in front of a text."""
    with_special = tokenizer("a")["input_ids"]
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    for n in range(len(with_special) - len(plain) + 1):
        if with_special[n : n + len(plain)] == plain:
            return tuple(with_special[:n])
    return ()


def encode(tokenizer: Tokenizer, texts: Sequence[str], special: bool) -> list[Ids]:
    # verbose=False: our own check of the length names the example
    encoded = tokenizer(list(texts), add_special_tokens=special, verbose=False)["input_ids"]
    return [tuple(ids) for ids in encoded]


def _mean_of(logs: Logs) -> CandidateScore:
    return CandidateScore(float(_read(logs).sum()), len(_read(logs)))


def _read(logs: Logs) -> np.ndarray:
    if logs is None:
        raise RuntimeError("the case needs log-probabilities that the model was not asked for")
    return logs
