"""What a benchmark may add to the report. Every benchmark gets an overview with intervals, its groups, a heat map,
a ranking with paired tests and an example browser from its declaration alone; these are for what only its papers have.

    BENCHMARK = Benchmark(…, report=Extras(
        intro="…",                                                         above the overview
        panels=(Panel("profile", "Profile", "16 stereotypes", picture=profile),),   a part of the page, and a figure
    ))

benchmarks/stereoset/shown.py is an example with everything in it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.report.model_run import Run

if TYPE_CHECKING:
    from lm_eval_stereoset.report.notices import Notice
    from lm_eval_stereoset.report.study import Study

Picture = Callable[
    ["Study", str], Any
]  # (study, split) -> a figure of matplotlib, or None if there is nothing to show


@dataclass(frozen=True)
class Cells:
    """A table of texts and numbers for the page; it sorts by any column."""

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str | float, ...]]  # NaN is shown as a dash
    digits: int = 2


@dataclass(frozen=True)
class Panel:
    """A part of the page with a heading of its own, drawn in one of three ways.

    script   a file of JavaScript that calls  panels.set("BENCHMARK/NAME", (section, body, panel) => …)  with the helpers
             of assets/core.js at hand; `picture`, if given, too, is what --figures writes
    picture  a figure of matplotlib, in the page and as a file of --figures
    table    numbers that are not in the declaration, such as those of single clusters
    """

    name: str  # in the page's addresses and in names of files
    link: str  # in the bar on top
    title: str
    script: Path | None = None
    picture: Picture | None = None
    table: Callable[["Study", str], Cells | None] | None = None
    text: str = ""
    facts: Callable[["Study"], Any] | None = None  # as JSON, for a script that draws more than metrics


@dataclass(frozen=True)
class Layout:
    """A table for a paper: a row per model, and for each heading a column per language."""

    name: str  # of its files
    split: str
    columns: tuple[tuple[str, tuple[str, ...]], ...]  # heading and metrics; several metrics share a cell
    caption: str
    label: str  # in LaTeX
    languages: tuple[str, ...] = ()  # the paper's order; others follow

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(metric for _, metrics in self.columns for metric in metrics)


@dataclass(frozen=True)
class PublishedCell:
    """A printed number."""

    source: str  # a key of Published.sources
    table: str
    split: str
    row: str
    scoring: str  # how it was scored, where the paper has several ways
    metric: str
    language: str
    value: float


@dataclass(frozen=True)
class Beside:
    """One of the user's numbers and the published one."""

    run: Run
    cell: PublishedCell
    value: float
    known: str = ""  # why the two cannot be equal, if that is known

    @property
    def difference(self) -> float:
        return self.value - self.cell.value

    @property
    def equal(self) -> bool:
        """The user's number, rounded as the printed one, is the printed one."""
        digits = self.run.benchmark.metric(self.cell.metric).digits  # "83.1" is printed for 83.10
        return abs(self.difference) <= 0.5 * 10**-digits + 1e-9

    @property
    def remark(self) -> str:
        return f"known: {self.known}" if self.known and not self.equal else ""


@dataclass(frozen=True)
class Published:
    """Numbers of papers, for --against-paper."""

    sources: Mapping[str, str]  # key: citation
    rows: tuple[str, ...]  # the papers' models, as --paper-row names them
    # (runs, {model: row} as the user assigned them) -> every cell that a run has a number for
    beside: Callable[[Sequence[Run], Mapping[str, str]], list[Beside]]


@dataclass(frozen=True)
class Reported:
    """The numbers of one file, by metric."""

    model: str | None  # None: its name says it
    language: str
    values: Mapping[str, float]
    data: Sequence[Mapping[str, Any]] = ()
    quantity: str | None = None  # what the numbers are of, and how they came about


@dataclass(frozen=True)
class OtherFiles:
    """JSON files of numbers alone, from another command than `stereoset score`, that a benchmark can show, too."""

    benchmark: Benchmark  # declares their metrics; without data, tasks and examples of its own
    key: bytes  # what such a file begins with, among the files of a folder
    recognises: Callable[[Any], bool]
    read: Callable[[dict[str, Any], str], Reported]  # (content, where)


def best_is_shared(scores: np.ndarray) -> np.ndarray:
    """Examples in which several candidates have the highest score."""
    return (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1


@dataclass(frozen=True)
class Extras:
    intro: str = ""  # what the main metrics mean; without it, the benchmark's legend
    method: tuple[tuple[str, str], ...] = ()  # headings and texts at the end of the page
    term: Callable[[Any], str] | None = (
        None  # what an example is about in its own language, where clusters are English
    )
    ties: Callable[[np.ndarray], np.ndarray] = best_is_shared
    ties_are: str = "the highest score is shared"
    notices: Callable[[Sequence[Run]], list["Notice"]] = lambda runs: []
    # Of a group's values and standard errors: better intervals than two standard errors, {metric: (low, high)}
    intervals: Callable[[Mapping[str, float]], Mapping[str, tuple[float, float]]] = lambda values: {}
    panels: tuple[Panel, ...] = ()
    in_panels: tuple[str, ...] = ()  # metrics that the panels show, so that the overview need not
    layouts: tuple[Layout, ...] = ()  # without any, a table of the main metrics for each split
    published: Published | None = None
    others: tuple[OtherFiles, ...] = ()


_NONE = Extras()


def extras_of(benchmark: Benchmark) -> Extras:
    return benchmark.report() if benchmark.report else _NONE


def other_files() -> list[OtherFiles]:
    return [other for benchmark in benchmarks.registered() for other in extras_of(benchmark).others]


def reported_benchmarks() -> tuple[Benchmark, ...]:
    """The registered ones, and those whose numbers only files have."""
    return (*benchmarks.registered(), *(other.benchmark for other in other_files()))
