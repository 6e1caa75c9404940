"""What a model answers to a request, how many tokens that is the sum of, and how a candidate's score is read from it.

The papers compare the mean log-probability per token. An answer of the harness is a sum without a count:

    (log-likelihood, is greedy)         a model of the harness: the task asks it for the counts beforehand (`count`)
    (log score, tokens)                 `stereoset-hf` brings the count that it has divided by (`encode`, `own_count`)

The count stands in the place of `is greedy`, which no metric of ours has a use for, as an int and never a bool; a third
element would break the harness's own --predict_only. Logged samples hold answers as texts (`parse_logged`):
["-33.4", "False"] or ["-33.4", "6"]. Nothing outside this file knows which place the count is in.

What is scored depends on the whole request (a chat template or a system instruction moves the border between context
and candidate) and on the model's own settings (tokenizer, add_bos_token, prefix_token_id, …). So to count, the model
itself is asked: it encodes the very requests that it is going to score, by its own code, and stops short of scoring.
"""

import inspect
import json
import logging
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from lm_eval_stereoset.errors import UserError, short

logger = logging.getLogger(__name__)

PlainAnswer = tuple[float, bool | int]

LARGEST_SUM = 1e9  # no sentence is so unlikely
LARGEST_COUNT = 10**6  # nor so long
ROUNDING = 1e-6  # a certain token may have a log-likelihood of 1e-9 in a model's arithmetic
_NUMBER = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,4})?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,20}", re.ASCII)


def encode(log_score: float, tokens: int) -> tuple[float, int]:
    """The answer of a model that brings its own count."""
    return log_score, tokens


def own_count(answer: Sequence[Any]) -> int | None:
    """The count that the model has brought; None if the task must know it."""
    _, second = answer
    return second if type(second) is int else None


def parse_logged(logged: Any, where: str, signed: bool = False) -> PlainAnswer:
    """An answer from a line of logged samples; one that no model can give is refused.

    `signed`: the score is a difference of log-likelihoods, which may lie above 0.
    """
    if not isinstance(logged, list) or len(logged) != 2:
        raise UserError(f"{where}: an answer must be [log-likelihood, second part], is {short(logged)}")
    total, second = (part if isinstance(part, str) else json.dumps(part) for part in logged)
    largest = LARGEST_SUM if signed else ROUNDING
    if not _NUMBER.fullmatch(total) or not -LARGEST_SUM <= float(total) <= largest:
        raise UserError(
            f"{where}: {short(logged[0])} is not a log-likelihood, which is a finite number not above 0"
        )
    value = float(total) if signed else min(float(total), 0.0)
    if second.lower() in ("true", "false"):
        return value, second.lower() == "true"
    if not _WHOLE_NUMBER.fullmatch(second):
        raise UserError(f"{where}: {short(logged[1])} is neither True, False nor a number of tokens")
    check_count(int(second), where)
    return value, int(second)


def check_count(count: Any, where: str) -> None:
    if type(count) is not int or not 1 <= count <= LARGEST_COUNT:
        raise UserError(f"{where}: {short(count)} is not a number of tokens, which is 1 or more")


def candidate_scores(doc: dict[str, Any], answers: Sequence[Sequence[Any]]) -> list[float]:
    """The score of each candidate, in the order of doc["candidates"]: the sum divided by its count."""
    counts = doc.get("counts") or [None] * len(answers)
    own = [own_count(answer) for answer in answers]
    return [
        answer[0] / (count if brought is None else brought)
        for answer, count, brought in zip(answers, counts, own, strict=True)
    ]


# Counting

BYTES = "utf-8 bytes"


class Encoded(NamedTuple):
    """A request as the model scores it."""

    context: list[int]
    continuation: list[int]


def count(lm: Any, instances: Sequence[Any]) -> tuple[list[int], str]:
    """Number of scored tokens of every request, and the name of the unit they are counted in."""
    if not hasattr(lm, "_loglikelihood_tokens"):
        logger.warning(
            "%s does not say how it cuts texts into tokens, so log-likelihoods are normalised by UTF-8 bytes, not by "
            "tokens as in the papers",
            type(lm).__name__,
        )
        return [len(instance.args[1].strip().encode("utf-8")) for instance in instances], BYTES
    name = tokenizer_name(lm)
    _check_tokenizer(lm, instances, name)
    encoded = encoded_by(lm, instances)
    _check_lengths(lm, instances, encoded, name)
    return [len(one.continuation) for one in encoded], f"tokens of {name}"


def encoded_by(lm: Any, instances: Sequence[Any]) -> list[Encoded]:
    """The requests as `lm.loglikelihood` cuts them.

    Every model of lm-eval 0.4.13 that has tokens (HFLM, vLLM, SGLang, the API models …) encodes in `loglikelihood`
    and hands the result to its own `_loglikelihood_tokens`. That method is replaced on this one object for the time
    of the call by one that only looks.
    """
    seen: list[tuple] = []

    def look(requests: Sequence[tuple], *_: Any, **__: Any) -> list[tuple[float, bool]]:
        seen.extend(requests)
        return [(0.0, False)] * len(requests)

    quiet = {"disable_tqdm": True} if "disable_tqdm" in inspect.signature(lm.loglikelihood).parameters else {}
    lm._loglikelihood_tokens = look
    try:
        lm.loglikelihood(list(instances), **quiet)
    except NotImplementedError as error:
        raise UserError(
            f"{type(lm).__name__} gives no log-likelihoods, which these tasks need ({error}); choose another "
            "--model, or tasks with chat in their names, such as stereoset_chat_en"
        ) from error
    finally:
        del lm._loglikelihood_tokens
    if [tuple(request[0]) for request in seen] != [tuple(instance.args) for instance in instances]:
        raise UserError(
            f"how many tokens {type(lm).__name__} scores cannot be known: it does not encode request by request; "
            "choose another --model"
        )
    return [Encoded(list(context), list(continuation)) for _, context, continuation in seen]


def tokenizer_name(lm: Any) -> str:
    tokenizer = getattr(lm, "tokenizer", None)
    for attribute in ("name_or_path", "name"):
        if isinstance(name := getattr(tokenizer, attribute, None), str) and name:
            return name
    return type(lm if tokenizer is None else tokenizer).__name__


def _check_tokenizer(lm: Any, instances: Sequence[Any], name: str) -> None:
    from transformers import PreTrainedTokenizerBase

    from lm_eval_stereoset.scoring.tokenizer_check import refuse_useless_tokenizer

    tokenizer = getattr(lm, "tokenizer", None)
    if isinstance(tokenizer, PreTrainedTokenizerBase):
        refuse_useless_tokenizer(tokenizer, [instance.args[1] for instance in instances], name)


def _check_lengths(lm: Any, instances: Sequence[Any], encoded: Sequence[Encoded], name: str) -> None:
    """Every candidate has tokens, and none of a request is cut off: what is left would be another request."""
    limit = getattr(lm, "max_length", None)
    separate = getattr(lm, "backend", "causal") == "seq2seq"
    for instance, (context, continuation) in zip(instances, encoded, strict=True):
        where = f"example {instance.doc['id']}, candidate {instance.args[1].strip()!r}"
        if not continuation or not all(isinstance(token, int) for token in continuation):
            raise UserError(
                f"{where}: tokenizer {name} leaves no token of it; name another: --model_args tokenizer=NAME"
            )
        # A left-to-right model reads all but the last token.
        length = max(len(context), len(continuation)) if separate else len(context) + len(continuation) - 1
        if isinstance(limit, int) and length > limit:
            raise UserError(
                f"{where}: the request has {length} tokens and the model takes {limit}, so the harness would cut its "
                "beginning off; give a shorter system instruction, or a larger max_length in --model_args if the "
                "model can take it"
            )
