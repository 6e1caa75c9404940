"""Damaged results folders: a report either comes out or is refused in one line, and its inputs stay as they are."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lm_eval_stereoset.cli.report import main
from lm_eval_stereoset.errors import UserError

# What a part of a file may be replaced by. The JSON is written by hand where Python's writer has no such value.
ODD = [
    None, True, 0, -1, 3, 2.5, 1e308, float("nan"), float("inf"), 10**4000, "", "x", "50", "nan", "\u2028", "</script>",
    "=1+1", "\x1b[31m", "\ud800", [], [[]], [None], {}, {"a": 1}, {"split": "intra"}, ["intra"], "intra", "en",
]  # fmt: skip


def one_line(error: UserError) -> None:
    assert "\n" not in str(error)


SETTINGS = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def places(value, path=()):
    """Every place in a JSON value that can be replaced."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def removed(value, path):
    if not path:
        return value
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = removed(value[path[0]], path[1:])
    return copy


def damaged(draw, content: bytes) -> bytes:
    """Cut, with bytes changed, or with one or two parts replaced or removed."""
    way = draw(st.sampled_from(["replace", "replace", "replace", "remove", "cut", "bytes"]))
    if way == "cut":
        return content[: draw(st.integers(0, len(content)))]
    if way == "bytes":
        place = draw(st.integers(0, len(content)))
        return content[:place] + draw(st.binary(max_size=4)) + content[place + draw(st.integers(0, 3)) :]
    value = json.loads(content)
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(list(places(value))))
        value = removed(value, path) if way == "remove" else replaced(value, path, draw(st.sampled_from(ODD)))
    return json.dumps(value).encode()


def report(folder, output, *arguments) -> bool:
    """Whether a page came out; whatever is read must stay as it is."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    output.unlink(missing_ok=True)
    try:
        main([str(folder), "-o", str(output), "--data", "sample", *arguments])
    except UserError as error:
        one_line(error)
        assert not output.exists()
        return False
    finally:
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert "NaN" not in output.read_text("utf-8").partition('id="report-data">')[2].partition("</script>")[0]
    return True


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A results folder with samples, a few examples of each split."""
    from report_harness_folder import HarnessFolder

    folder = HarnessFolder(tmp_path_factory.mktemp("whole")).write("m", limit=4)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@SETTINGS
@given(data=st.data(), samples=st.booleans())
def test_damaged_results_file(whole, tmp_path, data, samples):
    for name, content in whole.items():
        if name.startswith("results_"):
            (tmp_path / "in").mkdir(exist_ok=True)
            (tmp_path / "in" / name).write_bytes(damaged(data.draw, content))
        elif samples:
            (tmp_path / "in" / name).write_bytes(content)
        else:
            (tmp_path / "in" / name).unlink(missing_ok=True)
    report(tmp_path / "in", tmp_path / "r.html", "--tables", str(tmp_path / "t"), "--against-paper")


@SETTINGS
@given(data=st.data())
def test_damaged_samples(whole, tmp_path, data):
    (tmp_path / "in").mkdir(exist_ok=True)
    for name, content in whole.items():
        if name.startswith("samples_"):
            lines = content.splitlines()
            number = data.draw(st.integers(0, len(lines) - 1))
            lines[number] = damaged(data.draw, lines[number])
            content = b"\n".join(lines)
        (tmp_path / "in" / name).write_bytes(content)
    report(tmp_path / "in", tmp_path / "r.html", "--no-examples")


@SETTINGS
@given(data=st.data())
def test_damaged_scores_and_their_note(tmp_path, data):
    values = {
        "n": 3,
        "ss": 50.0,
        "ss_low": 40.0,
        "ss_high": None,
        "lms": 80.0,
        "icat": 80.0,
        "ties": 0.0,
        "ss_p50": 0.5,
    }
    scores = {split: {"overall": values, "gender": values} for split in ("intra", "inter", "overall")}
    origin = {
        "split": "intra",
        "language": "en",
        "data": "sample",
        "version": "1",
        "sha256": "0",
        "examples": 3,
    }
    note = {"language": "en", "data": [origin], "packages": {}, "normaliser": "tokens of x", "model": "m"}
    first = data.draw(st.booleans())
    folder = tmp_path / "in"
    folder.mkdir(exist_ok=True)
    for path, content, chosen in (("m_en.json", scores, first), ("m_en.about.json", note, not first)):
        text = json.dumps(content).encode()
        (folder / path).write_bytes(damaged(data.draw, text) if chosen else text)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    try:
        main([str(folder / "m_en.json"), "-o", str(tmp_path / "r.html"), "--tables", str(tmp_path / "t")])
    except UserError as error:
        one_line(error)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
