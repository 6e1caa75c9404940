"""Reading users' files: whatever is wrong with one is a single line that names it, and nothing waits forever."""

import json
import os

import pytest

from lm_eval_stereoset import files
from lm_eval_stereoset.errors import UserError, missing_package
from lm_eval_stereoset.files import parse_json, read_bytes, read_json, read_text, refuse_overwriting
from lm_eval_stereoset.report.cells import markdown_cell, spreadsheet_cell


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"a": ', "not valid JSON"),
        (b"\xff{}", "not UTF-8"),
        (b"1" * 5000, "too many digits"),
        (b"[" * 10_000, "nested too deeply"),
        (rb'{"a": ["x\ud800y"]}', "lone surrogate"),
        (rb'{"x\uDC00": 1}', "lone surrogate"),
    ],
)
def test_json_that_cannot_be_taken_is_one_line(tmp_path, content, says):
    file = tmp_path / "given.json"
    file.write_bytes(content)
    with pytest.raises(UserError, match=says) as caught:
        read_json(file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


def test_a_whole_pair_of_surrogates_is_a_character():
    assert parse_json(rb'"\ud83d\ude00"', "here") == "\N{GRINNING FACE}"
    assert parse_json(json.dumps("a\\ud800"), "here") == "a\\ud800"  # an escaped backslash, no surrogate


def test_pipes_and_devices_are_refused_before_they_are_opened(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        with pytest.raises(UserError, match="pipe, socket or device"):
            read_bytes(path)


def test_folders_missing_files_and_odd_paths_are_one_line(tmp_path):
    for path, says in (
        (tmp_path, "is a folder"),
        (tmp_path / "none", "no such file"),
        ("a\0b", "not a valid path"),
    ):
        with pytest.raises(UserError, match=says):
            read_text(path)


def test_an_input_is_never_the_output_under_any_of_its_names(tmp_path):
    given = tmp_path / "given.json"
    given.write_text("{}")
    (tmp_path / "link").symlink_to(given)
    os.link(given, tmp_path / "second_name")
    for output in (given, tmp_path / "." / "given.json", tmp_path / "link", tmp_path / "second_name"):
        with pytest.raises(UserError, match="would overwrite"):
            refuse_overwriting(output, [tmp_path / "other", given], "-o")
    refuse_overwriting(tmp_path / "new", [given], "-o")


@pytest.mark.parametrize(
    ("cell", "written"),
    [("=1+1", "'=1+1"), ("@x", "'@x"), ("-x", "'-x"), ("+1 234", "'+1 234"), ("\t=1", "'\t=1")]
    + [(same, same) for same in ("-3.5", "+1e-7", "text", "", "a=b", -2.0)],
)
def test_cells_that_a_spreadsheet_would_run_are_neutralised(cell, written):
    assert spreadsheet_cell(cell) == written


def test_html_pipes_and_line_breaks_do_not_reach_markdown():
    assert markdown_cell("<img src=x>|a\nb") == r"&lt;img src=x&gt;\|a b"


def test_a_missing_package_names_the_pip_command():
    assert 'pip install "lm-eval-stereoset[translate]"' in str(
        missing_package("boto3", "Amazon", "translate")
    )
    assert "pip install gguf" in str(missing_package("gguf", "a GGUF file"))


@pytest.mark.parametrize("name", ["/dev/null", "/dev/full", "/dev/stdout", "/dev/never-there"])
def test_devices_are_not_replaced(name, monkeypatch):
    """Never really tried, since a mistake would harm the machine that the tests run on."""
    monkeypatch.setattr(files.tempfile, "NamedTemporaryFile", lambda *a, **k: pytest.fail("writes to /dev"))
    with pytest.raises(UserError, match="device; name a regular file"), files.atomic_write(name):
        pass


def test_a_byte_order_mark_is_passed_over():
    assert parse_json(b'\xef\xbb\xbf{"a": 1}', "x") == {"a": 1}
