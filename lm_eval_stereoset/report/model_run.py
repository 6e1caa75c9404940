"""One model's results of one benchmark in one language: the unit that everything in a report is made of."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import OVERALL, Benchmark
from lm_eval_stereoset.benchmarks.evaluation import Scored, Table

LONGEST_NAME = 200


def shown_name(name: str) -> str:
    """A name as pages, tables and terminals can show it: one line, no control characters, not endless."""
    text = name.encode("utf-8", "replace").decode()  # half a character cannot be written
    text = "".join(" " if letter.isspace() else letter for letter in text)
    text = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) == "Cc" else c for c in text
    ).strip()
    if len(text) > LONGEST_NAME:
        text = f"{text[: LONGEST_NAME - 51]}…{text[-50:]}"
    return text or "unnamed"


def joined(texts: Iterable[str | None]) -> str | None:
    """Each text once; None where there is none."""
    return " and ".join(sorted({text for text in texts if text})) or None


@dataclass
class Run:
    benchmark: Benchmark
    model: str  # as shown; unique together with benchmark and language
    language: str
    source: str  # the file or folder it was read from
    table: Table  # {split: {group: {metric: value}}}
    parts: dict[str, Scored] | None = None  # None: results without the answers to single examples
    variant: str | None = None  # told apart by this if a model occurs twice in a language
    # Set if results under one name are of different models: what tells this one apart.
    apart: str | None = None
    scoring: str | None = None  # how it was scored, in the words of published file names
    # By split, or for OVERALL where the input says it once for all of them; nothing where it does not say.
    scorers: dict[str, str] = field(default_factory=dict)  # in the words of published file names
    normalisers: dict[str, str] = field(default_factory=dict)
    quantities: dict[str, str] = field(
        default_factory=dict
    )  # what candidates were compared by, as the model said
    data: dict[str, dict[str, Any]] = field(default_factory=dict)  # split: provenance
    complete: dict[str, int] = field(default_factory=dict)  # split: examples in the whole data
    unlike_data: list[str] = field(default_factory=list)  # scored with other data than they were made from
    from_predictions: bool = False
    identity: Any = None  # of the model, where its prediction file says it
    notes: list[str] = field(default_factory=list)  # shown to the reader, in plain words

    def __post_init__(self) -> None:
        self.model = shown_name(self.model)
        self.base = self.model  # before a variant is added

    @property
    def label(self) -> str:
        return f"{self.model}, {self.language}"

    @property
    def normaliser(self) -> str | None:
        return joined(self.normalisers.values())

    @property
    def quantity(self) -> str | None:
        return joined(self.quantities.values())

    def said_of(self, view: str, said: dict[str, str]) -> str | None:
        """What the input says of a split, or of all of them; `said` is one of the three above."""
        if view in self.benchmark.splits and view in said:
            return said[view]
        return joined(said.values()) if view == OVERALL else said.get(OVERALL)

    def compared_by(self, view: str) -> str | None:
        """What the candidates of a split, or of all splits, were compared by."""
        return self.said_of(view, self.quantities) or self.said_of(view, self.scorers)

    @property
    def caution(self) -> str | None:
        """What the benchmark says must be said beside these numbers."""
        view = next((view for view in self.benchmark.views if view in self.table), None)
        found = self.benchmark.remark(self.table[view].get(OVERALL, {})) if view else None
        return f"{self.label}: {found}." if found else None

    def value(self, split: str, group: str, metric: str) -> float:
        """NaN where the input has no such number."""
        return self.table.get(split, {}).get(group, {}).get(metric, float("nan"))

    def overall(self, split: str, metric: str) -> float:
        """Of all groups together."""
        return self.value(split, OVERALL, metric)
