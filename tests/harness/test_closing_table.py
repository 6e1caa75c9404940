"""The table at the end of `stereoset run`, from results as the harness gives them."""

import re
from pathlib import Path

from lm_eval import utils

from lm_eval_stereoset.harness.bends import table_of
from lm_eval_stereoset.harness.closing import closing_table, report_hint, without_ours

NAN = float("nan")


def part(split: str, language: str = "de", used: int = 2103, **more) -> dict:
    return {
        "split": split, "language": language, "data": "stereoset", "version": "0123abc", "examples": 2103, "used": used,
        "scoring": f"mean log-likelihood, {split}", "normaliser": "tokens of a/b",
    } | more  # fmt: skip


def results_of(tasks: dict[str, list[dict]], model: str = "gpt2", values: dict | None = None) -> dict:
    values = values or {
        "ss": 58.25,
        "ss_stderr": 0.71,
        "lms": 100.0,
        "lms_stderr": 12.34,
        "icat": 7,
        "icat_stderr": NAN,
    }
    return {
        "config": {"model": "hf", "model_args": f"pretrained={model}"},
        "configs": {task: {"metadata": {"provenance": {"data": parts}}} for task, parts in tasks.items()},
        "results": {task: {f"{name},none": value for name, value in values.items()} for task in tasks},
        "group_subtasks": {},
    }


def test_a_row_says_what_was_measured():
    table = closing_table(results_of({"stereoset_intra_de": [part("intra", used=28)]}))
    assert re.split(" {2,}", table[2]) == [
        *("gpt2", "de", "intra", "58.2 ± 0.7", "100.0 ± 12.3", "7.0 ± NaN", "28 of 2103", "[1]", "stereoset"),
    ]
    assert table[-1] == "[1] mean log-likelihood, intra; normaliser: tokens of a/b"


def test_rows_come_by_language_and_a_way_of_scoring_is_explained_once():
    both = {f"stereoset_{code}": [part("intra", code), part("inter", code)] for code in ("it", "tr", "en")}
    table = closing_table(results_of(both | {"stereoset_inter_en": [part("inter", "en")]}))
    rows = [line.split() for line in table[2:6]]
    assert [row[1:3] for row in rows] == [["en", "both"], ["en", "inter"], ["tr", "both"], ["it", "both"]]
    assert [line[:3] for line in table if line.startswith("[")] == ["[1]", "[2]"]


def test_the_table_fits_a_hundred_columns_whatever_the_names():
    long = "organisation/" + "a-model-with-a-name-of-many-words-" * 3 + "7b"
    data = [part(split, "zh_hans", version="sha256:0123456789ab") for split in ("intra", "inter")]
    table = closing_table(results_of({"stereoset_zh_hans": data}, model=long))
    assert max(map(len, table)) <= 100
    assert table[2].startswith("…")
    assert "7b  zh_hans  both" in table[2]


def test_what_was_not_computed_is_a_dash():
    table = closing_table(results_of({"stereoset_intra_de": [part("intra")]}, values={"bypass": 999}))
    assert table[2].split()[3:6] == ["-", "-", "-"]


def test_other_tasks_are_left_to_the_harness():
    results = results_of({"stereoset_de": [part("intra")]})
    results["results"] |= {"toy": {"alias": "toy", "acc,none": 0.5}, "stereoset": {}, "mixed": {}}
    results["configs"]["toy"] = {"metadata": {"version": 1}}
    results["group_subtasks"] = {"stereoset": ["stereoset_de"], "mixed": ["stereoset", "toy"]}
    left = without_ours(results)
    assert set(left["results"]) == {"toy", "mixed"}
    assert set(left["group_subtasks"]) == {"mixed"}
    assert closing_table(left | {"configs": {"toy": {}}}) == []


def test_the_harness_prints_through_the_place_that_is_replaced():
    import inspect

    from lm_eval._cli.run import Run

    source = inspect.getsource(Run._execute)
    assert "from lm_eval.utils import handle_non_serializable, make_table" in source
    assert "print(make_table(results))" in source
    theirs = utils.make_table
    with table_of(without_ours) as printed:
        results = results_of({"stereoset_de": [part("intra")]})
        assert utils.make_table(results) == ""
        assert printed == [results]
    assert utils.make_table is theirs


def test_the_report_command_can_be_pasted():
    assert (
        report_hint([Path("my results")], samples=True)
        == "Report:\n  stereoset report 'my results' -o report.html"
    )
    assert "--log_samples" in report_hint([Path("results")], samples=False)
    assert "--output_path" in report_hint([], samples=True)
