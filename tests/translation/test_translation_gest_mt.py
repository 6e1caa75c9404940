"""`stereoset gest-mt run`: GEST through a translator and the memory, then scored."""

import csv
import json

import pytest

from lm_eval_stereoset.cli import main

SENTENCES = [f"I did the thing number {n}." for n in range(32)]


@pytest.fixture
def english(tmp_path):
    path = tmp_path / "gest.csv"
    rows = [(text, n % 16 + 1) for n, text in enumerate(SENTENCES)]
    with open(path, "w", newline="") as handle:
        csv.writer(handle).writerows([("sentence", "stereotype"), *rows])
    return path


@pytest.fixture
def slovak(amazon, monkeypatch):
    """The stand-in answers in Slovak, women for even numbers."""
    import translation_stand_in

    def answer(text: str, keep_blank: bool) -> str:
        number = int("".join(filter(str.isdigit, text)))
        return f"Vec číslo {number} som {'urobil' if number % 2 else 'urobila'}."

    monkeypatch.setattr(translation_stand_in, "pseudo", answer)
    return amazon


@pytest.fixture
def run(english, tmp_path, capfd):
    def type_it(*more) -> tuple[int, str, list[str]]:
        capfd.readouterr()
        argv = [
            "gest-mt",
            "run",
            "--to",
            "sk",
            "--backend",
            "aws",
            "--data",
            str(english),
            "--dir",
            str(tmp_path / "sk"),
        ]
        code = main([*argv, *map(str, more)])
        out, err = capfd.readouterr()
        return code, out, [line.split("\r")[-1] for line in err.splitlines() if line.startswith("stereoset")]

    return type_it


def test_gest_is_translated_and_scored(run, slovak, tmp_path):
    code, out, _ = run("-o", tmp_path / "sk.json")
    assert code == 0
    assert sorted(slovak.asked) == sorted(SENTENCES)
    with open(tmp_path / "sk" / "translations.csv", newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["from"] for row in rows] == SENTENCES
    assert rows[0]["to"] == "Vec číslo 0 som urobila."
    values = json.loads((tmp_path / "sk.json").read_text())
    assert values["feminine"] == [2, 0] * 8
    assert values["masculine"] == [0, 2] * 8
    assert values["translator"] == "aws"
    assert "cost: 0.01 at 15 per million characters" in out
    assert "f_s" in out


def test_a_second_run_asks_nothing_again(run, slovak, tmp_path):
    assert run("-o", tmp_path / "one.json")[0] == 0
    asked = len(slovak.asked)
    code, out, _ = run("-o", tmp_path / "other.json")
    assert code == 0
    assert "0 texts translated, 32 were stored already" in out
    assert len(slovak.asked) == asked
    assert (tmp_path / "one.json").read_text() == (tmp_path / "other.json").read_text()


def test_after_a_failure_it_goes_on_where_it_stopped(run, slovak):
    slovak.misbehave = lambda text, times: "language" if text == SENTENCES[20] else None
    code, _, err = run("--concurrency", 1)
    assert code == 2
    assert len(err) == 1
    answered = set(slovak.answered)
    assert 0 < len(answered) < len(SENTENCES)
    slovak.misbehave = lambda text, times: None
    slovak.answered.clear()
    assert run()[0] == 0
    assert not answered & set(slovak.answered)


def test_nothing_is_sent_that_would_cost_too_much_or_has_no_rules(run, slovak):
    code, _, err = run("--max-cost", "0.001")
    assert (code, slovak.asked) == (2, [])
    assert err == ["stereoset gest-mt: it would cost 0.01, more than --max-cost 0.001; nothing was sent"]
    code, _, err = run("--to", "de")
    assert (code, slovak.asked) == (2, [])
    assert "'de': there are rules for be, cs" in err[0]


def test_a_trial_does_not_cut_a_finished_translation_down(run, slovak):
    assert run()[0] == 0
    code, _, err = run("--limit", 3)
    assert code == 2
    assert "has 32 translations, this run would leave 3; leave out --limit" in err[0]


def test_a_translation_that_the_service_spoils_is_refused_in_one_line(run, amazon):
    """The stand-in's own way, English words with an ending, is no Slovak."""
    code, _, err = run()
    assert code == 2
    assert len(err) == 1
    assert "is the column to in Slovak?" in err[0]
