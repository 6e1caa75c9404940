"""StereoSet's data by split and language, for Python users and tests; see data/store.py."""

from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.store import Dataset


def load(split: str, language: str, data: str | Path | None = None) -> Dataset:
    """load("intra", "de"): the data folder, fetched if it is missing; data="sample": what comes with the package."""
    return store.load(BENCHMARK, split, language, data)
