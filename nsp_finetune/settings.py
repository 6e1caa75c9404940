"""All settings of a training run: defaults, presets (YAML, the paper's values), command line; in that order."""

import dataclasses
import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_text

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
        for name, value in vars(self).items():
            if name in AT_LEAST and value is not None and not AT_LEAST[name] <= value < math.inf:
                raise UserError(f"{name} must be at least {AT_LEAST[name]}, is {value}")
            if name in ABOVE_ZERO and not 0 < value < math.inf:
                raise UserError(f"{name} must be a number above 0, is {value}")
            if name in CHOICES and value is not None and value not in CHOICES[name]:
                raise UserError(f"{name} must be one of {', '.join(CHOICES[name])}, is {value!r}")
        if not 0 < self.checkpoint_every <= 1:
            raise UserError(f"checkpoint_every is a share of the run (0 to 1), is {self.checkpoint_every}")
        if self.loader_workers > MOST_WORKERS:
            raise UserError(f"loader_workers must be at most {MOST_WORKERS}, is {self.loader_workers}")

    @property
    def start_from(self) -> str:
        """`base`, where there is no run without one."""
        if self.base is None:
            raise UserError("which model? give --base FOLDER_OR_HUB_NAME or a --preset that names one")
        return self.base


ABOVE_ZERO = ("core_lr", "head_lr", "clip")
AT_LEAST = {
    "max_length": 4, "batch_size": 1, "accumulation": 1, "epochs": 1, "cycles": 1, "log_every": 1, "eval_examples": 1,
    "keep_checkpoints": 1, "max_examples": 1, "eval_every": 1, "test_examples": 1, "weight_decay": 0,
    "warmup_steps": 0, "loader_workers": 0, "seed": 0, "patience": 0,
}  # fmt: skip
MOST_WORKERS = 256
CHOICES = {
    "family": ("decoder", "encoder", "seq2seq"),
    "pair": ("concatenate", "space", "tokenizer"),
    "mixed_precision": ("no", "bf16", "fp16"),
    "tracker": ("tensorboard", "wandb", "none"),
}
# What may differ between a run and its continuation: it changes no number of the result.
FREE_ON_RESUME = {"keep_checkpoints", "tracker", "loader_workers", "checkpoint_every", "test_examples"}


def refuse_other_run(saved: Mapping[str, Any], now: Mapping[str, Any], checkpoint: Path) -> None:
    """`saved`, `now`: settings of a checkpoint and of the run that wants to go on from it."""
    for name, value in now.items():
        if name in FREE_ON_RESUME or (name in saved and saved[name] == value):
            continue
        if name == "mixed_precision" and value is None:  # as accelerate is configured: known only later
            continue
        if isinstance(value, str | int | float | None):
            shown = f"another {name} ({str(saved.get(name))[:80]!r}, now {value!r})"
        else:
            shown = f"other {name}"
        raise UserError(f"{checkpoint} belongs to a run with {shown}; resume with what it was started with")


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def load_settings(
    preset: str | None, overrides: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> TrainSettings:
    """`preset`: a name from nsp_finetune/presets or a YAML file of one's own; `defaults`: of another job."""
    values = dict(defaults or {}) | ({} if preset is None else read_yaml(preset))
    return TrainSettings(**values | {name: typed(name, value) for name, value in overrides.items()})


def read_yaml(preset: str) -> dict[str, Any]:
    """Settings of a preset or of a user's file: a table of single values, each of the right type."""
    import yaml

    path = PRESETS / f"{preset}.yaml" if preset in preset_names() else Path(preset)
    if path.suffix not in (".yaml", ".yml") and not _is_there(path):
        raise UserError(
            f"no preset {preset[:80]!r}{closest(preset, preset_names())}; there are {', '.join(preset_names())}, "
            "or give a YAML file"
        )
    text = read_text(path).removeprefix("\ufeff")
    try:
        check_table(yaml.compose(text, yaml.SafeLoader), path)
        values = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from error
    except RecursionError as error:
        raise UserError(f"{path}: nested too deeply; a settings file is a plain table of values") from error
    except ValueError as error:  # a whole number of more than 4,300 digits, the 45th of a month
        raise UserError(f"{path}: holds a value that cannot be read ({error})") from error
    return {name: typed(name, value, f"{path}: ") for name, value in values.items()}


def check_table(node: Any, path: Path) -> None:
    """Names that are known, each once, with a single value: no lists, nothing nested, nothing repeated by reference.

    `node`: what YAML's composer makes of a file, before any value is built.
    """
    import yaml

    if node is None:
        return
    if not isinstance(node, yaml.MappingNode):
        raise UserError(f"{path}: must be a table, one setting on a line, such as batch_size: 8")
    known, seen = [field.name for field in dataclasses.fields(TrainSettings)], set()
    for key, value in node.value:
        where = f"{path}, line {key.start_mark.line + 1}"
        name = key.value if isinstance(key, yaml.ScalarNode) else "of several parts"
        if name not in known:
            hint = closest(name, known) or f"; known are {', '.join(sorted(known))}"
            raise UserError(f"{where}: unknown setting {name[:80]}{hint}")
        if name in seen:
            raise UserError(f"{where}: {name} is set twice")
        if not isinstance(value, yaml.ScalarNode):
            raise UserError(f"{where}: {name} must be a single value, is a list or table")
        seen.add(name)


def closest(name: str, known: Sequence[str]) -> str:
    """ "; did you mean …?", or nothing if no name is like it."""
    found = difflib.get_close_matches(name[:80], known, n=1)
    return f"; did you mean {found[0]}?" if found else ""


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or a NUL in it
        return False


def type_of(name: str) -> type:
    """bool, int, float or str, without the None that a setting may also be."""
    annotation: Any = next(f.type for f in dataclasses.fields(TrainSettings) if f.name == name)
    return next(
        arg for arg in (getattr(annotation, "__args__", None) or (annotation,)) if arg is not type(None)
    )


def typed(name: str, value: Any, where: str = "") -> Any:
    """YAML reads 5e-6 as a text and no as false; everything else must be what it says."""
    kind = type_of(name)
    default = next(f.default for f in dataclasses.fields(TrainSettings) if f.name == name)
    if value is False and "no" in CHOICES.get(name, ()):
        return "no"
    if value is None and default is None:
        return None
    if kind in (int, float) and isinstance(value, str | int | float) and not isinstance(value, bool):
        value = _number(value, kind)
    if kind is int and isinstance(value, int) and abs(value) >= 2**63:
        raise UserError(f"{where}{name} is too large a number")
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UserError(f"{where}{name} must be {KINDS[kind]}, is {str(value)[:80]!r}")
    if isinstance(value, str) and not _is_text(value):
        raise UserError(f"{where}{name} holds a NUL or half a character (a lone surrogate)")
    return value


KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _number(value: str | int | float, kind: type) -> Any:
    """As the type wanted if nothing of the value is lost, otherwise as it is."""
    try:
        converted = kind(value)
        return converted if isinstance(value, str) or converted == value else value
    except (ValueError, OverflowError):
        return value


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\0" not in value
