"""A reviewed sheet is read back: every row is checked first, and nothing is changed if one of them is wrong."""

import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.example import Example
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import BLANK
from stereoset_translation import sheet
from stereoset_translation.checks import KINDS, NEVER, problems
from stereoset_translation.columns import fingerprint, get
from stereoset_translation.folder import Folder
from stereoset_translation.recorded import (
    History,
    comment_is_recorded,
    comment_of,
    corrected,
    corrections_of,
    history,
    is_recorded,
    same_outcome,
    seen,
    verdict_of,
)
from stereoset_translation.review import CORRECTED, check_head
from stereoset_translation.reviews import BY_HAND, OPEN, Review, counting, now
from stereoset_translation.sheet_xlsx import as_shown
from stereoset_translation.source import translated_columns
from stereoset_translation.steps import English


@dataclass(frozen=True)
class Applied:
    rows: int  # of the sheet
    verdicts: list[Review]
    left_open: list[Review]  # "unsure" and comments without a verdict, which are kept and decide nothing


def apply(path: Path, folder: Folder, by: str, english: English, replace: bool = False) -> Applied:
    """Takes a reviewed sheet in: every row is checked before anything is written."""
    found = sheet.read(path)
    check_head(path, found.head)
    if found.not_read:
        print(
            f"{path}: worksheets that were not read, because they have no review rows: "
            + ", ".join(map(repr, found.not_read)),
            file=sys.stderr,
        )
    with folder.alone():
        results = _apply(path, found.rows, folder, by, english, replace)
    return Applied(
        len(found.rows),
        [review for review in results if review.verdict not in OPEN],
        [review for review in results if review.verdict in OPEN],
    )


def _apply(
    path: Path, rows: list[tuple[int, sheet.Row]], folder: Folder, by: str, english: English, replace: bool
) -> list[Review]:
    folder.notice_edits(adopt=True)
    data = {split: {e.id: e for e in examples} for split, examples in folder.read().items()}
    reviews = folder.reviews()
    known, reviewed = history(reviews), counting(reviews)
    results: list[Review] = []
    mistakes: list[str] = []
    places: dict[tuple[str, str], int] = {}
    for number, row in rows:
        row |= {name: row[name].strip() for name in ("split", "id", "language", "fingerprint")}
        try:
            first = places.setdefault((row["split"], row["id"]), number)
            if first != number:
                raise UserError(f"the same example as row {first}")
            review = _verdict(row, folder.language, by, data, reviewed, known, english, replace)
        except UserError as mistake:
            mistakes.append(f"{path.name}, row {number}: {mistake}")
        else:
            results += [review] if review else []
    if mistakes:
        print("\n".join(mistakes), file=sys.stderr)
        raise UserError(f"{path}: {len(mistakes)} of {len(rows)} rows are wrong (above); nothing was changed")
    if results:
        for review in results:  # an example that was dropped earlier comes back
            if review.verdict in OPEN:
                continue
            data[review.split].setdefault(review.example, seen(review.before, review.split))
        ordered = {split: folder.in_order(split, examples) for split, examples in data.items()}
        folder.write(ordered, reviews=results)
    return results


def _verdict(
    row: Mapping[str, str],
    language: str,
    by: str,
    data: Mapping[str, Mapping[str, Example]],
    reviewed: Mapping[tuple[str, str], Review],
    known: History,
    english: English,
    replace: bool,
) -> Review | None:
    """The review of one row; None if nothing is filled in, or all of it is in already."""
    split, id_ = row["split"], row["id"]
    if row["language"] != language:
        raise UserError(f"made for the language {row['language']!r}, not {language!r}")
    verdict, comment = verdict_of(row), comment_of(row)
    corrections = corrections_of(row, split)
    _refuse_shown_edits(row, data, reviewed, english)
    earlier = reviewed.get((split, id_))
    example = data.get(split, {}).get(id_)
    shown = row["fingerprint"]
    if verdict in OPEN:
        if corrections:
            raise UserError("corrections without the verdict 'corrected'")
        if is_recorded(row, known):
            return None
        if example is None and earlier is None:
            raise UserError(f"the sheet was made for other data: {split} example {id_} is not there")
        return Review(split, id_, verdict, by, now(), shown, None, None, comment)
    if verdict not in sheet.VERDICTS:
        raise UserError(f"verdict {row['verdict']!r} is not one of {', '.join(sheet.VERDICTS)}")
    if (verdict == "corrected") != bool(corrections):
        raise UserError(
            f"verdict {verdict!r} with corrections"
            if corrections
            else "corrected, but no correction is given"
        )
    new_comment = not comment_is_recorded(row, known.get((split, id_), []))
    if earlier and earlier.base == shown and earlier.before is not None:
        same = same_outcome(earlier, verdict, corrections, split)
        if same and not new_comment:
            return None
        if not same and earlier.by != by and not replace:
            raise UserError(
                f"{earlier.by} has given a verdict already ({earlier.verdict}); --replace overrules it"
            )
        example = seen(earlier.before, split)
    elif example is None and earlier and earlier.by == BY_HAND:
        if verdict == "drop":
            return Review(split, id_, "", by, now(), shown, None, None, comment) if new_comment else None
        raise UserError(f"{split} example {id_} was deleted in its file; put the line back to review it")
    elif example is None or fingerprint(example) != shown:
        raise UserError(
            f"the sheet was made for other data: {split} example {id_} is "
            + ("not there" if example is None else "another text now")
        )
    after = _checked(example, corrections, verdict, english.get(split, {}).get(id_))
    return Review(
        split, id_, verdict, by, now(), shown, example.to_dict(), after.to_dict() if after else None, comment
    )


def _refuse_shown_edits(
    row: Mapping[str, str],
    data: Mapping[str, Mapping[str, Example]],
    reviewed: Mapping[tuple[str, str], Review],
    english: English,
) -> None:
    """Only the yellow columns are read. A change to a text that is only shown would be lost, and the old text
    would count as seen by the reviewer."""
    split, id_ = row["split"], row["id"]
    example, earlier = data.get(split, {}).get(id_), reviewed.get((split, id_))
    if earlier and earlier.base == row["fingerprint"] and earlier.before is not None:
        example = seen(earlier.before, split)
    if example is None or fingerprint(example) != row["fingerprint"]:
        return  # the sheet is for other data, which is said if the row has a verdict
    source = english.get(split, {}).get(id_)
    for column in translated_columns(split):
        if _differs(row[column], get(example, column)):
            raise UserError(
                f"the column {column!r} was changed, but it only shows the text; put the change into "
                f"{CORRECTED + column!r} and restore {_shown(get(example, column))}"
            )
        name = f"English {column}"
        if source and row[name].strip() and _differs(row[name], get(source, column)):
            raise UserError(
                f"the column {name!r} was changed, but it only shows the English text; "
                f"restore {_shown(get(source, column))}"
            )


def _differs(cell: str, text: str) -> bool:
    """Spreadsheets change line ends and may cut outer white space; any other difference is an edit."""
    return _plain(cell) != _plain(as_shown(text)) and _plain(cell) != _plain(text)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").strip()


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "…")


def _checked(
    example: Example, corrections: Mapping[str, str], verdict: str, english: Example | None
) -> Example | None:
    """The example after the verdict, refused if it may not get into a data set like this."""
    if verdict == "drop":
        return None
    after = corrected(example, corrections)
    kinds = problems(after, english)
    for kind in kinds:
        if KINDS[kind].grade == NEVER or (corrections and kind in ("identical_candidates", "blank_count")):
            raise UserError(f"{verdict}, but {KINDS[kind].meaning}")
    for column, text in corrections.items():
        place = column == "context" and example.split == "intra"
        if BLANK in text and not (place or (english and BLANK in get(english, column))):
            raise UserError(
                f"{CORRECTED + column!r} has {BLANK} in it, which belongs into intra contexts only"
            )
        if "\n" in text or "\r" in text:
            raise UserError(f"{CORRECTED}{column} has a line break in it")
    return after
