"""Which rows of a sheet are in <language>.reviews.jsonl already, with everything that the reviewer put in.

`apply` takes in the rows that are not, and `review` overwrites a sheet only if all of its rows are: both ask here.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.example import Example
from lm_eval_stereoset.errors import UserError
from stereoset_translation import sheet
from stereoset_translation.columns import put, rebuilt
from stereoset_translation.folder import Folder
from stereoset_translation.lenient import parse_lenient
from stereoset_translation.review import CORRECTED, check_head
from stereoset_translation.reviews import OPEN, Review
from stereoset_translation.source import translated_columns

History = Mapping[tuple[str, str], Sequence[Review]]


def history(reviews: Sequence[Review]) -> dict[tuple[str, str], list[Review]]:
    """All reviews of each example, oldest first."""
    found: dict[tuple[str, str], list[Review]] = {}
    for review in reviews:
        found.setdefault((review.split, review.example), []).append(review)
    return found


def refuse_to_lose(path: Path, folder: Folder) -> None:
    """A sheet that a person has filled in or changed is not overwritten before it is applied."""
    if not path.exists():
        return
    try:
        found = sheet.read(path)
        check_head(path, found.head)
    except UserError as error:
        raise UserError(f"{error}; it is not overwritten: choose another with --output") from error
    if found.not_read:
        raise UserError(
            f"{path}: has further worksheets ({', '.join(map(repr, found.not_read))}), which would be lost; keep the "
            "file under another name or choose --output FILE"
        )
    known = history(folder.reviews())
    waiting = [number for number, row in found.rows if not is_recorded(row, known)]
    if waiting:
        raise UserError(
            f"{path}: {len(waiting)} rows are filled in and not applied yet (the first is row {waiting[0]}); run "
            "`stereoset translate apply` first, or keep the file under another name or choose --output FILE"
        )


def is_recorded(row: Mapping[str, str], known: History) -> bool:
    """All yellow columns of a row are in the reviews, or empty."""
    split, verdict = row["split"].strip(), verdict_of(row)
    reviews = known.get((split, row["id"].strip()), [])
    filled = [name for name, text in row.items() if name.startswith(CORRECTED) and text.strip()]
    if not comment_is_recorded(row, reviews):
        return False
    if verdict in OPEN:
        return not filled and (not verdict or any(review.verdict == verdict for review in reviews))
    last = next((review for review in reversed(reviews) if review.verdict not in OPEN), None)
    if last is None or last.base != row["fingerprint"].strip():
        return False
    try:
        return same_outcome(last, verdict, corrections_of(row, split), split)
    except UserError:  # a correction that `apply` refuses
        return False


def comment_is_recorded(row: Mapping[str, str], reviews: Sequence[Review]) -> bool:
    comment = comment_of(row)
    return not comment or any(review.comment == comment for review in reviews)


def verdict_of(row: Mapping[str, str]) -> str:
    return row["verdict"].strip().casefold()


def comment_of(row: Mapping[str, str]) -> str:
    return row.get("comment", "").strip()


def corrections_of(row: Mapping[str, str], split: str) -> dict[str, str]:
    """The corrected texts by column; a text that cannot be taken is refused."""
    found = {}
    for name, text in row.items():
        if name.startswith(CORRECTED) and text.strip():
            column = name.removeprefix(CORRECTED)
            if column not in translated_columns(split):
                raise UserError(f"{split} examples have no {column}, but {name!r} is filled in")
            if what := sheet.fault(text.strip()):
                raise UserError(f"{name} {what}")
            found[column] = unicodedata.normalize("NFC", text.strip())
    return found


def corrected(example: Example, corrections: Mapping[str, str]) -> Example:
    for column, text in corrections.items():
        example = put(example, column, text)
    return rebuilt(example) if corrections else example


def same_outcome(earlier: Review, verdict: str, corrections: Mapping[str, str], split: str) -> bool:
    """The earlier review of the same text came to the same verdict and the same texts."""
    if verdict != earlier.verdict:
        return False
    if verdict == "drop":
        return not corrections
    if earlier.before is None:
        return False
    return corrected(seen(earlier.before, split), corrections).to_dict() == earlier.after


def seen(fields: dict | None, split: str) -> Example:
    """The example that an earlier reviewer saw."""
    return parse_lenient(fields, split, "an earlier review")
