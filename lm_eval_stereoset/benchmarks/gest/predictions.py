"""Prediction files of GEST and EuroGEST, and the numbers of `stereoset score` in the papers' form.

    GEST       {"scores": [{"id": 0, "template": 0, "score": log10 p(masculine) - log10 p(feminine)}, …]}
    EuroGEST   {"scores": [{"id": 0, "condition": "G", "masculine": text, "feminine": text,
                            "p_masculine": p, "p_feminine": p}, …]}

The authors of GEST have published files of one number per line, in the order of gest.csv, whose names end in
_template-0.txt.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.benchmarks.gest.pair import FILE, Pair, as_published
from lm_eval_stereoset.benchmarks.gest.sentence import SPLITS
from lm_eval_stereoset.benchmarks.gest.stereotypes import FEMININE, MASCULINE, NUMBERS
from lm_eval_stereoset.benchmarks.prediction_files import FileName, Format, Load, ScoredRows, number
from lm_eval_stereoset.data.store import Dataset
from lm_eval_stereoset.errors import UserError, short

LARGEST = 300.0  # of a difference of log10 probabilities; beyond it a probability is no number of the machine
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?", re.ASCII)
_PUBLISHED_NAME = re.compile(r"(?P<model>.+)_template-(?P<template>\d)")


# GEST


def _encode_gest(parts: Mapping[str, ScoredRows]) -> dict[str, Any]:
    entries = []
    for split, part in parts.items():
        for example, (masculine, feminine) in zip(part.examples, part.rows, strict=True):
            score = math.log10(masculine) - math.log10(feminine)
            entries.append({"id": _row(example.id), "template": SPLITS.index(split), "score": score})
    return {"scores": entries}


def _row(id_: str) -> int | str:
    """The row of the authors' file; added data may have other ids."""
    return int(id_) if id_.isascii() and id_.isdigit() and str(int(id_)) == id_ else id_


def _decode_gest(content: dict[str, Any], load: Load, where: str) -> dict[str, Scored]:
    from lm_eval_stereoset.benchmarks import find

    found: dict[str, dict[str, list[float]]] = {}
    for place, entry in _entries(content, where):
        if not {"id", "template", "score"} <= set(entry):
            raise UserError(f"{place}: needs id, template and score")
        template, id_ = entry["template"], str(entry["id"])
        if type(template) is not int or not 0 <= template < len(SPLITS):
            raise UserError(f"{place}: template {short(template)} is not one of 0, 1, 2, 3")
        rows = found.setdefault(SPLITS[template], {})
        if id_ in rows:
            raise UserError(f"{place}: a second score for sentence {id_} in template {template}")
        rows[id_] = probabilities_of(number(entry["score"], f"{place}: score"), place)
    ordered = {split: found[split] for split in SPLITS if split in found}
    return {split: _matched(find("gest"), load(split), rows, where) for split, rows in ordered.items()}


def probabilities_of(score: float, where: str) -> list[float]:
    """Two probabilities whose logarithms differ by the score; a file of scores does not say how large both are."""
    if abs(score) > LARGEST:
        raise UserError(f"{where}: {score:g} is no difference of log10 probabilities")
    smaller = 10 ** -abs(score) / (1 + 10 ** -abs(score))
    larger = 1 / (1 + 10 ** -abs(score))
    return [larger, smaller] if score >= 0 else [smaller, larger]


def _entries(content: dict[str, Any], where: str) -> list[tuple[str, dict[str, Any]]]:
    entries = content.get("scores")
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{where}: no scores in it")
    named = [(f"{where}, entry {place}", entry) for place, entry in enumerate(entries, start=1)]
    for place, entry in named:
        if not isinstance(entry, dict):
            raise UserError(f"{place}: must be an object, is {short(entry)}")
    return named


def _matched(benchmark: Any, data: Dataset, rows: Mapping[str, list[float]], where: str) -> Scored:
    known = {example.id for example in data.examples}
    missing = [example.id for example in data.examples if example.id not in rows]
    unknown = [id_ for id_ in rows if id_ not in known]
    if missing or unknown:
        what = (
            f"no score for {len(missing)} of {len(data.examples)} sentences, {missing[0]} among them"
            if missing
            else f"{len(unknown)} ids are not in the data, {unknown[0]} among them"
        )
        raise UserError(f"{where}: {what}; is it the right language and data version?")
    table = np.array([rows[example.id] for example in data.examples], dtype=float)
    return Scored(benchmark, data.examples, table)


def lines_to_content(text: str, name: str, where: str) -> dict[str, Any]:
    """A published file: one number per line. Its name says which template it is of; without one it is the first."""
    named = _PUBLISHED_NAME.fullmatch(name)
    template = int(named["template"]) if named else 0
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    scores = []
    for place, line in enumerate(lines, start=1):
        if not _NUMBER.fullmatch(line.strip()):
            raise UserError(f"{where}, line {place}: not a number: {short(line)}")
        scores.append({"id": place - 1, "template": template, "score": float(line)})
    return {"scores": scores}


def _is_gest(content: Any) -> bool:
    return _first_has(content, {"id", "template", "score"})


def _first_has(content: Any, keys: set[str]) -> bool:
    entries = content.get("scores") if isinstance(content, dict) else None
    return (
        isinstance(entries, list)
        and bool(entries)
        and isinstance(entries[0], dict)
        and keys <= set(entries[0])
    )


def _gest_name(stem: str) -> FileName | None:
    named = _PUBLISHED_NAME.fullmatch(stem)
    return FileName(named["model"], "en", None) if named else None


GEST = Format(_encode_gest, _decode_gest, _is_gest, (), _gest_name, lines_to_content)


# EuroGEST


def _encode_eurogest(parts: Mapping[str, ScoredRows]) -> dict[str, Any]:
    (part,) = parts.values()
    pairs = cast(Sequence[Pair], part.examples)
    return {
        "scores": [
            {
                "id": _row(pair.id),
                "condition": pair.condition,
                "masculine": pair.masculine,
                "feminine": pair.feminine,
            }
            | {"p_masculine": masculine, "p_feminine": feminine}
            for pair, (masculine, feminine) in zip(pairs, part.rows, strict=True)
        ]
    }


def _decode_eurogest(content: dict[str, Any], load: Load, where: str) -> dict[str, Scored]:
    from lm_eval_stereoset.benchmarks import find

    rows, texts = {}, {}
    for place, entry in _entries(content, where):
        if not {"id", "condition", "masculine", "feminine", "p_masculine", "p_feminine"} <= set(entry):
            raise UserError(f"{place}: needs id, condition, masculine, feminine, p_masculine, p_feminine")
        id_ = str(entry["id"])
        if id_ in rows:
            raise UserError(f"{place}: a second score for sentence {id_}")
        rows[id_] = [
            _probability(entry[f"p_{gender}"], f"{place}: p_{gender}") for gender in (MASCULINE, FEMININE)
        ]
        texts[id_] = entry["masculine"], entry["feminine"]
    data = load(FILE)
    scored = _matched(find("eurogest"), data, rows, where)
    pairs = [_asked(pair, texts[pair.id], where) for pair in data.examples]
    return {FILE: Scored(scored.benchmark, pairs, scored.scores)}


def _asked(pair: Pair, texts: tuple[Any, Any], where: str) -> Pair:
    """The pair of the data, or what the published program asks in its place, whichever the texts are."""
    for one in (pair, as_published(pair)):
        if (one.masculine, one.feminine) == texts:
            return one
    raise UserError(
        f"{where}: sentence {pair.id} has other texts than the data: {short(texts[0])}, not {short(pair.masculine)}; "
        "is it the right language and data version?"
    )


def _probability(value: Any, where: str) -> float:
    p = number(value, where)
    if not 0 < p <= 1 + 1e-6:
        raise UserError(f"{where} must be a probability above 0, is {short(value)}")
    return p


def _is_eurogest(content: Any) -> bool:
    return _first_has(content, {"id", "condition", "p_masculine", "p_feminine"})


EUROGEST = Format(_encode_eurogest, _decode_eurogest, _is_eurogest, ())


# Scores in the papers' form

LISTS = ("q", "r", "feminine_rank")  # 16 numbers each
SINGLE = ("q_f", "q_m", "g_s", "g_s_ratio", "q_fam", "r_f", "r_m", "share_g", "share_p", "share_n")


def summary(values: Mapping[str, float]) -> dict[str, Any]:
    """{"q": [16 numbers], "q_f", "q_m", "g_s", …} with "intervals" and "standard_errors" of the same form."""
    return {
        **_in_form(values, ""),
        "n": values["n"],
        "intervals": {
            name: _zipped(low, _in_form(values, "_high")[name])
            for name, low in _in_form(values, "_low").items()
        },
        "standard_errors": _in_form(values, "_stderr"),
    }


def _zipped(low: Any, high: Any) -> list[Any]:
    return [list(ends) for ends in zip(low, high, strict=True)] if isinstance(low, list) else [low, high]


def _in_form(values: Mapping[str, float], ending: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in LISTS:
        if f"{name}_1{ending}" in values:
            found[name] = [_value(values[f"{name}_{i}{ending}"], name, ending) for i in NUMBERS]
    return found | {
        name: _value(values[name + ending], name, ending) for name in SINGLE if name + ending in values
    }


def _value(value: float, name: str, ending: str) -> float | int | None:
    """JSON has no NaN. A rank itself is a whole number."""
    if math.isnan(value):
        return None
    return int(value) if name == "feminine_rank" and not ending else value
