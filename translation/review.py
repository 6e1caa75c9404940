"""What needs a person: written into a sheet with the English beside it, and read back.

Each row carries the fingerprint of the example that the reviewer saw, so a sheet can only be applied to
the data it was made for. `apply` checks every row first and changes nothing if one of them is wrong.
"""

import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lm_eval_stereoset.data.format import BLANK, Example
from lm_eval_stereoset.errors import UserError
from translation import sheet
from translation.checks import KINDS, NEVER, problems
from translation.columns import fingerprint, get, put, rebuilt
from translation.folder import BY_HAND, Folder, Review, now
from translation.source import translated_columns
from translation.steps import English

CORRECTED = "corrected "  # in front of the columns for corrections


@dataclass(frozen=True)
class Item:
    """One row of a sheet."""

    split: str
    example: Example
    problems: list[str]
    score: float | None = None  # chrF of the round trip, 0 to 100


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
    found = []
    for split, examples in folder.read().items():
        for example in examples:
            kinds = problems(example, english.get(split, {}).get(example.id))
            wanted = everything or any(KINDS[kind].grade != "note" for kind in kinds)
            if wanted and (again or (split, example.id) not in reviewed):
                found.append(Item(split, example, kinds))
    # What may never get into the data comes first, then the examples with most problems.
    return sorted(found, key=lambda item: (-_grave(item.problems), -len(item.problems)))


def _grave(kinds: Sequence[str]) -> int:
    return sum(KINDS[kind].grade == NEVER for kind in kinds)


def refuse_to_lose(path: Path, folder: Folder) -> None:
    """A sheet that a person has begun to fill in is not overwritten before it is applied."""
    if not path.exists():
        return
    try:
        rows = sheet.read(path)
    except UserError as error:
        raise UserError(f"{error}; it is not overwritten: choose another with --output") from error
    reviewed = folder.reviewed()
    open_ = [
        number
        for number, row in rows
        if any(row.get(name, "").strip() for name in editable()) and not _is_in(row, reviewed)
    ]
    if open_:
        raise UserError(
            f"{path}: {len(open_)} rows are filled in and not applied yet (the first is row {open_[0]}); run "
            "`stereoset translate apply` first, or keep the file under another name or choose --output FILE"
        )


def _is_in(row: Mapping[str, str], reviewed: Mapping[tuple[str, str], Review]) -> bool:
    earlier = reviewed.get((row.get("split", ""), row.get("id", "")))
    verdict = row.get("verdict", "").strip().casefold()
    return earlier is not None and earlier.verdict == verdict and earlier.base == row.get("fingerprint")


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
    source = english.get(item.split, {}).get(item.example.id)
    for column in translated_columns(item.split):
        row[column] = get(item.example, column)
        row[f"English {column}"] = get(source, column) if source else ""
    return row


def apply(path: Path, folder: Folder, by: str, english: English, replace: bool = False) -> list[Review]:
    """Takes a reviewed sheet in: every row is checked before anything is written."""
    rows = sheet.read(path)
    needed = {"split", "id", "language", "verdict", "fingerprint"}
    if not rows or not needed <= set(rows[0][1]):
        raise UserError(f"{path}: not a review sheet: it needs the columns {', '.join(sorted(needed))}")
    folder.notice_edits(adopt=True)
    data = {split: {e.id: e for e in examples} for split, examples in folder.read().items()}
    reviewed = folder.reviewed()
    results: list[Review] = []
    mistakes: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    for number, row in rows:
        try:
            first = seen.setdefault((row["split"], row["id"]), number)
            if first != number:
                raise UserError(f"the same example as row {first}")
            review = _verdict(row, folder.language, by, data, reviewed, english, replace)
        except UserError as mistake:
            mistakes.append(f"{path.name}, row {number}: {mistake}")
        else:
            results += [review] if review else []
    if mistakes:
        print("\n".join(mistakes), file=sys.stderr)
        raise UserError(f"{path}: {len(mistakes)} of {len(rows)} rows are wrong (above); nothing was changed")
    if results:
        folder.add_reviews(results)
        for review in results:  # an example that was dropped earlier comes back
            data[review.split].setdefault(review.example, _parse(review.before, review.split))
        folder.write({split: folder.in_order(split, examples) for split, examples in data.items()})
    return results


def _verdict(
    row: Mapping[str, str],
    language: str,
    by: str,
    data: Mapping[str, Mapping[str, Example]],
    reviewed: Mapping[tuple[str, str], Review],
    english: English,
    replace: bool,
) -> Review | None:
    """The review of one row; None if it has no verdict, or one that is in already."""
    split, id_ = row["split"].strip(), row["id"].strip()
    if row["language"].strip() != language:
        raise UserError(f"made for the language {row['language']!r}, not {language!r}")
    verdict = row["verdict"].strip().casefold()
    corrections = _corrections(row, split)
    if verdict in ("", "unsure"):
        if corrections:
            raise UserError("corrections without the verdict 'corrected'")
        return None
    if verdict not in sheet.VERDICTS:
        raise UserError(f"verdict {row['verdict']!r} is none of {', '.join(sheet.VERDICTS)}")
    if (verdict == "corrected") != bool(corrections):
        raise UserError(
            f"verdict {verdict!r} with corrections"
            if corrections
            else "corrected, but no correction is given"
        )
    earlier = reviewed.get((split, id_))
    example = data.get(split, {}).get(id_)
    shown = row["fingerprint"].strip()
    if earlier and earlier.base == shown and earlier.before is not None:
        if _same(earlier, verdict, corrections, split):
            return None
        if earlier.by != by and not replace:
            raise UserError(
                f"{earlier.by} has given a verdict already ({earlier.verdict}); --replace overrules it"
            )
        example = _parse(earlier.before, split)
    elif example is None and earlier and earlier.by == BY_HAND:
        if verdict == "drop":
            return None
        raise UserError(f"{split} example {id_} was deleted in its file; put the line back to review it")
    elif example is None or fingerprint(example) != shown:
        raise UserError(
            f"the sheet was made for other data: {split} example {id_} is "
            + ("not there" if example is None else "another text now")
        )
    after = _checked(example, corrections, verdict, english.get(split, {}).get(id_))
    comment = row.get("comment", "").strip()
    return Review(
        split, id_, verdict, by, now(), shown, example.to_dict(), after.to_dict() if after else None, comment
    )


def _corrections(row: Mapping[str, str], split: str) -> dict[str, str]:
    found = {}
    for name, text in row.items():
        if name.startswith(CORRECTED) and text.strip():
            column = name.removeprefix(CORRECTED)
            if column not in translated_columns(split):
                raise UserError(f"{split} examples have no {column}, but {name!r} is filled in")
            found[column] = unicodedata.normalize("NFC", text.strip())
    return found


def _with(example: Example, corrections: Mapping[str, str]) -> Example:
    for column, text in corrections.items():
        example = put(example, column, text)
    return rebuilt(example)


def _same(earlier: Review, verdict: str, corrections: Mapping[str, str], split: str) -> bool:
    if verdict != earlier.verdict:
        return False
    if verdict == "drop":
        return True
    before = _parse(earlier.before, split)
    return (_with(before, corrections) if corrections else before).to_dict() == earlier.after


def _parse(fields: dict, split: str) -> Example:
    from translation.folder import parse_lenient

    return parse_lenient(fields, split, "an earlier review")


def _checked(
    example: Example, corrections: Mapping[str, str], verdict: str, english: Example | None
) -> Example | None:
    """The example after the verdict, refused if it may not get into a data set like this."""
    if verdict == "drop":
        return None
    after = _with(example, corrections) if corrections else example
    kinds = problems(after, english)
    for kind in kinds:
        if KINDS[kind].grade == NEVER or (corrections and kind in ("identical_candidates", "blank_count")):
            raise UserError(f"{verdict}, but {KINDS[kind].meaning}")
    for column, text in corrections.items():
        if column.endswith("_word") and BLANK in text:
            raise UserError(f"{CORRECTED}{column} has {BLANK} in it")
        if "\n" in text or "\r" in text:
            raise UserError(f"{CORRECTED}{column} has a line break in it")
    return after
