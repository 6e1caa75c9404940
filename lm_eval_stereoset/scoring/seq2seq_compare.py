"""Encoder-decoders, kind compare: how probable each text's own tokens are in the stretch in which the two differ.

The encoder sees the text with one gap for the whole stretch, which makes the two texts the same input; the decoder is
given each text's stretch. The score is the mean log-probability of its tokens, without what closes the gap:

    encoder     " I cried " , <extra_id_0> said .
    decoder     <pad> <extra_id_0>  he             the answer to <extra_id_0> is read
                <pad> <extra_id_0>  she

A model with a mask token (BART) writes the whole text again, so its decoder is given the text up to the stretch, too;
the stretch alone is read. No published program compares pairs with such models, so exact=True changes nothing. Prompts
are for left-to-right models: the sentences are compared.
"""

from collections.abc import Sequence

from lm_eval_stereoset.scoring.checkpoint import decoder_start_token
from lm_eval_stereoset.scoring.compare import Stretch, pair_of, stretches
from lm_eval_stereoset.scoring.encoder_decoder import Query, decoder_log_probabilities
from lm_eval_stereoset.scoring.questions import (
    CandidateScore,
    Model,
    Question,
    Scores,
    Settings,
    Tokenizer,
    by_question,
    names_of,
)
from lm_eval_stereoset.scoring.seq2seq import SENTINELS, check_queries, cut_out, gap_is_sentinel, shifted
from lm_eval_stereoset.scoring.text import Tokenised, tokenise


def score_compare(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    queries = comparing_queries(model, tokenizer, questions)
    check_queries(model, queries, names_of(questions))
    logs = decoder_log_probabilities(model, queries, settings)
    return by_question(questions, [CandidateScore(float(log.sum()), len(log)) for log in logs])


METHODS = {"compare": score_compare}


def comparing_queries(model: Model, tokenizer: Tokenizer, questions: Sequence[Question]) -> list[Query]:
    """Two queries per question, in the order of its candidates."""
    query = _answer_to_sentinel if gap_is_sentinel(tokenizer) else _text_again
    texts = tokenise(tokenizer, [c.sentence for question in questions for c in pair_of(question)])
    found = []
    for number, question in enumerate(questions):
        here = texts[2 * number], texts[2 * number + 1]
        for text, stretch in zip(here, stretches(*here, question.name(question.candidates[0])), strict=True):
            found.append(query(model, tokenizer, text, stretch))
    return found


def _answer_to_sentinel(model: Model, tokenizer: Tokenizer, text: Tokenised, stretch: Stretch) -> Query:
    mark = tokenizer.convert_tokens_to_ids(SENTINELS[0])
    beginning = (decoder_start_token(model.config), mark)
    own = tuple(text.ids[slice(*stretch)])
    return Query(cut_out(text, [stretch], [mark]), (*beginning, *own[:-1]), own, len(beginning))


def _text_again(model: Model, tokenizer: Tokenizer, text: Tokenised, stretch: Stretch) -> Query:
    begin, end = stretch
    encoder = cut_out(text, [stretch], [tokenizer.mask_token_id])
    return Query(encoder, shifted(model, text.ids)[:end], tuple(text.ids[begin:end]), begin + 1)
