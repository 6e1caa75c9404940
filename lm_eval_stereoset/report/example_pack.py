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

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Example
from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.chat.failures import is_failure, reason_of
from lm_eval_stereoset.chat.reading import Reading
from lm_eval_stereoset.report.extras import extras_of
from lm_eval_stereoset.report.study import Study

TIE = "tie"
SILENT = "no candidate"  # of answers in words: none of them names one
LONGEST_ANSWER = 600  # letters; the samples file has all of it
ABSENT = 255
MOST = 100_000  # examples with different texts; a page with more is too large for a browser


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

    def texts(self, benchmark: Benchmark, ids: dict[str, int], clusters: dict[str, int]) -> dict[str, Any]:
        """Ids, the same in all languages, by number; the texts of an example side by side, so that they pack."""
        return {
            "ids": [ids[e.id] for e in self.examples],
            "clusters": [clusters[e.cluster] for e in self.examples],
            "texts": [text for e in self.examples for text in texts_of(benchmark, e)],
        }


def texts_of(benchmark: Benchmark, example: Example) -> list[str]:
    """What the example is about, its context, and its candidates in the order of the benchmark's labels."""
    term = extras_of(benchmark).term
    question = example.question
    sentences = dict(zip(example.labels, (c.sentence for c in question.candidates), strict=True))
    about = example.cluster if term is None else term(example)
    return [about, question.context, *(sentences[label] for label in benchmark.labels)]


def outcomes_of(benchmark: Benchmark) -> tuple[str, ...]:
    return (*benchmark.labels, TIE, SILENT) if benchmark.words else (*benchmark.labels, TIE)


def outcome_codes(benchmark: Benchmark, scores: np.ndarray) -> np.ndarray:
    """Index into outcomes_of: the candidate with the highest score, or a tie."""
    tie = extras_of(benchmark).ties(scores)
    codes = np.where(tie, len(benchmark.labels), scores.argmax(axis=1))
    if benchmark.words:
        codes[scores.sum(axis=1) == 0] = len(benchmark.labels) + 1
    return codes.astype(np.uint8)


def answers_of(benchmark: Benchmark, corpus: Corpus, scored: Scored) -> list[Any] | None:
    """Of each example, what was said to each order: [[what stood at a, b, c], the answer, how it was read]."""
    if scored.said is None:
        return None
    found: list[Any] = [None] * len(corpus.examples)
    for example, said in zip(scored.examples, scored.said, strict=True):
        found[corpus.place[example.id]] = [
            [list(order), shortened(answer), read_as(benchmark, reading, label)]
            for order, answer, reading, label in zip(
                said.orders, said.answers, said.readings, said.labels, strict=True
            )
        ]
    return found


def read_as(benchmark: Benchmark, reading: Reading, label: int | None) -> str:
    if label is not None:
        return benchmark.labels[label]
    return f"{reading.kind}, {reading.why}" if reading.why else reading.kind


def shortened(answer: str) -> str:
    if is_failure(answer):
        return reason_of(answer)
    if len(answer) <= LONGEST_ANSWER:
        return answer
    half = LONGEST_ANSWER // 2
    return f"{answer[:half]} […] {answer[-half:]}"


def pack(study: Study) -> dict[str, Any] | None:
    """What the page needs to show examples; None if no run has any, or there are too many."""
    corpora: list[Corpus] = []
    placed: list[tuple[int, int, Scored]] = []  # run, corpus, its part
    for r, run in enumerate(study.runs):
        for split, scored in (run.parts or {}).items():
            placed.append((r, _corpus_for(corpora, run.language, split, scored.examples), scored))
    if not placed or sum(len(corpus.examples) for corpus in corpora) > MOST:
        return None
    benchmark = study.benchmark
    scores, codes = [], []
    for _, c, scored in placed:
        corpus = corpora[c]
        rows = [corpus.place[e.id] for e in scored.examples]
        block = np.full((len(corpus.examples), len(benchmark.labels)), np.nan, dtype="<f4")
        by_label = scored.scores[:, : len(benchmark.labels)]
        block[rows] = by_label
        code = np.full(len(corpus.examples), ABSENT, dtype=np.uint8)
        code[rows] = outcome_codes(benchmark, by_label)
        scores.append(block.ravel())
        codes.append(code)
    # Byte planes: the bytes of the exponents, much alike, come together and shrink.
    planes = np.concatenate(scores).view(np.uint8).reshape(-1, 4).T
    binary = planes.tobytes() + np.concatenate(codes).tobytes()
    ids = list(dict.fromkeys(e.id for corpus in corpora for e in corpus.examples))
    place = {id_: i for i, id_ in enumerate(ids)}
    clusters = {cluster.name: i for i, cluster in enumerate(study.clusters)}
    texts = {
        "ids": ids,
        "corpora": [corpus.texts(benchmark, place, clusters) for corpus in corpora],
        "answers": [answers_of(benchmark, corpora[c], scored) for _, c, scored in placed],
    }
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
