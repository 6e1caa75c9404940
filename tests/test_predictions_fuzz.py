"""Damaged prediction files and samples: `score` gives numbers or refuses in one line, and changes nothing."""

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.predictions import PUBLISHED_KEYS
from lm_eval_stereoset.cli.score import main
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness.docs import example_to_doc


def one_line(error: UserError) -> None:
    assert "\n" not in str(error)


SETTINGS = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**4000),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def spots(value):
    """(container, key) of every part of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from spots(item)


def damaged(draw, value) -> bytes:
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(0, 2))):
        found = list(spots(value))
        container, key = found[draw(st.integers(0, len(found) - 1))] if found else ({}, None)
        way = draw(st.sampled_from(["replace", "remove", "swap"]))
        if way == "replace" or key is None:
            container[key] = draw(JUNK)
        elif way == "remove":
            del container[key]
        else:
            other, place = found[draw(st.integers(0, len(found) - 1))]
            container[key] = json.loads(json.dumps(other[place]))
    content = json.dumps(value).encode()
    if draw(st.integers(0, 3)) == 0:
        start = draw(st.integers(0, len(content)))
        content = content[:start] + draw(st.binary(max_size=5)) + content[start + draw(st.integers(0, 5)) :]
    return content[: draw(st.integers(0, len(content)))] if draw(st.integers(0, 7)) == 0 else content


def score(path, output, *arguments) -> None:
    before = path.read_bytes()
    output.unlink(missing_ok=True)
    try:
        main([str(path), "-o", str(output), *arguments])
    except UserError as error:
        one_line(error)
        assert not output.exists()
    else:
        numbers = json.loads(output.read_text())
        for groups in numbers.values():
            for values in groups.values():
                assert all(values[m] is None or 0 <= values[m] <= 100 for m in ("ss", "lms", "icat"))
                assert (values["n"] == 0) == (values["ss"] is None)
                assert not any(isinstance(v, float) and math.isnan(v) for v in values.values())
    assert path.read_bytes() == before


@pytest.fixture(scope="module")
def predictions():
    return {
        key: [{"id": c.id, "score": -i * 0.37 % 5} for i, c in enumerate(candidates)]
        for split, key in PUBLISHED_KEYS.items()
        for candidates in [[c for e in load(split, "de", "sample").examples for c in e.candidates]]
    }


@SETTINGS
@given(data=st.data())
def test_damaged_predictions(predictions, tmp_path, data):
    path = tmp_path / "p.json"
    path.write_bytes(damaged(data.draw, predictions))
    score(path, tmp_path / "out.json", "-l", "de", "--data", "sample")


@SETTINGS
@given(data=st.data())
def test_damaged_samples(tmp_path, data):
    lines = []
    for split in ("intra", "inter"):
        for i, example in enumerate(load(split, "de", "sample").examples[:3]):
            doc = example_to_doc(STEREOSET, example, "de") | {
                "counts": [2, 3, 4],
                "normaliser": "tokens",
                "of": 28,
            }
            answers = [[str(-i - 1.5), "False"], [str(-2.0 * i), "7"], ["-3.25", "True"]]
            lines.append({"doc": doc, "filtered_resps": answers})
    number = data.draw(st.integers(0, len(lines) - 1))
    content = [json.dumps(line).encode() for line in lines]
    content[number] = damaged(data.draw, lines[number])
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(content))
    score(path, tmp_path / "out.json")
