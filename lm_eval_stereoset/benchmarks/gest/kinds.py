"""What the report shows of GEST, of EuroGEST and of translations: the same picture of other numbers.

Each has a number per stereotype, its mean over the stereotypes about women and over those about men, how far the two
are apart, and the ranks of the stereotypes.
"""

import math
from dataclasses import dataclass

import numpy as np

from lm_eval_stereoset.benchmarks.gest.stereotypes import NUMBERS
from lm_eval_stereoset.report.model_run import Run

RANK = "feminine_rank"


@dataclass(frozen=True)
class Kind:
    one: str  # of a single stereotype: one_1 to one_16
    women: str  # mean of the stereotypes about women
    men: str
    rate: str  # how far men's are above women's
    middle: float  # of `one`: neither gender is preferred
    what: str  # on axes: what `one` says
    ranked: str  # what the ranks are of
    undefined: str  # why a stereotype has no number

    @property
    def by_stereotype(self) -> tuple[str, ...]:
        return (*_numbered(self.one), *_numbered(RANK))

    def values(self, run: Run, split: str, end: str = "") -> np.ndarray:
        """(16,); `end`: "_low" or "_high" of the intervals."""
        return np.array([run.overall(split, f"{name}{end}") for name in _numbered(self.one)])

    def ranks(self, run: Run, split: str, end: str = "") -> np.ndarray:
        """(16,): 1 for the stereotype that is made the least masculine."""
        return np.array([run.overall(split, f"{name}{end}") for name in _numbered(RANK)])

    def shown(self, runs: list[Run], split: str) -> list[Run]:
        """Those that have a number for at least one stereotype."""
        return [run for run in runs if not all(map(math.isnan, self.values(run, split)))]


def _numbered(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_{i}" for i in NUMBERS)


TOO_FEW = "fewer than 10 examples"
GEST = Kind("q", "q_f", "q_m", "g_s", 0.0, "mean log10 p(masculine) - log10 p(feminine)", "q", TOO_FEW)
EUROGEST = Kind(
    "r", "r_f", "r_m", "g_s_ratio", 0.5, "mean p(masculine) / (p(masculine) + p(feminine))", "q", TOO_FEW
)
TRANSLATION = Kind(
    "p", "p_f", "p_m", "f_s", 0.5, "share of masculine translations", "p", "no translation shows a gender"
)
