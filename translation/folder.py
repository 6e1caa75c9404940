"""A folder of translated examples, and the promise that what a person changed in it stays.

<split>/<language>.jsonl   the examples (a text may still be empty or lack its BLANK: that is seen to later)
<language>.reviews.jsonl   every verdict of a reviewer, oldest first: who, when, before, after
<language>.written.json    fingerprints of the examples as the last command wrote them here, so that an
                           example edited or deleted by hand in its file is recognised, and kept so
<language>.english.json    how many English examples there are in all, to tell a part from the whole
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from lm_eval_stereoset.data.format import (
    BLANK,
    SPLITS,
    Example,
    Uniqueness,
    iter_lines,
    parse_example,
    write_examples,
)
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, read_json, write_json
from translation.columns import fingerprint, names, put

BY_HAND = "edited in the file"
ABSENT = ""  # in a record, beside fingerprints: the example may as well not be in the file


@dataclass(frozen=True)
class Review:
    """One verdict on one example; the last one on an example counts."""

    split: str
    example: str
    verdict: str  # ok, corrected or drop
    by: str
    at: str  # UTC
    base: str  # fingerprint of the example that the reviewer saw
    before: dict[str, Any] | None
    after: dict[str, Any] | None  # None: dropped
    comment: str = ""


def read_translated(path: Path, split: str) -> list[Example]:
    """The canonical format, except that empty texts and lost BLANKs are accepted: they are what we repair."""
    unique = Uniqueness()
    examples = []
    for number, line in iter_lines(path):
        where = f"{path}, line {number}"
        try:
            example = parse_lenient(json.loads(line.decode("utf-8")), split, where)
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise UserError(f"{where}: not a line of UTF-8 JSON ({error})") from error
        unique.check(example, where)
        examples.append(example)
    if not examples:
        raise UserError(f"{path}: no examples")
    return examples


def parse_lenient(fields: Any, split: str, where: str) -> Example:
    """Validates a line as if no text were empty and BLANK were there, then gives the texts as they are."""
    if not isinstance(fields, dict) or not isinstance(fields.get("candidates"), list):
        return parse_example(fields, split, where)
    complete = _filled(fields, ("target", "context"))
    if split == "intra" and isinstance(complete.get("context"), str) and BLANK not in complete["context"]:
        complete["context"] += BLANK
    complete["candidates"] = [
        _filled(c, ("sentence", "word")) if isinstance(c, dict) else c for c in fields["candidates"]
    ]
    example = parse_example(complete, split, where)
    for column in names(split):
        source = fields if column in fields else fields["candidates"][int(column[1]) - 1]
        example = put(example, column, source[column if column in fields else column[3:]])
    return example


def _filled(fields: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    empty = [key for key in keys if isinstance(fields.get(key), str) and not fields[key].strip()]
    return {**fields, **dict.fromkeys(empty, "empty")}


class Folder:
    def __init__(self, path: Path | str, language: str):
        self.path = Path(path)
        self.language = language

    def file(self, split: str) -> Path:
        return self.path / split / f"{self.language}.jsonl"

    def beside(self, kind: str) -> Path:
        """A file about this language that is not data, e.g. de.changes.jsonl."""
        return self.path / f"{self.language}.{kind}"

    def read(self) -> dict[str, list[Example]]:
        """All splits that are there; at least one must be."""
        found = {split: self.file(split) for split in SPLITS if self.file(split).is_file()}
        if not found:
            raise UserError(
                f"{self.path}: neither intra/{self.language}.jsonl nor inter/{self.language}.jsonl is there"
            )
        return {split: read_translated(path, split) for split, path in found.items()}

    def reviews(self) -> list[Review]:
        path = self.beside("reviews.jsonl")
        if not path.is_file():
            return []
        try:
            return [Review(**json.loads(line)) for _, line in iter_lines(path)]
        except (ValueError, TypeError) as error:
            raise UserError(f"{path}: not a list of reviews ({error}); restore it from a backup") from error

    def reviewed(self) -> dict[tuple[str, str], Review]:
        """The verdict that counts, by split and example id."""
        return {(review.split, review.example): review for review in self.reviews()}

    def add_reviews(self, reviews: Sequence[Review]) -> None:
        everything = [*self.reviews(), *reviews]
        with atomic_write(self.beside("reviews.jsonl")) as handle:
            for review in everything:
                handle.write(json.dumps(asdict(review), ensure_ascii=False) + "\n")

    def write(self, splits: Mapping[str, Sequence[Example]]) -> int:
        """Puts new examples in place of old ones, except those a person has reviewed or edited.

        Returns how many of the examples stayed as a person left them.
        """
        self.notice_edits()
        written, reviewed = self._written(), self.reviewed()
        final = {
            split: {e.id: with_review(e, reviewed.get((split, e.id))) for e in examples}
            for split, examples in splits.items()
        }
        # The record goes first and then knows the old and the new: a kill in between looks like no edit.
        for keep_old in (True, False):
            for split, examples in final.items():
                record = written.setdefault(split, {})
                for id_ in [*examples, *(id_ for id_ in record if id_ not in examples)]:
                    example = examples.get(id_)
                    new = [fingerprint(example)] if example else []
                    record[id_] = [*(record.get(id_) or [ABSENT]), *(new or [ABSENT])] if keep_old else new
            write_json(self.beside("written.json"), written)
            for split, examples in final.items() if keep_old else ():
                write_examples(self.file(split), [example for example in examples.values() if example])
        return sum((split, id_) in reviewed for split, examples in final.items() for id_ in examples)

    def notice_edits(self, adopt: bool = False) -> None:
        """Takes examples that were edited in their file into the reviews, so that they are kept; one that
        was deleted there is a person's drop.

        `adopt` starts the record of a file that no command has written: as it is, it is nobody's edit.
        """
        written = self._written()
        reviewed = self.reviewed()
        found = []
        for split in SPLITS:
            path = self.file(split)
            if not path.is_file():  # not one example, but the whole: it is to be made anew
                continue
            if split not in written and adopt:
                written[split] = {e.id: [fingerprint(e)] for e in read_translated(path, split)}
                write_json(self.beside("written.json"), written)
            elif split not in written:
                raise UserError(
                    f"{path}: exists and was not written by this command; choose another output folder, "
                    "or move the file away"
                )
            there = {example.id: example for example in read_translated(path, split)}
            edited = [e.id for e in there.values() if fingerprint(e) not in written[split].get(e.id, [])]
            deleted = [
                id_
                for id_, known in written[split].items()
                if id_ not in there and known and ABSENT not in known and not _dropped(reviewed, split, id_)
            ]
            for id_ in edited + deleted:
                known, earlier = written[split].get(id_), reviewed.get((split, id_))
                found.append(
                    Review(
                        split, id_, "corrected" if id_ in there else "drop", BY_HAND, now(),
                        known[-1] if known else "", earlier.after if earlier else None,
                        there[id_].to_dict() if id_ in there else None,
                    )
                )  # fmt: skip
            if deleted:
                print(
                    f"{len(deleted)} examples were deleted in {path}, e.g. {deleted[0]}; they stay dropped "
                    f"(kept in {self.beside('reviews.jsonl').name}; put the line back to undo it)",
                    file=sys.stderr,
                )
        if found:
            self.add_reviews(found)

    def has_record(self) -> bool:
        return self.beside("written.json").is_file()

    def english_sizes(self) -> dict[str, int]:
        """How many examples the English data has, by split, as far as that is known here."""
        path = self.beside("english.json")
        return read_json(path) if path.is_file() else {}

    def set_english_sizes(self, sizes: Mapping[str, int]) -> None:
        write_json(self.beside("english.json"), dict(sizes))

    def in_order(self, split: str, examples: Mapping[str, Example]) -> list[Example]:
        """The examples as they were first written here, which is the order of the English data."""
        place = {id_: number for number, id_ in enumerate(self._written().get(split, {}))}
        return sorted(examples.values(), key=lambda example: place.get(example.id, len(place)))

    def _written(self) -> dict[str, dict[str, list[str]]]:
        path = self.beside("written.json")
        return read_json(path) if path.is_file() else {}


def _dropped(reviewed: Mapping[tuple[str, str], Review], split: str, id_: str) -> bool:
    return (split, id_) in reviewed and reviewed[split, id_].after is None


def with_review(example: Example, review: Review | None) -> Example | None:
    if review is None:
        return example
    if review.after is None:
        return None
    return parse_lenient(review.after, review.split, f"review of {review.example}")


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
