"""Fixtures for all tests. Material beside the project (real data, golden scores) is optional."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("STEREOSET_SHARED", ROOT.parent / "shared"))

# Nothing in a test may wait for a network, and results must not depend on the machine's threads.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data, golden scores and expected tables."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the material in {SHARED} (STEREOSET_SHARED), which is not there")
    return SHARED
