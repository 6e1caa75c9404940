"""The harness's output: results_<time>.json, and samples_<task>_<time>.jsonl if samples were logged.

A task counts as ours if its results carry the provenance that our tasks write, or by its name.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_stereoset.data.format import BIAS_TYPES, SPLITS
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.evaluation import INTERVALS, Table, evaluate
from lm_eval_stereoset.files import read_json
from lm_eval_stereoset.predictions import Scored, read_samples
from lm_eval_stereoset.report.names import LANGUAGE, model_name
from lm_eval_stereoset.report.run import Run

TASK = re.compile(rf"stereoset(?:_(?P<split>intra|inter))?_(?P<language>{LANGUAGE})")
MAIN = ("ss", "lms", "icat")


class TaskResult(NamedTuple):
    """One of our tasks in one results file."""

    name: str
    language: str
    splits: tuple[str, ...]
    values: dict[str, Any]  # "ss,none": …
    provenance: dict[str, Any]
    counts: dict[str, int]  # original and effective
    file: Path
    time: str

    @property
    def samples(self) -> Path:
        return self.file.with_name(f"samples_{self.name}_{self.time}.jsonl")


def is_results(content: Any) -> bool:
    return isinstance(content, dict) and "results" in content and "configs" in content


def find_results(folder: Path) -> list[Path]:
    """results_<time>.json, or <name>_<time>.json, which the harness writes for `--output_path name.json`."""
    return sorted(path for path in folder.rglob("*.json") if path.is_file() and _looks_like_results(path))


def _looks_like_results(path: Path) -> bool:
    if path.name.startswith("results_"):
        return True
    with open(path, "rb") as handle:
        return handle.read(100).lstrip(b"{ \r\n\t").startswith(b'"results"')


def read_results(paths: list[Path]) -> list[Run]:
    """All runs in the given results files; of a task that ran twice, the newest counts."""
    models: dict[tuple[Path, str, str], list[TaskResult]] = {}
    other: set[str] = set()
    for path in paths:
        content = read_json(path)
        if not is_results(content):
            raise UserError(f"{path}: not a results file of the harness (it needs results and configs)")
        found = list(_our_tasks(content, path, other))
        key = (
            path.parent,
            str(content.get("model_name") or path.parent.name),
            str(content.get("model_source")),
        )
        if found:
            models.setdefault(key, []).extend(found)
    if not models:
        where = paths[0] if len(paths) == 1 else f"{paths[0].parent} and below"
        names = ", ".join(sorted(other)[:5]) + (" …" if len(other) > 5 else "")
        raise UserError(f"{where}: results of other tasks only ({names or 'none'}), none of StereoSet's")
    return [
        run
        for (_, name, source), tasks in models.items()
        for run in _runs_of_model(model_name(name), source, tasks)
    ]


def _our_tasks(content: dict[str, Any], path: Path, other: set[str]) -> Iterator[TaskResult]:
    groups = content.get("group_subtasks") or {}
    time = re.sub(r"^.*?results_", "", path.stem) if "results_" in path.stem else path.stem.rpartition("_")[2]
    for name, values in content["results"].items():
        config = content["configs"].get(name)
        if config is None:  # a group: a weighted mean, which is not what a group of ours means
            if not groups.get(name):
                other.add(name)
            continue
        provenance = (config.get("metadata") or {}).get("provenance") or {}
        data = provenance.get("data") or []
        by_name = TASK.fullmatch(name)
        if data:
            language, splits = data[0]["language"], tuple(d["split"] for d in data)
        elif by_name:
            language, splits = by_name["language"], (by_name["split"],) if by_name["split"] else SPLITS
        else:
            other.add(name)
            continue
        counts = (content.get("n-samples") or {}).get(name) or {}
        yield TaskResult(name, language, splits, values, provenance, counts, path, time)


def _runs_of_model(model: str, source: str, tasks: list[TaskResult]) -> Iterator[Run]:
    languages = dict.fromkeys(task.language for task in tasks)
    for language in languages:
        newest: dict[str, TaskResult] = {}
        older = 0
        for task in sorted((t for t in tasks if t.language == language), key=lambda t: t.time):
            older += task.name in newest
            newest[task.name] = task
        # Pooled tasks first: they have both splits, so nothing is read twice.
        chosen = sorted(newest.values(), key=lambda t: -len(t.splits))
        run = _run(model, language, chosen)
        run.variant = source
        if older:
            run.notes.append(f"{older} older result(s) of the same task in the same folder were left out")
        yield run


def _run(model: str, language: str, tasks: list[TaskResult]) -> Run:
    parts: dict[str, Scored] = {}
    normalisers: set[str] = set()
    run = Run(model, language, str(tasks[0].file.parent), {}, None)
    for task in tasks:
        _remember_provenance(run, task, normalisers)
        if set(task.splits) <= set(parts):
            continue
        if not task.samples.is_file():
            run.notes.append(f"{task.name}: no samples (run with --log_samples to see examples and tests)")
            continue
        samples = read_samples(task.samples)
        normalisers.update(samples.normalisers)
        for split, scored in samples.parts.items():
            parts.setdefault(split, scored)
    if parts:
        run.parts = {split: parts[split] for split in SPLITS if split in parts}
        run.table = evaluate(run.parts)
    for task in tasks:
        _check_or_fill(run, task)
    run.normaliser = " and ".join(sorted(normalisers)) or None
    return run


def _remember_provenance(run: Run, task: TaskResult, normalisers: set[str]) -> None:
    for about in task.provenance.get("data") or []:
        run.data.setdefault(about["split"], about)
        if isinstance(about.get("examples"), int):
            run.complete.setdefault(about["split"], about["examples"])
    if normaliser := task.provenance.get("normaliser"):
        normalisers.add(str(normaliser))
    original = task.counts.get("original")
    if isinstance(original, int):
        run.complete.setdefault(_split_name(task), original)


def _split_name(task: TaskResult) -> str:
    return task.splits[0] if len(task.splits) == 1 else "overall"


def _check_or_fill(run: Run, task: TaskResult) -> None:
    """Numbers from samples are checked against the results file; without samples they are taken from it."""
    reported = table_of(task)
    for split, groups in reported.items():
        if split not in run.table:
            run.table[split] = groups
            continue
        for metric in MAIN:
            ours, theirs = run.table[split]["overall"][metric], groups["overall"].get(metric, math.nan)
            if abs(ours - theirs) > 1e-6:
                run.notes.append(
                    f"{task.name}: {metric.upper()} is {theirs:.4f} in the results file but {ours:.4f} from its "
                    "samples; the samples are shown. Are they of the same run?"
                )


def table_of(task: TaskResult) -> Table:
    """{split: {group: {metric: value}}} of the numbers in a results file."""
    values = {
        key.partition(",")[0]: float(value)
        for key, value in task.values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    split = _split_name(task)
    table = {split: {"overall": _group(values, "", INTERVALS)}}
    table[split]["overall"] |= {k: values[k] for k in ("ties", "ties_unrelated") if k in values}
    if isinstance(task.counts.get("effective"), int):
        table[split]["overall"]["n"] = task.counts["effective"]
    for bias_type in BIAS_TYPES:
        table[split][bias_type] = _group(values, f"_{bias_type}", MAIN)
    if len(task.splits) > 1:
        for part in task.splits:
            if f"ss_{part}" in values:
                table[part] = {"overall": _group(values, f"_{part}", MAIN)}
    return table


def _group(values: dict[str, float], suffix: str, metrics: tuple[str, ...]) -> dict[str, float]:
    """Intervals are the value and two standard errors: a results file has no more than these."""
    group: dict[str, float] = {}
    for metric in metrics:
        value = values.get(f"{metric}{suffix}", math.nan)
        error = values.get(f"{metric}{suffix}_stderr", math.nan)
        group[metric], group[f"{metric}_stderr"] = value, error
        group[f"{metric}_low"], group[f"{metric}_high"] = value - 1.96 * error, value + 1.96 * error
    return group
