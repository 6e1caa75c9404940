"""SNLI-format data for training: a folder of SNLI's own files, one file that is split here, or a data set on the hub.

snli_1.0/                     snli_1.0_train.jsonl, snli_1.0_dev.jsonl, snli_1.0_test.jsonl
pairs.jsonl                   a twentieth of its premises for validation, and again for test
stanfordnlp/snli              the hub: splits train, validation, test
"""

from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lm_eval_stereoset.benchmarks.snli.fetch import file_of_split
from lm_eval_stereoset.benchmarks.snli.rows import NUMBERED, Row, read_rows, rows_from_hub
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import sha256_of
from nsp_finetune.data import checksum_of, kept_tokens, tokenizer_state
from nsp_finetune.nli_model import NLIModel
from nsp_finetune.prepare import SPLITS, split_of

if TYPE_CHECKING:
    from datasets import Dataset

NAMES = {"train": ("train",), "validation": ("validation", "dev"), "test": ("test",)}
SEED = 27  # of the order of the pairs, and of the split of a single file
HELD_OUT = 0.05


def check(data: Path) -> None:
    """Every file is there, and no row is broken."""
    for split in SPLITS:
        if not gold_rows(data, split):
            raise UserError(
                f"{data}: no pair for {split}; a single file needs some hundred premises to be split"
            )


def inputs(data: Path) -> dict[str, Any]:
    """All that the pairs depend on."""
    if is_local(data):
        return {split: sha256_of(_file(data, split)) for split in SPLITS}
    rows = {split: [asdict(row) for row in gold_rows(data, split)] for split in SPLITS}
    return {split: checksum_of(found) for split, found in rows.items()} | {"hub": str(data)}


def is_local(data: Path) -> bool:
    if data.exists():
        return True
    if data.is_absolute() or data.suffix or str(data).count("/") != 1:
        raise UserError(
            f"--data {data}: no such file or folder, nor the name OWNER/NAME of a data set on the hub"
        )
    return False


def _file(data: Path, split: str) -> Path:
    return file_of_split(data, NAMES[split])


@lru_cache(maxsize=8)
def _rows(data: Path, split: str) -> tuple[Row, ...]:
    if not is_local(data):
        return tuple(rows_from_hub(split, repository=str(data)))
    if data.is_file():
        found = _rows_of_file(data)
        return tuple(row for row in found if split_of(row.premise, SEED, HELD_OUT) == split)
    return tuple(_rows_of_file(_file(data, split)))


@lru_cache(maxsize=1)
def _rows_of_file(path: Path) -> list[Row]:
    return read_rows(path)


def gold_rows(data: Path, split: str) -> list[Row]:
    return [row for row in _rows(data, split) if row.label is not None]


def left_out(data: Path, split: str) -> int:
    """How many rows have no gold label."""
    return len(_rows(data, split)) - len(gold_rows(data, split))


def beforehand(model: NLIModel, data: Path) -> list[str]:
    return [
        f"{split}: {len(gold_rows(data, split)):,} pairs, {left_out(data, split):,} rows without a gold label left out"
        for split in SPLITS
    ]


def load_pairs(data: Path, split: str, max_examples: int | None = None) -> "Dataset":
    """In a fixed random order, so that the first N are a random N; columns as those of next-sentence pairs."""
    from datasets import Dataset

    rows = gold_rows(data, split)
    order = np.random.default_rng(SEED).permutation(len(rows))[:max_examples]
    rows = [rows[i] for i in order]
    premises = {premise: number for number, premise in enumerate(dict.fromkeys(row.premise for row in rows))}
    return Dataset.from_dict(
        {
            "first": [row.premise for row in rows],
            "second": [row.hypothesis for row in rows],
            "label": [NUMBERED.index(str(row.label)) for row in rows],
            "language": ["en"] * len(rows),
            "first_article": [premises[row.premise] for row in rows],
            "second_article": [-1] * len(rows),
        }
    )


def tokens(model: NLIModel, data: Path, split: str, cache: Path, max_examples: int | None) -> "Dataset":
    pairs = load_pairs(data, split, max_examples)
    key = [inputs(data), split, len(pairs), asdict(model.settings), tokenizer_state(model.tokenizer)]
    return kept_tokens(model, pairs, split, cache, checksum_of(key))
