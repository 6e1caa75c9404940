"""The tutorial names every step and option, and its rules and backend are real."""

import re
from pathlib import Path

import pytest
from stereoset_translation import rules
from stereoset_translation.cli import STEPS, make_parser

PAGE = Path(__file__).resolve().parents[2] / "docs" / "translation.md"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_step_and_option_is_in_the_tutorial(page):
    steps = next(a for a in make_parser()._actions if a.choices).choices
    assert set(steps) == set(STEPS)
    options = {o for step in steps.values() for a in step._actions for o in a.option_strings}
    missing = {o for o in options - {"-h", "--help"} if not re.search(rf"{o}\b", page)}
    assert missing == set()
    assert all(f"stereoset translate {name}" in page for name in STEPS)


def test_options_of_the_tutorial_exist(page):
    steps = next(a for a in make_parser()._actions if a.choices).choices
    for name, rest in re.findall(r"stereoset translate (\w+)(.*)", page):
        known = {o for a in steps[name]._actions for o in a.option_strings}
        assert set(re.findall(r"(--[a-z-]+)", rest.split("#")[0])) <= known, (name, rest)


def test_rules_of_the_tutorial_are_valid(page):
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    steps = rules.parse(example, "tutorial").steps
    assert [step.name for step in steps] == [step.name for step in rules.load("generic").steps]
    # Nothing of the generic rules is lost, except for the closest word, which is the tutorial's own.
    for step, generic in zip(steps, rules.load("generic").steps, strict=True):
        assert {rule.name for rule in generic.rules} <= {rule.name for rule in step.rules}
    (closest,) = steps[1].rules
    assert closest.value["skip"] == ["se stesso", "se stessa"]
    assert [rule.name for rule in steps[0].rules][-1] == "performing artist, plural"


def test_links_of_the_tutorial_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)\)", page):
        assert (PAGE.parent / link).exists(), link
