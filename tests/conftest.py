"""Fixtures for all tests. Material beside the project (real data, golden scores) is optional."""

import logging
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("STEREOSET_SHARED", ROOT.parent / "shared"))

# Nothing in a test may wait for a network, and results must not depend on the machine's threads.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # threads of several workers wait for each other by spinning


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data, golden scores and expected tables."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the material in {SHARED} (STEREOSET_SHARED), which is not there")
    return SHARED


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path, monkeypatch) -> Path:
    """Every test has a data folder of its own, so none touches the user's."""
    folder = tmp_path / "stereoset-data"
    monkeypatch.setenv("STEREOSET_DATA", str(folder))
    return folder


@pytest.fixture(autouse=True)
def levels_of_our_loggers():
    """A command is a process of its own and may quieten a logger for good; here the next test would not hear it."""
    ours = [name for name in logging.root.manager.loggerDict if name.startswith("lm_eval_stereoset")]
    before = {name: logging.getLogger(name).level for name in ours}
    yield
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("lm_eval_stereoset")]:
        logging.getLogger(name).setLevel(before.get(name, logging.NOTSET))


@pytest.fixture(scope="session")
def clone(shared) -> Path:
    """A folder laid out like the authors' repository."""
    return shared / "upstream" / "stereotypes-multi"


@pytest.fixture(scope="session")
def fetched(clone, tmp_path_factory) -> Path:
    """A data folder with all ten files, fetched once. Read only."""
    from lm_eval_stereoset.benchmarks.declaration import Fetch
    from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
    from lm_eval_stereoset.benchmarks.stereoset.fetch import fetch_authors

    folder = tmp_path_factory.mktemp("fetched")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEREOSET_DATA", str(folder))
        fetch_authors(BENCHMARK, Fetch(BENCHMARK.languages, BENCHMARK.splits, clone))
    return folder


@pytest.fixture
def real_data(fetched, monkeypatch) -> Path:
    """Points the package at the real data."""
    monkeypatch.setenv("STEREOSET_DATA", str(fetched))
    return fetched


def make_example(number: int, split: str = "intra", **changes) -> dict:
    """One valid line of the canonical format; candidates in the order stereotype, anti-stereotype, unrelated."""
    candidates = []
    for label in ("stereotype", "anti-stereotype", "unrelated"):
        candidate = {
            "id": f"{split}-{number}-{label}",
            "label": label,
            "sentence": f"The cook was {label}{number}.",
        }
        if split == "intra":
            candidate["word"] = f"{label}{number}"
        candidates.append(candidate)
    example = {
        "id": f"{split}-{number}",
        "target": "cook",
        "target_original": f"cook{number % 3}",
        "bias_type": ("gender", "profession", "race", "religion")[number % 4],
        "context": "The cook was BLANK." if split == "intra" else "The cook came in.",
        "candidates": candidates,
    }
    return example | changes


@pytest.fixture
def example_line():
    return make_example
