"""Every reader of YAML that users write refuses the same damage, in one line that opens with the file's name."""

import ast
from pathlib import Path

import pytest
from stereoset_translation import rules as translation_rules

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.gest.mt import rules as gest_rules
from lm_eval_stereoset.chat import wording
from lm_eval_stereoset.decisions.limits import read_config
from lm_eval_stereoset.decisions.publishing import updated_card
from lm_eval_stereoset.errors import UserError
from nsp_finetune.settings import read_yaml

ROOT = Path(__file__).resolve().parents[1]
DAMAGED = {
    "an impossible date": "language: 2026-13-45",
    "5,000 digits": "language: 1" + "0" * 5000,
    "not a number": "language: !!int abc",
    "nested deeply": "language: " + "[" * 600,
    "within itself": "language: &a [*a]",
    "a tag that runs code": "language: !!python/object/apply:os.mkdir [executed]",
    "cut off": "language: [",
    "NUL": "language: \0",
}


def read_card(path: Path) -> None:
    updated_card(f"---\n{path.read_text()}\n---\n", str(path), [], "model", [])


READERS = {
    "gate": read_config,
    "publish": read_card,
    "chat": lambda path: wording.read(benchmarks.find("stereoset_chat").words.form, path, "de"),
    "gest-mt": lambda path: gest_rules.load("sk", path),
    "translate": lambda path: translation_rules.load("de", path),
    "train": lambda path: read_yaml(str(path)),
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("reader", READERS)
def test_damaged_yaml_is_one_line(reader, damage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "own.yaml"
    path.write_text(DAMAGED[damage])
    with pytest.raises(UserError) as raised:
        READERS[reader](path)
    assert str(raised.value).startswith(str(path))
    assert not (tmp_path / "executed").exists()


def test_no_file_of_users_is_read_around_it():
    """`yaml.safe_load` lets the errors of int() and datetime() through, and follows aliases without an end."""
    calls = [
        (path.name, ast.unparse(node.args[0]))
        for package in ("lm_eval_stereoset", "nsp_finetune", "translation/stereoset_translation")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("yaml.safe_load", "yaml.load")
    ]
    of_users = [
        name for name, read in calls if not read.partition(".")[0].isupper()
    ]  # a constant is a file of ours
    assert of_users == ["settings.py"]  # which looks at the table of single values before it builds them
