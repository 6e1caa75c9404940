"""All settings of a training run: defaults, presets (YAML, the paper's values), command line; in that order."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError

PRESETS = Path(__file__).parent / "presets"


def _setting(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class TrainSettings:
    base: str | None = _setting(None, "model to start from: a folder or a hub name")
    gguf_file: str | None = _setting(None, "GGUF file in that folder to take weights and tokenizer from")
    family: str | None = _setting(None, "decoder, encoder or seq2seq (default: what the model's config says)")
    pair: str | None = _setting(
        None,
        "how two sentences are joined: concatenate (decoders' default), space, or tokenizer (its own layout "
        "with special tokens; default of the others)",
    )
    prefix: str = _setting("", "text in front of every pair (T5)")
    max_length: int = _setting(256, "tokens of a pair; the longer sentence is shortened first")

    core_lr: float = _setting(5e-6, "learning rate of the model")
    head_lr: float = _setting(1e-3, "learning rate of the fresh head")
    weight_decay: float = _setting(0.01, "of AdamW")
    cycles: int = _setting(1, "cosine cycles, each after a hard restart")
    warmup_steps: int | None = _setting(None, "steps of warm-up (default: total steps // 100 + 1)")
    clip: float = _setting(1.0, "largest gradient norm")

    batch_size: int = _setting(8, "pairs that a process computes at once")
    accumulation: int = _setting(
        8,
        "batches of one optimiser step over all processes: batch size x accumulation pairs, on any hardware",
    )
    epochs: int = _setting(1, "passes over the pairs")
    max_examples: int | None = _setting(None, "train on the first so many pairs only (they are shuffled)")
    mixed_precision: str | None = _setting(None, "no, bf16 or fp16 (default: as accelerate is configured)")
    gradient_checkpointing: bool = _setting(False, "compute activations twice, to save memory")
    group_by_length: bool = _setting(True, "batches of pairs of similar length")
    loader_workers: int = _setting(0, "processes that read batches ahead")
    seed: int = _setting(27, "of the head, the order and dropout")

    log_every: int = _setting(500, "pairs between two points of the training curve")
    eval_every: int | None = _setting(None, "pairs between two validations (default: a twentieth of the run)")
    eval_examples: int = _setting(2000, "validation pairs used for them")
    test_examples: int | None = _setting(None, "test pairs for the final accuracy (default: all)")
    patience: int = _setting(
        0, "stop after so many validations without a better accuracy, keep the best (0: never)"
    )
    checkpoint_every: float = _setting(0.2, "share of the run between two checkpoints")
    keep_checkpoints: int = _setting(2, "newest checkpoints that are kept")
    tracker: str = _setting("tensorboard", "tensorboard, wandb, or none")

    def __post_init__(self) -> None:
        for name in (
            "batch_size",
            "accumulation",
            "epochs",
            "cycles",
            "log_every",
            "eval_examples",
            "keep_checkpoints",
        ):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, is {getattr(self, name)}")
        for name in ("core_lr", "head_lr", "clip"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise UserError(f"{name} must be a number above 0, is {getattr(self, name)}")
        for name in ("weight_decay", "warmup_steps", "loader_workers", "seed", "patience"):
            if getattr(self, name) is not None and not getattr(self, name) >= 0:
                raise UserError(f"{name} must not be below 0, is {getattr(self, name)}")
        for name in ("max_examples", "eval_every", "test_examples"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, is {getattr(self, name)}")
        if not 0 < self.checkpoint_every <= 1:
            raise UserError(f"checkpoint_every is a share of the run (0 to 1), is {self.checkpoint_every}")
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in (*allowed, *([None] if name != "tracker" else [])):
                raise UserError(f"{name} must be one of {', '.join(allowed)}, is {getattr(self, name)!r}")


CHOICES = {
    "family": ("decoder", "encoder", "seq2seq"),
    "pair": ("concatenate", "space", "tokenizer"),
    "mixed_precision": ("no", "bf16", "fp16"),
    "tracker": ("tensorboard", "wandb", "none"),
}
# What may differ between a run and its continuation: it changes no number of the result.
FREE_ON_RESUME = {"keep_checkpoints", "tracker", "loader_workers", "checkpoint_every", "test_examples"}


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def load_settings(preset: str | None, overrides: Mapping[str, Any]) -> TrainSettings:
    """`preset`: a name from nsp_finetune/presets or a YAML file of one's own."""
    values = {} if preset is None else read_yaml(preset)
    return TrainSettings(**{name: typed(name, value) for name, value in {**values, **overrides}.items()})


def read_yaml(preset: str) -> dict[str, Any]:
    import yaml

    path = PRESETS / f"{preset}.yaml"
    if not path.is_file():
        path = Path(preset)
    if not path.is_file():
        raise UserError(f"no preset {preset!r}; there are {', '.join(preset_names())}, or give a YAML file")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid YAML: {error}") from error
    known = {f.name for f in dataclasses.fields(TrainSettings)}
    if not isinstance(values, dict) or (unknown := sorted(set(map(str, values)) - known)):
        found = ", ".join(unknown) if isinstance(values, dict) else "no table"
        raise UserError(f"{path}: unknown setting {found}; known are {', '.join(sorted(known))}")
    return values


def type_of(name: str) -> type:
    """bool, int, float or str, without the None that a setting may also be."""
    annotation = next(f.type for f in dataclasses.fields(TrainSettings) if f.name == name)
    return next(
        arg for arg in (getattr(annotation, "__args__", None) or (annotation,)) if arg is not type(None)
    )


def typed(name: str, value: Any) -> Any:
    """YAML reads 5e-6 as a text; everything else must be what it says."""
    kind = type_of(name)
    if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
        return value
    try:
        if kind in (int, float) and not isinstance(value, bool):
            converted = kind(value)
            if float(value) == converted:
                return converted
    except (TypeError, ValueError):
        pass
    raise UserError(f"{name} must be a {kind.__name__}, is {value!r}")
