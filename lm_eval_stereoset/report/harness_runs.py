"""From the harness's results and samples to Runs: what belongs together is pooled, what does not is told apart."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark
from lm_eval_stereoset.benchmarks.evaluation import Scored, evaluate
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json
from lm_eval_stereoset.harness.closing import debiased_name, model_name
from lm_eval_stereoset.harness.samples import read_samples
from lm_eval_stereoset.report import checked
from lm_eval_stereoset.report.belonging import label
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.results_files import TaskResult, is_results, our_tasks, table_of


def read(paths: list[Path]) -> list[Run]:
    """All runs in the given results files; of a task that ran twice, the newest counts."""
    models: dict[tuple[Path, str, str], list[TaskResult]] = {}
    other: set[str] = set()
    for path in paths:
        content = read_json(path)
        if not is_results(content):
            raise UserError(f"{path}: not a results file of the harness (it needs results and configs)")
        found = list(our_tasks(content, path, other))
        key = (
            path.parent,
            debiased_name(
                model_name(checked.text(content, "model_name", str(path)) or path.parent.name),
                content.get("config"),
            ),
            str(checked.text(content, "model_source", str(path))),
        )
        if found:
            models.setdefault(key, []).extend(found)
    if not models:
        where = paths[0] if len(paths) == 1 else f"{paths[0].parent} and below"
        names = ", ".join(sorted(other)[:5]) + (" …" if len(other) > 5 else "")
        ours = " or ".join(benchmark.title for benchmark in benchmarks.registered())
        raise UserError(f"{where}: results of other tasks only ({names or 'none'}), none of {ours}")
    return [
        run for (_, name, source), tasks in models.items() for run in _runs_under_name(name, source, tasks)
    ]


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
    found: dict[tuple[str, str], list[TaskResult]] = {}
    for task in tasks:
        found.setdefault((task.benchmark.name, task.language), []).append(task)
    for same in found.values():
        newest: dict[str, TaskResult] = {}
        older = 0
        for task in sorted(same, key=lambda t: t.time):
            older += task.name in newest
            newest[task.name] = task
        # Pooled tasks first: they have all splits, so nothing is read twice.
        chosen = sorted(newest.values(), key=lambda t: -len(t.splits))
        run = _run(same[0].benchmark, model, same[0].language, chosen)
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


def _run(benchmark: Benchmark, model: str, language: str, tasks: list[TaskResult]) -> Run:
    parts: dict[str, Scored] = {}
    run = Run(benchmark, model, language, str(tasks[0].file.parent), {})
    for task in tasks:
        _remember_provenance(run, task)
        if set(task.splits) <= set(parts):
            continue
        if not os.path.isfile(task.samples):
            run.notes.append(f"{task.name}: no samples (run with --log_samples to see examples and tests)")
            continue
        samples = read_samples(task.samples)
        if (samples.benchmark.name, samples.language) != (benchmark.name, language):
            raise UserError(
                f"{task.samples}: samples of {samples.benchmark.title} in {samples.language}, but its results file "
                f"says {benchmark.title} in {language}"
            )
        run.normalisers |= samples.normalisers
        run.quantities |= {split: said for split, said in samples.scorings.items() if said != "unknown"}
        for split, scored in samples.parts.items():
            parts.setdefault(split, scored)
    if parts:
        run.parts = {split: parts[split] for split in benchmark.splits if split in parts}
        run.table = evaluate(run.parts)
    for task in tasks:
        _check_or_fill(run, task)
    return run


def _remember_provenance(run: Run, task: TaskResult) -> None:
    for about in task.provenance["data"]:
        for key, known in (("normaliser", run.normalisers), ("scoring", run.quantities)):
            if about.get(key, "unknown") != "unknown":
                known[about["split"]] = about[key]
        run.data.setdefault(about["split"], about)
        if "examples" in about:
            run.complete.setdefault(about["split"], about["examples"])
    if normaliser := task.provenance.get("normaliser"):  # older results say it once for all splits
        run.normalisers[OVERALL] = str(normaliser)
    original = task.counts.get("original")
    if type(original) is int and original >= 0:
        run.complete.setdefault(task.view, original)


def _check_or_fill(run: Run, task: TaskResult) -> None:
    """Numbers from samples are checked against the results file; without samples they are taken from it."""
    reported = table_of(task)
    for split, groups in reported.items():
        if split not in run.table:
            run.table[split] = groups
            continue
        for metric in run.benchmark.main:
            ours, theirs = run.overall(split, metric.name), groups[OVERALL].get(metric.name, math.nan)
            if abs(ours - theirs) > 1e-6:
                run.notes.append(
                    f"{task.name}: {metric.title} is {theirs:.4f} in the results file but {ours:.4f} from its "
                    "samples; the samples are shown. Are they of the same run?"
                )
