"""Encoder-decoders: T5, mT5, UL2 (sentinel tokens) and BART, mBART (a mask token).

Kind fill: the candidate word is filled in from left to right, as in masked models. In step j the encoder
sees the sentence with the word's first j tokens and one gap for all the rest; p_j is the probability that the
decoder answers with token j + 1. The score is the arithmetic mean of the p_j.

Kinds follow and whole: the encoder sees the context, if there is one, and a gap; the decoder is given the candidate;
the score is the geometric mean (paper eq. 4) over the candidate's tokens and the final </s>.

How a gap is answered depends on how the model was trained:
sentinels  The gap is <extra_id_0>; the decoder writes <pad> <extra_id_0> and then what belongs into the gap.
mask       The gap is <mask>; the decoder writes the whole text again, so it is given the text up to the gap.

With exact=True, sentinel models only, the decoder's first token is its own most probable one instead of
<extra_id_0>, and a word's beginning is decoded and tokenised again, as in the authors' program.
"""

from collections.abc import Sequence

import numpy as np
import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.batching import check_lengths, distinct, max_positions, pad, run_batches
from lm_eval_stereoset.scoring.checkpoint import decoder_start_token
from lm_eval_stereoset.scoring.encoder_decoder import Ids, Query, decoder_log_probabilities
from lm_eval_stereoset.scoring.masked import blank_spans, clean_up, log_mean
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
    with_final_dot,
)
from lm_eval_stereoset.scoring.reading import logits_at
from lm_eval_stereoset.scoring.text import Tokenised, tokenise

SENTINELS = ("<extra_id_0>", "<extra_id_1>")  # the second for the few contexts with two gaps
NOT_READ = -1  # in the place of a token that is still to be computed
NEAR_TIE = 1e-3  # difference of logits below which a batch's rounding might decide the most probable token


def score_fill(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    if not gap_is_sentinel(tokenizer):
        queries, owners = mask_steps(model, tokenizer, questions)
    elif settings.exact:
        queries, owners = sentinel_steps_exact(model, tokenizer, questions, settings)
    else:
        queries, owners = sentinel_steps(model, tokenizer, questions)
    names = names_of(questions)
    check_queries(model, queries, [names[owner] for owner in owners])
    logs = np.concatenate(decoder_log_probabilities(model, queries, settings))
    means = log_mean(logs, np.array(owners), len(names))
    return by_question(questions, [CandidateScore(float(mean), 1) for mean in means])


def score_text(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    make = sentinel_answers if gap_is_sentinel(tokenizer) else mask_answers
    refuse_missing_end(tokenizer)
    queries = make(model, tokenizer, questions)
    check_queries(model, queries, names_of(questions))
    logs = decoder_log_probabilities(model, queries, settings)
    return by_question(questions, [CandidateScore(float(log.sum()), len(log)) for log in logs])


METHODS = {"fill": score_fill, "follow": score_text, "whole": score_text}


def gap_is_sentinel(tokenizer: Tokenizer) -> bool:
    """Whether gaps are sentinel tokens (T5) or a mask token (BART); a tokenizer with neither is refused."""
    if SENTINELS[0] in tokenizer.get_vocab():
        return True
    if tokenizer.mask_token_id is not None:
        return False
    raise UserError(
        f"the tokenizer {tokenizer.name_or_path or type(tokenizer).__name__} has neither the sentinel "
        f"{SENTINELS[0]} nor a mask token, so a gap cannot be marked; give another with tokenizer=…"
    )


def refuse_missing_end(tokenizer: Tokenizer) -> None:
    """The end token counts in an inter-sentence score (eq. 4), so a tokenizer that does not name it is refused."""
    if tokenizer.eos_token_id is None:
        raise UserError(
            f"the tokenizer {tokenizer.name_or_path or type(tokenizer).__name__} has no end token, which the "
            "inter-sentence score needs; name it as eos_token in tokenizer_config.json, or give another tokenizer "
            "with tokenizer=…"
        )


def sentinel_steps(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question]
) -> tuple[list[Query], list[int]]:
    """By ids: the context with sentinels is tokenised once, tokens of the word are put in front of them."""
    sentinels = [s for s in SENTINELS if s in tokenizer.get_vocab()]
    marks = [tokenizer.convert_tokens_to_ids(s) for s in sentinels]
    asked = flat(questions)
    templates = _encode(tokenizer, [_with_gaps(question.context, sentinels) for question, _ in asked])
    sentences = tokenise(
        tokenizer, [question.context.replace(BLANK, candidate.filler) for question, candidate in asked]
    )
    decoder = (decoder_start_token(model.config), marks[0])
    queries: list[Query] = []
    owners: list[int] = []
    for owner, (sentence, name) in enumerate(zip(sentences, names_of(questions), strict=True)):
        question, candidate = asked[owner]
        template = templates[owner]
        spans = blank_spans(question.context, candidate.filler)
        found = [sentence.tokens_in(*span, name) for span in spans]
        begin, end = found[0]
        ends = [int(sentence.ends[last - 1]) for _, last in found]
        if list(template[: begin + 1]) != [*sentence.ids[:begin], marks[0]] or any(
            last > span[1] for last, span in zip(ends, spans, strict=True)
        ):
            # a token holds part of the word and part of its neighbour (BLANKed): the gap takes in both
            template = cut_out(sentence, found, marks)
        tokens = sentence.ids[begin:end]
        for step, token in enumerate(tokens):
            queries.append(Query(_show(template, marks, tokens[:step]), decoder, (token,)))
            owners.append(owner)
    return queries, owners


def sentinel_steps_exact(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> tuple[list[Query], list[int]]:
    """The authors' way: by text, and the decoder begins with what it likes best."""
    asked = flat(questions)
    words = _encode(tokenizer, [candidate.filler for _, candidate in asked], special=False)
    texts, tokens, owners = [], [], []
    names = names_of(questions)
    for owner, ((question, candidate), word) in enumerate(zip(asked, words, strict=True)):
        if not word:
            raise UserError(f"{names[owner]}: the tokenizer leaves nothing of {candidate.filler!r}")
        for step, token in enumerate(word):
            shown = clean_up(tokenizer.decode(list(word[:step]))) if step else ""
            texts.append(question.context.replace(BLANK, shown + SENTINELS[0]))
            tokens.append(token)
            owners.append(owner)
    different, where = distinct(texts)
    encoders = _encode(tokenizer, different)
    start = decoder_start_token(model.config)
    greedy = most_probable_first(model, encoders, start, settings)
    for i, owner in zip(where.tolist(), owners, strict=True):
        if greedy[i] == model.config.eos_token_id:
            raise UserError(
                f"{names[owner]}: the model answers the gap with </s> at once, which the authors' program "
                "cannot score; leave exact out"
            )
    queries = [
        Query(encoders[i], (start, greedy[i]), (token,))
        for i, token in zip(where.tolist(), tokens, strict=True)
    ]
    return queries, owners


def most_probable_first(model: Model, encoders: Sequence[Ids], start: int, settings: Settings) -> list[int]:
    """The decoder's first token for each encoder input, the same whatever the batches."""
    inputs, where = distinct(encoders)
    best = np.full(len(inputs), NOT_READ, dtype=np.int64)

    def run(indices: np.ndarray) -> torch.Tensor:
        ids, mask = pad([inputs[i] for i in indices], 0, model.device)
        decoder = torch.full((len(indices), 1), start, device=model.device)
        rows = torch.arange(len(indices), device=model.device)
        return logits_at(
            model, rows, input_ids=ids, attention_mask=mask, decoder_input_ids=decoder, use_cache=False
        )

    def forward(batch: np.ndarray) -> None:
        values, tokens = run(batch).float().topk(2, dim=-1)
        best[batch] = tokens[:, 0].cpu().numpy()
        for i in batch[((values[:, 0] - values[:, 1]) < NEAR_TIE).cpu().numpy()]:
            best[i] = int(run(np.array([i])).argmax())  # alone, as the golden rule of batch size 1 has it

    run_batches(list(map(len, inputs)), forward, settings, model.device)
    if (best == NOT_READ).any():
        raise RuntimeError(f"{int((best == NOT_READ).sum())} first decoder tokens were never computed")
    return best[where].tolist()


def mask_steps(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question]
) -> tuple[list[Query], list[int]]:
    """The decoder is given the sentence up to the gap, as the model writes it, and answers with the next token."""
    asked = flat(questions)
    sentences = tokenise(
        tokenizer, [question.context.replace(BLANK, candidate.filler) for question, candidate in asked]
    )
    marks = [tokenizer.mask_token_id] * 2
    queries: list[Query] = []
    owners: list[int] = []
    for owner, (sentence, name) in enumerate(zip(sentences, names_of(questions), strict=True)):
        question, candidate = asked[owner]
        spans = [sentence.tokens_in(*span, name) for span in blank_spans(question.context, candidate.filler)]
        fed = shifted(model, sentence.ids)
        template = cut_out(sentence, spans, marks)
        begin, end = spans[0]
        for position in range(begin, end):
            shown = sentence.ids[begin:position]
            encoder = _show(template, marks, shown)
            queries.append(Query(encoder, fed[: position + 1], (sentence.ids[position],)))
            owners.append(owner)
    return queries, owners


def sentinel_answers(model: Model, tokenizer: Tokenizer, questions: Sequence[Question]) -> list[Query]:
    asked = flat(questions)
    contexts = _encode(
        tokenizer,
        [
            f"{with_final_dot(question.context_of(candidate))} {SENTINELS[0]}".lstrip()
            for question, candidate in asked
        ],
    )
    answers = _encode(tokenizer, [candidate.sentence for _, candidate in asked], special=False)
    beginning = (decoder_start_token(model.config), tokenizer.convert_tokens_to_ids(SENTINELS[0]))
    return [
        Query(context, (*beginning, *answer), (*answer, tokenizer.eos_token_id), len(beginning))
        for context, answer in zip(contexts, answers, strict=True)
    ]


def mask_answers(model: Model, tokenizer: Tokenizer, questions: Sequence[Question]) -> list[Query]:
    """The encoder sees context and mask, the decoder writes context and candidate; only the latter counts."""
    asked = flat(questions)
    pairs = [
        (with_final_dot(question.context_of(candidate)), candidate.sentence) for question, candidate in asked
    ]
    texts = tokenise(tokenizer, [f"{a} {b}" if a else b for a, b in pairs])
    queries = []
    for (_, b), text, name in zip(pairs, texts, names_of(questions), strict=True):
        begin, end = text.tokens_in(len(text.text) - len(b), len(text.text), name)
        encoder = (*text.ids[:begin], tokenizer.mask_token_id, *text.ids[end:])
        stop = end + 1 if tokenizer.eos_token_id in text.ids[end : end + 1] else end
        fed = shifted(model, text.ids)
        queries.append(Query(encoder, fed[:stop], tuple(text.ids[begin:stop]), begin + 1))
    return queries


def shifted(model: Model, ids: Sequence[int]) -> Ids:
    """The decoder's input that makes it write `ids`: position i answers with ids[i]."""
    labels = torch.tensor([list(ids)])
    if not hasattr(model, "prepare_decoder_input_ids_from_labels"):
        return (decoder_start_token(model.config), *ids[:-1])
    return tuple(model.prepare_decoder_input_ids_from_labels(labels)[0].tolist())


def _with_gaps(context: str, sentinels: Sequence[str]) -> str:
    """BLANKs become sentinels in order; further ones than there are sentinels repeat the last."""
    parts = context.split(BLANK)
    marks = [sentinels[min(i, len(sentinels) - 1)] for i in range(len(parts) - 1)]
    return "".join(part + mark for part, mark in zip(parts, [*marks, ""], strict=True))


def cut_out(sentence: Tokenised, spans: Sequence[tuple[int, int]], marks: Sequence[int]) -> Ids:
    line: list[int] = []
    done = 0
    for i, (begin, end) in enumerate(spans):
        line += [*sentence.ids[done:begin], marks[min(i, len(marks) - 1)]]
        done = end
    return (*line, *sentence.ids[done:])


def _show(template: Ids, marks: Sequence[int], shown: Sequence[int]) -> Ids:
    """The template with `shown` in front of every gap."""
    if not shown:
        return template
    return tuple(i for token in template for i in ((*shown, token) if token in marks else (token,)))


def _encode(tokenizer: Tokenizer, texts: Sequence[str], special: bool = True) -> list[Ids]:
    # verbose=False: our own check of the length names the example
    encoded = tokenizer(list(texts), add_special_tokens=special, verbose=False)["input_ids"]
    return [tuple(ids) for ids in encoded]


def check_queries(model: Model, queries: Sequence[Query], names: Sequence[str]) -> None:
    lengths = [max(len(query.encoder), len(query.decoder)) for query in queries]
    check_lengths(lengths, max_positions(model), names)
