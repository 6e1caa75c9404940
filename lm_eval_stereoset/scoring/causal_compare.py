"""Left-to-right models, kind compare: how probable each text is from the first token on in which the two differ.

As EuroGEST does it, with the tokens that the tokenizer gives. What the texts share runs once, and is not read:

    " I cried " , said | he        mean log-probability of the tokens behind the bar
    " I cried " , said | she

If the tokens of one text are the beginning of the other's, both are read from the shorter one's last token on. Texts
that differ in their very first token are read from the first token that has a probability: the second, unless the
tokenizer puts a start token in front, or one is asked for (prefix_token_id) or needed for a text of one token. Texts of
the same tokens are read as a whole. With exact=True a difference in the first token reads the last token only, as in
EuroGEST's program.

Where candidates have prompts, the log-probability of the word behind the prompt counts, as in GEST. It is the sum over
all its tokens: it is the probability of the word that is asked for, however many pieces it comes in. With exact=True it
is that of the last token of the word, encoded on its own, straight behind the prompt.

The harness's `hf` asks what `questions.requests_of` says: the same for prompts, and for texts from the first differing
word on. It agrees with the default here, except in three cases that its requests have no words for. (1) The words that
differ share their first tokens (vášniv|ý and vášniv|á): `hf` counts these tokens, too. (2) The very first words differ:
`hf` puts its start token in front and counts the first token. (3) One text is the beginning of the other by words or by
tokens, and the last word that they share has several tokens.
"""

from collections.abc import Sequence

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.batching import check_lengths, max_positions
from lm_eval_stereoset.scoring.causal import Text, encode, own_prefix, start_token, token_logs
from lm_eval_stereoset.scoring.compare import common_beginning, pair_of
from lm_eval_stereoset.scoring.prefix_tree import Ids, next_token_log_probabilities
from lm_eval_stereoset.scoring.questions import (
    Candidate,
    CandidateScore,
    Model,
    Question,
    Request,
    Scores,
    Settings,
    Tokenizer,
    is_event,
    names_of,
)


def score_compare(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[Scores]:
    prompted = [is_event(question, pair_of(question)[0]) for question in questions]
    scores: list[Scores] = [()] * len(questions)
    for method, asked in ((_score_prompts, True), (_score_texts, False)):
        where = [i for i, has_prompt in enumerate(prompted) if has_prompt == asked]
        if where:
            here = [questions[i] for i in where]
            values = iter(method(model, tokenizer, here, settings))
            for i in where:
                scores[i] = (next(values), next(values))
    return scores


METHODS = {"compare": score_compare}


def _score_texts(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[CandidateScore]:
    sequences, first = (_pairs_exact if settings.exact else _pairs)(tokenizer, questions, settings)
    return _scores(model, sequences, first, questions, settings)


def _pairs(
    tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> tuple[list[Ids], list[int]]:
    """The texts as they are fed, and from where on each is read."""
    own = own_prefix(tokenizer)
    encoded = encode(tokenizer, [c.sentence for question in questions for c in pair_of(question)], False)
    sequences: list[Ids] = []
    first: list[int] = []
    for a, b in zip(encoded[::2], encoded[1::2], strict=True):
        shortest = min(len(a), len(b))
        shared = 0 if a == b else min(common_beginning(a, b), shortest - 1)
        front = own
        if not own and shared == 0 and (shortest < 2 or settings.prefix_token_id is not None):
            front = (start_token(tokenizer, settings),)
        sequences += [(*front, *a), (*front, *b)]
        first += [max(1, len(front) + shared)] * 2
    return sequences, first


def _pairs_exact(
    tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> tuple[list[Ids], list[int]]:
    encoded = encode(tokenizer, [c.sentence for question in questions for c in pair_of(question)], True)
    first: list[int] = []
    for a, b in zip(encoded[::2], encoded[1::2], strict=True):
        shared = 1 if a == b else min(common_beginning(a, b), min(len(a), len(b)) - 1)
        # its index of log-probabilities is shared - 1: at the first token that is -1, the last one
        first += [shared or len(a) - 1, shared or len(b) - 1]
    return encoded, first


def _scores(
    model: Model,
    sequences: Sequence[Ids],
    first: Sequence[int],
    questions: Sequence[Question],
    settings: Settings,
) -> list[CandidateScore]:
    names = names_of(questions)
    for ids, begin, name in zip(sequences, first, names, strict=True):
        if not 1 <= begin < len(ids):
            raise UserError(f"{name}: it has no token behind another one, so that nothing of it can be read")
    check_lengths([len(ids) - 1 for ids in sequences], max_positions(model), names)
    logs = next_token_log_probabilities(model, sequences, first, settings)
    return [CandidateScore(float(log.sum()), len(log)) for log in logs]


def _score_prompts(
    model: Model, tokenizer: Tokenizer, questions: Sequence[Question], settings: Settings
) -> list[CandidateScore]:
    requests = [prompt_of(candidate) for question in questions for candidate in pair_of(question)]
    contexts = encode(tokenizer, [context for context, _ in requests], settings.exact)
    if settings.exact:
        words = encode(tokenizer, [word for _, word in requests], False)
        sequences = [(*context, *word[-1:]) for context, word in zip(contexts, words, strict=True)]
        return _scores(model, sequences, [len(context) for context in contexts], questions, settings)
    names = names_of(questions)
    whole = encode(tokenizer, [context + word for context, word in requests], False)
    for ids, context, name in zip(whole, contexts, names, strict=True):
        if len(ids) <= len(context):
            raise UserError(f"{name}: no token of the word is left behind its prompt")
    texts = [Text(ids, len(context)) for ids, context in zip(whole, contexts, strict=True)]
    logs = token_logs(model, tokenizer, texts, names, settings)
    return [CandidateScore(float(log.sum()), 1) for log in logs]


def prompt_of(candidate: Candidate) -> Request:
    if candidate.prompt is None:
        raise ValueError(f"candidate {candidate.id} has no prompt")
    return candidate.prompt
