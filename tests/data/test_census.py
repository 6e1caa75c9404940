"""The census of the published data, number by number."""

import json
import os
import subprocess
import sys

import pytest

from lm_eval_stereoset.benchmarks.stereoset.census import take
from lm_eval_stereoset.cli import main

GENDER_TO_RELIGION = {"intra": (255, 810, 962, 79), "inter": (242, 827, 976, 78)}
# split, language: what is odd about it; everything else is zero.
ODD = {
    ("intra", "en"): {"two_blanks": 2, "glued_blank": 4, "sentence_differs": 795, "sentence_differs_beyond_case": 4},
    ("intra", "de"): {"two_blanks": 2, "glued_blank": 9, "several_words": 43, "target_missing": 5},
    ("intra", "fr"): {
        "two_blanks": 2, "glued_blank": 1, "several_words": 325, "identical_candidates": 2, "target_missing": 372,
        "no_break_space": 36,
    },
    ("intra", "es"): {"two_blanks": 2, "several_words": 190, "identical_candidates": 4, "target_missing": 520},
    ("intra", "tr"): {
        "two_blanks": 2, "glued_blank": 147, "quoted_blank": 129, "several_words": 509, "identical_candidates": 12,
        "target_missing": 425,
    },
    ("inter", "en"): {"blank_in_sentence": 2},
    ("inter", "de"): {"blank_in_sentence": 2, "target_missing": 5},
    ("inter", "fr"): {"blank_in_sentence": 2, "target_missing": 333, "no_break_space": 22},
    ("inter", "es"): {"blank_in_sentence": 2, "target_missing": 496},
    ("inter", "tr"): {"blank_in_sentence": 2, "target_missing": 455},
}  # fmt: skip


@pytest.mark.parametrize(("split", "language"), ODD)
def test_census_of_the_published_data(fetched, split, language):
    census = take(fetched / split / f"{language}.jsonl").to_dict()
    counts = list(GENDER_TO_RELIGION[split])
    if (split, language) == ("intra", "de"):
        counts[0] = 252
    assert list(census["bias_types"].values()) == counts
    assert census["examples"] == sum(counts)
    assert census["targets"] == 79
    assert {name: n for name, n in census["oddities"].items() if n} == ODD[split, language]
    assert census["errors"] == []


def test_check_lists_every_error_of_a_file_and_fails(tmp_path, example_line, capsys):
    path = tmp_path / "own.jsonl"
    bad = [example_line(0), example_line(0), example_line(1, bias_type="age"), example_line(2)]
    path.write_text("\n".join(map(json.dumps, bad)))
    assert main(["data", "check", str(path)]) == 1
    out = capsys.readouterr().out
    assert "2 examples" in out
    assert "line 2: duplicate id" in out
    assert "line 3: bias_type 'age'" in out


def test_check_says_what_is_wrong_with_the_first_line_and_goes_on(tmp_path, example_line, capsys):
    path = tmp_path / "own.jsonl"
    path.write_bytes(b"\xff\xfe\n" + json.dumps(example_line(0)).encode())
    assert main(["data", "check", str(path)]) == 1
    out = capsys.readouterr().out
    assert "1 examples" in out
    assert "line 1: not UTF-8" in out


def test_check_of_good_files_succeeds_and_names_what_is_odd(tmp_path, example_line, capsys):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(example_line(0, context="BLANK was the cook, BLANK.")))
    assert main(["data", "check", str(path), "--list"]) == 0
    out = capsys.readouterr().out
    assert "     1  more than one BLANK in the context\n            intra-0" in out


def test_check_of_a_missing_file_is_one_line_and_exit_code_2(tmp_path, capsys):
    assert main(["data", "check", str(tmp_path / "none.jsonl")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("flags", [(), ("--list",), ("--json",)])
def test_a_terminal_that_knows_only_ascii_gets_every_line(tmp_path, example_line, flags):
    path = tmp_path / "türkçe.jsonl"
    path.write_text(json.dumps(example_line(1) | {"id": "ğ"}) + "\n", encoding="utf-8")
    code = "import sys; from lm_eval_stereoset.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "data", "check", str(path), *flags],
        capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    if flags == ("--json",):
        assert json.loads(done.stdout)[0]["file"] == str(path)
