"""stereoset debias sweep: S and D of a model under every setting of the projections, and eta of an NLI model.

One part of the examples after the other is scored under all settings; each part is noted in SWEEP.json.part as soon as
it is done, and a sweep that was interrupted goes on behind the last one.
"""

import argparse
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError

if TYPE_CHECKING:
    from lm_eval_stereoset.benchmarks.declaration import Benchmark
    from lm_eval_stereoset.interventions.sweep import Subject

logger = logging.getLogger(__name__)

HEAD = "stereoset debias sweep"
AT_ONCE = 192  # texts in a part: what a kill can lose, and what the layers' answers are remembered for
NAMES = {"strength": "S", "distance": "D"}  # of metrics, as the paper writes them


@dataclass(frozen=True)
class Row:
    """An example under a setting: what the notes keep a score of each candidate for."""

    id: str
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Task:
    """What is evaluated with a subject: the main metrics of a benchmark."""

    benchmark: "Benchmark"
    data: Mapping[str, Any]
    examples: Sequence[Any]
    subject: "Subject"
    identity: Mapping[str, Any]

    @property
    def at_once(self) -> int:
        return max(1, AT_ONCE // len(self.examples[0].labels))

    @property
    def starts(self) -> range:
        return range(0, len(self.examples), self.at_once)

    def part(self, start: int) -> Sequence[Any]:
        return self.examples[start : start + self.at_once]


def sweep(args: argparse.Namespace) -> int:
    from lm_eval_stereoset.cli.debias import chosen_pairs
    from lm_eval_stereoset.cli.debias_outputs import write_outputs
    from lm_eval_stereoset.cli.predict_notes import Notes
    from lm_eval_stereoset.scoring.identity import versions

    if args.output.suffix != ".json":
        raise UserError(
            f"-o {args.output}: name a file that ends in .json; .md, .png and .svg are written beside it"
        )
    if args.snli is not None and args.nli is None:
        raise UserError("--snli is of the NLI model: name it with --nli")
    for limit in ("limit", "nli_limit", "snli_limit"):
        if getattr(args, limit) is not None and getattr(args, limit) < 1:
            raise UserError(
                f"--{limit.replace('_', '-')} {getattr(args, limit)}: must be a number of examples"
            )
    refuse_other_file(args)
    pairs, about_pairs = chosen_pairs(args)
    with Notes(args.output, HEAD) as notes:
        tasks = tasks_of(args, pairs)
        head = {
            "model": args.pretrained,
            "pairs": about_pairs,
            "pooler_direction": args.pooler_direction,
            "evaluated": [
                {"benchmark": task.benchmark.name, "identity": dict(task.identity), "data": dict(task.data)}
                | {"examples": len(task.examples)}
                for task in tasks
            ],
            "shares_of_variance": {
                one.place.module: one.ratios.tolist()
                for found in tasks[0].subject.directions.values()
                for one in found
            },
            "packages": versions(),
        }
        score_all(args, notes, {key: value for key, value in head.items() if key != "model"}, tasks)
        rows = rows_of(tasks, notes)
        written = write_outputs(args.output, head, rows)
        notes.finish()
    print(f"wrote {args.output} and {', '.join(path.name for path in written)}")
    return 0


def refuse_other_file(args: argparse.Namespace) -> None:
    """Only a sweep is replaced, and no input."""
    from lm_eval_stereoset.files import read_json, refuse_overwriting

    refuse_overwriting(args.output, [args.pairs] if args.pairs else [], "-o")
    if not args.output.exists():
        return
    try:
        found = read_json(args.output)
    except UserError:
        found = None
    if not isinstance(found, dict) or "settings" not in found:
        raise UserError(f"-o {args.output}: exists and is not a sweep; name another file")


def tasks_of(args: argparse.Namespace, pairs: Sequence[tuple[str, str]]) -> list[Task]:
    from lm_eval_stereoset.benchmarks import find, names
    from lm_eval_stereoset.cli.debias import BENCHMARK, load_model

    genderswap = find(BENCHMARK)
    if args.split not in genderswap.splits:
        raise UserError(f"--split {args.split}: choose one of {', '.join(genderswap.splits)}")
    tasks = [_task(args, genderswap, args.split, args.limit, pairs, *load_model(args))]
    if args.nli is not None:
        if "nli" not in names():
            raise UserError("--nli: the NLI test is not part of this version; leave it out")
        nli = find("nli")
        found = _task(args, nli, nli.splits[0], args.nli_limit, pairs, *load_model(args, args.nli))
        if found.subject.names != tasks[0].subject.names:
            raise UserError(
                f"--nli {args.nli}: has {len(found.subject.names)} settings, {args.pretrained} has "
                f"{len(tasks[0].subject.names)}: their places differ (one has a pooler, the other has none); "
                "take an NLI model of the same architecture"
            )
        tasks.append(found)
        if args.snli is not None:
            tasks.append(of_the_same_model(found, find("snli"), args.snli or None, args.snli_limit))
    return tasks


def of_the_same_model(task: Task, benchmark: "Benchmark", source: str | None, limit: int | None) -> Task:
    """Another benchmark for the subject of a task."""
    from lm_eval_stereoset.data import store

    data = store.load(benchmark, "test", "en", source)
    return Task(benchmark, data.describe(), data.examples[:limit], task.subject, task.identity)


def _task(
    args: argparse.Namespace,
    benchmark: "Benchmark",
    split: str,
    limit: int | None,
    pairs: Any,
    model: Any,
    tokenizer: Any,
) -> Task:
    from lm_eval_stereoset.data import store
    from lm_eval_stereoset.interventions.sweep import subject
    from lm_eval_stereoset.scoring import refuse_kind
    from lm_eval_stereoset.scoring.architecture import methods_of
    from lm_eval_stereoset.scoring.describe import describe
    from lm_eval_stereoset.scoring.identity import identity_of
    from lm_eval_stereoset.scoring.questions import texts_of
    from lm_eval_stereoset.scoring.tokenizer_check import refuse_useless_tokenizer

    data = store.load(benchmark, split, "en", args.data)
    examples = data.examples[:limit]
    refuse_too_few(benchmark, examples)
    questions = [example.question for example in examples]
    (kind,) = {question.kind for question in questions}
    methods = methods_of(model)
    refuse_kind(kind, methods)
    name = tokenizer.name_or_path or type(tokenizer).__name__
    refuse_useless_tokenizer(tokenizer, texts_of(questions), name)
    identity = identity_of(model, tokenizer, {"scoring": dict(methods), "exact": False})
    said = benchmark.said(describe(methods[kind], kind, "d", False, name))
    made = subject(model, tokenizer, methods, pairs, args.pooler_direction, shown=not args.quiet)
    return Task(benchmark, data.describe() | said._asdict(), examples, made, identity.to_dict())


def refuse_too_few(benchmark: "Benchmark", examples: Sequence[Any]) -> None:
    """Of very few examples the largest 10 % are none, so that S and D are undefined whatever the scores are."""
    import math

    import numpy as np

    from lm_eval_stereoset.stats.bootstrap import cluster_sums
    from lm_eval_stereoset.stats.statistic import observed

    columns = benchmark.columns(examples, np.full((len(examples), len(benchmark.labels)), 0.5))
    sums = cluster_sums(np.array([e.cluster for e in examples]), *columns.T)
    for metric in benchmark.main:
        if math.isnan(observed(metric.statistic.value, sums)):
            raise UserError(
                f"{benchmark.title}: {metric.title} is undefined for {len(examples)} examples; take more (--limit)"
            )


def score_all(args: argparse.Namespace, notes: Any, head: Mapping[str, Any], tasks: Sequence[Task]) -> None:
    """Scores what the notes do not have."""
    from lm_eval_stereoset.cli.predict_notes import Part
    from lm_eval_stereoset.interventions.sweep import scores
    from lm_eval_stereoset.scoring.progress import Progress
    from lm_eval_stereoset.scoring.questions import Settings
    from lm_eval_stereoset.scoring.tokenizer_check import ids_within_embeddings

    parts = {
        (task.benchmark.name, start): Part(task.benchmark.name, start, rows_for(task, start))
        for task in tasks
        for start in task.starts
    }
    # As JSON gives it back: the notes compare it with what they have.
    notes.begin(json.loads(json.dumps(head)), list(parts.values()))
    with Progress(sum(len(part.examples) for part in parts.values()), not args.quiet, "sweeping") as bar:
        for task in tasks:
            model, tokenizer = task.subject.model, task.subject.tokenizer
            for start in task.starts:
                part = parts[task.benchmark.name, start]
                if part.name in notes.scores:
                    bar.skip(len(part.examples))
                    continue
                questions = [example.question for example in task.part(start)]
                with (
                    bar.part(len(part.examples)),
                    ids_within_embeddings(getattr(model, "core", model), tokenizer),
                ):
                    found = scores(task.subject, questions, Settings())
                notes.add(part, [row for name in task.subject.names for row in found[name]])


def rows_for(task: Task, start: int) -> list[Row]:
    return [
        Row(f"{name} {example.id}", example.labels)
        for name in task.subject.names
        for example in task.part(start)
    ]


def rows_of(tasks: Sequence[Task], notes: Any) -> list[dict[str, Any]]:
    """One dict per setting: its name, and each benchmark's main metrics with their standard errors."""
    rows: list[dict[str, Any]] = [{"setting": name} for name in tasks[0].subject.names]
    for task in tasks:
        by_setting: dict[str, list[list[float]]] = {name: [] for name in task.subject.names}
        for start in task.starts:
            found = notes.scores[f"{task.benchmark.name} {start}"]
            count = len(task.part(start))
            for number, name in enumerate(task.subject.names):
                by_setting[name] += found[number * count : (number + 1) * count]
        for row in rows:
            row |= metrics_of(task, by_setting[row["setting"]])
    return rows


def metrics_of(task: Task, scores: Sequence[Sequence[float]]) -> dict[str, float]:
    import numpy as np

    from lm_eval_stereoset.stats import bootstrap
    from lm_eval_stereoset.stats.bootstrap import cluster_sums
    from lm_eval_stereoset.stats.statistic import observed

    benchmark = task.benchmark
    table = np.array([benchmark.by_label(e, row) for e, row in zip(task.examples, scores, strict=True)])
    sums = cluster_sums(
        np.array([e.cluster for e in task.examples]), *benchmark.columns(task.examples, table).T
    )
    draws = bootstrap.draw(sums, {metric.name: metric.statistic for metric in benchmark.main})
    found = {}
    for metric in benchmark.main:
        name = NAMES.get(metric.name, metric.name)
        name = f"snli_{name}" if benchmark.name == "snli" else name  # the NLI test has an accuracy, too
        found[name] = observed(metric.statistic.value, sums)
        found[f"{name}_stderr"] = draws.standard_error(metric.name)
    return found
