"""All runs of a report together, in the order in which every table and plot shows them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lm_eval_stereoset.benchmarks.evaluation import pool
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.benchmarks.stereoset.metrics import class_means, outcomes
from lm_eval_stereoset.languages import LANGUAGES
from lm_eval_stereoset.report.comparisons import Comparison, compare_all
from lm_eval_stereoset.report.notices import Notice, notices
from lm_eval_stereoset.report.run import ALL_SPLITS, Run


@dataclass(frozen=True)
class Target:
    name: str  # the English term
    bias_type: str


@dataclass(frozen=True)
class Study:
    runs: list[Run]
    models: list[str]
    languages: list[str]
    targets: list[Target]  # by bias type, then by name; empty without samples
    comparisons: list[Comparison]
    notices: list[Notice]

    def find(self, model: str, language: str) -> Run | None:
        return next((r for r in self.runs if (r.model, r.language) == (model, language)), None)

    def splits(self) -> list[str]:
        """Those that at least one run has."""
        return [split for split in ALL_SPLITS if any(split in run.table for run in self.runs)]

    def target_ss(self, run: Run, split: str) -> tuple[np.ndarray, np.ndarray]:
        """SS and number of examples of each target; NaN and 0 where there are none."""
        values, counts = np.full(len(self.targets), np.nan), np.zeros(len(self.targets), dtype=int)
        parts = run.parts or {}
        if split == "overall" and set(SPLITS) <= set(parts):
            scored = pool(parts)
        elif split in parts:
            scored = parts[split]
        else:
            return values, counts
        place = {target.name: i for i, target in enumerate(self.targets)}
        names, frequency = np.unique(scored.targets, return_counts=True)
        index = [place[name] for name in names]
        values[index] = 100 * class_means(outcomes(scored.scores).ss, scored.targets)
        counts[index] = frequency
        return values, counts


def language_name(code: str) -> str:
    return LANGUAGES[code].name if code in LANGUAGES else code


def build(runs: Sequence[Run], progress: Callable[..., Iterable] = list) -> Study:
    found = {run.language for run in runs}
    languages = [code for code in LANGUAGES if code in found] + sorted(found - set(LANGUAGES))
    models = list(dict.fromkeys(run.model for run in runs))
    ordered = sorted(runs, key=lambda run: (models.index(run.model), languages.index(run.language)))
    bias_types = {
        example.target_original: example.bias_type
        for run in ordered
        for scored in (run.parts or {}).values()
        for example in scored.examples
    }
    targets = sorted(
        (Target(*item) for item in bias_types.items()), key=lambda t: (t.bias_type, t.name.casefold(), t.name)
    )
    comparisons = compare_all(ordered, progress)
    return Study(ordered, models, languages, targets, comparisons, notices(ordered, comparisons))
