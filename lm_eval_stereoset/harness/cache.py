"""Answers of models in a file (--use_cache): JSON in SQLite, each model's kept apart from all others'.

The harness keeps its cache in a sqlitedict, which unpickles values and so runs whatever code someone put into the
file; it also knows an answer by the texts of the request alone, whichever model gave it. Here every entry belongs to a
scope (identity.py), and a value that is not JSON is refused. SQLite is used directly because sqlitedict (2.1.0) works
in a thread of its own, where a damaged file or a full disk ends in several stack traces.
"""

import json
import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lm_eval_stereoset.chat.failures import is_failure
from lm_eval_stereoset.data.fields import is_finite
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import refuse_special
from lm_eval_stereoset.scoring.identity import fingerprint
from lm_eval_stereoset.scoring.questions import CandidateScore, Question, Scores

logger = logging.getLogger(__name__)

TABLE = "stereoset_answers"
WAIT = 60.0  # seconds for another process that is writing to the same file
WAY_OUT = "give --use_cache another name, or delete the file"


class AnswerStore:
    """The mapping that the harness's CachingLM works with: one scope of one file.

    Values are what models answer: a text, a number, or a tuple of numbers, which comes back as a tuple.
    """

    def __init__(self, path: Path | str, scope: str):
        self.path, self.scope = Path(path), scope
        with self._one_line():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_dir():
                raise UserError(f"the cache {self.path} is a folder; give --use_cache another name")
            refuse_special(self.path)
            self.connection = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
            self.connection.execute("PRAGMA synchronous = OFF")  # outlasts a kill, not a power cut
            self._refuse_other_tables()
            self.connection.execute(
                f"CREATE TABLE IF NOT EXISTS {TABLE} (scope TEXT, key TEXT, value TEXT, PRIMARY KEY (scope, key))"
            )

    def _refuse_other_tables(self) -> None:
        tables = {
            name for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if tables - {TABLE}:
            raise UserError(
                f"the cache {self.path} was not written by `stereoset run`. lm_eval's own caches hold Python pickles, "
                f"which can run code when they are read, so it is left alone; {WAY_OUT}"
            )

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        """A damaged file, a full disk, a folder that may not be written to: what SQLite and the system say of them."""
        try:
            yield
        except sqlite3.OperationalError as error:  # full, locked, read-only, not to be opened
            raise UserError(
                f"the cache {self.path} cannot be used: {error}; answers written before are kept. Make room or "
                "rights, give --use_cache another name, or leave it out"
            ) from error
        except sqlite3.DatabaseError as error:
            raise UserError(f"the cache {self.path} is damaged: {error}; {WAY_OUT}") from error
        except OSError as error:
            raise UserError(
                f"the cache {self.path} cannot be used: {error.strerror or error}; give --use_cache another name"
            ) from error

    def get(self, key: str) -> Any:
        """None for what is not there: no model answers None."""
        with self._one_line():
            query = f"SELECT value FROM {TABLE} WHERE scope = ? AND key = ?"
            row = self.connection.execute(query, (self.scope, key)).fetchone()
        return None if row is None else decode(row[0], str(self.path))

    def update(self, items: Mapping[str, Any]) -> None:
        """All of them or none, even if the process is killed."""
        encoded = {key: encode(value) for key, value in items.items()}
        rows = [(self.scope, key, text) for key, text in encoded.items() if text is not None]
        with self._one_line():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                self.connection.executemany(f"REPLACE INTO {TABLE} VALUES (?, ?, ?)", rows)
                self.connection.execute("COMMIT")
            finally:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: str) -> Any:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def commit(self) -> None:
        """The harness asks for it; every write is already in the file."""

    def close(self) -> None:
        self.connection.close()


def encode(value: Any) -> str | None:
    """None for what is better asked again than kept: requests that failed, numbers that are not finite, and kinds that
    JSON has no word for."""
    if is_failure(value):
        return None
    kind, content = ("tuple", list(value)) if isinstance(value, tuple) else ("value", value)
    try:
        return json.dumps({kind: content}, allow_nan=False, default=_of_numpy)
    except (TypeError, ValueError) as error:
        logger.debug("not kept in the cache: %r (%s)", value, error)
        return None


def _of_numpy(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def decode(text: Any, where: str) -> Any:
    """Only what `encode` writes."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and len(found) == 1:
        if isinstance(found.get("tuple"), list):
            return tuple(found["tuple"])
        if found.get("value") is not None:
            return found["value"]
    raise UserError(f"the cache {where} holds an entry that `stereoset run` did not write; {WAY_OUT}")


class ScoreCache:
    """What `stereoset-hf` keeps: the scores of all candidates of a question.

    The harness's key (the two texts) is not enough for them: which word of the sentence is the candidate, say,
    changes the score.
    """

    def __init__(self, store: AnswerStore):
        self.store = store

    def scores_of(self, question: Question) -> Scores | None:
        return _scores(self.store.get(_key(question)), len(question.candidates))

    def put_scores(self, scores: Mapping[Question, Scores]) -> None:
        """All at once, so that a run that goes on after a kill forms the batches of an uninterrupted one."""
        self.store.update({_key(q): [[s.log_score, s.tokens] for s in found] for q, found in scores.items()})


def _key(question: Question) -> str:
    return f"question {fingerprint(asdict(question))}"


def _scores(found: Any, count: int) -> Scores | None:
    """Of a value that was edited by hand, nothing: the question is asked again."""
    if not isinstance(found, list) or len(found) != count or not all(map(_is_score, found)):
        return None
    return tuple(CandidateScore(float(log), tokens) for log, tokens in found)


def _is_score(pair: Any) -> bool:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        return False
    log, tokens = pair
    return is_finite(log) and type(tokens) is int and tokens > 0
