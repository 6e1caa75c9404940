"""Rules from elsewhere: patterns that would run for hours, YAML that would fill the memory."""

import re
import sys
import time

import pytest
import yaml
from stereoset_translation import rules
from stereoset_translation.columns import texts
from stereoset_translation.folder import Folder
from stereoset_translation.patterns import substitute
from translation_examples import english_examples

from lm_eval_stereoset.errors import UserError


def rules_file(tmp_path, **rule):
    path = tmp_path / "rules.yaml"
    content = {"steps": [{"name": "mine", "rules": [{"name": "a rule of mine", **rule}]}]}
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return path


@pytest.mark.parametrize("pattern", [r"(?:\w|\w\w|\s)+[#!]", r"(?:.|.)*[#!]$"])
def test_a_catastrophic_pattern_is_stopped_and_named(work, translate, tmp_path, pattern):
    before = {p: p.read_bytes() for p in (tmp_path / "it").rglob("*.jsonl")}
    started = time.monotonic()
    code, _, err = translate("repair", *work, "--rules", rules_file(tmp_path, regex={pattern: "x"}))
    assert time.monotonic() - started < 60  # a busy machine; without a limit it would be hours
    assert (code, len(err.splitlines())) == (2, 1)
    assert "rule 'a rule of mine', intra example a" in err
    assert "takes more than 1 s for the text" in err
    assert {p: p.read_bytes() for p in (tmp_path / "it").rglob("*.jsonl")} == before


@pytest.mark.parametrize(
    "rule",
    [
        {"replace": {"o": "oo" * 4000}},
        {"regex": {"": "x"} | {f"(?#{i})o": "ooooo" for i in range(20)}},
        {"regex": {f"(?#{i})(.)": r"\1\1" for i in range(40)}},
    ],
)
def test_rules_that_make_a_text_grow_without_end_are_stopped(work, translate, tmp_path, rule):
    if "regex" in rule:
        rule["regex"].pop("", None)
    code, _, err = translate("repair", *work, "--rules", rules_file(tmp_path, **rule))
    assert (code, len(err.splitlines())) == (2, 1)
    assert "it makes a text of" in err


def laughs(levels: int, line: str) -> str:
    names = "abcdefghijklmnop"
    inner = "".join(line.format(new=names[i + 1], old=f"*{names[i]}") for i in range(levels))
    return f"a: &a {{k: v}}\n{inner}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (laughs(9, "{new}: &{new} [{old}, {old}, {old}, {old}, {old}, {old}, {old}, {old}]\n"), "too many"),
        (laughs(9, "{new}: &{new} {{<<: [{old}, {old}, {old}, {old}, {old}, {old}, {old}, {old}]}}\n"), "too many"),
        ("steps: &a [*a]\n", "within itself"),
        ("[" * 10_000, "nested too deeply"),
        ("steps: " + "[" * 10_000 + "]" * 10_000, "nested too deeply"),
        ("".join(" " * i + "a:\n" for i in range(700)), "nested too deeply"),
        ("steps: [2024-13-45]\n", "month must be in"),
        ("steps: " + "9" * 5000, "cannot be read"),
        ("steps: !!timestamp x\n", "cannot be read"),
        ("steps: !!python/object/apply:os.system [touch x]\n", "could not determine a constructor"),
        ('steps: ["\\ud800"]\n', "lone surrogate"),
        ("steps: []\nsteps: []\n", "has the key 'steps' twice"),
        ("a" * 300_001, "too many for a file"),
        ("? [a]\n: b\n", "unhashable"),
        ("steps: [{name: 5, rules: []}]", "name of a step must be a text"),
        ("\0", "special characters"),
        ("steps: [{name: x, rules: [{name: r, regex: {'(?:(?:a{1000}){1000}){1000}': b}}]}]", "too many"),
        ("steps: [{name: x, rules: [{name: r, regex: {a: '\\2'}}]}]", "does not go with"),
        ("steps: [{name: x, rules: [{name: r, keep: '\\'}]}]", "not a regular expression"),
    ],
)  # fmt: skip
def test_hostile_yaml_is_one_line_in_bounded_time(translate, work, tmp_path, content, says):
    path = tmp_path / "rules.yaml"
    path.write_text(content, encoding="utf-8")
    started = time.monotonic()
    code, _, err = translate("repair", *work, "--rules", path)
    assert time.monotonic() - started < 60  # a busy machine; without a limit it would be hours
    assert (code, len(err.splitlines())) == (2, 1)
    assert says in err
    assert len(err) < 1000


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", "steps: [ä]".encode("latin-1"), "steps: []".encode("utf-16")]
)
def test_rules_in_another_encoding_are_one_line(translate, work, tmp_path, content):
    path = tmp_path / "rules.yaml"
    path.write_bytes(content)
    code, _, err = translate("repair", *work, "--rules", path)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "not UTF-8" in err


def test_rules_with_a_byte_order_mark_windows_line_ends_and_aliases_are_read():
    text = "\ufeffsteps:\r\n- name: a\r\n  rules: &r []\r\n- name: b\r\n  rules: *r\r\n"
    assert [step.name for step in rules.parse(text.removeprefix("\ufeff"), "x").steps] == ["a", "b"]


def shipped_patterns():
    for name in ("generic", "de"):
        for step in rules.load(name).steps:
            for rule in step.rules:
                if rule.action == "regex":
                    yield from rule.value.items()
                if rule.action == "keep":
                    yield f"[^{rule.value}]", ""


def test_the_rules_that_come_with_us_do_the_same_as_with_re(shared):
    """`regex` stands in for `re` because it can be stopped; no text may come out otherwise."""
    assert len(list(shipped_patterns())) == 4
    folder = shared / "translation" / "raw_translations"
    odd = [
        'Türkiye"de',
        "a„b",
        "«Blank»",
        "BLANK",
        "blank\u00a0Blank",
        "\u2007ſ\u017f",
        "İI ıi",
        "ß ẞ",
        "",
        "\n\r\u2028",
    ]
    some = [t for e in english_examples()["intra"] for _, t in texts(e)]
    for language in ("de", "fr", "es", "tr"):
        for examples in Folder(folder, language).read().values():
            some += [text for example in examples[::7] for _, text in texts(example)]
    for pattern, after in shipped_patterns():
        for text in {*some, *odd}:
            assert substitute(pattern, after, text) == re.sub(pattern, after, text)


def test_without_sentencepiece_the_pip_command_is_named(translate, english, tmp_path, monkeypatch):
    from transformers import AutoTokenizer

    def needs_it(*_, **__):
        raise ImportError("MarianTokenizer requires the SentencePiece library but it was not found")

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", needs_it)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    options = (
        "--to",
        "it",
        "--data",
        english,
        "--dir",
        tmp_path / "it",
        "--backend",
        "hf",
        "--model",
        tmp_path,
    )
    code, _, err = translate("run", *options)
    assert code == 2
    assert (
        'needs the package sentencepiece; install it with: pip install "lm-eval-stereoset[translate]"' in err
    )


def test_a_replacement_that_re_refuses_is_refused():
    with pytest.raises(UserError, match="does not go with"):
        rules.parse(
            yaml.safe_dump({"steps": [{"name": "s", "rules": [{"name": "r", "regex": {"a": r"\777"}}]}]}), "x"
        )
