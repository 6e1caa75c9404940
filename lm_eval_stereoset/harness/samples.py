"""Scores of candidates from the JSON Lines that `--log_samples` writes, one line per document."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.chat.asking import Said
from lm_eval_stereoset.errors import UserError, short
from lm_eval_stereoset.files import Uniqueness, iter_lines, parse_json
from lm_eval_stereoset.harness import chat_docs
from lm_eval_stereoset.harness.answers import candidate_scores, check_count, parse_logged
from lm_eval_stereoset.harness.docs import FIRST_BENCHMARK, example_of_doc
from lm_eval_stereoset.scoring.describe import is_difference


@dataclass(frozen=True)
class Samples:
    """What a samples file of the harness says: one benchmark, one language, one or more splits."""

    benchmark: Benchmark
    language: str
    parts: dict[str, Scored]
    normalisers: dict[str, str]  # by split
    scorings: dict[str, str]  # by split: what candidates are compared by, in the model's words
    data: tuple[str, ...]  # names and versions
    of: dict[str, int]  # how many examples the data of each split has; older files do not say


def read_samples(path: Path | str) -> Samples:
    """A file written by `--log_samples` for one of the tasks; a sample cut off at the end is an error."""
    rows: dict[str, list[tuple[Any, list[float]]]] = defaultdict(list)
    heard: dict[str, list[Said]] = defaultdict(list)
    said: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))  # {field: {split: values}}
    names, languages, data = set(), set(), set()
    of: dict[str, int] = {}
    unique: dict[str, Uniqueness] = defaultdict(Uniqueness)
    for number, line in iter_lines(Path(path)):
        where = f"{path}, line {number}"
        sample = parse_json(line, where)
        benchmark, doc = _doc_of(sample, where)
        split = doc["split"]
        if "of" in doc and of.setdefault(split, doc["of"]) != doc["of"]:
            raise UserError(f"{where}: is of {doc['of']} examples, the lines before are of {of[split]}")
        example = example_of_doc(doc, where)
        unique[split].check(example.ids, where)
        if benchmark.words:
            heard[split].append(chat_docs.said(benchmark, example, doc, _answers_of(sample, where), where))
            row = heard[split][-1].tally.row
        else:
            scores = benchmark.of_logarithms(_scores_of(sample, doc, benchmark, where))
            row = benchmark.by_label(example, scores)
        rows[split].append((example, row))
        names.add(benchmark.name)
        languages.add(doc["language"])
        for field in ("normaliser", "scoring"):
            said[field][split].add(str(doc.get(field, "unknown")))
        data.add(str(doc.get("data", "unknown")))
    for what, found in (("benchmark", names), ("language", languages)):
        if len(found) != 1:
            raise UserError(f"{path}: expected samples of one {what}, found {sorted(found) or 'none'}")
    benchmark = benchmarks.find(names.pop())
    parts = {
        split: Scored(
            benchmark,
            [e for e, _ in rows[split]],
            np.array([s for _, s in rows[split]], dtype=float),
            heard.get(split),
        )
        for split in benchmark.splits
        if split in rows
    }
    return Samples(
        benchmark,
        languages.pop(),
        parts,
        {split: ", ".join(sorted(said["normaliser"][split])) for split in parts},
        {split: ", ".join(sorted(said["scoring"][split])) for split in parts},
        tuple(sorted(data)),
        of,
    )


def _doc_of(sample: Any, where: str) -> tuple[Benchmark, dict[str, Any]]:
    """The document of a sample, with the fields that every task of ours writes, and its benchmark."""
    doc = sample.get("doc") if isinstance(sample, dict) else None
    if not isinstance(doc, dict) or "split" not in doc or "language" not in doc:
        raise UserError(f"{where}: not a sample of a task of ours (no document with split and language)")
    name = doc.get("benchmark", FIRST_BENCHMARK)
    if name not in benchmarks.names():
        raise UserError(f"{where}: benchmark {short(name)} is not one of {', '.join(benchmarks.names())}")
    benchmark = benchmarks.find(name)
    if doc["split"] not in benchmark.splits:
        raise UserError(f"{where}: split {short(doc['split'])} is not one of {', '.join(benchmark.splits)}")
    if not isinstance(doc["language"], str) or not doc["language"].strip():
        raise UserError(f"{where}: the language must be a text, is {short(doc['language'])}")
    if "of" in doc and (type(doc["of"]) is not int or doc["of"] < 1):
        raise UserError(f"{where}: 'of' must be the number of examples of the data, is {short(doc['of'])}")
    return benchmark, doc


def _answers_of(sample: dict[str, Any], where: str) -> list[str]:
    logged = sample.get("filtered_resps")
    if not isinstance(logged, list) or not all(isinstance(answer, str) for answer in logged):
        raise UserError(f"{where}: needs the answers as texts (filtered_resps), found {short(logged)}")
    return logged


def _scores_of(sample: dict[str, Any], doc: dict[str, Any], benchmark: Benchmark, where: str) -> list[float]:
    """The score of each candidate; an answer that no model can give is refused, since it would move scores unseen."""
    logged, counts, wanted = sample.get("filtered_resps"), doc.get("counts"), len(benchmark.labels)
    if not isinstance(logged, list) or len(logged) != wanted:
        found = f"{len(logged)} of them" if isinstance(logged, list) else short(logged)
        raise UserError(f"{where}: needs the answers to {wanted} candidates (filtered_resps), found {found}")
    if not isinstance(counts, list) or len(counts) != wanted:
        raise UserError(f"{where}: needs {wanted} counts, found {short(counts)}")
    for count in counts:
        check_count(count, where)
    signed = is_difference(doc.get("scoring"))
    return candidate_scores(doc, [parse_logged(answer, where, signed) for answer in logged])
