"""What the report shows of models that were asked in words, beyond what every benchmark gets.

beside       what a model says, next to what its likelihoods prefer, on the same data
preferences  the examples sorted by what the model says about them, and what its likelihoods prefer in each sort: does
             a model that names no preference have one?
refusals     how much is refused, by kind of bias and language
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark, Metric
from lm_eval_stereoset.benchmarks.evaluation import Scored, pool
from lm_eval_stereoset.chat.asking import Said
from lm_eval_stereoset.report.extras import Cells, Extras, Panel
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.study import Study
from lm_eval_stereoset.stats import bootstrap
from lm_eval_stereoset.stats.bootstrap import cluster_sums
from lm_eval_stereoset.stats.statistic import Statistic, of_totals

WAVERING = "depends on the order"
SHARES = ("answered", "refused")
SHARE, MEAN = "share", Statistic(of_totals(lambda n, fits: 100 * fits / n), low=0, high=100)


def beside(study: Study, split: str) -> Cells | None:
    """One row per model and language that has both kinds of results."""
    pairs = [
        (run, other) for run in study.runs if split in run.table and (other := likelihoods_of(study, run))
    ]
    pairs = [(run, other) for run, other in pairs if view_of(other, split)]
    if not pairs:
        return None
    spoken = study.benchmark.main
    preferred = pairs[0][1].benchmark.main
    shares = [study.benchmark.metric(name) for name in SHARES]
    columns = [*_side_by_side(preferred, spoken), *((None, metric) for metric in shares)]
    header = ["Model", "Language"]
    for before, after in columns:
        header += [f"{before.title} of likelihoods"] if before else []
        header += [f"{after.title} in words" if after in spoken else _unit(after)] if after else []
    rows = []
    for run, other in pairs:
        row: list[str | float] = [run.model, run.language]
        for before, after in columns:
            row += [other.overall(view_of(other, split), before.name)] if before else []
            row += [run.overall(split, after.name)] if after else []
        rows.append(tuple(row))
    caption = (
        "The same model on the same data, by what it prefers (likelihoods) and by what it says (in words). They are "
        "different measurements: neither corrects the other."
    )
    return Cells(caption, tuple(header), rows, digits=max(metric.digits for metric in preferred))


def _unit(metric: Metric) -> str:
    return f"{metric.title}, {metric.unit}" if metric.unit else metric.title


def _side_by_side(
    preferred: Sequence[Metric], spoken: Sequence[Metric]
) -> list[tuple[Metric | None, Metric | None]]:
    """Metrics of one name next to each other; what only one side has comes alone."""
    names = {metric.name: metric for metric in spoken}
    found: list[tuple[Metric | None, Metric | None]] = [(one, names.pop(one.name, None)) for one in preferred]
    return found + [(None, metric) for metric in names.values()]


def preferences(study: Study, split: str) -> Cells | None:
    """A row per model, language and sort of examples: how often the likelihoods prefer the stereotype in these."""
    rows: list[tuple[str | float, ...]] = []
    for run in study.runs:
        other = likelihoods_of(study, run)
        spoken, preferred = scored_of(run, split), scored_of(other, split) if other else None
        if spoken is None or preferred is None or spoken.said is None:
            continue
        ids: dict[str, set[str]] = defaultdict(set)
        for example, said in zip(spoken.examples, spoken.said, strict=True):
            ids[sort_of(run.benchmark, said)].add(example.id)
        known = np.array([example.id for example in preferred.examples])
        fits, there = prefers_stereotype(spoken, preferred)
        for sort in sorts(run.benchmark):
            where = np.isin(known, sorted(ids[sort])) & there
            if where.any():
                draws = bootstrap.draw(cluster_sums(preferred.clusters[where], fits[where]), {SHARE: MEAN})
                numbers = (draws.observed[SHARE], *draws.interval(SHARE))
                rows.append((run.model, run.language, sort, float(len(ids[sort])), *numbers))
    if not rows:
        return None
    header = (
        "Model",
        "Language",
        "What it says",
        "Examples",
        "likelihoods prefer the stereotype, %",
        "from",
        "to",
    )
    caption = (
        "Examples sorted by what the model says about them in all readable answers, and in how many of the same examples "
        "the stereotype is likelier than its opposite, with 95 % intervals. 50 % is no preference."
    )
    return Cells(caption, header, rows)


def prefers_stereotype(spoken: Scored, preferred: Scored) -> tuple[np.ndarray, np.ndarray]:
    """Of each scored example: 1 if the stereotype is likelier than its opposite; whether it was asked about at all."""
    words = spoken.benchmark.words
    assert words is not None
    label = {example.id: words.stereotype(example) for example in spoken.examples}
    which = np.array([label.get(example.id, 0) for example in preferred.examples])
    rows = np.arange(len(which))
    fits = preferred.scores[rows, which] > preferred.scores[rows, 1 - which]
    return fits.astype(float), np.array([example.id in label for example in preferred.examples])


def sort_of(benchmark: Benchmark, said: Said) -> str:
    """What all answers about an example come to."""
    labels = {label for label in said.labels if label is not None}
    if len(labels) > 1:
        return WAVERING
    if labels:
        return f"says {benchmark.labels[labels.pop()]}"
    ((kind, _),) = Counter(reading.kind for reading in said.readings).most_common(1)
    return kind


def sorts(benchmark: Benchmark) -> tuple[str, ...]:
    named = tuple(f"says {label}" for label in benchmark.labels)
    return (*named, WAVERING, "neither", "refused", "unreadable", "failed")


def refusals(study: Study, split: str) -> Cells | None:
    """A row per model and group, a column per language."""
    runs = [run for run in study.runs if split in run.table]
    languages = [code for code in study.languages if any(run.language == code for run in runs)]
    rows: list[tuple[str | float, ...]] = []
    for model in study.models:
        own = {run.language: run for run in runs if run.model == model}
        for group in (OVERALL, *study.benchmark.groups):
            cells = [
                own[code].value(split, group, "refused") if code in own else math.nan for code in languages
            ]
            if not all(map(math.isnan, cells)):
                rows.append((model, "all" if group == OVERALL else group, *cells))
    if not rows:
        return None
    caption = "Share of the answers that refuse, in per cent."
    return Cells(caption, ("Model", study.benchmark.group.capitalize(), *languages), rows, digits=1)


def likelihoods_of(study: Study, run: Run) -> Run | None:
    """Of the same model in the same language, on the same data as far as results say."""
    for other in study.likelihoods:
        if (other.model, other.language) != (run.model, run.language):
            continue
        digests = [
            {about["sha256"] for about in one.data.values() if "sha256" in about} for one in (run, other)
        ]
        if not all(digests) or digests[0] & digests[1]:
            return other
    return None


def view_of(run: Run, split: str) -> str:
    """Where likelihoods are split in another way than questions, all of them together; "" if there are none."""
    if split in run.table:
        return split
    return OVERALL if OVERALL in run.table and split not in run.benchmark.splits else ""


def scored_of(run: Run, split: str) -> Scored | None:
    parts = run.parts or {}
    if split in parts:
        return parts[split]
    return pool(parts) if parts and (split == OVERALL or split not in run.benchmark.splits) else None


PANELS = (
    Panel(
        name="beside",
        link="Likelihoods",
        title="What it says, and what it prefers",
        table=beside,
        text="Of models whose likelihoods are among the results, too (the tasks without chat in their names).",
    ),
    Panel(
        name="preferences",
        link="No preference?",
        title="Does a model that names no preference have one?",
        table=preferences,
    ),
    Panel(name="refusals", link="Refusals", title="Refusals, by language", table=refusals),
)
METHOD = (
    (
        "Answers in words",
        "Each example is asked in several orders, so that every candidate stands equally often in every place. A "
        "share is a share of all answers; scores rest on those that name a candidate. Position bias is 0 if the three "
        "letters are named equally often and 100 if it is always the same one; agreement is how often two orders of an "
        "example get the same candidate, by lot 33 %.",
    ),
)


def shown(intro: str) -> Extras:
    return Extras(
        intro=intro,
        method=METHOD,
        panels=PANELS,
        ties_are="several candidates are named equally often",
    )
