"""The harness's output: results_<time>.json, and samples_<task>_<time>.jsonl if samples were logged.

A task counts as ours if its results carry the provenance that our tasks write, or by its name.
"""

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from lm_eval_stereoset.benchmarks.evaluation import INTERVALS, Scored, Table, evaluate
from lm_eval_stereoset.benchmarks.stereoset.example import BIAS_TYPES, SPLITS
from lm_eval_stereoset.benchmarks.stereoset.metrics import ICAT_OF, icat_interval_of_errors
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json
from lm_eval_stereoset.harness.aggregation import metric_names
from lm_eval_stereoset.harness.samples import read_samples
from lm_eval_stereoset.report import shapes
from lm_eval_stereoset.report.belonging import Origin, label, origin_of, unlike_data
from lm_eval_stereoset.report.names import LANGUAGE, model_name
from lm_eval_stereoset.report.run import Run
from lm_eval_stereoset.report.scores import number

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
    origin: Origin
    shots: Any

    def differs(self, other: "TaskResult") -> str | None:
        """In what they do not belong together; None if they do."""
        if unlike := self.origin.differs(other.origin):
            return unlike
        if self.shots != other.shots:
            return "number of few-shot examples"
        if self.language != other.language:
            return None
        return unlike_data(self.provenance.get("data") or [], other.provenance.get("data") or [])

    @property
    def samples(self) -> Path:
        return self.file.with_name(f"samples_{self.name}_{self.time}.jsonl")


def is_results(content: Any) -> bool:
    return isinstance(content, dict) and "results" in content and "configs" in content


def find_results(folder: Path) -> list[Path]:
    """results_<time>.json, or <name>_<time>.json, which the harness writes for `--output_path name.json`."""
    return [path for path in files_below(folder, ".json") if _looks_like_results(path)]


def files_below(folder: Path, *suffixes: str) -> list[Path]:
    """A folder inside that cannot be read is an error: what it holds would be missing without a word."""

    def refuse(error: OSError) -> NoReturn:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror or error}") from error

    found = [Path(root) / name for root, _, names in os.walk(folder, onerror=refuse) for name in names]
    return sorted(path for path in found if path.suffix in suffixes and os.path.isfile(path))


def _looks_like_results(path: Path) -> bool:
    if path.name.startswith("results_"):
        return True
    return first_bytes(path, 100).lstrip(b"{ \r\n\t").startswith(b'"results"')


def first_bytes(path: Path, count: int) -> bytes:
    try:
        with open(path, "rb") as handle:
            return handle.read(count)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error


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
            shapes.text(content, "model_name", str(path)) or path.parent.name,
            str(shapes.text(content, "model_source", str(path))),
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
        for run in _runs_under_name(model_name(name), source, tasks)
    ]


def _our_tasks(content: dict[str, Any], path: Path, other: set[str]) -> Iterator[TaskResult]:
    where = str(path)
    groups = shapes.part(content, "group_subtasks", dict, where) or {}
    configs = shapes.part(content, "configs", dict, where) or {}
    all_counts = shapes.part(content, "n-samples", dict, where) or {}
    origin, shots = origin_of(content), shapes.part(content, "n-shot", dict, where) or {}
    time = re.sub(r"^.*?results_", "", path.stem) if "results_" in path.stem else path.stem.rpartition("_")[2]
    for name, values in (shapes.part(content, "results", dict, where) or {}).items():
        config = configs.get(name)
        if config is None:  # a group: a weighted mean, which is not what a group of ours means
            if not groups.get(name):
                other.add(name)
            continue
        by_name = TASK.fullmatch(name)
        provenance = _provenance(config, f"{where}: {name}", ours=by_name is not None)
        data = shapes.provenance(provenance, f"{where}: {name}")
        if data:
            language, splits = data[0].get("language"), tuple(d["split"] for d in data)
            if language is None:
                raise UserError(f"{where}: {name}: its data do not say which language they are of")
        elif by_name:
            language, splits = by_name["language"], (by_name["split"],) if by_name["split"] else SPLITS
        else:
            other.add(name)
            continue
        values = shapes.mapping(values, f"{where}: results of {name}")
        counts = shapes.part(all_counts, name, dict, f"{where}: n-samples") or {}
        about = provenance | {"data": data}
        yield TaskResult(name, language, splits, values, about, counts, path, time, origin, shots.get(name))


def _provenance(config: Any, where: str, ours: bool) -> dict[str, Any]:
    """What our tasks write into their metadata. Of other tasks nothing is expected, so nothing is wrong."""
    metadata = config.get("metadata") if isinstance(config, dict) else None
    found = metadata.get("provenance") if isinstance(metadata, dict) else None
    if isinstance(found, dict):
        return found
    if ours and found is not None:
        raise UserError(f"{where}: its provenance should be an object, is {repr(found)[:40]}")
    return {}


def _runs_under_name(model: str, source: str, tasks: list[TaskResult]) -> Iterator[Run]:
    """Results of one name in one folder. Those that do not belong together become models of their own."""
    groups: list[list[TaskResult]] = []
    for task in sorted(tasks, key=lambda t: t.time, reverse=True):
        fitting = [group for group in groups if not any(task.differs(other) for other in group)]
        if fitting:
            fitting[0].append(task)
        else:
            groups.append([task])
    if len(groups) == 1:
        yield from _runs_of_model(model, source, tasks)
        return
    origins = [group[0].origin for group in groups]
    labels = [label(origin, [other for other in origins if other is not origin]) for origin in origins]
    note = (
        f"the results in {tasks[0].file.parent} do not belong together (they differ in "
        f"{groups[0][0].differs(groups[1][0])}), so they are shown as different models and not pooled"
    )
    for group, own in zip(groups, labels, strict=True):
        apart = own if own and labels.count(own) == 1 else f"{own}, {group[0].time}".lstrip(", ")
        for run in _runs_of_model(model, source, group):
            run.apart, run.model = apart, f"{model} ({apart})"
            if note:
                run.notes.append(note)
            note = ""  # once is enough
            yield run


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
        files = {task.file for task in chosen}
        if len(files) > 1 and any(task.origin.identity is None for task in chosen):
            run.notes.append(
                "the results files do not all record the model's identity; that they are of the same weights is taken "
                "from their equal model_args and cannot be known"
            )
        if older:
            run.notes.append(f"{older} older result(s) of the same task in the same folder were left out")
        yield run


def _run(model: str, language: str, tasks: list[TaskResult]) -> Run:
    parts: dict[str, Scored] = {}
    normalisers: set[str] = set()
    quantities: set[str] = set()
    run = Run(model, language, str(tasks[0].file.parent), {}, None)
    for task in tasks:
        _remember_provenance(run, task, normalisers, quantities)
        if set(task.splits) <= set(parts):
            continue
        if not os.path.isfile(task.samples):
            run.notes.append(f"{task.name}: no samples (run with --log_samples to see examples and tests)")
            continue
        samples = read_samples(task.samples)
        normalisers.update(samples.normalisers.values())
        quantities.update(samples.scorings.values())
        for split, scored in samples.parts.items():
            parts.setdefault(split, scored)
    if parts:
        run.parts = {split: parts[split] for split in SPLITS if split in parts}
        run.table = evaluate(run.parts)
    for task in tasks:
        _check_or_fill(run, task)
    run.normaliser = " and ".join(sorted(normalisers)) or None
    run.quantity = " and ".join(sorted(quantities - {"unknown"})) or None
    return run


def _remember_provenance(run: Run, task: TaskResult, normalisers: set[str], quantities: set[str]) -> None:
    for about in task.provenance["data"]:
        normalisers |= {str(about["normaliser"])} if about.get("normaliser") else set()
        quantities |= {str(about["scoring"])} if about.get("scoring") else set()
        run.data.setdefault(about["split"], about)
        if "examples" in about:
            run.complete.setdefault(about["split"], about["examples"])
    if normaliser := task.provenance.get("normaliser"):  # older results say it once for all splits
        normalisers.add(str(normaliser))
    original = task.counts.get("original")
    if type(original) is int and original >= 0:
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
    where, known = f"{task.file}: {task.name}", set(metric_names(SPLITS))
    names = {key: key.partition(",")[0] for key in task.values}
    values = {
        name: number(task.values[key], name, where)
        for key, name in names.items()
        if name in known and task.values[key] != "N/A"  # the harness's word for no standard error
    }
    split = _split_name(task)
    table = {split: {"overall": _group(values, "", INTERVALS)}}
    table[split]["overall"] |= {k: values[k] for k in ("ties", "ties_unrelated") if k in values}
    effective = task.counts.get("effective")
    if type(effective) is int and effective >= 0:
        table[split]["overall"]["n"] = effective
    for bias_type in BIAS_TYPES:
        table[split][bias_type] = _group(values, f"_{bias_type}", MAIN)
    if len(task.splits) > 1:
        for part in task.splits:
            if f"ss_{part}" in values:
                table[part] = {"overall": _group(values, f"_{part}", MAIN)}
    return table


def _group(values: dict[str, float], suffix: str, metrics: tuple[str, ...]) -> dict[str, float]:
    """Intervals are the value and two standard errors, since a results file has no more; ICAT's is mended."""
    group: dict[str, float] = {}
    for metric in metrics:
        value = values.get(f"{metric}{suffix}", math.nan)
        error = values.get(f"{metric}{suffix}_stderr", math.nan)
        group[metric], group[f"{metric}_stderr"] = value, error
        group[f"{metric}_low"], group[f"{metric}_high"] = value - 1.96 * error, value + 1.96 * error
    for metric, (ss, lms) in ICAT_OF.items():
        if abs(group.get(ss, math.nan) - 50) < 2 * group.get(f"{ss}_stderr", math.nan):
            sides = (group[ss], group[f"{ss}_stderr"], group[lms], group[f"{lms}_stderr"])
            group[f"{metric}_low"], group[f"{metric}_high"] = icat_interval_of_errors(*sides)
    return group
