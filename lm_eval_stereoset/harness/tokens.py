"""How many tokens of a candidate a harness model scores.

The papers compare the mean log-probability per token; the harness returns sums without counts. What is scored
depends on the whole request (a chat template or a system instruction moves the border between context and
candidate) and on the model's own settings (tokenizer, add_bos_token, prefix_token_id, …). So the model itself is
asked: it encodes the very requests that it is going to score, by its own code, and stops short of scoring them.
"""

import inspect
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.tokenizer_check import refuse_useless_tokenizer

logger = logging.getLogger(__name__)

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
