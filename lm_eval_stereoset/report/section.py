"""A Study as JSON for the page: the benchmark's declaration, and everything that its part of the page shows."""

import base64
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark, Metric
from lm_eval_stereoset.benchmarks.evaluation import ideal_test_name
from lm_eval_stereoset.harness.closing import model_name
from lm_eval_stereoset.report import example_pack
from lm_eval_stereoset.report.comparisons import Comparison
from lm_eval_stereoset.report.extras import Beside, Cells, Panel, extras_of
from lm_eval_stereoset.report.figures import drawing, save
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.study import Study


def section(study: Study, published: Sequence[Beside] | None, examples: bool) -> dict[str, Any]:
    place = {id(run): i for i, run in enumerate(study.runs)}
    splits, heat = study.splits(), {}
    if study.has_telling_clusters:
        heat = {split: [_heat(study, run, split) for run in study.runs] for split in splits}
    return _declared(study.benchmark) | {
        "splits": splits,
        "runs": [_run(study, run) for run in study.runs],
        "clusters": [{"name": c.name, "group": c.group} for c in study.clusters],
        "heatMetrics": [metric.name for metric in study.heat_metrics],
        "heat": heat,
        "comparisons": [_comparison(c, place) for c in study.comparisons],
        "notices": [{"level": n.level, "text": n.text} for n in study.notices],
        "panels": [panel_content(study, panel) for panel in extras_of(study.benchmark).panels],
        "published": None if published is None else [_beside(b, place) for b in published],
        "examples": example_pack.pack(study) if examples else None,
    }


def _declared(benchmark: Benchmark) -> dict[str, Any]:
    extras = extras_of(benchmark)
    return {
        "name": benchmark.name,
        "title": benchmark.title,
        "labels": benchmark.labels,
        "outcomes": example_pack.outcomes_of(benchmark),
        "tiesAre": extras.ties_are,
        "outcomeIs": "the candidate that most answers name"
        if benchmark.words
        else "the candidate with the highest score",
        "severalSplits": len(benchmark.splits) > 1,
        "pooled": benchmark.pooled_splits,
        "groups": (OVERALL, *benchmark.groups),
        "groupName": benchmark.group,
        "clusterName": benchmark.cluster,
        "metrics": [
            _metric(metric) | {"inPanel": metric.name in extras.in_panels} for metric in benchmark.metrics
        ],
        "rankedBy": benchmark.ranking.name,
        "intro": extras.intro or benchmark.legend,
        "method": extras.method,
        "sources": dict(extras.published.sources) if extras.published else {},
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric.title,
        "unit": "" if metric.unit == "#" else metric.unit,  # a count has none to show
        "digits": metric.digits,
        "ideal": metric.ideal,
        "middle": metric.middle,
        "low": metric.statistic.low,  # infinite ones become null
        "high": metric.statistic.high,
        "main": metric.main,
        "byGroup": metric.by_group,
        "test": ideal_test_name(metric.name, metric.ideal)
        if metric.tested and metric.ideal is not None
        else None,
        "poles": metric.poles,
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
            split: {group: _values(study.benchmark, values) for group, values in groups.items()}
            for split, groups in run.table.items()
        },
    }


def _values(benchmark: Benchmark, values: dict[str, float]) -> dict[str, Any]:
    shown: dict[str, Any] = {"n": values.get("n")}
    for metric in benchmark.metrics:
        name = metric.name
        numbers = [values.get(key, math.nan) for key in (name, f"{name}_low", f"{name}_high")]
        if not math.isnan(numbers[0]):
            shown[name] = [rounded(numbers[0]), *(rounded(number, 5) for number in numbers[1:])]
        if metric.tested and metric.ideal is not None:
            key = ideal_test_name(name, metric.ideal)
            shown[key] = rounded(values.get(key, math.nan), 6)
    return shown


def _heat(study: Study, run: Run, split: str) -> dict[str, Any] | None:
    values, counts = study.by_cluster(run, split)
    if not counts.any():
        return None
    numbers = {name: [rounded(float(v), 5) for v in row] for name, row in values.items()}
    return {"n": counts.tolist(), "values": numbers}


def _comparison(c: Comparison, place: dict[int, int]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "kind": c.kind, "split": c.split, "a": place[id(c.first)], "b": place[id(c.second)],
        "n": c.n, "leftOut": c.left_out, "family": c.family,
    }  # fmt: skip
    for metric, d in c.differences.items():
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
        shown[metric] = {key: rounded(number, 7) for key, number in zip(keys, numbers, strict=True)}
        shown[metric] |= {"p": rounded(d.p, 6), "adjusted": rounded(c.adjusted[metric], 6)}
    return shown


def _beside(b: Beside, place: dict[int, int]) -> dict[str, Any]:
    return {
        "run": place[id(b.run)], "source": b.cell.source, "table": b.cell.table, "row": b.cell.row,
        "split": b.cell.split, "metric": b.cell.metric, "value": rounded(b.value), "published": b.cell.value,
        "equal": b.equal, "remark": b.remark,
    }  # fmt: skip


def panel_content(study: Study, panel: Panel) -> dict[str, Any]:
    """What the page draws a panel from; a script draws from everything else that is here."""
    shown: dict[str, Any] = {"name": panel.name, "link": panel.link, "title": panel.title, "text": panel.text}
    shown |= {"script": panel.script is not None, "facts": panel.facts(study) if panel.facts else None}
    if panel.table:
        shown["tables"] = {split: _cells(panel.table(study, split)) for split in study.splits()}
    elif panel.picture and not panel.script:
        shown["pictures"] = {split: _picture(study, panel, split) for split in study.splits()}
    return shown


def _cells(table: Cells | None) -> dict[str, Any] | None:
    if table is None:
        return None
    return {
        "caption": table.caption,
        "header": table.header,
        "rows": list(table.rows),
        "digits": table.digits,
    }


def _picture(study: Study, panel: Panel, split: str) -> str | None:
    """An SVG as an address that the page's policy lets an image have."""
    if panel.picture is None:
        return None
    content = io.BytesIO()
    with drawing(panel.picture, study, split) as figure:
        if figure is None:
            return None
        save(figure, content, "svg")
    return "data:image/svg+xml;base64," + base64.b64encode(content.getvalue()).decode("ascii")


def rounded(number: float | None, digits: int = 8) -> float | None:
    """Far more digits than are shown: rounding twice, 85.76496 to 85.7650 to 85.77, would be wrong."""
    return None if number is None or not math.isfinite(number) else round(float(number), digits)
