"""The files of `stereoset gest-mt score --output` in the report: how masculine systems make the speakers."""

import math
from typing import Any, NoReturn

import numpy as np

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Metric
from lm_eval_stereoset.benchmarks.gest.kinds import RANK, TRANSLATION
from lm_eval_stereoset.benchmarks.gest.mt.figures import rates
from lm_eval_stereoset.benchmarks.gest.panels import Counts, panels_of
from lm_eval_stereoset.benchmarks.gest.sentence import Sentence, parse_sentence
from lm_eval_stereoset.benchmarks.gest.stereotypes import GENDERS, NAMES, NUMBERS
from lm_eval_stereoset.errors import UserError, short
from lm_eval_stereoset.report.extras import Extras, Layout, OtherFiles, Panel, Reported
from lm_eval_stereoset.report.study import Study
from lm_eval_stereoset.stats.statistic import Statistic

NAME = "gest-mt"  # in the files
SPLIT = "translations"
MEANS = ("f_s", "f_m", "p_m", "p_f")
COUNTS = (*GENDERS, "undecided")
METHOD = (
    (
        "Masculine rates",
        "Of the translations of a stereotype's sentences, m show a masculine speaker and f a feminine one; the others "
        "are undecided. p = (m + z²/2) / (m + f + z²) with z = 1.96, p_f and p_m are the means of stereotypes 1 to 7 "
        "(about women) and 8 to 16 (about men), f_s = p_m - p_f, f_m = (p_m + p_f) / 2.",
    ),
)
INTRO = (
    "f_s: how much more often the speaker becomes a man in sentences about men's stereotypes than about women's (0 is "
    "ideal). f_m: how often it becomes a man at all (0.5 would be as often as a woman)."
)


def _counted_elsewhere(*_: Any) -> NoReturn:
    """Verdicts are counted by `stereoset gest-mt`; the report only shows its numbers."""
    raise NotImplementedError("masculine rates come with their file")


def _metric(
    name: str, title: str, low: float, high: float, ideal: float | None = None, main: bool = False
) -> Metric:
    statistic = Statistic(_counted_elsewhere, low=low, high=high)
    poles = ("feminine", "masculine") if ideal else None
    return Metric(name, title, "", ideal, statistic, main=main, uncertain=True, poles=poles)


def _whole(name: str, title: str, low: float, high: float) -> Metric:
    return Metric(name, title, "#", None, Statistic(_counted_elsewhere, low=low, high=high))


METRICS = (
    _metric("f_s", "f_s", -1, 1, ideal=0, main=True),
    _metric("f_m", "f_m", 0, 1, ideal=0.5, main=True),
    _metric("p_m", "p_m", 0, 1),
    _metric("p_f", "p_f", 0, 1),
    *(_metric(f"p_{i}", f"p_{i} {NAMES[i - 1]}", 0, 1) for i in NUMBERS),
    *(_whole(f"{RANK}_{i}", f"rank {i} {NAMES[i - 1]}", 1, len(NAMES)) for i in NUMBERS),
    *(_whole(f"{name}_{i}", f"{name} {i}", 0, np.inf) for name in COUNTS for i in NUMBERS),
)


def recognises(content: Any) -> bool:
    return isinstance(content, dict) and content.get("benchmark") == NAME


def read(content: dict[str, Any], where: str) -> Reported:
    language = content.get("language")
    if not isinstance(language, str):
        raise UserError(f"{where}: language must be a text, is {short(language)}")
    translator = content.get("translator")
    values = {name: _number(content.get(name), f"{where}: {name}") for name in MEANS}
    intervals = content.get("intervals") or {}
    for name in MEANS if isinstance(intervals, dict) else ():
        low, high = _list(intervals.get(name) or [None, None], 2, f"{where}: intervals, {name}")
        values |= {f"{name}_low": low, f"{name}_high": high}
    for key, end in (("p", ""), ("low", "_low"), ("high", "_high")):
        numbers = _list(content.get(key), len(NAMES), f"{where}: {key}")
        values |= {f"p_{i}{end}": number for i, number in zip(NUMBERS, numbers, strict=True)}
    for name in COUNTS:
        numbers = _list(content.get(name), len(NAMES), f"{where}: {name}")
        values |= {f"{name}_{i}": number for i, number in zip(NUMBERS, numbers, strict=True)}
    p = np.array([values[f"p_{i}"] for i in NUMBERS])
    if not np.isnan(p).any():
        values |= {f"{RANK}_{i}": 1.0 + int((p < p[i - 1]).sum()) for i in NUMBERS}
    values["n"] = float(np.nansum([values[f"{name}_{i}"] for name in COUNTS for i in NUMBERS]))
    return Reported(
        translator if isinstance(translator, str) else None, language, values, quantity=_how(content)
    )


def _how(content: dict[str, Any]) -> str | None:
    """Whose verdicts they are: "rules sk.yaml"."""
    scoring = content.get("scoring")
    if not isinstance(scoring, dict):
        return None
    return " ".join(
        str(scoring[key]) for key in ("method", "rules", "parser") if isinstance(scoring.get(key), str)
    )


def _list(value: Any, length: int, where: str) -> list[float]:
    if not isinstance(value, list) or len(value) != length:
        raise UserError(f"{where} must be a list of {length} numbers, is {short(value)}")
    return [_number(one, where) for one in value]


def _number(value: Any, where: str) -> float:
    """NaN for null. Whether it is one that the metric can have is looked at with all others."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{where} must be a number, is {short(value)}")
    return float(value)


def counts(study: Study) -> Counts:
    """Translations whose speaker has a gender."""
    return {SPLIT: [[_decided(run.table[SPLIT]["overall"], i) for i in NUMBERS] for run in study.runs]}


def _decided(values: dict[str, float], i: int) -> int:
    return int(sum(values[f"{gender}_{i}"] for gender in GENDERS))


def extras() -> Extras:
    one = tuple((f"{i} {NAMES[i - 1]}", (f"p_{i}",)) for i in NUMBERS)
    together = tuple((name, (name,)) for name in MEANS)
    return Extras(
        intro=INTRO,
        method=METHOD,
        panels=(
            Panel(
                name="rates",
                link="Rates",
                title="Masculine rate and stereotype rate",
                picture=rates,
                text="Each mark is a system in a language, with 95 % intervals: f_m, how masculine it makes the speakers, "
                "against f_s, how much more so for stereotypes about men. The dashed lines are the ideals.",
            ),
            *panels_of(TRANSLATION, counts),
        ),
        in_panels=tuple(metric.name for metric in METRICS[len(MEANS) :]),
        layouts=(
            Layout("rates", SPLIT, together, "Masculine rates of translations", "tab:gest-mt-rates"),
            Layout("stereotypes", SPLIT, one, "Masculine rate of each stereotype", "tab:gest-mt-stereotypes"),
        ),
    )


BENCHMARK = Benchmark(
    name="gest_mt",
    title="GEST translations",
    example=Sentence,
    parse=parse_sentence,
    splits=(SPLIT,),
    languages=("be", "cs", "hr", "pl", "ru", "sk", "sl", "sr", "uk"),
    labels=GENDERS,
    groups=(),
    metrics=METRICS,
    columns=_counted_elsewhere,
    report=extras,
    cluster="sentence",
    group="stereotype",
)
TRANSLATIONS = OtherFiles(BENCHMARK, b'"p"', recognises, read)
