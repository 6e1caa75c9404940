"""How many tokens of a candidate the harness scores.

The papers compare the mean log-probability per token; the harness returns sums without counts. So the
tokenizer of the model is loaded here once more, with the options that the model gets, and the candidates
are cut as the harness's `hf` model cuts them.
"""

import logging
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from lm_eval_stereoset.errors import UserError

logger = logging.getLogger(__name__)

Request = tuple[str, str]  # context, continuation


def tokenizer_name(model_args: Mapping[str, Any]) -> str | None:
    """The harness's own order: an explicit tokenizer, else the model's."""
    if model_args.get("tokenizer_backend") in ("tiktoken", "remote", "none"):
        return None
    for key in ("tokenizer", "pretrained", "model"):
        if isinstance(name := model_args.get(key), str) and name:
            return name
    return None


def count(requests: Sequence[Request], model_args: Mapping[str, Any]) -> tuple[list[int], str]:
    """Length of every continuation, and the name of the unit they are counted in."""
    name = tokenizer_name(model_args)
    if name is None:
        logger.warning(
            "No tokenizer is known for this model, so log-likelihoods are normalised by UTF-8 bytes, not by tokens "
            "as in the papers; name one with --model_args tokenizer=NAME"
        )
        return [len(continuation.strip().encode("utf-8")) for _, continuation in requests], "utf-8 bytes"
    tokenizer = load_tokenizer(name, model_args)
    if is_seq2seq(name, model_args):
        counts = [len(ids) for ids in _encode(tokenizer, [c for _, c in requests], special=False)]
    else:
        counts = count_causal(
            tokenizer, requests, model_args.get("add_bos_token"), model_args.get("prefix_token_id")
        )
    if short := [i for i, n in enumerate(counts) if n < 1]:
        raise UserError(f"tokenizer {name}: no token is left of candidate {requests[short[0]][1]!r}")
    return counts, f"tokens of {name}"


def count_causal(
    tokenizer: Any,
    requests: Sequence[Request],
    add_bos: bool | None = None,
    prefix_token_id: int | None = None,
) -> list[int]:
    """As TemplateLM.loglikelihood: alone after BOS if there is no context, else by difference of lengths.

    Whether the tokenizer adds BOS cancels out in the difference, and is switched off without a context.
    """
    empty = [i for i, (context, _) in enumerate(requests) if not context]
    given = [i for i, (context, _) in enumerate(requests) if context]
    counts = [0] * len(requests)
    if prefix_token_id is None:
        prefix_token_id = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    for i, ids in zip(empty, _encode(tokenizer, [requests[i][1] for i in empty], special=False), strict=True):
        counts[i] = len(ids) - (ids[:1] == [prefix_token_id])  # a BOS in the text becomes the context
    wholes = _encode(tokenizer, ["".join(requests[i]) for i in given], special=add_bos)
    contexts = _encode(tokenizer, [requests[i][0].rstrip() for i in given], special=add_bos)
    for i, whole, context in zip(given, wholes, contexts, strict=True):
        counts[i] = len(whole) - len(context)
    return counts


def _encode(tokenizer: Any, texts: list[str], special: bool | None) -> list[list[int]]:
    if not texts:
        return []
    options = {} if special is None else {"add_special_tokens": special}
    return tokenizer(texts, return_attention_mask=False, **options)["input_ids"]


def load_tokenizer(name: str, model_args: Mapping[str, Any]) -> Any:
    """AutoTokenizer with the options that HFLM passes on."""
    options = _loading_options(model_args)
    if model_args.get("gguf_file") and not model_args.get("tokenizer"):
        options["gguf_file"] = model_args["gguf_file"]
    else:
        options["use_fast"] = model_args.get("use_fast_tokenizer", True)
    if model_args.get("add_bos_token") is not None:
        options["add_bos_token"] = model_args["add_bos_token"]
    try:
        return _from_pretrained(name, tuple(options.items()))
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UserError(
            f"cannot load the tokenizer {name!r}, which is needed to count tokens: {reason} "
            "(another one: --model_args tokenizer=NAME)"
        ) from error


@lru_cache(maxsize=4)  # a group of tasks asks once a task, and GGUF tokenizers take seconds to build
def _from_pretrained(name: str, options: tuple[tuple[str, Any], ...]) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(name, **dict(options))


def _loading_options(model_args: Mapping[str, Any]) -> dict[str, Any]:
    options = {"revision": model_args.get("revision") or "main"}
    options["trust_remote_code"] = bool(model_args.get("trust_remote_code", False))
    if model_args.get("subfolder"):
        options["subfolder"] = model_args["subfolder"]
    return options


def is_seq2seq(name: str, model_args: Mapping[str, Any]) -> bool:
    """Encoder-decoder models get context and continuation cut separately."""
    if model_args.get("backend") in ("causal", "seq2seq"):
        return model_args["backend"] == "seq2seq"
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

    return model_type(name, model_args) in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES


def model_type(name: str, model_args: Mapping[str, Any]) -> str | None:
    """From the checkpoint's config; None for a tokenizer without a model beside it, as API models have."""
    from transformers import AutoConfig

    options = _loading_options(model_args)
    if model_args.get("gguf_file"):
        options["gguf_file"] = model_args["gguf_file"]
    try:
        return AutoConfig.from_pretrained(model_args.get("pretrained") or name, **options).model_type
    except (OSError, ValueError, KeyError):
        return None


def warn_of_a_lost_head(model_args: Mapping[str, Any]) -> None:
    """The harness's `hf` (0.4.13) ties mT5's output head to its embedding after loading: wrong scores, no error."""
    ours = "lm_eval_stereoset.models.stereoset_hf" in sys.modules  # the model is made before the tasks
    name = tokenizer_name(model_args)
    if name and not ours and model_type(name, model_args) in ("mt5", "umt5"):
        logger.warning(
            "mT5 under --model hf: the harness replaces its output head by its embedding, so these scores are WRONG; "
            "use `stereoset run --model stereoset-hf`"
        )
