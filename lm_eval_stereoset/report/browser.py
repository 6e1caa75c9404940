"""Packs the examples for the page's browser: texts once per language, scores of all runs as binary.

The page unpacks both with the browser's own gzip reader. Outcomes are decided here, in double precision, and
travel as a byte each: scores are shown from single precision, which must not create or hide a tie.
"""

import base64
import gzip
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.benchmarks.stereoset.example import Example
from lm_eval_stereoset.report.run import Run

OUTCOMES = ("stereotype", "anti-stereotype", "unrelated", "tie")
ABSENT = 255


class Corpus:
    """The examples of one split in one language, in one version of the data."""

    def __init__(self, language: str, split: str) -> None:
        self.language, self.split = language, split
        self.examples: list[Example] = []
        self.place: dict[str, int] = {}

    def takes(self, examples: Sequence[Example]) -> bool:
        """No example is there already with other texts."""
        for example in examples:
            i = self.place.get(example.id)
            if i is not None and self.examples[i] is not example and self.examples[i] != example:
                return False
        return True

    def add(self, examples: Sequence[Example]) -> None:
        for example in examples:
            if example.id not in self.place:
                self.place[example.id] = len(self.examples)
                self.examples.append(example)

    def texts(self, ids: dict[str, int], targets: dict[str, int]) -> dict[str, Any]:
        """Ids, the same in all languages, by number; the texts of an example side by side, so that they pack."""
        texts: list[str] = []
        for e in self.examples:
            texts += [e.target, e.context, *(e.candidate(label).sentence for label in OUTCOMES[:3])]
        return {
            "ids": [ids[e.id] for e in self.examples],
            "targets": [targets[e.target_original] for e in self.examples],
            "texts": texts,
        }


def outcome_codes(scores: np.ndarray) -> np.ndarray:
    """Index into OUTCOMES: the candidate with the highest score.

    A tie: stereotype and anti-stereotype have the very same score, or the highest score is shared.
    """
    best = scores.max(axis=1, keepdims=True)
    shared = (scores == best).sum(axis=1) > 1
    tie = shared | (scores[:, 0] == scores[:, 1])
    return np.where(tie, OUTCOMES.index("tie"), scores.argmax(axis=1)).astype(np.uint8)


def pack(runs: Sequence[Run], targets: dict[str, int]) -> dict[str, Any] | None:
    """What the page needs to show examples; None if no run has any."""
    corpora: list[Corpus] = []
    placed: list[tuple[int, int, Scored]] = []  # run, corpus, its part
    for r, run in enumerate(runs):
        for split, scored in (run.parts or {}).items():
            placed.append((r, _corpus_for(corpora, run.language, split, scored.examples), scored))
    if not placed:
        return None
    scores, codes = [], []
    for _, c, scored in placed:
        corpus = corpora[c]
        rows = [corpus.place[e.id] for e in scored.examples]
        block = np.full((len(corpus.examples), 3), np.nan, dtype="<f4")
        block[rows] = scored.scores
        code = np.full(len(corpus.examples), ABSENT, dtype=np.uint8)
        code[rows] = outcome_codes(scored.scores)
        scores.append(block.ravel())
        codes.append(code)
    # Byte planes: the bytes of the exponents, much alike, come together and shrink.
    planes = np.concatenate(scores).view(np.uint8).reshape(-1, 4).T
    binary = planes.tobytes() + np.concatenate(codes).tobytes()
    ids = list(dict.fromkeys(e.id for corpus in corpora for e in corpus.examples))
    place = {id_: i for i, id_ in enumerate(ids)}
    texts = {"ids": ids, "corpora": [corpus.texts(place, targets) for corpus in corpora]}
    return {
        "corpora": [{"language": c.language, "split": c.split, "n": len(c.examples)} for c in corpora],
        "blocks": [{"run": r, "corpus": c} for r, c, _ in placed],
        "texts": _packed(json.dumps(texts, ensure_ascii=True, separators=(",", ":")).encode()),
        "scores": _packed(binary),
    }


def _corpus_for(corpora: list[Corpus], language: str, split: str, examples: Sequence[Example]) -> int:
    for i, corpus in enumerate(corpora):
        if (corpus.language, corpus.split) == (language, split) and corpus.takes(examples):
            corpus.add(examples)
            return i
    corpora.append(Corpus(language, split))
    corpora[-1].add(examples)
    return len(corpora) - 1


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")
