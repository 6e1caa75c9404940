"""The documentation of the report keeps in step with the command."""

import re
from pathlib import Path

from lm_eval_stereoset.cli.report import make_parser

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_option_is_documented_and_every_documented_option_exists():
    text = (DOCS / "report.md").read_text("utf-8")
    options = {
        o for action in make_parser()._actions for o in action.option_strings if o.startswith("--")
    } - {"--help"}
    assert options <= set(re.findall(r"--[a-z-]+", text))
    table = text[text.index("## Options") :]
    assert set(re.findall(r"`(?:-o`, `)?(--[a-z-]+)", table)) == options


def test_every_picture_is_there_and_is_made_by_the_script():
    names = re.findall(r"\(screenshots/(\w+)\.png\)", (DOCS / "report.md").read_text("utf-8"))
    script = (DOCS / "make_screenshots.py").read_text("utf-8")
    assert len(names) == 10
    for name in names:
        assert (DOCS / "screenshots" / f"{name}.png").stat().st_size > 10_000
        assert f'"{name}"' in script
