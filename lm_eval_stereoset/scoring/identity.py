"""The identity of an answer: everything a model's score depends on besides the texts it is asked about.

Two runs may share answers (a cache, the notes of an interrupted run), and a report may put their splits together, only
if their identities are equal. What is in memory after loading is hashed, not the way it got there: the same checkpoint
in another folder is the same model, while another subfolder, revision, GGUF file, adapter, precision, quantisation or
override of the config changes some weight or setting and so the identity. It holds for models passed in memory, too.
"""

import hashlib
import inspect
import json
import logging
import os
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

RANDOM = (
    "stereoset_random"  # attribute that loading leaves on a model: unused weights, random in each process
)
UNKNOWN = "unknown"
INTERVENTION = "stereoset_intervention"  # attribute of a hook whose effect is known: its checksum
# Whose versions a number depends on; written into every result.
PACKAGES = ("lm-eval-stereoset", "lm_eval", "transformers", "tokenizers", "torch", "datasets", "numpy")

# Entries of a config that say where a model came from or who wrote it, not what it computes.
_ORIGIN = ("_name_or_path", "_commit_hash", "transformers_version")
# Parts of a tokenizer that every call sets anew.
_PER_CALL = ("padding", "truncation")


def versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in PACKAGES}


@dataclass(frozen=True)
class Identity:
    weights: str  # checksum of all weights in memory, or of the files that model_args name, or "unknown"
    config: str
    tokenizer: str
    architecture: str
    dtype: str
    settings: dict[str, Any]  # of the scoring: method, case, prefix token …
    packages: dict[str, str] = field(default_factory=versions)

    @property
    def fingerprint(self) -> str:
        """Of the model and its settings: results with equal ones belong together."""
        return fingerprint({key: value for key, value in asdict(self).items() if key != "packages"})

    @property
    def scope(self) -> str:
        """Of what answers may be used again for: also the same versions of all packages."""
        return fingerprint(asdict(self))

    def to_dict(self) -> dict[str, Any]:
        return {"fingerprint": self.fingerprint} | asdict(self)


def fingerprint(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8")).hexdigest()[:24]


def identity_of(model: Any, tokenizer: Any, settings: Mapping[str, Any]) -> Identity:
    """Of a torch model in memory, its tokenizer and the settings it is scored with."""
    config = getattr(model, "config", None) or getattr(getattr(model, "core", None), "config", None)
    return Identity(
        weights=weights_of(model),
        config=fingerprint(_computed(model, config)),
        tokenizer=tokenizer_of(tokenizer),
        architecture=type(model).__name__,
        dtype=str(getattr(model, "dtype", None) or _first_dtype(model)),
        settings=_plain(settings),
    )


def identity_by_arguments(kind: str, arguments: Mapping[str, Any], tokenizer: Any = None) -> Identity:
    """Of a model whose weights are out of sight (an API, another engine): by its name, its arguments, and the files
    in the folders that they name."""
    files = [files_of(value) for value in arguments.values() if isinstance(value, str | os.PathLike)]
    files = [found for found in files if found]
    return Identity(
        weights=f"files {fingerprint(files)}" if files else UNKNOWN,
        config=UNKNOWN,
        tokenizer=tokenizer_of(tokenizer),
        architecture=kind,
        dtype=str(arguments.get("dtype", UNKNOWN)),
        settings=_plain({"model": kind, "model_args": dict(arguments)}),
    )


def files_of(name: str | os.PathLike) -> list[tuple[str, int, int]]:
    """Names, sizes and times of the files in a folder, or of one file; nothing for what is neither."""
    path = Path(name)
    try:
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        states = [(str(one.relative_to(path)), one.stat()) for one in found if one.is_file()]
    except (OSError, ValueError):  # not a path at all, or a broken link
        return []
    return [(name, state.st_size, state.st_mtime_ns) for name, state in states]


def weights_of(model: Any) -> str:
    """Checksum of names, types, shapes and bytes of all parameters and buffers.

    By several threads, since hashing releases Python's lock.
    """
    import torch

    if not isinstance(model, torch.nn.Module):
        return UNKNOWN
    if _is_patched(model):
        logger.warning(
            "%s has hooks or a replaced forward function, whose effect on the scores cannot be known: its answers are "
            "not shared with other runs",
            type(model).__name__,
        )
        return f"unknown {uuid.uuid4().hex}"
    with ThreadPoolExecutor(max(1, torch.get_num_threads())) as pool:
        digests = list(pool.map(_tensor_digest, _tensors(model)))
    return fingerprint(sorted([*digests, *_interventions(model)]))


def mark_intervention(hook: Any, checksum: str) -> None:
    """Says of a hook what it does: models with it have an identity of their own, and can share answers."""
    setattr(hook, INTERVENTION, checksum)


def _interventions(model: Any) -> Iterator[str]:
    """What the hooks do that say so, and where."""
    for name, module in model.named_modules():
        for hook in module._forward_hooks.values():
            if hasattr(hook, INTERVENTION):
                yield f"intervention {name} {getattr(hook, INTERVENTION)}"


def _tensors(model: Any) -> Iterator[tuple[str, Any]]:
    random = tuple(getattr(model, RANDOM, ()))
    for name, value in model.state_dict().items():
        if not (random and name.endswith(random)):  # an adapter puts its own prefix before names
            yield name, value


def _tensor_digest(item: tuple[str, Any]) -> str:
    name, value = item
    digest = hashlib.sha256(name.encode("utf-8"))
    for part in _bytes_of(value):
        digest.update(part)
    return digest.hexdigest()


def _bytes_of(value: Any) -> Iterator[bytes | memoryview]:
    """All that is in an entry of a state dict; something random where it cannot be seen, so that it equals nothing."""
    import torch

    if not isinstance(value, torch.Tensor):
        seen = value is None or isinstance(value, bool | int | float | str | bytes)
        yield repr(value).encode("utf-8") if seen else uuid.uuid4().bytes
        return
    yield f"{value.dtype} {tuple(value.shape)}".encode()
    if hasattr(
        value, "__tensor_flatten__"
    ):  # made of other tensors: quantised by torchao, or spread over processes
        names, context = value.__tensor_flatten__()
        yield repr(context).encode("utf-8")
        for name in names:
            yield from _bytes_of(getattr(value, name))
    elif value.device.type == "meta" or value.is_quantized or value.layout != torch.strided:
        yield uuid.uuid4().bytes  # on disk (accelerate), or in a form that has no plain bytes
    elif value.numel():
        flat = value.detach().cpu().contiguous().reshape(-1)
        yield memoryview(flat.view(torch.uint8).numpy())


def _is_patched(model: Any) -> bool:
    """Whether someone changed what the model computes without changing a weight.

    accelerate spreads models over devices by such hooks, which it leaves in `_hf_hook`; these compute the same.
    """
    for module in model.modules():
        hooks = [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
        if not all(hasattr(hook, INTERVENTION) for hook in hooks):
            return True
        if "forward" in vars(module) and not hasattr(module, "_hf_hook"):
            return True
    return False


def _computed(model: Any, config: Any) -> dict[str, Any]:
    """What the weights do not show: sizes, activations, positions, attention, the code of a model of its own."""
    if config is None:
        return {}
    fields = {key: value for key, value in config.to_dict().items() if key not in _ORIGIN}
    generation = getattr(model, "generation_config", None)
    adapters = getattr(model, "peft_config", None) or {}
    return {
        "config": fields,
        "attention": getattr(config, "_attn_implementation", None),
        "generation": {k: v for k, v in generation.to_dict().items() if k not in _ORIGIN}
        if generation
        else None,
        "adapters": {name: _adapter(value) for name, value in adapters.items()},
        "code": _own_code(type(config), *{type(module) for module in model.modules()}),
    }


def _adapter(config: Any) -> Any:
    fields = config.to_dict() if hasattr(config, "to_dict") else str(config)
    if isinstance(fields, dict):
        fields.pop("base_model_name_or_path", None)
    return fields


def _own_code(*classes: type) -> str | None:
    """Checksum of the code that came with the checkpoint (trust_remote_code).

    transformers copies a class's file and all that it imports into one folder, so the whole folder counts.
    """
    ours = [one for one in classes if one.__module__.startswith("transformers_modules")]
    folders = {Path(inspect.getfile(one)).parent for one in ours}
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    return fingerprint([hashlib.sha256(file.read_bytes()).hexdigest() for file in files]) if files else None


def tokenizer_of(tokenizer: Any) -> str:
    """Checksum of what a tokenizer does: vocabulary, merges, normalisation, special tokens, chat template."""
    if not hasattr(tokenizer, "get_vocab"):
        return UNKNOWN
    parts: dict[str, Any] = {
        "class": type(tokenizer).__name__,
        "code": _own_code(type(tokenizer)),
        "special": {key: str(value) for key, value in tokenizer.special_tokens_map.items()},
        "chat_template": getattr(tokenizer, "chat_template", None),
    }
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        content = json.loads(backend.to_str())
        parts["backend"] = {key: value for key, value in content.items() if key not in _PER_CALL}
    else:
        parts["vocabulary"] = tokenizer.get_vocab()
        parts["options"] = {
            key: str(value)
            for key, value in tokenizer.init_kwargs.items()
            if not key.endswith(("_file", "name_or_path"))
        }
        for attribute in ("vocab_file", "merges_file"):
            path = getattr(tokenizer, attribute, None)
            if isinstance(path, str) and Path(path).is_file():
                parts[attribute] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return fingerprint(parts)


def _first_dtype(model: Any) -> Any:
    parameters = model.parameters() if hasattr(model, "parameters") else iter(())
    return getattr(next(parameters, None), "dtype", UNKNOWN)


def _plain(value: Any) -> Any:
    """As JSON would give it back, so that an identity read from a file equals the one that was written."""
    return json.loads(json.dumps(value, sort_keys=True, default=str))
