"""SNLI accuracy: its rows in two layouts, those without a gold label, and the number that follows by hand."""

import json
import logging

import numpy as np
import pytest

from lm_eval_stereoset.benchmarks.evaluation import Scored, evaluate
from lm_eval_stereoset.benchmarks.snli.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.snli.example import LABELS
from lm_eval_stereoset.benchmarks.snli.rows import rows_from_hub
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError

ROWS = [
    {"gold_label": "neutral", "sentence1": "A dog runs.", "sentence2": "A dog is late.", "pairID": "a"},
    {"gold_label": "-", "sentence1": "A dog runs.", "sentence2": "n/a", "pairID": "b"},
    {"gold_label": "entailment", "sentence1": "A dog runs.", "sentence2": "It runs.", "pairID": "a"},
    {"gold_label": "contradiction", "sentence1": "A cat.", "sentence2": "No cat.", "pairID": "d"},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "snli_1.0_test.jsonl"
    path.write_text("".join(json.dumps(row | {"sentence1_parse": "(…)"}) + "\n" for row in ROWS))
    return path


def test_rows_without_a_gold_label_are_left_out_and_counted(file, caplog):
    with caplog.at_level(logging.INFO):
        found = store.load(BENCHMARK, "test", "en", file)
    assert [e.id for e in found.examples] == ["a", "a (2)", "d"]  # an id that is there twice
    assert {key: found.describe()[key] for key in ("rows", "left_out", "examples")} == {
        "rows": 4, "left_out": 1, "examples": 3,
    }  # fmt: skip
    assert "1 of 4 rows have no gold label" in caplog.text


@pytest.mark.parametrize("whole", [True, False], ids=["file", "folder"])
def test_snli_s_own_file_is_fetched(file, whole):
    assert main(["data", "fetch", "snli", "--from", str(file if whole else file.parent)]) == 0
    found = store.load(BENCHMARK, "test", "en")
    assert [e.label for e in found.examples] == ["neutral", "entailment", "contradiction"]
    assert found.provenance.source == "copied from snli_1.0_test.jsonl"
    assert found.about["left_out"] == 1


def test_the_hub_s_table_is_read(tmp_path):
    from datasets import ClassLabel, Dataset, Features, Value

    names = ["entailment", "neutral", "contradiction"]
    features = {"premise": Value("string"), "hypothesis": Value("string")}
    columns = {"premise": ["A.", "B.", "C."], "hypothesis": ["D.", "E.", "F."], "label": [0, -1, 2]}
    for folder, order in (("right", names), ("other", names[::-1])):
        (tmp_path / folder).mkdir()
        table = Dataset.from_dict(columns, features=Features(features | {"label": ClassLabel(names=order)}))
        table.to_parquet(tmp_path / folder / "test.parquet")
    found = rows_from_hub("test", repository=str(tmp_path / "right"))
    assert [(row.premise, row.label) for row in found] == [
        ("A.", "entailment"),
        ("B.", None),
        ("C.", "contradiction"),
    ]
    with pytest.raises(UserError, match="refusing to guess which is which"):
        rows_from_hub("test", repository=str(tmp_path / "other"))


def test_a_broken_row_is_one_line(file, capsys):
    file.write_text(file.read_text().replace('"neutral"', '"nope"'))
    assert main(["data", "fetch", "snli", "--from", str(file)]) == 2
    error = capsys.readouterr().err
    assert f"{file}, line 1: gold_label 'nope' is not one of entailment, neutral, contradiction" in error
    assert error.count("\n") == 1


def test_a_file_without_gold_labels_is_refused(file):
    file.write_text(json.dumps(ROWS[1]) + "\n")
    with pytest.raises(UserError, match="none of its 1 rows has a gold label"):
        store.load(BENCHMARK, "test", "en", file)


def test_accuracy_by_hand():
    examples = store.load(BENCHMARK, "test", "en", "sample").examples
    p = np.array([[0.6 if label == "entailment" else 0.2 for label in LABELS] for _ in examples])
    p[0] = [0.2 if label == examples[0].label else 0.4 for label in LABELS]
    table = evaluate({"test": Scored(BENCHMARK, examples, p)})["test"]
    assert len(examples) == 24
    assert table["overall"]["accuracy"] == 7 / 24  # the first is an entailment
    assert table["entailment"]["accuracy"] == 7 / 8
    assert table["neutral"]["accuracy"] == 0
    assert table["overall"]["p_gold"] == pytest.approx((7 * 0.6 + 17 * 0.2) / 24)
    assert table["overall"]["accuracy_stderr"] > 0
