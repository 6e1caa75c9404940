"""Keeps a second command out while one reads, decides and writes."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import refuse_special


@contextmanager
def locked(path: Path, doing: str) -> Iterator[None]:
    """Holds a lock on the file `path`, which stays: removing it would let two commands lock two files.

    The system ends the lock with the process, however that dies. `doing` says what the other command is at.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such locks; a second command there is the user's to avoid
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        refuse_special(path)
        handle = open(path, "ab")  # noqa: SIM115  closed below
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise UserError(f"{path}: cannot be locked: {error.strerror or error}") from error
        yield  # where nothing can be written, nothing can get lost
        return
    with handle:
        try:
            fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"another `stereoset translate` is {doing}; nothing was changed: wait for its end and give the "
                "command again"
            ) from error
        except OSError as error:
            raise UserError(f"{path}: cannot be locked: {error.strerror or error}") from error
        yield
