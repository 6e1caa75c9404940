"""The harness's response cache, kept apart by settings and by example.

The harness looks an answer up by the request's two texts alone. The answer of `stereoset-hf` also depends on its
settings and on the whole example (which word of the sentence is the candidate, say), so the same texts can have
several right answers in one cache file.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from lm_eval_stereoset.data.format import Example
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.types import CandidateScore, Scores


class Answer(tuple):
    """(log_score, tokens) of a candidate: kept by ScoreCache, never under the request's texts."""

    __slots__ = ()


def fingerprint(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8")).hexdigest()[:24]


def keep_apart(store: Any, scope: str) -> None:
    """Makes the harness's own mapping (which it goes on using) see only entries written under `scope`.

    The object is shared with the harness and its keys are hashes, so it is given a class that puts the scope
    in front of each key.
    """
    base = type(store)

    class Scoped(base):
        def __contains__(self, key: str) -> bool:
            return super().__contains__(f"{scope}:{key}")

        def __getitem__(self, key: str) -> Any:
            return super().__getitem__(f"{scope}:{key}")

        def __setitem__(self, key: str, value: Any) -> None:
            if not isinstance(value, Answer):
                super().__setitem__(f"{scope}:{key}", value)

    try:
        store.__class__ = Scoped
    except TypeError as error:
        raise UserError(
            f"--use_cache: this version of the harness keeps its cache in a {base.__name__}, in which the settings "
            "of stereoset-hf cannot be kept apart; run without --use_cache"
        ) from error


class ScoreCache:
    """Scores of whole examples, under their text and the settings, in the same file."""

    def __init__(self, store: Any, scope: str):
        self.store, self.scope = store, scope
        self.plain = type(store)
        keep_apart(store, scope)

    def key(self, example: Example) -> str:
        return f"{self.scope}:example:{fingerprint(example.to_dict())}"

    def get(self, example: Example) -> Scores | None:
        key = self.key(example)
        if not self.plain.__contains__(self.store, key):
            return None
        return tuple(CandidateScore(float(log), int(n)) for log, n in self.plain.__getitem__(self.store, key))

    def put(self, scores: Mapping[Example, Scores]) -> None:
        """All at once: every write of the file waits for the disk."""
        items = {self.key(e): [(s.log_score, s.tokens) for s in triple] for e, triple in scores.items()}
        self.plain.update(self.store, items)
