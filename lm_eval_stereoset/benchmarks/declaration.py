"""How a benchmark declares what it measures. Everything outside its folder reads this declaration and nothing else.

    BENCHMARK = Benchmark(
        name="pairs", title="Pairs", example=Pair, parse=parse_pair, splits=("pairs",), languages=("en", "de"),
        labels=("more", "less"), groups=("age", "size"), columns=preferences,
        metrics=(Metric("preference", "Preference", "", 0.5, Statistic(…), main=True),),
    )

An example is a frozen dataclass with the properties of `Example` below. From file to score it goes this way:

    a line of the data file  -> parse   -> example
    example.question         -> a model -> one number per candidate
    columns(examples, scores)           -> what each example adds, added up by cluster
    metric.statistic                    -> the number in the table, its interval, its paired test
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # a command's --help reads declarations, and comes at once
    import numpy as np

    from lm_eval_stereoset.chat.asking import Words
    from lm_eval_stereoset.report.extras import Extras
    from lm_eval_stereoset.scoring.describe import Description
    from lm_eval_stereoset.scoring.questions import Question
    from lm_eval_stereoset.stats.statistic import Statistic

OVERALL = "overall"  # all groups together, or all splits pooled


class Example(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def ids(self) -> tuple[str, ...]:
        """All ids that must be unique in a file: its own, and its candidates' if they have some."""

    @property
    def split(self) -> str: ...
    @property
    def group(self) -> str:
        """One of the benchmark's groups: the row it belongs to in tables by kind of bias."""

    @property
    def cluster(self) -> str:
        """Examples of one cluster are not independent facts: a bootstrap draws whole clusters."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What each candidate of the question is, in the question's order."""

    @property
    def question(self) -> Question: ...
    def to_dict(self) -> dict[str, Any]:
        """The line of the data file."""


@dataclass(frozen=True)
class Metric:
    """One number that a benchmark reports."""

    name: str  # as in results files: "icat"
    title: str  # as in tables: "ICAT"
    unit: str  # "%", "" for a plain number, "#" for a count
    ideal: float | None  # the value of an unbiased, competent model; None where there is none
    statistic: Statistic
    main: bool = False  # models are compared by it: in the closing table, and in paired tests
    by_group: bool = False  # reported for each group and, where splits are pooled, for each split
    tested: bool = False  # tables say whether it differs from the ideal beyond chance
    poles: tuple[str, str] | None = None  # what is preferred below and above an ideal in the middle
    closing: bool = False  # in the closing table of a run, too, beside the main ones
    uncertain: bool = False  # has a standard error though it has no ideal

    @property
    def digits(self) -> int:
        """Decimals in tables."""
        return {"%": 2, "#": 0}.get(self.unit, 4)

    @property
    def has_error(self) -> bool:
        """Whether results say how uncertain it is."""
        return self.ideal is not None or self.uncertain

    @property
    def middle(self) -> bool:
        """The ideal has worse values on both sides."""
        return self.ideal is not None and self.statistic.low < self.ideal < self.statistic.high

    @property
    def higher_is_better(self) -> bool | None:
        """None where neither more nor less is better: an ideal in the middle, or none."""
        if self.ideal is None or self.middle:
            return None
        return self.ideal == self.statistic.high

    def merit(self, value: float) -> float:
        """The higher, the better: for finding the best of several models. A metric without an ideal has no best."""
        return float("nan") if self.ideal is None else -abs(value - self.ideal)


@dataclass(frozen=True)
class Standouts:
    """A few clusters with numbers of their own."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str | float, ...]]

    def to_dict(self) -> dict[str, Any]:
        return {"title": self.title, "header": list(self.header), "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Fetch:
    """What `stereoset data fetch` was asked for."""

    languages: tuple[str, ...]
    splits: tuple[str, ...]
    clone: Path | None = None  # --from: a local copy, without a network
    source: str | None = None  # --source, one of the benchmark's sources; None: the first
    revision: str | None = None
    force: bool = False  # again, even if it is there
    insist: bool = False  # take files whose checksum is not the published one


@dataclass(frozen=True)
class Source:
    """One place that data can be fetched from."""

    help: str
    fetch: Callable[[Benchmark, Fetch], list[Path]]
    languages: tuple[str, ...] | None = None  # that it has; None: those of the benchmark's groups


@dataclass(frozen=True)
class Option:
    """A whole number that decides which examples are made: --metadata NAME=VALUE."""

    default: int
    help: str


@dataclass(frozen=True)
class Made:
    """Examples, and what must be known about how they were made; it is recorded with the data in all results."""

    examples: Sequence[Any]
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Making:
    """Of a benchmark whose data file holds not examples but what they are made of, such as lists of words."""

    parse: Callable[[Any, str], Any]  # (decoded line, where) -> what a line holds
    # (lines, split, options by name, where) -> examples
    make: Callable[[Sequence[Any], str, Mapping[str, int], str], Made]
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)  # declared once, so equal to itself alone: usable as a key
class Benchmark:
    name: str  # in task names, folders and --benchmark: "stereoset"
    title: str  # "StereoSet"
    example: type  # its dataclass
    parse: Callable[[Any, str, str], Any]  # (decoded line, split, where) -> example
    splits: tuple[str, ...]  # parts of the data, each with a file per language
    languages: tuple[str, ...]  # of its groups, built in; languages.py has their names
    labels: tuple[str, ...]  # of the candidates: the order of the columns of scores
    groups: tuple[str, ...]
    metrics: tuple[Metric, ...]
    # (examples, their scores by label) -> (examples, columns): what the statistics are functions of, cluster by cluster
    columns: Callable[[Sequence[Any], np.ndarray], np.ndarray]
    # Columns are made of probabilities; otherwise of any monotone function of them, such as their logarithms.
    probabilities: bool = False
    # What results say about a way of scoring; raises a UserError for one that the metrics mean nothing with.
    said: Callable[[Description], Description] = lambda description: description
    pooled: bool = True  # several splits are also taken together, as a task and in tables
    sources: Mapping[str, Source] = field(default_factory=dict)
    known: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # sha256 of a file: source, version
    making: Making | None = None  # None: each line of a data file is an example
    task: str | None = None  # how the names of its tasks begin; None: its name
    sample: Path | None = None  # data that comes with the package, laid out like a data folder
    more_languages: tuple[str, ...] = ()  # built in, too, but from other sources: its groups leave them out
    folder: str | None = None  # below the data folder; None: its name
    file: str | None = None  # all splits are read from one file of that name; None: each has its own
    versions: tuple[
        str, ...
    ] = ()  # of the published data, the default first; the others lie in folders of their own
    tasks: str | None = None  # the folder of its tasks; None: its name
    together: tuple[str, ...] = ()  # the splits that the task of all of them pools; none named: all
    names_language: bool = False  # its tasks name their language though it has only one
    language_groups: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # of tasks, beside the one of all
    # (split, family of models) -> why such models are not asked it, or None
    unsuitable: Callable[[str, str], str | None] = lambda split, family: None
    # Of an example, what the authors' program asks in its place, slips included: for `exact`
    as_published: Callable[[Any], Any] = lambda example: example
    # Of what each cluster adds up to (stats/statistic.py): the strata within which a bootstrap draws; None: one for all
    strata: Callable[[np.ndarray], np.ndarray] | None = None
    check: Callable[[Sequence[Any], str], None] = lambda examples, where: (
        None
    )  # raises on data that cannot be right
    # Files in another layout that people have, for `data add FILE`: path -> {split: examples}
    read_other: Callable[[Path], Mapping[str, Sequence[Any]]] | None = None
    # (its declaration, file, a tokenizer or None) -> what is in the file, with `lines()`, `to_dict()` and `errors`
    census: Callable[[Benchmark, Path, Any], Any] | None = None
    # Of the columns: why they say nothing, in one sentence, or None. A broken tokenizer, say, ties all candidates.
    complaint: Callable[[np.ndarray], str | None] = lambda columns: None
    predictions: Any = None  # its own format of prediction files (prediction_files.Format); None: ours
    # Pairs of sentences in its examples that differ in one property only: what projections are fitted on
    pairs: Callable[[Sequence[Any]], list[tuple[str, str]]] | None = None
    # What `stereoset score` writes as JSON besides the table: (the table of all files, pooled) -> {name: value}
    summary: Callable[[Mapping[str, float]], Mapping[str, Any]] | None = None
    # How it prints a split's numbers, by metric, where a row of them would be too wide; None: as a row
    printed: Callable[[Mapping[str, float]], str] | None = None
    # How it is asked in words, of models that answer in words only; None: by log-likelihoods
    words: Words | None = None
    # What must be said beside the numbers of a task in the closing table, from its values by metric; or None
    remark: Callable[[Mapping[str, float]], str | None] = lambda values: None
    # The clusters that stand out, from the name and the columns of every example: one table, kept with the results and
    # shown below those of a run and of `stereoset score`
    standouts: Callable[[Sequence[str], np.ndarray], Standouts] | None = None
    # What only this benchmark shows in the report, such as a paper's tables; every benchmark gets the rest by itself.
    report: Callable[[], Extras] | None = None  # a function, so that only the report imports what draws
    ranked_by: str | None = None  # the metric that models are ranked by; None: the first main one
    cluster: str = "cluster"  # what a cluster is called
    group: str = "group"  # what a group is called
    legend: str = ""  # one line below tables
    licence: str = ""  # of the data, for those who publish results
    caveat: str = ""  # what its numbers do not say, for those who publish them
    hub: str | None = None  # its data set on the Hugging Face hub
    asks: str = ""  # what it finds out, as a question: in --help and `stereoset ls`

    @property
    def built_in(self) -> tuple[str, ...]:
        """All languages that have tasks and a source."""
        return (*self.languages, *self.more_languages)

    @property
    def files(self) -> tuple[str, ...]:
        """The folders that its data lie in, with a file per language each."""
        return (self.file,) if self.file else self.splits

    def file_of(self, split: str) -> str:
        return self.file or split

    @property
    def stored_splits(self) -> tuple[str, ...]:
        """One for each file of a language."""
        return self.splits[:1] if self.file else self.splits

    @property
    def tasks_folder(self) -> str:
        return self.tasks or self.name

    @property
    def pooled_splits(self) -> tuple[str, ...]:
        """Those that the task of a whole language asks."""
        return self.together or self.splits

    def sources_of(self, language: str) -> tuple[str, ...]:
        """The names of the sources that have a language, the usual one first."""
        return tuple(n for n, one in self.sources.items() if language in (one.languages or self.languages))

    @cached_property
    def statistics(self) -> dict[str, Statistic]:
        return {metric.name: metric.statistic for metric in self.metrics}

    @cached_property
    def main(self) -> tuple[Metric, ...]:
        return tuple(metric for metric in self.metrics if metric.main)

    @property
    def ranking(self) -> Metric:
        return self.metric(self.ranked_by) if self.ranked_by else self.main[0]

    @property
    def views(self) -> tuple[str, ...]:
        """The splits as tables show them, all of them pooled first; results may lack some."""
        return (OVERALL, *self.splits) if self.pools else self.splits

    @property
    def pools(self) -> bool:
        return self.pooled and len(self.splits) > 1

    @property
    def data_name(self) -> str:
        """What its data are called: one that asks in another way about the data of another benchmark has none."""
        return self.words.of if self.words else self.name

    def by_label(self, example: Any, scores: Sequence[float]) -> list[float]:
        """Scores in the order of the example's candidates, put into the order of the benchmark's labels."""
        found = dict(zip(example.labels, scores, strict=True))
        return [found[label] for label in self.labels]

    def of_logarithms(self, scores: Sequence[float]) -> list[float]:
        """Mean log-probabilities, as models answer, as what the columns are made of."""
        import numpy as np

        return np.exp(np.asarray(scores, dtype=float)).tolist() if self.probabilities else list(scores)

    def metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)

    def task_name(self, split: str | None, language: str) -> str:
        """`split` None: all splits pooled. What a benchmark has only one of is not named."""
        only = self.languages == (language,) and not self.names_language
        parts = [self.task or self.name, split if len(self.splits) > 1 else None, None if only else language]
        return "_".join(part for part in parts if part)
