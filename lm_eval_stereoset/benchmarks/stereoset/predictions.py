"""The published format of StereoSet's predictions: the score of each candidate by its id.

{"intrasentence": [{"id": candidate id, "score": number}, …], "intersentence": […]}
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.benchmarks.prediction_files import FileName, Format, Load, ScoredRows
from lm_eval_stereoset.benchmarks.stereoset.example import LABELS
from lm_eval_stereoset.data.store import Dataset
from lm_eval_stereoset.errors import UserError, short
from lm_eval_stereoset.files import read_json, write_json

LARGEST = sys.float_info.max  # JSON has numbers beyond
# The published files: <model>_<intra scorer>_<inter scorer>[_case]_<language>.json; a scorer can be empty.
SCORER = r"(?:[A-Za-z0-9]*LM|BertNextSentence|ModelNSP|)"
PUBLISHED_NAME = re.compile(
    rf"(?P<model>.+?)_(?P<intra>{SCORER})_(?P<inter>{SCORER}(?:_[a-z0-9]+)?)_(?P<language>[a-z]{{2,3}})"
)
PUBLISHED_KEYS = {"intra": "intrasentence", "inter": "intersentence"}


def read_predictions(path: Path | str) -> dict[str, dict[str, float]]:
    """{split: {candidate id: score}} of a file in the published format, for the splits it has."""
    return predictions_in(read_json(path), str(path))


def predictions_in(content: Any, path: str) -> dict[str, dict[str, float]]:
    if not recognises(content):
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


def match(dataset: Dataset, predictions: dict[str, float], where: str) -> Scored:
    """Puts predictions beside their examples; each candidate has exactly one, none is left over."""
    examples = dataset.examples
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
    scores = [[predictions[e.candidate(label).id] for label in LABELS] for e in examples]
    return Scored(dataset.benchmark, examples, np.array(scores, dtype=float))


def encode(parts: Mapping[str, ScoredRows]) -> dict[str, Any]:
    """The published lists, scores in the order of the data."""
    return {
        PUBLISHED_KEYS[split]: [
            {"id": candidate.id, "score": score}
            for example, row in zip(part.examples, part.rows, strict=True)
            for candidate, score in zip(example.question.candidates, row, strict=True)
        ]
        for split, part in parts.items()
    }


def decode(content: dict[str, Any], load: Load, where: str) -> dict[str, Scored]:
    found = predictions_in(content, where)
    return {split: match(load(split), scores, f"{where}, {split}") for split, scores in found.items()}


def recognises(content: Any) -> bool:
    return isinstance(content, dict) and bool(set(content) & set(PUBLISHED_KEYS.values()))


def parse_name(stem: str) -> FileName | None:
    found = PUBLISHED_NAME.fullmatch(stem)
    if not found:
        return None
    scorers = {split: found[split] for split in PUBLISHED_KEYS if found[split]}
    return FileName(found["model"], found["language"], scorers.get("inter") or scorers.get("intra"), scorers)


def write_predictions(path: Path | str, parts: Mapping[str, Scored]) -> None:
    """A file in the published format, without a head."""
    rows = {}
    for split, scored in parts.items():
        by_label = [dict(zip(LABELS, row, strict=True)) for row in scored.scores.tolist()]
        in_order = [
            [found[label] for label in e.labels] for e, found in zip(scored.examples, by_label, strict=True)
        ]
        rows[split] = ScoredRows(scored.examples, in_order)
    write_json(path, encode(rows))


FORMAT = Format(encode, decode, recognises, tuple(PUBLISHED_KEYS.values()), parse_name)
