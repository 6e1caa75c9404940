"""The translation memory: every answer of a translator, stored the moment it arrives.

SQLite in WAL mode with full synchronisation, one transaction per answer or batch: what has been stored
survives a kill and a power cut, and is never asked, or paid for, again.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import refuse_special

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    backend TEXT NOT NULL,  -- its identity: name and everything that changes its answers
    source  TEXT NOT NULL,  -- language codes
    target  TEXT NOT NULL,
    text    TEXT NOT NULL,
    answer  TEXT NOT NULL,
    at      TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (backend, source, target, text)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS made (name TEXT PRIMARY KEY);  -- at the service, to be removed again
CREATE TABLE IF NOT EXISTS runs (
    backend TEXT NOT NULL, strings INTEGER NOT NULL, characters INTEGER NOT NULL, seconds REAL NOT NULL
);
"""


class Memory:
    """Answers of one translator for one pair of languages, in a file that may hold others too."""

    def __init__(self, path: Path, backend: str, source: str, target: str):
        self.path = Path(path)
        self.key = (backend, source, target)
        self._lock = threading.Lock()
        with self._told("opened"):
            refuse_special(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.executescript(SCHEMA)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """A full disk, a read-only folder or a file that is no database is for the user to mend."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise UserError(
                f"the translation memory {self.path} cannot be {what}: {error}; {_way_out(error)}"
            ) from error

    def get(self, texts: Iterable[str]) -> dict[str, str]:
        """The stored answers among `texts`."""
        with self._told("read"), self._lock:
            rows = self._connection.execute(
                "SELECT text, answer FROM answers WHERE backend = ? AND source = ? AND target = ?", self.key
            )
            stored = dict(rows)
        found = {text: stored[text] for text in texts if text in stored}
        if damaged := [text for text, answer in found.items() if not isinstance(answer, str)]:
            raise UserError(
                f"the translation memory {self.path} is damaged: the answer to {damaged[0][:60]!r} is not a text; "
                "restore it from a backup, or choose another with --memory"
            )
        return found

    def put(self, answers: Mapping[str, str]) -> None:
        """Stores answers, all or none. An answer that is there already stays: it may be in use."""
        rows = [(*self.key, text, answer) for text, answer in answers.items()]
        with self._told("written"), self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(
                    "INSERT OR IGNORE INTO answers (backend, source, target, text, answer) VALUES (?, ?, ?, ?, ?)",
                    rows,
                )
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def note_speed(self, strings: int, characters: int, seconds: float) -> None:
        with self._told("written"), self._lock:
            self._connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?)", (self.key[0], strings, characters, seconds)
            )

    def strings_per_second(self) -> float | None:
        """As measured in earlier runs of this translator."""
        with self._told("read"), self._lock:
            strings, seconds = self._connection.execute(
                "SELECT sum(strings), sum(seconds) FROM runs WHERE backend = ?", self.key[:1]
            ).fetchone()
        return strings / seconds if strings and seconds else None

    def note_made(self, name: str) -> None:
        """Something that a run makes at the service, noted first: should it be killed, the next removes it."""
        with self._told("written"), self._lock:
            self._connection.execute("INSERT OR IGNORE INTO made VALUES (?)", (name,))

    def note_removed(self, name: str) -> None:
        with self._told("written"), self._lock:
            self._connection.execute("DELETE FROM made WHERE name = ?", (name,))

    def left_behind(self) -> list[str]:
        with self._told("read"), self._lock:
            return [str(name) for (name,) in self._connection.execute("SELECT name FROM made")]

    @contextmanager
    def only_run(self) -> Iterator[None]:
        """Keeps a second process from asking (and paying for) the same strings at the same time.

        The lock is an open transaction on a file beside the memory: the system ends it with the process,
        however that dies, on every operating system.
        """
        guard = self.path.with_name(f".{self.path.name}.{self.key[2]}.lock")
        with self._told("locked"):
            connection = sqlite3.connect(guard, timeout=0, isolation_level=None)
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            connection.close()
            if "locked" not in str(error):
                raise UserError(f"the translation memory {self.path} cannot be locked: {error}") from error
            raise UserError(
                f"another process is translating into {self.key[2]!r} with {self.path}; wait until it has ended"
            ) from error
        try:
            yield
        finally:
            connection.close()

    def close(self) -> None:
        self._connection.close()


def _way_out(error: Exception) -> str:
    if type(error) is sqlite3.DatabaseError:  # not a database, or a damaged one
        return "restore it from a backup, or choose another with --memory"
    return "what it holds is safe: mend this and run the command again"
