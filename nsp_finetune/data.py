"""Pairs, and their token ids, which are made once and kept."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, refuse_special
from lm_eval_stereoset.scoring.nsp_model import NSPModel
from lm_eval_stereoset.scoring.tokenizer_check import LOOKED_AT, refuse_useless_tokenizer
from nsp_finetune.pairs import features
from nsp_finetune.prepare import pair_files

if TYPE_CHECKING:
    from datasets import Dataset

WAY_OUT = "put the tokenizer's files into the model's folder, or choose a model of this language"


def load_pairs(folder: Path, split: str, max_examples: int | None = None) -> "Dataset":
    """Memory-mapped; the rows are already shuffled, so the first N are a random N."""
    from datasets import concatenate_datasets

    pairs = concatenate_datasets([read_pairs(path) for path in pair_files(folder, split)])
    return pairs if max_examples is None else pairs.select(range(min(max_examples, len(pairs))))


def read_pairs(path: Path) -> "Dataset":
    """One Arrow file of pairs, looked through: the columns, no empty cell, no label but 0 and 1."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from datasets import Dataset

    refuse_special(path)
    try:
        pairs = Dataset.from_file(str(path))
        pairs.data.table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}: not readable as pairs ({error}); is it cut off? Make the pairs anew"
        ) from error
    if pairs.features != features():
        raise UserError(f"{path}: has other columns than pairs have; make the pairs anew")
    labels = pc.min_max(pairs.data.column("label")).as_py()
    if len(pairs) == 0 or any(column.null_count for column in pairs.data.columns):
        raise UserError(f"{path}: has no pairs or empty cells; make the pairs anew")
    if not 0 <= labels["min"] <= labels["max"] <= 1:
        raise UserError(f"{path}: a label is neither 0 nor 1; make the pairs anew")
    return pairs


def token_table(
    model: NSPModel, folder: Path, split: str, cache: Path, max_examples: int | None
) -> "Dataset":
    """Columns input_ids (token_type_ids), label, length, language, first_article; kept in `cache` for a next time."""
    pairs = load_pairs(folder, split, max_examples)
    key = [
        read_json(folder / "inputs.json"),
        split,
        len(pairs),
        asdict(model.settings),
        tokenizer_state(model.tokenizer),
    ]
    return kept_tokens(model, pairs, split, cache, checksum_of(key))


def kept_tokens(model: Any, pairs: "Dataset", split: str, cache: Path, mark: str) -> "Dataset":
    """The pairs as token ids; `mark` tells what they depend on."""
    refuse_useless_tokenizer(model.tokenizer, pairs[:LOOKED_AT]["first"], "the model", WAY_OUT)
    kept = cache / f"{split}-{mark}.arrow"
    if not is_whole(kept, len(pairs)):
        kept.unlink(missing_ok=True)

    def encode(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        encoded = model.encode(list(zip(rows["first"], rows["second"], strict=True)))
        columns = {name: [one[name] for one in encoded] for name in encoded[0]}
        return columns | {"length": [len(one["input_ids"]) for one in encoded]}

    try:
        cache.mkdir(parents=True, exist_ok=True)
        return pairs.map(
            encode,
            batched=True,
            remove_columns=["first", "second", "second_article"],
            cache_file_name=str(kept),
            new_fingerprint=mark,
            desc=f"tokenising {split}",
        )
    except OSError as error:
        raise UserError(
            f"cannot write {kept}: {error.strerror or error}; make room and start again"
        ) from error


def is_whole(kept: Path, rows: int) -> bool:
    """Whether token ids of an earlier time can be used; they are made anew if not."""
    import pyarrow as pa
    from datasets import Dataset

    try:
        tokens = Dataset.from_file(str(kept))
        tokens.data.table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        return False
    return len(tokens) == rows and {"input_ids", "label", "length"} <= set(tokens.column_names)


def checksum_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def tokenizer_state(tokenizer: Any) -> Any:
    """All that decides a text's ids; truncation and padding are left over from the last call."""
    if not tokenizer.is_fast:
        return str(tokenizer)
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    return {key: value for key, value in state.items() if key not in ("truncation", "padding")}


def tokenizer_checksum(tokenizer: Any) -> str:
    return checksum_of(tokenizer_state(tokenizer))
