"""Scores of candidates from files: the published prediction format, and the harness's samples.

Published: {"intrasentence": [{"id": candidate id, "score": number}, …], "intersentence": […]}
Samples:   the JSON Lines that `--log_samples` writes, one line a document.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_stereoset.benchmarks.stereoset.metrics import COLUMNS
from lm_eval_stereoset.data.format import EXAMPLE_KEYS, SPLITS, Example, parse_example
from lm_eval_stereoset.errors import UserError, short
from lm_eval_stereoset.files import read_json

LARGEST = sys.float_info.max  # JSON has numbers beyond
PUBLISHED_KEYS = {"intra": "intrasentence", "inter": "intersentence"}


@dataclass(frozen=True)
class Scored:
    """Examples and a score for each of their candidates."""

    examples: Sequence[Example]
    scores: np.ndarray  # (examples, 3), columns as metrics.COLUMNS

    @property
    def targets(self) -> np.ndarray:
        return np.array([e.target_original for e in self.examples])

    @property
    def bias_types(self) -> np.ndarray:
        return np.array([e.bias_type for e in self.examples])


def read_predictions(path: Path | str) -> dict[str, dict[str, float]]:
    """{split: {candidate id: score}} of a file in the published format, for the splits it has."""
    content = read_json(path)
    if not isinstance(content, dict) or not set(content) & set(PUBLISHED_KEYS.values()):
        raise UserError(
            f'{path}: not a prediction file: expected {{"intrasentence": [{{"id", "score"}}, …], '
            f'"intersentence": […]}}'
        )
    predictions = {}
    for split, key in PUBLISHED_KEYS.items():
        if content.get(key):  # an absent or empty list: the file holds one split only
            predictions[split] = _scores_by_id(content[key], f"{path}, {key}")
    if not predictions:
        raise UserError(f"{path}: no predictions in it")
    return predictions


def _scores_by_id(entries: Any, where: str) -> dict[str, float]:
    if not isinstance(entries, list):
        raise UserError(f"{where}: expected a list")
    scores: dict[str, float] = {}
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict) or "id" not in entry or "score" not in entry:
            raise UserError(f"{where}, entry {number}: needs id and score")
        id_, score = entry["id"], entry["score"]
        if not isinstance(id_, str):
            raise UserError(f"{where}, entry {number}: the id must be a text, is {short(id_)}")
        if id_ in scores:
            raise UserError(f"{where}, entry {number}: duplicate id {id_}")
        if isinstance(score, bool) or not isinstance(score, int | float) or not -LARGEST <= score <= LARGEST:
            raise UserError(
                f"{where}, entry {number}: score of {id_[:80]} is not a finite number: {short(score)}"
            )
        scores[id_] = float(score)
    return scores


def match(examples: Sequence[Example], predictions: dict[str, float], where: str) -> Scored:
    """Puts predictions beside their examples; each candidate has exactly one, none is left over."""
    known = {c.id for e in examples for c in e.candidates}
    if missing := [id_ for id_ in known if id_ not in predictions]:
        raise UserError(
            f"{where}: no score for {len(missing)} of {len(known)} candidates (first: {min(missing)}); "
            "is it the right language and data version?"
        )
    if unknown := [id_ for id_ in predictions if id_ not in known]:
        raise UserError(
            f"{where}: {len(unknown)} ids are not in the data (first: {min(unknown)}); "
            "is it the right language and data version?"
        )
    scores = [[predictions[e.candidate(label).id] for label in COLUMNS] for e in examples]
    return Scored(examples, np.array(scores, dtype=float))


def write_predictions(path: Path | str, parts: dict[str, Scored]) -> None:
    """The published format; scores in the order of the data."""
    from lm_eval_stereoset.files import atomic_write

    content = {}
    for split, scored in parts.items():
        by_label = [dict(zip(COLUMNS, row, strict=True)) for row in scored.scores.tolist()]
        content[PUBLISHED_KEYS[split]] = [
            {"id": c.id, "score": by_label[i][c.label]}
            for i, e in enumerate(scored.examples)
            for c in e.candidates
        ]
    with atomic_write(path) as handle:
        json.dump(content, handle, ensure_ascii=False)


@dataclass(frozen=True)
class Samples:
    """What a samples file of the harness says: one language, one or both splits."""

    language: str
    parts: dict[str, Scored]
    normalisers: dict[str, str]  # by split
    scorings: dict[str, str]  # by split: what candidates are compared by, in the model's words
    data: tuple[str, ...]  # names and versions
    of: dict[str, int]  # how many examples the data of each split has; older files do not say


def read_samples(path: Path | str) -> Samples:
    """A file written by `--log_samples` for one of the tasks; a sample cut off at the end is an error."""
    from lm_eval_stereoset.data.format import Uniqueness, iter_lines
    from lm_eval_stereoset.files import parse_json

    rows: dict[str, list[tuple[Example, list[float]]]] = {split: [] for split in SPLITS}
    languages, data = set(), set()
    normalisers: dict[str, set[str]] = {split: set() for split in SPLITS}
    scorings: dict[str, set[str]] = {split: set() for split in SPLITS}
    of: dict[str, int] = {}
    unique = {split: Uniqueness() for split in SPLITS}
    for number, line in iter_lines(Path(path)):
        where = f"{path}, line {number}"
        sample = parse_json(line, where)
        doc = _doc_of(sample, where)
        split = doc["split"]
        if "of" in doc and of.setdefault(split, doc["of"]) != doc["of"]:
            raise UserError(f"{where}: is of {doc['of']} examples, the lines before are of {of[split]}")
        example = example_of_doc(doc, where)
        unique[split].check(example, where)
        scores = _scores_of(sample, doc, where)
        by_label = {c.label: score for c, score in zip(example.candidates, scores, strict=True)}
        rows[split].append((example, [by_label[label] for label in COLUMNS]))
        languages.add(doc["language"])
        normalisers[split].add(str(doc.get("normaliser", "unknown")))
        scorings[split].add(str(doc.get("scoring", "unknown")))
        data.add(str(doc.get("data", "unknown")))
    if len(languages) != 1:
        raise UserError(f"{path}: expected samples of one language, found {sorted(languages) or 'none'}")
    parts = {
        split: Scored([e for e, _ in found], np.array([s for _, s in found], dtype=float))
        for split, found in rows.items()
        if found
    }
    return Samples(
        languages.pop(),
        parts,
        {split: ", ".join(sorted(normalisers[split])) for split in parts},
        {split: ", ".join(sorted(scorings[split])) for split in parts},
        tuple(sorted(data)),
        of,
    )


def _doc_of(sample: Any, where: str) -> dict[str, Any]:
    """The document of a sample, with the fields that every task of ours writes."""
    doc = sample.get("doc") if isinstance(sample, dict) else None
    if not isinstance(doc, dict) or "split" not in doc or "language" not in doc:
        raise UserError(f"{where}: not a sample of a StereoSet task (no document with split and language)")
    if doc["split"] not in SPLITS:
        raise UserError(f"{where}: split {short(doc['split'])} is none of {', '.join(SPLITS)}")
    if not isinstance(doc["language"], str) or not doc["language"].strip():
        raise UserError(f"{where}: the language must be a text, is {short(doc['language'])}")
    if "of" in doc and (type(doc["of"]) is not int or doc["of"] < 1):
        raise UserError(f"{where}: 'of' must be the number of examples of the data, is {short(doc['of'])}")
    return doc


def _scores_of(sample: dict[str, Any], doc: dict[str, Any], where: str) -> list[float]:
    """The score of each candidate; an answer that no model can give is refused, since it would move SS unseen."""
    from lm_eval_stereoset.harness.answers import candidate_scores, check_count, parse_logged
    from lm_eval_stereoset.scoring.describe import is_difference

    logged, counts = sample.get("filtered_resps"), doc.get("counts")
    if not isinstance(logged, list) or len(logged) != 3:
        found = f"{len(logged)} of them" if isinstance(logged, list) else short(logged)
        raise UserError(f"{where}: needs the answers to 3 candidates (filtered_resps), found {found}")
    if not isinstance(counts, list) or len(counts) != 3:
        raise UserError(f"{where}: needs 3 counts, found {short(counts)}")
    for count in counts:
        check_count(count, where)
    signed = is_difference(doc.get("scoring"))
    return candidate_scores(doc, [parse_logged(answer, where, signed) for answer in logged])


def example_of_doc(doc: dict[str, Any], where: str) -> Example:
    """The example in a harness document, validated like a line of the canonical format."""
    split = doc["split"]
    fields = {key: doc[key] for key in (*EXAMPLE_KEYS, "candidates") if key in doc}
    keys = ("id", "label", "sentence", "word") if split == "intra" else ("id", "label", "sentence")
    if isinstance(fields.get("candidates"), list):
        fields["candidates"] = [
            {key: c[key] for key in keys if key in c} if isinstance(c, dict) else c
            for c in fields["candidates"]
        ]
    return parse_example(fields, split, where)
