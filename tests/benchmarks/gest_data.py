"""GEST's and EuroGEST's data for tests: the real ones, fetched once from the clones beside the project."""

from pathlib import Path

import pytest

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Fetch

GEST, EUROGEST = benchmarks.find("gest"), benchmarks.find("eurogest")


def fetch_all(folder: Path, shared: Path) -> Path:
    """A data folder with both versions of GEST and all 29 languages of EuroGEST."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEREOSET_DATA", str(folder))
        for benchmark, name in ((GEST, "gest"), (EUROGEST, "EuroGEST")):
            wanted = Fetch(benchmark.languages, benchmark.splits, shared / "upstream" / name)
            benchmark.sources["authors"].fetch(benchmark, wanted)
    return folder
