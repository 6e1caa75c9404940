"""A folder of translated examples, and the promise that what a person changed in it stays.

<split>/<language>.jsonl   the examples (a text may still be empty or lack its BLANK: that is seen to later)
<language>.reviews.jsonl   every verdict of a reviewer, oldest first: who, when, before, after
<language>.written.json    fingerprints of the examples as the last command wrote them here, so that an
                           example edited or deleted by hand in its file is recognised, and kept so
<language>.english.json    how many English examples there are in all, to tell a part from the whole

What a command changes here is put in place together, all of it or nothing: a kill or a full disk never leaves reviews
without the data that follows from them. Should a kill come while the files are put in place,
.<language>.unfinished.json lists the rest, and whoever reads the folder next finishes it.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, Example
from lm_eval_stereoset.data import together
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import encoded, iter_lines, parse_json, read_json
from stereoset_translation.columns import fingerprint
from stereoset_translation.lenient import read_translated
from stereoset_translation.lock import locked
from stereoset_translation.reviews import BY_HAND, Review, counting, now, parse_review, with_review

ABSENT = ""  # in older records, beside fingerprints: the example may as well not be in the file


class Folder:
    def __init__(self, path: Path | str, language: str):
        self.path = Path(path)
        self.language = language
        self._depth = 0  # of `alone` within `alone`

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other command writes here meanwhile. Whatever reads, decides and writes does all of it in here."""
        if self._depth:
            yield
            return
        with locked(self.path / f".{self.language}.lock", f"working in {self.path}"):
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    @property
    def _journal(self) -> Path:
        return self.path / f".{self.language}.unfinished.json"

    def finish(self) -> None:
        """Puts in place what a killed command had ready."""
        together.finish(self._journal)

    def file(self, split: str) -> Path:
        return self.path / split / f"{self.language}.jsonl"

    def beside(self, kind: str) -> Path:
        """A file about this language that is not data, e.g. de.changes.jsonl."""
        return self.path / f"{self.language}.{kind}"

    def files(self) -> list[Path]:
        """Everything that is kept here: the examples, and what the commands note about them."""
        kinds = ("reviews.jsonl", "written.json", "english.json", "steps.json", "changes.jsonl")
        return [*map(self.file, SPLITS), *map(self.beside, kinds)]

    def read(self) -> dict[str, list[Example]]:
        """All splits that are there; at least one must be."""
        self.finish()
        found = {split: self.file(split) for split in SPLITS if self.file(split).is_file()}
        if not found:
            raise UserError(
                f"{self.path}: neither intra/{self.language}.jsonl nor inter/{self.language}.jsonl is there"
            )
        return {split: read_translated(path, split) for split, path in found.items()}

    def reviews(self) -> list[Review]:
        self.finish()
        path = self.beside("reviews.jsonl")
        if not path.is_file():
            return []
        return [
            parse_review(parse_json(line, f"{path}, line {n}"), f"{path}, line {n}")
            for n, line in iter_lines(path)
        ]

    def reviewed(self) -> dict[tuple[str, str], Review]:
        """The verdict that counts, by split and example id."""
        return counting(self.reviews())

    def write(
        self,
        splits: Mapping[str, Sequence[Example]],
        reviews: Sequence[Review] = (),
        beside: Mapping[str, bytes] | None = None,
    ) -> int:
        """Puts new examples in place of old ones, except those a person has reviewed or edited.

        New `reviews` and files about the data (`beside`: kind and content) go in together with it. Returns how many
        of the examples stayed as a person left them.
        """
        with self.alone():
            self.notice_edits()
            history, written = [*self.reviews(), *reviews], self._written()
            reviewed = counting(history)
            final = {
                split: {e.id: with_review(e, reviewed.get((split, e.id))) for e in examples}
                for split, examples in splits.items()
            }
            contents = {self.beside(kind): content for kind, content in (beside or {}).items()}
            for split, examples in final.items():
                record = written.setdefault(split, {})
                for id_ in [*examples, *(id_ for id_ in record if id_ not in examples)]:
                    record[id_] = _known(examples.get(id_))
                contents[self.file(split)] = encoded(example for example in examples.values() if example)
            self._put(contents, written, history if reviews else None)
        return sum((split, id_) in reviewed for split, examples in final.items() for id_ in examples)

    def _put(self, contents: Mapping[Path, bytes], written: Any, history: Sequence[Review] | None) -> None:
        """All of it or nothing: contents, the record and, if there are new ones, the reviews."""
        contents = {**contents, self.beside("written.json"): json_bytes(written)}
        if history is not None:
            contents[self.beside("reviews.jsonl")] = lines_bytes(map(asdict, history))
        together.write_together(contents, self._journal)

    def notice_edits(self, adopt: bool = False) -> None:
        """Takes examples that were edited in their file into the reviews, so that they are kept; one that
        was deleted there is a person's drop. Whatever else is not as its review says is put right.

        `adopt` starts the record of a file that no command has written: as it is, it is nobody's edit.
        """
        with self.alone():
            self.finish()
            history, written = self.reviews(), self._written()
            before = json_bytes(written)
            new: list[Review] = []
            contents: dict[Path, bytes] = {}
            for split in SPLITS:
                path = self.file(split)
                if not path.is_file():  # not one example, but the whole: it is to be made anew
                    continue
                if split not in written and not adopt:
                    raise UserError(
                        f"{path}: exists and was not written by this command; choose another output folder, "
                        "or move the file away"
                    )
                there = {example.id: example for example in read_translated(path, split)}
                if split not in written:
                    written[split] = {id_: _known(example) for id_, example in there.items()}
                new += self._edits(split, there, written[split], counting(history))
                contents |= self._in_line(split, there, written[split], counting([*history, *new]))
            if new or contents or json_bytes(written) != before:
                self._put(contents, written, [*history, *new] if new else None)

    def _edits(
        self,
        split: str,
        there: Mapping[str, Example],
        record: dict[str, list[str]],
        reviewed: Mapping[tuple[str, str], Review],
    ) -> list[Review]:
        """What a person has changed or deleted in the file, which the record then knows."""
        edited = [e.id for e in there.values() if fingerprint(e) not in record.get(e.id, [])]
        deleted = [
            id_
            for id_, known in record.items()
            if id_ not in there and known and ABSENT not in known and not _dropped(reviewed, split, id_)
        ]
        found = []
        for id_ in edited + deleted:
            known, earlier, example = record.get(id_), reviewed.get((split, id_)), there.get(id_)
            found.append(
                Review(
                    split, id_, "corrected" if example else "drop", BY_HAND, now(), known[-1] if known else "",
                    earlier.after if earlier else None, example.to_dict() if example else None,
                )
            )  # fmt: skip
            record[id_] = _known(example)
        if deleted:
            print(
                f"{len(deleted)} examples were deleted in {self.file(split)}, e.g. {deleted[0]}; they stay dropped "
                f"(kept in {self.beside('reviews.jsonl').name}; put the line back to undo it)",
                file=sys.stderr,
            )
        return found

    def _in_line(
        self,
        split: str,
        there: Mapping[str, Example],
        record: dict[str, list[str]],
        reviewed: Mapping[tuple[str, str], Review],
    ) -> dict[Path, bytes]:
        """The file as the reviews say, if it is not: a command wrote it, but before the reviews or without them."""
        final = {id_: with_review(example, reviewed.get((split, id_))) for id_, example in there.items()}
        other = [id_ for id_, example in there.items() if final[id_] != example]
        if not other:
            return {}
        record |= {id_: _known(final[id_]) for id_ in other}
        print(
            f"{len(other)} examples in {self.file(split)} were not as {self.beside('reviews.jsonl').name} has them, "
            f"e.g. {other[0]}; they are now",
            file=sys.stderr,
        )
        return {self.file(split): encoded(example for example in final.values() if example)}

    def has_record(self) -> bool:
        return self.beside("written.json").is_file()

    def english_sizes(self) -> dict[str, int]:
        """How many examples the English data has, by split, as far as that is known here."""
        self.finish()
        path = self.beside("english.json")
        sizes = read_json(path) if path.is_file() else {}
        if not isinstance(sizes, dict) or not all(type(size) is int and size >= 0 for size in sizes.values()):
            raise UserError(f"{path}: not the number of English examples by split; delete it")
        return sizes

    def in_order(self, split: str, examples: Mapping[str, Example]) -> list[Example]:
        """The examples as they were first written here, which is the order of the English data."""
        place = {id_: number for number, id_ in enumerate(self._written().get(split, {}))}
        return sorted(examples.values(), key=lambda example: place.get(example.id, len(place)))

    def _written(self) -> dict[str, dict[str, list[str]]]:
        self.finish()
        path = self.beside("written.json")
        record = read_json(path) if path.is_file() else {}
        if not _is_record(record):
            raise UserError(
                f"{path}: not a record of fingerprints; restore it from a backup, or delete it: what is in the "
                "files then counts as nobody's edit"
            )
        return record


def _is_record(record: Any) -> bool:
    """{split: {example id: [fingerprint, …]}}"""
    return isinstance(record, dict) and all(
        isinstance(examples, dict)
        and all(
            isinstance(known, list) and all(isinstance(item, str) for item in known)
            for known in examples.values()
        )
        for examples in record.values()
    )


def _dropped(reviewed: Mapping[tuple[str, str], Review], split: str, id_: str) -> bool:
    return (split, id_) in reviewed and reviewed[split, id_].after is None


def _known(example: Example | None) -> list[str]:
    """What the record says of an example that is written, or left out."""
    return [fingerprint(example)] if example else []


def json_bytes(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def lines_bytes(values: Iterable[Any]) -> bytes:
    """JSON, a line for each value."""
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode("utf-8")
