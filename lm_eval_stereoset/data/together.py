"""Several files that belong together, put in place all or none, whatever happens in between.

    1. every file is written beside its place, under a temporary name      a kill: nothing has changed
    2. a journal is written that lists (temporary name, place)             from here on it counts as done
    3. each temporary file is renamed to its place                         a kill: `finish` goes on here
    4. the journal is removed

Whoever reads the files calls `finish` first, so that nobody ever sees the new half of a pair with the old.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, read_json


def write_together(contents: Mapping[Path, bytes], journal: Path) -> None:
    """Writes all files or none. `journal` lies in a folder that contains all of them."""
    finish(journal)
    for path in contents:
        if path.exists() and not path.is_file():
            raise UserError(
                f"cannot write {path}: something that is not a file is there; nothing was changed"
            )
    waiting: list[Path] = []
    try:
        for path, content in contents.items():
            waiting.append(_write_beside(path, content))
        folder = journal.parent
        moves = [
            [os.path.relpath(new, folder), os.path.relpath(path, folder)]
            for new, path in zip(waiting, contents, strict=True)
        ]
        with atomic_write(journal) as handle:
            json.dump(moves, handle)
    except BaseException:
        for new in waiting:
            new.unlink(missing_ok=True)
        raise
    finish(journal)


def _write_beside(path: Path, content: bytes) -> Path:
    """The content in a temporary file that a rename can put in place."""
    new = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.new")
    try:
        with atomic_write(new, "wb") as handle:
            handle.write(content)
    except UserError as error:
        raise UserError(str(error).replace(str(new), str(path))) from error
    return new


def finish(journal: Path) -> None:
    """Completes what a killed process has left; does nothing if there is nothing left."""
    if not journal.is_file():
        return
    moves = read_json(journal)
    if not _well_formed(moves):
        raise UserError(f"{journal}: not a list of files to put in place; delete it and add the data again")
    try:
        for new, path in moves:
            # Another process may be finishing the same journal: what is gone has been put in place.
            with suppress(FileNotFoundError):
                os.replace(journal.parent / new, journal.parent / path)
        journal.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"{journal.parent}: files of an interrupted command wait to be put in place, but that fails: "
            f"{error.strerror or error}"
        ) from error


def _well_formed(moves: object) -> bool:
    return isinstance(moves, list) and all(
        isinstance(move, list)
        and len(move) == 2
        and all(isinstance(text, str) and _inside(text) for text in move)
        for move in moves
    )


def _inside(relative: str) -> bool:
    """A journal that somebody else wrote must not move files out of the folder."""
    path = Path(relative)
    return "\0" not in relative and not path.is_absolute() and ".." not in path.parts
