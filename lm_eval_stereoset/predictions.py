"""Scores of candidates from files: the published prediction format, and the harness's samples.

Published: {"intrasentence": [{"id": candidate id, "score": number}, …], "intersentence": […]}
Samples:   the JSON Lines that `--log_samples` writes, one line a document.
"""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_stereoset.data.format import SPLITS, Example, parse_example
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json
from lm_eval_stereoset.metrics import COLUMNS

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
            raise UserError(f"{where}, entry {number}: the id must be a text, is {id_!r}")
        if id_ in scores:
            raise UserError(f"{where}, entry {number}: duplicate id {id_}")
        if isinstance(score, bool) or not isinstance(score, int | float) or not -LARGEST <= score <= LARGEST:
            raise UserError(
                f"{where}, entry {number}: score of {id_} is not a finite number: {repr(score)[:40]}"
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
    normalisers: tuple[str, ...]
    data: tuple[str, ...]  # names and versions
    of: dict[str, int]  # how many examples the data of each split has; older files do not say


def read_samples(path: Path | str) -> Samples:
    """A file written by `--log_samples` for one of the tasks; a sample cut off at the end is an error."""
    from lm_eval_stereoset.data.format import Uniqueness, iter_lines
    from lm_eval_stereoset.harness.results import candidate_scores

    rows: dict[str, list[tuple[Example, list[float]]]] = {split: [] for split in SPLITS}
    languages, normalisers, data, of = set(), set(), set(), {}
    unique = {split: Uniqueness() for split in SPLITS}
    for number, line in iter_lines(Path(path)):
        where = f"{path}, line {number}"
        try:
            sample = json.loads(line)
            doc, answers = sample["doc"], [_answer(a) for a in sample["filtered_resps"]]
            split, language = doc["split"], str(doc["language"])
            found = rows[split]
            if "of" in doc and of.setdefault(split, int(doc["of"])) != int(doc["of"]):
                raise ValueError(f"of {doc['of']} examples, the lines before of {of[split]}")
            example = example_of_doc(doc, where)
            labels = [c.label for c in example.candidates]
            scores = dict(zip(labels, candidate_scores(doc, answers), strict=True))
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise UserError(f"{where}: not a sample of a StereoSet task ({error!r})") from error
        unique[split].check(example, where)
        if not all(map(math.isfinite, scores.values())):
            raise UserError(f"{where}: example {example.id} has a score that is not a finite number")
        found.append((example, [scores[label] for label in COLUMNS]))
        languages.add(language)
        normalisers.add(str(doc.get("normaliser", "unknown")))
        data.add(str(doc.get("data", "unknown")))
    if len(languages) != 1:
        raise UserError(f"{path}: expected samples of one language, found {sorted(languages) or 'none'}")
    parts = {
        split: Scored([e for e, _ in found], np.array([s for _, s in found], dtype=float))
        for split, found in rows.items()
        if found
    }
    return Samples(languages.pop(), parts, tuple(sorted(normalisers)), tuple(sorted(data)), of)


def _answer(logged: Sequence[Any]) -> tuple[float, bool | int]:
    """The harness writes answers as texts: ["-33.4", "False"], or ["-33.4", "6"] with a model's own count."""
    total, second = logged
    flags = {"True": True, "False": False}
    return float(total), flags[second] if second in flags else int(second)


def example_of_doc(doc: dict[str, Any], where: str) -> Example:
    """The example in a harness document, validated like a line of the canonical format."""
    split = doc["split"]
    fields = {key: doc[key] for key in ("id", "target", "target_original", "bias_type", "context")}
    keys = ("id", "label", "sentence", "word") if split == "intra" else ("id", "label", "sentence")
    fields["candidates"] = [{key: c.get(key) for key in keys} for c in doc["candidates"]]
    return parse_example(fields, split, where)
