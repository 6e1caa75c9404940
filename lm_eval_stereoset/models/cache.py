"""The harness's response cache, kept apart by settings and by example.

The harness looks an answer up by the request's two texts alone. The answer of `stereoset-hf` also depends on its
settings and on the whole example (which word of the sentence is the candidate, say), so the same texts can have
several right answers in one cache file.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from lm_eval_stereoset.data.format import Example
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.types import CandidateScore, Scores


class Answer(tuple):
    """An answer that ScoreCache keeps; the harness must not keep it under the request's texts."""

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
    """Answers in the harness's file: scores of whole StereoSet examples, and answers to other tasks' requests."""

    def __init__(self, store: Any, scope: str):
        self.store, self.scope = store, scope
        self.plain = type(store)
        keep_apart(store, scope)

    def example_key(self, example: Example) -> str:
        return f"{self.scope}:example:{fingerprint(example.to_dict())}"

    def other_key(self, texts: Iterable[str]) -> str:
        return f"{self.scope}:other:{fingerprint(list(texts))}"

    def get(self, key: str) -> Any:
        found = self.plain.__contains__(self.store, key)
        return self.plain.__getitem__(self.store, key) if found else None

    def scores_of(self, example: Example) -> Scores | None:
        found = self.get(self.example_key(example))
        return found and tuple(CandidateScore(float(log), int(n)) for log, n in found)

    def put_scores(self, scores: Mapping[Example, Scores]) -> None:
        self.put(
            {self.example_key(e): [(s.log_score, s.tokens) for s in triple] for e, triple in scores.items()}
        )

    def put(self, items: Mapping[str, Any]) -> None:
        """All at once: every write of the file waits for the disk."""
        self.plain.update(self.store, items)


class Hook:
    """What HFLM reports answers to as soon as it has them; generated texts go the harness's way."""

    def __init__(self, harness_hook: Any, cache: ScoreCache):
        self.harness_hook, self.cache = harness_hook, cache
        self.dbdict = harness_hook.dbdict

    def add_partial(self, attr: str, req: Iterable[Any], res: Any) -> None:
        if attr == "loglikelihood":
            self.cache.put({self.cache.other_key(req): tuple(res)})
        else:
            self.harness_hook.add_partial(attr, req, res)
