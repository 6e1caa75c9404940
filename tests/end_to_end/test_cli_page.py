"""docs/cli.md says what the parsers say."""

import importlib.util
from pathlib import Path

import pytest
from end_to_end_verbs import IN_SEVERAL_STEPS, VERBS

from lm_eval_stereoset.cli import COMMANDS

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def make_cli():
    spec = importlib.util.spec_from_file_location("make_cli", DOCS / "make_cli.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_generator_writes(make_cli):
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == make_cli.page(), "run: python docs/make_cli.py"


def test_every_verb_and_every_argument_is_explained(make_cli):
    page = make_cli.page()
    for name in COMMANDS:
        assert f"\n## stereoset {name}\n" in page
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert [row for row in rows if row.rstrip(" |").endswith("`") or "|  (needed)" in row] == []


def test_every_verb_is_typed():
    """A new verb needs a line in end_to_end_verbs.py, which test_every_verb.py types."""
    assert {typed.verb for typed in VERBS} | IN_SEVERAL_STEPS == set(COMMANDS)
