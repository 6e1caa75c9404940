"""The orders of options: balanced, and a function of the example's id alone."""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_stereoset.benchmarks import find
from lm_eval_stereoset.chat.orders import COUNTS, checked_count, orders_of
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness.documents import documents

IDS = [f"example-{number}" for number in range(600)]


@given(st.text())
def test_every_option_stands_once_in_every_place(id_):
    for count in (3, 6):
        found = orders_of(id_, count)
        assert len(set(found)) == count
        for place in range(3):
            assert Counter(order[place] for order in found) == dict.fromkeys(range(3), count // 3)


@given(st.text())
def test_fewer_orders_are_the_first_of_more(id_):
    """So that answers in a cache serve a run with more orders, too."""
    assert orders_of(id_, 6)[:3] == orders_of(id_, 3)
    assert orders_of(id_, 3)[:1] == orders_of(id_, 1)


def test_a_single_order_is_any_of_the_six_equally_often():
    found = Counter(orders_of(id_, 1)[0] for id_ in IDS)
    assert len(found) == 6
    assert all(70 <= times <= 130 for times in found.values())


def test_orders_are_the_same_in_another_process_with_another_hash_seed():
    code = (
        "import json, sys; from lm_eval_stereoset.chat.orders import orders_of; "
        "print(json.dumps([orders_of(i, 6) for i in json.load(sys.stdin)]))"
    )
    for seed in ("0", "77"):
        done = subprocess.run(
            [sys.executable, "-c", code], input=json.dumps(IDS[::-1]), capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        assert json.loads(done.stdout) == [[list(order) for order in orders_of(i, 6)] for i in IDS[::-1]]


@pytest.mark.parametrize("language", ["en", "tr"])
def test_questions_are_the_same_in_any_order_of_examples_and_in_part_of_them(language, tmp_path):
    """A run with --limit, or over shuffled files, asks of an example what a whole run asks."""
    benchmark = find("stereoset_chat")
    _, whole = documents(benchmark, language, benchmark.splits, "sample")
    for split in benchmark.splits:
        (tmp_path / split).mkdir()
        lines = [doc for doc in whole if doc["split"] == split][::-2]
        keys = ("id", "target", "target_original", "bias_type", "context", "candidates")
        text = "".join(
            json.dumps({key: doc[key] for key in keys}, ensure_ascii=False) + "\n" for doc in lines
        )
        (tmp_path / split / f"{language}.jsonl").write_text(text, "utf-8")
    _, part = documents(benchmark, language, benchmark.splits, str(tmp_path))
    asked = {doc["id"]: (doc["orders"], doc["prompts"]) for doc in whole}
    assert len(part) == len(whole) / 2
    assert all((doc["orders"], doc["prompts"]) == asked[doc["id"]] for doc in part)


def test_the_orders_of_version_1_never_change():
    assert orders_of("daf202dc8caf0dd557d9a621ae9d389b", 6) == PINNED


@pytest.mark.parametrize("value", [2, 0, 4, -1, "three", "", None, True, 3.0, [3]])
def test_other_numbers_of_orders_are_refused(value):
    with pytest.raises(UserError, match="1, 3 or 6 orders"):
        checked_count(value)


def test_numbers_come_as_texts_from_the_command_line():
    assert (
        [checked_count(str(count)) for count in COUNTS]
        == [checked_count(count) for count in COUNTS]
        == [1, 3, 6]
    )


PINNED = ((1, 0, 2), (0, 2, 1), (2, 1, 0), (0, 1, 2), (1, 2, 0), (2, 0, 1))
