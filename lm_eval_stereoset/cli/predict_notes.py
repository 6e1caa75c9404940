"""What `stereoset predict` keeps while it runs: FILE.json.part, from which an interrupted run goes on.

The first line is the identity of the run, each further one a part of the examples (as many as are scored at once) with
its scores. A part counts as a whole or not at all, so a run that goes on forms the very batches of an uninterrupted one
and ends with the same bits. Whatever is wrong with a line, its part is scored again.
"""

import json
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import refuse_special

logger = logging.getLogger(__name__)

HEAD = "stereoset predict"


@dataclass(frozen=True)
class Part:
    """Examples that are scored at once."""

    split: str
    start: int
    examples: Sequence[Any]

    @property
    def name(self) -> str:
        return f"{self.split} {self.start}"


def parts_of(examples: Mapping[str, Sequence[Any]], at_once: int) -> list[Part]:
    return [
        Part(split, start, found[start : start + at_once])
        for split, found in examples.items()
        for start in range(0, len(found), at_once)
    ]


class Notes:
    """The open and locked file: `with Notes(output) as notes`, then begin, add for what is not in `scores`, finish."""

    def __init__(self, output: Path, command: str = HEAD):
        self.command = command
        self.path = output.with_name(output.name + ".part")
        self.scores: dict[str, list[list[float]]] = {}  # part: the scores of each example's candidates
        self.begun = False

    def __enter__(self) -> "Notes":
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            refuse_special(self.path)
            self.handle = open(self.path, "a+b", buffering=0)
            while not lock(self.handle.fileno(), self.path, self.command):  # another run removed it just now
                self.handle.close()
                self.handle = open(self.path, "a+b", buffering=0)
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror or error}") from error
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        empty = os.fstat(self.handle.fileno()).st_size == 0
        self.handle.close()
        if empty or (self.begun and not self.scores):  # nothing to go on from
            self.path.unlink(missing_ok=True)

    def begin(self, identity: Mapping[str, Any], parts: Sequence[Part]) -> None:
        """Takes over the notes of the same run; those of another one are dropped."""
        head = json.dumps({self.command: identity}, sort_keys=True).encode() + b"\n"
        self.handle.seek(0)
        lines = self.handle.read().splitlines(keepends=True)
        if lines and not lines[0].startswith(b'{"%s"' % self.command.encode()):
            raise UserError(
                f"{self.path}: not the notes of an interrupted `{self.command}`; move it away first"
            )
        if not lines or lines[0] != head:
            if lines:
                logger.warning("%s is of another model, data or setting: starting anew", self.path)
            self.handle.truncate(0)
            self._append(head)
            self.begun = True
            return
        if not lines[-1].endswith(b"\n"):  # cut off by a kill
            self.handle.truncate(sum(map(len, lines[:-1])))
            lines.pop()
        self.begun = True
        expected = {part.name: part for part in parts}
        for line in lines[1:]:
            self.scores.update(usable(line, expected))
        done = sum(map(len, self.scores.values()))
        logger.warning("going on with %s: %d examples are done", self.path, done)

    def add(self, part: Part, scores: Sequence[Any]) -> None:
        found = [[score.probability for score in row] for row in scores]
        rows = [[example.id, row] for example, row in zip(part.examples, found, strict=True)]
        self._append(json.dumps([part.name, rows]).encode() + b"\n")
        self.scores[part.name] = found

    def _append(self, line: bytes) -> None:
        size = os.fstat(self.handle.fileno()).st_size
        try:
            while line:  # without a buffer, which would be written once more on closing
                line = line[self.handle.write(line) :]
            os.fsync(self.handle.fileno())
        except OSError as error:
            os.ftruncate(self.handle.fileno(), size)
            raise UserError(
                f"cannot write {self.path}: {error.strerror or error}; the notes so far are kept: make room and give "
                "the same command again"
            ) from error

    def finish(self) -> None:
        self.path.unlink(missing_ok=True)


def usable(line: bytes, expected: Mapping[str, Part]) -> dict[str, list[list[float]]]:
    """The part in a line of notes; nothing unless it has a number for each candidate of exactly the part's examples."""
    try:
        name, rows = json.loads(line)
        part = expected[name]
        ids, scores = zip(*rows, strict=True)
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}
    if list(ids) != [example.id for example in part.examples]:
        return {}
    wanted = [len(example.labels) for example in part.examples]
    return {name: list(scores)} if all(map(_are_scores, scores, wanted)) else {}


def _are_scores(scores: Any, count: int) -> bool:
    """Probabilities, their means and ratios: finite and not below zero."""
    return (
        isinstance(scores, list)
        and len(scores) == count
        and all(type(score) is float and math.isfinite(score) and score >= 0 for score in scores)
    )


def lock(descriptor: int, path: Path, command: str = HEAD) -> bool:
    """False if the file has been removed meanwhile. The lock ends with the process, also if it is killed."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks; a second run there is the user's to avoid
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UserError(
            f"{path}: another `{command}` is writing to it; wait for its end, or name another file with -o"
        ) from error
    return path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino
