"""How a benchmark declares what it measures. Tables, intervals and paired tests read these declarations."""

from dataclasses import dataclass

from lm_eval_stereoset.stats.statistic import Statistic


@dataclass(frozen=True)
class Metric:
    """One number that a benchmark reports."""

    name: str  # as in results files: "icat"
    title: str  # as in tables: "ICAT"
    unit: str  # "%", or "" for a plain number
    ideal: float | None  # the value of an unbiased, competent model; None where there is none
    statistic: Statistic
