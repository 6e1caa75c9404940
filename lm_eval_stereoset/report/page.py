"""A Study as one self-contained HTML page: style, scripts and data inside, nothing from a network.

Data travel as JSON that is parsed, never run; the scripts put texts into the page as text only; and a
content security policy lets the browser run nothing but the scripts whose hash it names.
"""

import base64
import datetime
import hashlib
import json
import math
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from lm_eval_stereoset import __version__
from lm_eval_stereoset.benchmarks.evaluation import GROUPS
from lm_eval_stereoset.benchmarks.stereoset.metrics import MAIN
from lm_eval_stereoset.files import atomic_write
from lm_eval_stereoset.report import browser
from lm_eval_stereoset.report.comparisons import Comparison
from lm_eval_stereoset.report.names import model_name
from lm_eval_stereoset.report.paper import SOURCES, Beside
from lm_eval_stereoset.report.run import Run
from lm_eval_stereoset.report.study import Study, language_name

SCRIPTS = (
    "core.js", "tables.js", "overview.js", "scatter.js", "biastypes.js", "targets.js", "ranking.js", "paper.js",
    "examples.js", "main.js",
)  # fmt: skip
COLUMNS = ("lms", "ss", "icat", "mc_lms", "mc_ss", "icat_macro", "icat_micro")


def write_page(
    path: Path | str,
    study: Study,
    title: str = "StereoSet results",
    paper: Sequence[Beside] | None = None,
    examples: bool = True,
) -> None:
    content = payload(study, title, paper, examples)
    with atomic_write(path) as handle:
        handle.write(render(content).encode("utf-8", "replace").decode())


def render(content: dict[str, Any]) -> str:
    import jinja2

    style, script = _asset("style.css"), "".join(_asset(name) for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(_asset("page.html"))
    return template.render(
        content=content,
        style=_markup(style),
        script=_markup(script),
        data=_markup(script_safe(content)),
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'",
    )


def script_safe(value: Any) -> str:
    """JSON that cannot leave the script element it stands in, whatever texts it holds."""
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Lone surrogates are legal in JSON but not in UTF-8.
    return re.sub("[<>&\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def payload(study: Study, title: str, paper: Sequence[Beside] | None, examples: bool) -> dict[str, Any]:
    place = {id(run): i for i, run in enumerate(study.runs)}
    packed = None
    if examples:
        packed = browser.pack(study.runs, {target.name: i for i, target in enumerate(study.targets)})
    return {
        "title": title,
        "version": __version__,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "models": study.models,
        "languages": [{"code": code, "name": language_name(code)} for code in study.languages],
        "splits": study.splits(),
        "groups": GROUPS,
        "runs": [_run(study, run) for run in study.runs],
        "targets": [{"name": t.name, "type": t.bias_type} for t in study.targets],
        "heat": {split: [_heat(study, run, split) for run in study.runs] for split in study.splits()},
        "comparisons": [_comparison(c, place) for c in study.comparisons],
        "notices": [{"level": n.level, "text": n.text} for n in study.notices],
        "paper": None if paper is None else [_beside(b, place) for b in paper],
        "sources": SOURCES,
        "examples": packed,
        "examplesWanted": examples,
    }


def _run(study: Study, run: Run) -> dict[str, Any]:
    versions = {f"{about.get('data', '?')} {about.get('version', '?')}" for about in run.data.values()}
    return {
        "model": study.models.index(run.model),
        "language": study.languages.index(run.language),
        "source": Path(run.source).name,
        "data": ", ".join(sorted(versions)) or None,
        "normaliser": run.normaliser
        and re.sub(r"(?<=tokens of )[^\s,]+", lambda found: model_name(found[0]), run.normaliser),
        "quantity": run.quantity,
        "samples": run.parts is not None,
        "values": {
            split: {group: _values(values) for group, values in groups.items()}
            for split, groups in run.table.items()
        },
    }


def _values(values: dict[str, float]) -> dict[str, Any]:
    shown: dict[str, Any] = {"n": values.get("n")}
    for metric in COLUMNS:
        numbers = [values.get(key, math.nan) for key in (metric, f"{metric}_low", f"{metric}_high")]
        if not math.isnan(numbers[0]):
            shown[metric] = [_rounded(numbers[0]), *(_rounded(number, 5) for number in numbers[1:])]
    for key in ("ss_p50", "ties"):
        shown[key] = _rounded(values.get(key, math.nan), 6)
    return shown


def _heat(study: Study, run: Run, split: str) -> dict[str, Any] | None:
    values, counts = study.target_ss(run, split)
    if not counts.any():
        return None
    return {"ss": [_rounded(float(v), 5) for v in values], "n": counts.tolist()}


def _comparison(c: Comparison, place: dict[int, int]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "kind": c.kind, "split": c.split, "a": place[id(c.first)], "b": place[id(c.second)],
        "n": c.n, "leftOut": c.left_out, "family": c.family,
    }  # fmt: skip
    for metric in MAIN:
        d = c.differences[metric]
        corrected = d.corrected_interval(max(c.family, 1))
        numbers = (
            d.value,
            d.low,
            d.high,
            *corrected,
            d.smallest_detectable(),
            d.smallest_detectable(c.family or 1),
        )
        keys = ("value", "low", "high", "lowAll", "highAll", "detectable", "detectableAll")
        shown[metric] = {key: _rounded(number, 7) for key, number in zip(keys, numbers, strict=True)}
        shown[metric] |= {"p": _rounded(d.p, 6), "adjusted": _rounded(c.adjusted[metric], 6)}
    return shown


def _beside(b: Beside, place: dict[int, int]) -> dict[str, Any]:
    return {
        "run": place[id(b.run)], "source": b.cell.source, "table": b.cell.table, "row": b.cell.row,
        "split": b.cell.split, "metric": b.cell.metric, "value": _rounded(b.value), "published": b.cell.value,
        "equal": b.equal, "remark": b.remark,
    }  # fmt: skip


def _rounded(number: float | None, digits: int = 8) -> float | None:
    """Far more digits than are shown: rounding twice, 85.76496 to 85.7650 to 85.77, would be wrong."""
    return None if number is None or not math.isfinite(number) else round(float(number), digits)


def _finite(value: Any) -> Any:
    """NaN has no JSON; the page shows null as undefined."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _asset(name: str) -> str:
    return (resources.files("lm_eval_stereoset.report") / "assets" / name).read_text("utf-8")


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
