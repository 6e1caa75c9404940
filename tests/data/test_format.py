import json

import pytest

from lm_eval_stereoset.benchmarks.stereoset.census import take
from lm_eval_stereoset.benchmarks.stereoset.example import read_examples
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import write_examples


def write_lines(path, *lines):
    path.write_bytes(
        b"\n".join(x if isinstance(x, bytes) else json.dumps(x, ensure_ascii=False).encode() for x in lines)
    )
    return path


@pytest.mark.parametrize("split", ["intra", "inter"])
def test_writing_and_reading_loses_nothing(tmp_path, example_line, split):
    first = write_lines(tmp_path / "a.jsonl", *(example_line(i, split) for i in range(5)))
    examples = read_examples(first)
    write_examples(tmp_path / "b.jsonl", examples)
    assert read_examples(tmp_path / "b.jsonl") == examples
    assert [e.to_dict() for e in examples] == [example_line(i, split) for i in range(5)]


def test_lines_end_at_newline_only(tmp_path, example_line):
    """Texts contain other characters that str.splitlines would cut at."""
    odd = "The cook\u2028was\u0085 BLANK\x0b."
    path = write_lines(tmp_path / "a.jsonl", example_line(0, context=odd), example_line(1))
    assert [e.context for e in read_examples(path)] == [odd, "The cook was BLANK."]


def test_windows_line_ends_are_read(tmp_path, example_line):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        json.dumps(example_line(0)).encode() + b"\r\n" + json.dumps(example_line(1)).encode() + b"\r\n"
    )
    assert len(read_examples(path)) == 2


def changed_candidate(example_line, **changes):
    line = example_line(1)
    line["candidates"][1] |= changes
    return line


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda e: changed_candidate(e, label="neutral"),
            "line 2: label 'neutral' of candidate .* stereotype, anti-st",
        ),
        (
            lambda e: changed_candidate(e, label="stereotype"),
            "line 2: needs exactly one candidate of each label",
        ),
        (lambda e: changed_candidate(e, word=None), "line 2, a candidate: word must be a non-empty text"),
        (lambda e: changed_candidate(e, id="intra-0"), "line 2: duplicate id intra-0 .first in .*line 1"),
        (lambda e: changed_candidate(e, colour="red"), "line 2, a candidate: unknown key 'colour'"),
        (lambda e: e(0), "line 2: duplicate id intra-0"),
        (lambda e: e(1, context="The cook was here."), "line 2: context has no BLANK"),
        (lambda e: e(1, bias_type="age"), "line 2: bias_type 'age' is not one of gender"),
        (lambda e: e(1, target="  "), "line 2: target must be a non-empty text"),
        (lambda e: e(1, candidates=[]), "line 2: candidates must be a list of three"),
        (lambda e: {k: v for k, v in e(1).items() if k != "id"}, "line 2: id is missing"),
        (lambda e: [1, 2], "line 2: expected a JSON object"),
        (lambda e: b'{"id": "x", "target": "\xff"}', "line 2: not UTF-8"),
        (lambda e: b'{"id": "x", ', "line 2: not valid JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path, example_line, make, message):
    path = write_lines(tmp_path / "own.jsonl", example_line(0), make(example_line))
    with pytest.raises(UserError, match=message) as caught:
        read_examples(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_is_an_error(tmp_path, content):
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(UserError, match="no examples"):
        read_examples(tmp_path / "a.jsonl")


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.jsonl: no such file"):
        read_examples(tmp_path / "nowhere.jsonl")


@pytest.mark.parametrize(
    "text", ["\u200b", "\u2060\ufeff", "\u00ad", "\u3164", "\u2800", "\ufe0f", "\x1f", "\u00a0\u200d"]
)
@pytest.mark.parametrize("key", ["word", "sentence"])
def test_a_text_of_invisible_characters_is_empty(tmp_path, example_line, text, key):
    example = example_line(1)
    example["candidates"][1][key] = text
    path = tmp_path / "it.jsonl"
    path.write_text(json.dumps(example))
    with pytest.raises(UserError, match=f"line 1, a candidate: {key} must be a non-empty text, is"):
        read_examples(path)


@pytest.mark.parametrize(("text", "says"), [("a\0b", "a NUL character"), ("Stra\ufffde", r"U\+FFFD")])
@pytest.mark.parametrize("key", ["context", "target", "id"])
def test_a_text_that_a_program_has_spoilt_is_refused(tmp_path, example_line, text, says, key):
    path = tmp_path / "it.jsonl"
    path.write_text(json.dumps(example_line(1) | {key: f"BLANK {text}"}))
    with pytest.raises(UserError, match=f"line 1: {key} holds {says}"):
        read_examples(path)


@pytest.mark.parametrize("text", ["می‌خواهم", "क्‍ष", "co\u00adoperate"])
def test_words_with_joiners_and_soft_hyphens_are_texts_and_counted(tmp_path, example_line, text):
    path = tmp_path / "fa.jsonl"
    path.write_text(json.dumps(example_line(1) | {"target": text}), encoding="utf-8")
    assert read_examples(path)[0].target == text
    assert take(path).oddities["invisible"] == ["intra-1"]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path, example_line):
    lines = [json.dumps(example_line(i)).encode() for i in range(3)]
    (tmp_path / "plain.jsonl").write_bytes(b"\n".join(lines))
    (tmp_path / "windows.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines) + b"\r\n")
    assert read_examples(tmp_path / "windows.jsonl") == read_examples(tmp_path / "plain.jsonl")


def test_utf_16_is_named_as_not_utf_8(tmp_path, example_line):
    (tmp_path / "a.jsonl").write_bytes(json.dumps(example_line(1)).encode("utf-16"))
    with pytest.raises(UserError, match=r"line 1: not UTF-8 \(byte 0\)"):
        read_examples(tmp_path / "a.jsonl")
