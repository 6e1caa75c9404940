"""Rows of SNLI, as its own files and the hub have them; training and the test read them with the same function.

{"gold_label": "neutral", "sentence1": …, "sentence2": …, "pairID": …, …}     snli_1.0_test.jsonl; "-": no gold label
{"label": 1, "premise": …, "hypothesis": …}                                   the hub; -1: no gold label
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_stereoset.data.fields import object_of, text_of
from lm_eval_stereoset.errors import UserError, short
from lm_eval_stereoset.files import read_lines

logger = logging.getLogger(__name__)

REPOSITORY = "stanfordnlp/snli"
NUMBERED = ("entailment", "neutral", "contradiction")  # the hub's class numbers
NONE = ("-", "", -1)  # the annotators did not agree
TEXTS = {"gold_label": ("sentence1", "sentence2"), "label": ("premise", "hypothesis")}


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    premise: str
    hypothesis: str
    label: str | None  # one of NUMBERED; None: no gold label

    @property
    def ids(self) -> tuple[str, ...]:
        return ()  # a few pairs are in the published files twice

    def to_dict(self) -> dict[str, Any]:
        texts = {"sentence1": self.premise, "sentence2": self.hypothesis}
        return {"pairID": self.id, "gold_label": self.label or "-", **texts}


def parse_row(fields: Any, where: str) -> Row:
    """One decoded line; other keys, such as the annotators' labels, are passed over."""
    fields = object_of(fields, where)
    key = next((key for key in TEXTS if key in fields), None)
    if key is None:
        raise UserError(
            f"{where}: not a row of SNLI: needs gold_label, sentence1 and sentence2 (or label, premise, hypothesis)"
        )
    label = _label_of(fields[key], f"{where}: {key}")
    if label is None:  # a few such rows have an empty text, too
        first, second = (str(fields.get(name) or "") for name in TEXTS[key])
    else:
        first, second = (text_of(fields, name, where) for name in TEXTS[key])
    id_ = fields.get("pairID")
    return Row(
        id_ if isinstance(id_, str) and id_ else f"row {where.rpartition(' ')[2]}", first, second, label
    )


def _label_of(value: Any, where: str) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UserError(f"{where} must be one of {', '.join(NUMBERED)} or 0, 1, 2, is {short(value)}")
    if value in NONE:
        return None
    if value in NUMBERED:
        return str(value)
    if isinstance(value, int) and 0 <= value < len(NUMBERED):
        return NUMBERED[value]
    raise UserError(
        f'{where} {short(value)} is not one of {", ".join(NUMBERED)}, nor "-" (-1) for rows without a gold label'
    )


def read_rows(path: Path) -> list[Row]:
    return read_lines(path, parse_row)


def labelled(rows: Sequence[Row], where: str) -> list[Row]:
    """Without those that have no gold label, which are counted in the log."""
    found = [row for row in rows if row.label is not None]
    if not found:
        raise UserError(f"{where}: none of its {len(rows)} rows has a gold label")
    if len(found) < len(rows):
        logger.info(
            "%s: %d of %d rows have no gold label and are left out", where, len(rows) - len(found), len(rows)
        )
    return found


def rows_from_hub(split: str, revision: str | None = None, repository: str = REPOSITORY) -> list[Row]:
    """A split of SNLI on the hub (train, validation, test), or of another data set in its layout."""
    import datasets

    try:
        table = datasets.load_dataset(repository, split=split, revision=revision)
    except Exception as error:  # offline, unknown revision, no such split: many types, one answer
        raise UserError(
            f"cannot load {repository} ({split}) from the hub ({type(error).__name__}: {short(str(error))}); without a "
            "network, give SNLI's own files (snli_1.0_*.jsonl of snli_1.0.zip)"
        ) from error
    _check_names(table, repository)
    return list(_rows_of_table(table, f"{repository} {split}"))


def _check_names(table: Any, repository: str) -> None:
    """Where the hub names its classes, the names must be the ones this reader counts on."""
    names = getattr(table.features.get("label"), "names", None)
    if names is not None and tuple(names) != NUMBERED:
        raise UserError(f"{repository}: the labels are {', '.join(names)}; refusing to guess which is which")


def _rows_of_table(table: Iterable[Any], where: str) -> Iterable[Row]:
    for number, fields in enumerate(table, start=1):
        yield parse_row(fields, f"{where}, row {number}")
