"""What is written in several places agrees."""

import re
from pathlib import Path

import yaml

from lm_eval_stereoset import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def test_the_server_runs_the_pythons_that_the_package_names():
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
    versions = workflow["jobs"]["tests"]["strategy"]["matrix"]["python-version"]
    assert versions == re.findall(r"Python :: (3\.\d+)", PROJECT)
    low, high = re.findall(r'requires-python = ">=(3\.\d+),<3\.(\d+)"', PROJECT)[0]
    assert (versions[0], versions[-1]) == (low, f"3.{int(high) - 1}")


def test_the_version_is_the_same_everywhere():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == __version__
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
    assert newest[1] == __version__


def test_the_line_length_is_written_once():
    assert len(re.findall(r"line-length", PROJECT)) == 1


def test_checks_before_a_commit_are_commands_that_exist():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    named = {path for hook in hooks for path in re.findall(r"[\w/]+\.py", hook["entry"])}
    assert {"tasks/generate.py", "docs/make_cli.py"} <= named
    assert all((ROOT / path).is_file() for path in named)
