"""How a next-sentence model is fed and read: the entry "stereoset_nsp" of its config."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json

CONFIG_KEY = "stereoset_nsp"
NSP_FAMILIES = ("decoder", "encoder", "seq2seq")
PAIRS = ("concatenate", "space", "tokenizer")


@dataclass(frozen=True)
class NSPSettings:
    """What a reader must know to feed the model and to read it; saved as config.json's "stereoset_nsp"."""

    family: str  # one of NSP_FAMILIES
    pair: str = "tokenizer"
    # concatenate: ids of A, ids of B, nothing between; space: ids of A, ids of " " + B;
    # tokenizer: the tokenizer's own layout of a pair, with its special tokens and token types
    prefix: str = ""  # text in front of A (T5)
    max_length: int = 256
    # tokens of a pair in training, special ones included; the longer sentence is shortened first. Scoring takes whole
    # pairs, as long as the model has positions
    is_next_class: int = 1
    labels: tuple[str, str] = ("0", "1")  # the answers of a text-to-text model, by class
    label_step: int = 1
    # decoding step at which a text-to-text model answers; 2: after its own most probable first token, as the
    # authors' program reads their checkpoints

    def __post_init__(self) -> None:
        _one_of("family", self.family, NSP_FAMILIES)
        _one_of("pair", self.pair, PAIRS)
        _one_of("label_step", self.label_step, (1, 2))
        _one_of("is_next_class", self.is_next_class, (0, 1))
        if type(self.max_length) is not int or self.max_length < 4:
            raise UserError(f"max_length must be a whole number of at least 4, is {self.max_length!r}")
        if not isinstance(self.prefix, str):
            raise UserError(f"prefix must be a text, is {self.prefix!r:.60}")
        labels = self.labels if isinstance(self.labels, tuple) else ()
        if len(labels) != 2 or not all(isinstance(label, str) and label for label in labels):
            raise UserError(f"labels must be two texts, are {self.labels!r:.60}")


def read_settings(folder: Path | str) -> NSPSettings | None:
    """The settings of a local folder with a next-sentence model, or None if it is something else."""
    path = Path(folder) / "config.json"
    if not path.is_file():
        return None
    config = read_json(path)
    if not isinstance(config, dict):
        raise UserError(f"{path}: must be a JSON object")
    saved = config.get(CONFIG_KEY)
    return None if saved is None else parse_settings(saved, str(path))


def parse_settings(saved: Any, where: str) -> NSPSettings:
    """`saved`: the entry "stereoset_nsp" of a config."""
    known = {field.name for field in fields(NSPSettings)}
    if not isinstance(saved, dict) or "family" not in saved:
        raise UserError(f'{where}: "{CONFIG_KEY}" must be an object with at least "family"')
    if unknown := sorted(set(saved) - known):
        raise UserError(f'{where}: "{CONFIG_KEY}" has the unknown entry {", ".join(unknown)}')
    labels = saved.get("labels", ("0", "1"))
    try:
        return NSPSettings(**saved | {"labels": tuple(labels) if isinstance(labels, list) else labels})
    except UserError as error:
        raise UserError(f'{where}: "{CONFIG_KEY}": {error}') from None


def _one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    if value not in allowed or isinstance(value, bool):
        raise UserError(f"{name} must be one of {', '.join(map(str, allowed))}, is {value!r}")
