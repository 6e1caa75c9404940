"""The harness's results files: results_<time>.json, and what they say about each task of ours.

A task counts as ours if its results carry the provenance that our tasks write, or by its name.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark, Metric
from lm_eval_stereoset.benchmarks.evaluation import Table
from lm_eval_stereoset.errors import UserError, short
from lm_eval_stereoset.harness.aggregation import harness_metrics
from lm_eval_stereoset.harness.docs import FIRST_BENCHMARK
from lm_eval_stereoset.report import checked
from lm_eval_stereoset.report.belonging import ResultsOrigin, origin_of, unlike_data
from lm_eval_stereoset.report.extras import extras_of
from lm_eval_stereoset.report.names import LANGUAGE

PLACEHOLDER = "LANGUAGE"


class TaskResult(NamedTuple):
    """One of our tasks in one results file."""

    benchmark: Benchmark
    name: str
    language: str
    splits: tuple[str, ...]
    values: dict[str, Any]  # "ss,none": …
    provenance: dict[str, Any]
    counts: dict[str, int]  # original and effective
    file: Path
    time: str
    origin: ResultsOrigin
    shots: Any

    def differs(self, other: "TaskResult") -> str | None:
        """In what they do not belong together; None if they do."""
        # Questions in words need a chat template, likelihoods none: the model is the same, and they are never pooled.
        alike = bool(self.benchmark.words) == bool(other.benchmark.words)
        if unlike := self.origin.differs(other.origin, prompts=alike):
            return unlike
        if self.shots != other.shots:
            return "number of few-shot examples"
        if (self.benchmark.name, self.language) != (other.benchmark.name, other.language):
            return None
        return unlike_data(self.provenance.get("data") or [], other.provenance.get("data") or [])

    @property
    def samples(self) -> Path:
        return self.file.with_name(f"samples_{self.name}_{self.time}.jsonl")

    @property
    def view(self) -> str:
        """The split, or 'overall' for a task that pools several."""
        return self.splits[0] if len(self.splits) == 1 else OVERALL


def is_results(content: Any) -> bool:
    return isinstance(content, dict) and "results" in content and "configs" in content


def find(folder: Path) -> list[Path]:
    """results_<time>.json, or <name>_<time>.json, which the harness writes for `--output_path name.json`."""
    return [path for path in below(folder, ".json") if _looks_like_results(path)]


def below(folder: Path, *suffixes: str) -> list[Path]:
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


def our_tasks(content: dict[str, Any], path: Path, other: set[str]) -> Iterator[TaskResult]:
    """The tasks of ours in a results file; the names of all others go into `other`."""
    where = str(path)
    groups = checked.part(content, "group_subtasks", dict, where) or {}
    configs = checked.part(content, "configs", dict, where) or {}
    all_counts = checked.part(content, "n-samples", dict, where) or {}
    origin, shots = origin_of(content), checked.part(content, "n-shot", dict, where) or {}
    time = re.sub(r"^.*?results_", "", path.stem) if "results_" in path.stem else path.stem.rpartition("_")[2]
    for name, values in (checked.part(content, "results", dict, where) or {}).items():
        config = configs.get(name)
        if config is None:  # a group: a weighted mean, which is not what a group of ours means
            if not groups.get(name):
                other.add(name)
            continue
        by_name = named(name)
        provenance = _provenance(config, f"{where}: {name}", ours=by_name is not None)
        benchmark = _benchmark_of(provenance, by_name, f"{where}: {name}")
        data = checked.provenance(benchmark, provenance, f"{where}: {name}")
        if data:
            language, splits = data[0].get("language"), tuple(d["split"] for d in data)
            if language is None:
                raise UserError(f"{where}: {name}: its data do not say which language they are of")
        elif by_name:
            language, splits = by_name.language, by_name.splits
        else:
            other.add(name)
            continue
        values = checked.mapping(values, f"{where}: results of {name}")
        counts = checked.part(all_counts, name, dict, f"{where}: n-samples") or {}
        about = provenance | {"data": data}
        yield TaskResult(
            benchmark, name, language, splits, values, about, counts, path, time, origin, shots.get(name)
        )


class TaskName(NamedTuple):
    benchmark: Benchmark
    language: str
    splits: tuple[str, ...]


def named(task: str) -> TaskName | None:
    """What a task's name says, of a result without provenance."""
    for benchmark in benchmarks.registered():
        for pattern, splits in _patterns(benchmark):
            if found := pattern.fullmatch(task):
                language = found.groupdict().get("language") or benchmark.languages[0]
                return TaskName(benchmark, language, splits)
    return None


def _patterns(benchmark: Benchmark) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    """Names of a benchmark's tasks: stereoset_intra_(language) …"""
    found = [(split, (split,)) for split in benchmark.splits] + (
        [(None, benchmark.pooled_splits)] if benchmark.pools else []
    )
    languages = (PLACEHOLDER, benchmark.languages[0])  # the second is not named where it is the only one
    names = {
        re.escape(benchmark.task_name(split, language)): splits
        for split, splits in found
        for language in languages
    }
    return [
        (re.compile(name.replace(PLACEHOLDER, f"(?P<language>{LANGUAGE})")), splits)
        for name, splits in names.items()
    ]


def _provenance(config: Any, where: str, ours: bool) -> dict[str, Any]:
    """What our tasks write into their metadata. Of other tasks nothing is expected, so nothing is wrong."""
    metadata = config.get("metadata") if isinstance(config, dict) else None
    found = metadata.get("provenance") if isinstance(metadata, dict) else None
    if isinstance(found, dict):
        return found
    if ours and found is not None:
        raise UserError(f"{where}: its provenance should be an object, is {repr(found)[:40]}")
    return {}


def _benchmark_of(provenance: Mapping[str, Any], by_name: TaskName | None, where: str) -> Benchmark:
    """Results of 0.1 do not say it: they are of the first benchmark."""
    name = provenance.get("benchmark")
    if name is None:
        return by_name.benchmark if by_name else benchmarks.find(FIRST_BENCHMARK)
    if name not in benchmarks.names():
        known = ", ".join(benchmarks.names())
        raise UserError(
            f"{where}: its benchmark {short(name)} is not one of {known}; is it of a later version?"
        )
    return benchmarks.find(name)


def table_of(task: TaskResult) -> Table:
    """{split: {group: {metric: value}}} of the numbers in a results file."""
    benchmark, where = task.benchmark, f"{task.file}: {task.name}"
    metrics, ranges = harness_metrics(benchmark, task.splits), checked.ranges_of(benchmark)
    names = {key: key.partition(",")[0] for key in task.values}
    values = {}
    for key, name in names.items():
        if name in metrics and task.values[key] != "N/A":  # the harness's word for no standard error
            one = metrics[name]
            range_ = ranges[f"{one.metric.name}_stderr" if one.stderr else one.metric.name]
            values[name] = checked.number(task.values[key], name, range_, where)
    by_group = [metric for metric in benchmark.metrics if metric.by_group]
    groups = {OVERALL: _group(benchmark, values, "", benchmark.metrics)}
    effective = task.counts.get("effective")
    if type(effective) is int and effective >= 0:
        groups[OVERALL]["n"] = effective
    for group in benchmark.groups:
        groups[group] = _group(benchmark, values, f"_{group}", by_group)
    table = {task.view: groups}
    if len(task.splits) > 1 and by_group:
        for part in task.splits:
            if f"{by_group[0].name}_{part}" in values:
                table[part] = {OVERALL: _group(benchmark, values, f"_{part}", by_group)}
    return table


def _group(
    benchmark: Benchmark, values: dict[str, float], suffix: str, metrics: tuple[Metric, ...] | list[Metric]
) -> dict[str, float]:
    """Intervals are the value and two standard errors, since a results file has no more, unless a benchmark knows
    better ones."""
    group: dict[str, float] = {}
    for metric in metrics:
        name = metric.name
        value = values.get(f"{name}{suffix}", math.nan)
        if not metric.has_error:
            group |= {} if math.isnan(value) else {name: value}
            continue
        error = values.get(f"{name}{suffix}_stderr", math.nan)
        group[name], group[f"{name}_stderr"] = value, error
        group[f"{name}_low"], group[f"{name}_high"] = value - 1.96 * error, value + 1.96 * error
    for name, (low, high) in extras_of(benchmark).intervals(group).items():
        group[f"{name}_low"], group[f"{name}_high"] = low, high
    return group
