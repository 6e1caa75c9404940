"""What needs a person: written into a sheet with the English beside it, and read back.

Each row carries the fingerprint of the example that the reviewer saw, so a sheet can only be applied to
the data it was made for; verdicts.py reads it back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.example import Example
from lm_eval_stereoset.errors import UserError
from stereoset_translation import sheet
from stereoset_translation.checks import KINDS, NEVER, problems
from stereoset_translation.columns import fingerprint, get
from stereoset_translation.folder import Folder
from stereoset_translation.reviews import OPEN, Review
from stereoset_translation.source import translated_columns
from stereoset_translation.steps import English

CORRECTED = "corrected "  # in front of the columns for corrections


@dataclass(frozen=True)
class Item:
    """One row of a sheet."""

    split: str
    example: Example
    problems: list[str]
    score: float | None = None  # chrF of the round trip, 0 to 100
    open: Review | None = None  # an earlier reviewer's "unsure" or comment


def columns() -> list[str]:
    """The columns of both splits; those that a split does not have stay empty."""
    both = list(dict.fromkeys(translated_columns("intra") + translated_columns("inter")))
    pairs = [name for column in both for name in (f"English {column}", column)]
    return [
        "split", "id", "language", "problems", "score", *pairs, "verdict",
        *(CORRECTED + column for column in both), "comment", "fingerprint",
    ]  # fmt: skip


def editable() -> list[str]:
    return [name for name in columns() if name.startswith(CORRECTED) or name in ("verdict", "comment")]


def items(folder: Folder, english: English, everything: bool = False, again: bool = False) -> list[Item]:
    """Examples with problems (or all), without those that have a verdict already."""
    reviewed = folder.reviewed()
    last = {(review.split, review.example): review for review in folder.reviews()}
    left_open = {key: review for key, review in last.items() if review.verdict in OPEN}
    found = []
    for split, examples in folder.read().items():
        for example in examples:
            kinds = problems(example, english.get(split, {}).get(example.id))
            key = (split, example.id)
            wanted = everything or key in left_open or any(KINDS[kind].grade != "note" for kind in kinds)
            if wanted and (again or key not in reviewed):
                found.append(Item(split, example, kinds, open=left_open.get(key)))
    # What may never get into the data comes first, then the examples with most problems.
    return sorted(found, key=lambda item: (-_grave(item.problems), -len(item.problems)))


def _grave(kinds: Sequence[str]) -> int:
    return sum(KINDS[kind].grade == NEVER for kind in kinds)


def write(path: Path, language: str, rows: Sequence[Item], english: English) -> None:
    sheet.write(path, columns(), editable(), [_row(item, language, english) for item in rows])


def _row(item: Item, language: str, english: English) -> dict[str, str]:
    row = {
        "split": item.split,
        "id": item.example.id,
        "language": language,
        "problems": "; ".join(KINDS[kind].meaning for kind in item.problems),
        "score": "" if item.score is None else f"{item.score:.1f}",
        "fingerprint": fingerprint(item.example),
    }
    if item.open:
        row |= {"verdict": item.open.verdict, "comment": item.open.comment}
    source = english.get(item.split, {}).get(item.example.id)
    for column in translated_columns(item.split):
        row[column] = get(item.example, column)
        row[f"English {column}"] = get(source, column) if source else ""
    return row


def check_head(path: Path, head: Sequence[str]) -> None:
    """All columns are there, and none looks like one of them under another name, whose cells would be lost."""
    needed = columns()
    if not set(sheet.KEYS) <= set(head):
        raise UserError(f"{path}: not a review sheet: it needs the columns {', '.join(sheet.KEYS)}")
    for name in head:
        if name in needed:
            continue
        plain = " ".join(name.replace("_", " ").casefold().split())
        meant = [known for known in needed if known.replace("_", " ").casefold() == plain]
        if meant or plain.startswith(CORRECTED.strip()):
            what = (
                repr(meant[0])
                if meant
                else f"one of {', '.join(n for n in needed if n.startswith(CORRECTED))}"
            )
            raise UserError(f"{path}: the column {name!r} must be named {what}")
    if missing := [name for name in needed if name not in head]:
        raise UserError(
            f"{path}: the column {missing[0]!r} is missing; the sheet needs all columns that it was made with"
        )
