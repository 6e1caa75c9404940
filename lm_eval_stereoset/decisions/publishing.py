"""Results where readers look: a section of a model card, its metadata, and the hub's files of evaluation results.

Everything is written between two marks, or under keys that name this package, so that writing it again changes nothing
else: not a letter of the card's own text and of its other metadata.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_stereoset import __version__
from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark, Metric
from lm_eval_stereoset.decisions.pairing import partial
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.report.cells import markdown_cell
from lm_eval_stereoset.report.model_run import Run

TOOL = "lm-eval-stereoset"
BEGIN = (
    "<!-- stereoset: begin. Written by `stereoset publish`; what is between these marks will be replaced. -->"
)
END = "<!-- stereoset: end -->"
_SECTION = re.compile(r"<!-- stereoset: begin\b[^\n]*-->.*?<!-- stereoset: end -->", re.DOTALL)
_FRONT = re.compile(r"\A(\ufeff?\s*---[ \t]*\r?\n)(.*?)(^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Measured:
    """One number of one task, with what it rests on."""

    run: Run
    split: str
    metric: Metric

    def number(self, end: str = "") -> float:
        return self.run.overall(self.split, f"{self.metric.name}{end}")

    @property
    def task(self) -> str:
        benchmark = self.run.benchmark
        pooled = len(benchmark.splits) > 1 and self.split not in benchmark.splits
        return benchmark.task_name(None if pooled else self.split, self.run.language)

    @property
    def rounded(self) -> float:
        return round(self.number(), self.metric.digits)


def measured(runs: Sequence[Run]) -> list[Measured]:
    """The main metrics of every run in every split that it has; NaN is not a result."""
    return [
        one
        for run in runs
        for split in run.benchmark.views
        if split in run.table
        for metric in run.benchmark.main
        if (one := Measured(run, split, metric)).number() == one.number()
    ]


def unpublishable(run: Run) -> str | None:
    """Why readers would be misled by this result."""
    if any(about.get("data") == "sample" for about in run.data.values()):
        return f"{run.label}: measured on the small bundled sample, not on {run.benchmark.title}"
    if run.unlike_data:
        return f"{run.label}: {run.unlike_data[0]}"
    for split in run.table:
        if why := partial(run, split):
            return f"{run.label}, {split}: {why}"
    return None


def section(runs: Sequence[Run], remarks: Sequence[str] = ()) -> str:
    """The Markdown between the marks: tables, how they were measured, what they do not say, the data's licence."""
    lines = [BEGIN, "## Stereotypes", ""]
    for benchmark in dict.fromkeys(run.benchmark.name for run in runs):
        here = [run for run in runs if run.benchmark.name == benchmark]
        lines += _benchmark_lines(here[0].benchmark, here)
    lines += [f"- {markdown_cell(remark)}" for remark in remarks]
    return "\n".join([*lines, f"Measured with {TOOL} {__version__}.", "", END])


def _benchmark_lines(benchmark: Benchmark, runs: Sequence[Run]) -> list[str]:
    titles = [f"{metric.title} [95 %]" for metric in benchmark.main]
    header = ["language", "split", *titles, "examples"]
    lines = [
        f"### {benchmark.title}",
        "",
        f"| {' | '.join(header)} |",
        "|---|---" + "|--:" * (len(header) - 2) + "|",
    ]
    for run in runs:
        for split in (view for view in benchmark.views if view in run.table):
            cells = [run.language, split, *(_cell(Measured(run, split, metric)) for metric in benchmark.main)]
            n = run.overall(split, "n")
            lines.append(f"| {' | '.join([*cells, f'{n:,.0f}' if n == n else '–'])} |")
    lines += ["", benchmark.legend, ""]
    how = dict.fromkeys(text for run in runs for text in _how(run))
    lines += ["How it was measured:", "", *(f"- {markdown_cell(text)}" for text in how)]
    lines += [f"- Intervals are clustered by {benchmark.cluster}."]
    if benchmark.caveat:
        lines += ["", f"What the numbers do not say: {benchmark.caveat}"]
    return [*lines, "", *([f"Licence of the data: {benchmark.licence}.", ""] if benchmark.licence else [])]


def _cell(one: Measured) -> str:
    value, low, high = (one.number(end) for end in ("", "_low", "_high"))
    digits = one.metric.digits
    if value != value:
        return "undefined"
    return f"{value:.{digits}f}" + (f" [{low:.{digits}f}, {high:.{digits}f}]" if low == low else "")


def _how(run: Run) -> list[str]:
    found = []
    ways = {split: way for split in run.table if split != OVERALL and (way := _way(run, split))}
    for split, way in ways.items() if len(set(ways.values())) > 1 else list(ways.items())[:1]:
        place = f"{split}: candidates" if len(set(ways.values())) > 1 else "Candidates"
        found.append(f"{place} are compared by {way}.")
    for split, about in run.data.items():
        name = " ".join(str(about[key]) for key in ("data", "version") if about.get(key))
        digest = f", sha256 {about['sha256'][:12]}" if about.get("sha256") else ""
        found.append(f"Data of {split}/{run.language}: {name or 'unknown'}{digest}.")
    return found


def _way(run: Run, split: str) -> str | None:
    normaliser = run.said_of(split, run.normalisers)
    way = run.compared_by(split)
    return f"{way}, normaliser: {normaliser}" if way and normaliser else way


def model_index(runs: Sequence[Run], name: str, before: Any) -> list[dict[str, Any]]:
    """The card's `model-index` with our results in it; those of other tools stay as they are."""
    from huggingface_hub.repocard_data import eval_results_to_model_index

    ours = eval_results_to_model_index(name, [_eval_result(one) for one in measured(runs)])[0]["results"]
    if not isinstance(before, list) or not before:
        return [{"name": name, "results": ours}]
    first = dict(before[0])
    kept = [one for one in first.get("results") or [] if not _is_ours(one)]
    return [{**first, "results": [*kept, *ours]}, *before[1:]]


def _is_model(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("results") or [], list)


def _is_ours(result: Any) -> bool:
    dataset = result.get("dataset") if isinstance(result, dict) else None
    arguments = dataset.get("args") if isinstance(dataset, dict) else None
    return isinstance(arguments, dict) and arguments.get("measured_with") == TOOL


def _eval_result(one: Measured) -> Any:
    from huggingface_hub import EvalResult

    run, benchmark = one.run, one.run.benchmark
    splits = [one.split] if one.split in benchmark.splits else list(benchmark.splits)
    data = {
        split: {key: run.data[split][key] for key in ("data", "version", "sha256") if key in run.data[split]}
        for split in splits
        if split in run.data
    }
    arguments = {
        "measured_with": TOOL,
        "task": one.task,
        "scoring": run.compared_by(one.split),
        "data": data,
    }
    limits = [round(one.number(end), one.metric.digits) for end in ("_low", "_high")]
    return EvalResult(
        task_type="stereotypes",
        task_name="Stereotypes",
        dataset_type=benchmark.hub or benchmark.name,
        dataset_name=f"{benchmark.title} ({run.language}, {one.split})",
        dataset_config=run.language,
        dataset_split=one.split,
        dataset_args={key: value for key, value in arguments.items() if value},
        metric_type=one.metric.name,
        metric_name=one.metric.title,
        metric_value=one.rounded,
        metric_args={"interval_95": limits} if limits[0] == limits[0] else None,
    )


def eval_entries(runs: Sequence[Run]) -> dict[str, list[dict[str, Any]]]:
    """{file name: entries} in the hub's format, a file for each benchmark whose data are on the hub."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    found: dict[str, list[Any]] = {}
    for one in measured(runs):
        benchmark = one.run.benchmark
        if not benchmark.hub:
            continue
        data = one.run.data.get(one.split if one.split in benchmark.splits else benchmark.splits[0], {})
        origin = " ".join(str(data[key]) for key in ("data", "version") if data.get(key))
        how = one.run.compared_by(one.split)
        notes = [
            f"{one.metric.title}, {one.split}",
            how,
            f"data: {origin}" if origin else "",
            f"{TOOL} {__version__}",
        ]
        entry = EvalResultEntry(
            dataset_id=benchmark.hub,
            task_id=f"{one.task}_{one.metric.name}",
            value=one.rounded,
            notes="; ".join(text for text in notes if text),
        )
        found.setdefault(f"{benchmark.name}.yaml", []).append(entry)
    return {name: eval_result_entries_to_yaml(entries) for name, entries in found.items()}


def updated_card(text: str, where: str, runs: Sequence[Run], name: str, remarks: Sequence[str]) -> str:
    """The card with our section and our results in its metadata; everything else as it was, letter for letter."""
    if text.count("<!-- stereoset: begin") != len(_SECTION.findall(text)) or len(_SECTION.findall(text)) > 1:
        raise UserError(
            f"{where}: its marks `<!-- stereoset: begin … -->` and `{END}` do not form one pair; mend them"
        )
    ours = section(runs, remarks)
    if _SECTION.search(text):
        text = _SECTION.sub(lambda _: ours, text)
    else:
        text = f"{text.rstrip()}\n\n{ours}\n" if text.strip() else f"{ours}\n"
    return _with_metadata(text, where, runs, name)


def _with_metadata(text: str, where: str, runs: Sequence[Run], name: str) -> str:
    from huggingface_hub.utils import yaml_dump

    from lm_eval_stereoset import plain_yaml

    found = _FRONT.match(text)
    front = found[2] if found else ""
    fields = plain_yaml.load(front, f"{where}, its metadata") or {}
    if not isinstance(fields, dict):
        raise UserError(f"{where}: its metadata must be a mapping, such as `license: apache-2.0`")
    before = fields.get("model-index")
    if before is not None and not (isinstance(before, list) and all(map(_is_model, before))):
        raise UserError(f"{where}: its model-index is not a list of models; mend or remove it")
    index = model_index(runs, name, before)
    if index == before:
        return text
    block = yaml_dump({"model-index": index}, sort_keys=False)
    front = _replaced_key(front, "model-index", block)
    return f"{found[1] if found else '---' + chr(10)}{front}{found[3] if found else '---' + chr(10) * 2}" + (
        text[found.end() :] if found else text
    )


def _replaced_key(front: str, key: str, block: str) -> str:
    """The lines of a top-level key, replaced; without such a key they go to the end."""
    pattern = re.compile(rf"^[\"']?{re.escape(key)}[\"']?[ \t]*:.*?(?=^[^\s\-]|\Z)", re.DOTALL | re.MULTILINE)
    if pattern.search(front):
        return pattern.sub(lambda _: block, front, count=1)
    return front + ("" if not front or front.endswith("\n") else "\n") + block
