"""Whose answers are in a cache and in a results file: bends of the harness, in force while `stereoset run` runs it.

Seen in lm-eval 0.4.13:
- `CachingLM` keys answers by the texts of a request alone, so two models with one --use_cache get each other's answers,
  and keeps them as pickles. evaluator.py looks the class up as `lm_eval.api.model.CachingLM`, where ours is put.
- Results name a model by its model_args: a folder that was trained into since, or another branch of a hub model, looks
  the same. Ours also record the identity (identity.py), by wrapping `evaluator.add_tokenizer_info`, the last step of
  `simple_evaluate`, which gets the results and the model.

tests/harness/test_identified.py fails when one of these places is gone.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import lm_eval
import lm_eval.api.model
from lm_eval.api.model import LM
from lm_eval.api.model import CachingLM as CachingLM  # asking.py takes it from here

from lm_eval_stereoset.harness.bends import replaced, without_cache
from lm_eval_stereoset.harness.cache import AnswerStore
from lm_eval_stereoset.scoring.identity import Identity, identity_by_arguments, identity_of

# model_args that leave a trace in the weights or the tokenizer in memory, or that change speed and memory only.
SPEED_ONLY = frozenset({"device", "batch_size", "max_batch_size", "num_concurrent"})
SEEN_IN_MEMORY = SPEED_ONLY | {
    "pretrained", "revision", "subfolder", "tokenizer", "peft", "delta", "gguf_file", "autogptq", "gptqmodel", "dtype",
    "trust_remote_code", "use_fast_tokenizer", "parallelize", "max_memory_per_gpu", "max_cpu_memory", "offload_folder",
    "device_map", "tp_plan", "logits_cache", "low_cpu_mem_usage",
}  # fmt: skip


def identity_of_lm(lm: LM, kind: str, model_args: Mapping[str, Any]) -> Identity:
    """Of any model of the harness. `kind`: its name in the registry."""
    import torch

    if hasattr(lm, "identity"):  # stereoset-hf knows its settings itself
        return lm.identity()
    model = getattr(lm, "model", None)
    tokenizer = vars(lm).get(
        "tokenizer"
    )  # as a property it may be one that is downloaded when it is looked at
    if isinstance(model, torch.nn.Module):
        settings = {key: value for key, value in model_args.items() if key not in SEEN_IN_MEMORY}
        return identity_of(model, tokenizer, {"model": kind, "model_args": settings})
    settings = {key: value for key, value in model_args.items() if key not in SPEED_ONLY}
    return identity_by_arguments(kind, settings, tokenizer)


class IdentifiedCachingLM(CachingLM):
    """The harness's own, with a store that holds JSON and shows only this model's answers."""

    def __init__(self, lm: LM, cache_db: str, identity: Identity) -> None:
        self.lm, self.cache_db = lm, cache_db
        self.dbdict = AnswerStore(cache_db, identity.scope)
        lm.set_cache_hook(self.get_cache_hook())

    def __getattr__(self, attr: str) -> Any:
        if attr == "loglikelihood" and hasattr(self.lm, "score_cache"):
            return self.lm.loglikelihood  # looks its examples up itself: their texts are not enough
        return super().__getattr__(attr)


@contextmanager
def identified(kind: str | None = None, model_args: Any = None) -> Iterator[None]:
    """While it is open, the harness caches and records answers by identity.

    `kind` and `model_args` need not be given if `lm_eval.simple_evaluate` is called inside: they are taken from there.
    """
    from lm_eval import evaluator
    from lm_eval.models.huggingface import HFLM

    asked: dict[str, Any] = {"kind": kind or "", "model_args": _as_dict(model_args)}
    tokenizer_info = evaluator.add_tokenizer_info

    def add_tokenizer_info(results: dict[str, Any], lm: LM) -> None:
        """The last thing that simple_evaluate does with its results, on the one process that has some."""
        tokenizer_info(results, lm)
        lm = without_cache(lm)
        if hasattr(lm, "identity") or isinstance(lm, HFLM):
            identity = identity_of_lm(lm, **asked)
        else:  # no torch model: an API, say
            arguments = {key: value for key, value in asked["model_args"].items() if key not in SPEED_ONLY}
            identity = identity_by_arguments(asked["kind"], arguments)
        results["config"].setdefault("stereoset", {}).setdefault("identity", identity.to_dict())

    def caching_lm(lm: LM, cache_db: str) -> CachingLM:
        return IdentifiedCachingLM(lm, cache_db, identity_of_lm(lm, **asked))

    with (
        _arguments_noted(asked) if kind is None else nullcontext(),
        replaced(evaluator, "add_tokenizer_info", add_tokenizer_info),
        replaced(lm_eval.api.model, "CachingLM", caching_lm),
    ):
        yield


@contextmanager
def _arguments_noted(asked: dict[str, Any]) -> Iterator[None]:
    """`asked` gets what `lm_eval.simple_evaluate` is called with."""
    from lm_eval.evaluator import simple_evaluate

    def evaluate(*args: Any, **options: Any) -> Any:
        model = args[0] if args else options.get("model")
        asked["kind"] = model if isinstance(model, str) else type(model).__name__
        asked["model_args"] = _as_dict(args[1] if len(args) > 1 else options.get("model_args"))
        return simple_evaluate(*args, **options)

    with replaced(lm_eval, "simple_evaluate", evaluate):
        yield


def _as_dict(model_args: Any) -> dict[str, Any]:
    from lm_eval.utils import simple_parse_args_string

    if isinstance(model_args, str):
        return simple_parse_args_string(model_args)
    return dict(model_args or {})
