import csv
import json
import os
from dataclasses import replace

import pytest

from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import LABELS
from lm_eval_stereoset.benchmarks.stereoset.predictions import PUBLISHED_KEYS
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.cli.score_tables import to_text
from lm_eval_stereoset.data.store import about_file
from lm_eval_stereoset.harness.samples import read_samples

METRICS = {"n", "ss", "lms", "icat", "mc_ss", "mc_lms", "icat_macro", "icat_micro", "ties"}


@pytest.fixture
def predictions():
    """A score for every candidate of the sample: the stereotype always wins, the unrelated always loses."""
    value = {"stereotype": 0.3, "anti-stereotype": 0.2, "unrelated": 0.1}
    return {
        PUBLISHED_KEYS[split]: [
            {"id": c.id, "score": value[c.label]}
            for e in load(split, "de", "sample").examples
            for c in e.candidates
        ]
        for split in ("intra", "inter")
    }


@pytest.fixture
def score(tmp_path, capsys):
    def run(predictions, *arguments):
        path = tmp_path / "predictions.json"
        path.write_text(predictions if isinstance(predictions, str) else json.dumps(predictions))
        code = main(["score", str(path), "--data", "sample", *map(str, arguments)])
        return code, capsys.readouterr()

    return run


def test_table_shows_splits_groups_and_intervals(score, predictions):
    code, printed = score(predictions, "-l", "de")
    assert code == 0
    lines = printed.out.splitlines()
    assert [line.split()[0] for line in lines if line and not line.startswith(" ")][:5] == [
        "split", "-------", "intra", "inter", "overall"
    ]  # fmt: skip
    assert "100.00 [100.00, 100.00]" in lines[2]
    assert "sample 1.0" in printed.out
    assert max(map(len, lines)) <= 100


def test_the_tables_fit_a_terminal_whatever_the_metrics_are(predictions):
    """Numbers of the greatest width in every cell, and twice as many other metrics as StereoSet has."""
    others = tuple(
        replace(metric, name=f"{metric.name}{n}", title=f"{metric.title} no. {n}")
        for metric in STEREOSET.metrics
        if not metric.main
        for n in range(2)
    )
    benchmark = replace(STEREOSET, metrics=(*STEREOSET.main, *others))
    values = {f"{m.name}{end}": 100.0 for m in benchmark.metrics for end in ("", "_low", "_high")}
    text = to_text(benchmark, {"overall": {"profession": {"n": 4229, "ss_p50": 0.0001} | values}})
    assert max(map(len, text.splitlines())) <= 100
    assert all(metric.title in text for metric in benchmark.metrics)
    assert text.count("100.00") == 3 * 3 + len(others)


def test_mostly_ties_are_warned_about(score, predictions, caplog):
    score(predictions, "-l", "de")
    assert "very same score" not in caplog.text
    for entry in predictions["intrasentence"]:
        entry["score"] = 0.5
    assert score(predictions, "-l", "de")[0] == 0
    assert (
        "intra: in 28 of 28 examples stereotype and anti-stereotype have the very same score" in caplog.text
    )
    assert "inter: in" not in caplog.text


def test_json_has_splits_groups_and_metrics(score, predictions, tmp_path):
    score(predictions, "-l", "de", "-o", tmp_path / "out.json")
    table = json.loads((tmp_path / "out.json").read_text())
    assert list(table) == ["intra", "inter", "overall"]
    assert list(table["intra"]) == ["overall", "gender", "profession", "race", "religion"]
    values = table["overall"]["overall"]
    assert set(values) >= METRICS | {"ss_low", "ss_high", "icat_low", "icat_high", "ss_stderr", "ss_p50"}
    assert (values["n"], values["ss"], values["lms"], values["icat"]) == (56, 100, 100, 0)
    assert values["ss_p50"] is None  # no spread: undefined, not zero


def test_csv_has_one_row_a_group(score, predictions, tmp_path):
    score(predictions, "-l", "de", "-o", tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert len(rows) == 15
    assert (rows[0]["split"], rows[0]["group"], float(rows[0]["lms"])) == ("intra", "overall", 100.0)


def test_markdown_is_a_table(score, predictions, tmp_path):
    score(predictions, "-l", "de", "-o", tmp_path / "out.md")
    lines = (tmp_path / "out.md").read_text().splitlines()
    assert all(line.startswith("|") and line.endswith("|") for line in lines[:17])
    assert len({line.count("|") for line in lines[:17]}) == 1


def test_one_split_alone_has_no_overall(score, predictions, tmp_path):
    del predictions["intrasentence"]
    score(predictions, "-l", "de", "-o", tmp_path / "out.json")
    assert list(json.loads((tmp_path / "out.json").read_text())) == ["inter"]


def missing(p):
    p["intersentence"].pop(5)


def unknown(p):
    p["intersentence"][5]["id"] = "not-there"
    p["intersentence"].append({"id": p["intersentence"][4]["id"] + "x", "score": 1})


def additional(p):
    p["intrasentence"].append({"id": "not-there", "score": 1})


def duplicate(p):
    p["intersentence"].append(p["intersentence"][0])


def nan(p):
    p["intersentence"][7]["score"] = float("nan")


def text(p):
    p["intersentence"][7]["score"] = "0.3"


def true(p):
    p["intersentence"][7]["score"] = True


def list_as_id(p):
    p["intersentence"][7]["id"] = ["a"]


def no_score(p):
    del p["intersentence"][7]["score"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (missing, "no score for 1 of 84 candidates"),
        (unknown, "no score for 1 of 84 candidates"),
        (additional, "1 ids are not in the data (first: not-there)"),
        (duplicate, "intersentence, entry 85: duplicate id"),
        (nan, "entry 8: score of"),
        (text, "is not a finite number: '0.3'"),
        (true, "is not a finite number: True"),
        (list_as_id, "entry 8: the id must be a text, is ['a']"),
        (no_score, "entry 8: needs id and score"),
    ],
)
def test_bad_predictions_are_one_line_and_write_nothing(score, predictions, tmp_path, damage, message):
    damage(predictions)
    (tmp_path / "out.json").write_text("before")
    code, printed = score(predictions, "-l", "de", "-o", tmp_path / "out.json")
    assert code == 2
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert (tmp_path / "out.json").read_text() == "before"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"intrasentence": [{"id": "a", "sco', "not valid JSON"),
        ("[]", "not a prediction file"),
        ("{}", "not a prediction file"),
        ('{"intrasentence": []}', "no predictions in it"),
        ('{"intrasentence": {"a": 1}}', "expected a list"),
    ],
)
def test_what_is_no_prediction_file_is_one_line(score, content, message):
    code, printed = score(content, "-l", "de")
    assert (code, printed.err.count("\n")) == (2, 1)
    assert message in printed.err


def test_language_must_be_known(score, predictions):
    assert "add --language" in score(predictions)[1].err
    assert "the sample of StereoSet has no language 'xx'" in score(predictions, "-l", "xx")[1].err


def test_an_unknown_ending_is_refused_before_any_work(score, predictions, tmp_path):
    code, printed = score(predictions, "-l", "de", "-o", tmp_path / "out.xlsx")
    assert code == 2
    assert "must be one of .json, .csv, .md" in printed.err


def test_another_language_in_the_files_name_is_said(tmp_path, predictions, capsys, caplog):
    path = tmp_path / "model_GPT2LM_GPT2LM_d_tr.json"
    path.write_text(json.dumps(predictions))
    assert main(["score", str(path), "-l", "de", "--data", "sample"]) == 0
    assert "its name says tr, --language says de" in caplog.text


@pytest.fixture
def samples():
    """Two lines as the harness logs them."""
    examples = load("intra", "de", "sample").examples[:2]
    return [
        {
            "doc": e.to_dict()
            | {"split": "intra", "language": "de", "counts": [2, 2, 2], "data": "sample 1.0"},
            "filtered_resps": [["-3.0", "False"], ["-4.0", "False"], ["-5.0", "False"]],
        }
        for e in examples
    ]


def score_samples(tmp_path, samples, *arguments, name="samples_stereoset_de.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, samples)))
    return main(["score", str(path), *arguments])


def test_samples_say_which_data_they_are_from(tmp_path, samples, capsys):
    assert score_samples(tmp_path, samples) == 0
    assert "intra/de: samples, data sample 1.0" in capsys.readouterr().out


def test_samples_of_a_limited_run_say_so_below_the_table_and_in_the_note(tmp_path, samples, capsys, caplog):
    for sample in samples:
        sample["doc"]["of"] = 28
    output = tmp_path / "scores.json"
    assert score_samples(tmp_path, samples, "-o", str(output)) == 0
    assert "intra covers only 2 of 28 examples" in caplog.text
    assert "only 2 of 28 examples" in capsys.readouterr().out
    (about,) = json.loads(about_file(output).read_text())["data"]
    assert (about["examples"], about["scored"]) == (28, 2)


def test_samples_that_do_not_say_how_many_there_should_be_leave_it_open(tmp_path, samples):
    output = tmp_path / "scores.json"
    assert score_samples(tmp_path, samples, "-o", str(output)) == 0
    (about,) = json.loads(about_file(output).read_text())["data"]
    assert (about["examples"], about["scored"]) == (None, 2)


def test_samples_of_two_different_data_sets_in_one_file_are_refused(tmp_path, samples, capsys):
    samples[0]["doc"]["of"], samples[1]["doc"]["of"] = 28, 2
    assert score_samples(tmp_path, samples) == 2
    assert "line 2" in capsys.readouterr().err


def test_the_output_may_not_be_the_input(tmp_path, predictions, capsys):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(predictions))
    assert main(["score", str(path), "-l", "de", "--data", "sample", "-o", str(path)]) == 2
    assert "name another file" in capsys.readouterr().err
    assert json.loads(path.read_text()) == predictions


def test_a_number_beyond_all_floats_is_one_line(tmp_path, predictions, capsys):
    path = tmp_path / "p.json"
    predictions["intrasentence"][0]["score"] = 10**400
    path.write_text(json.dumps(predictions))
    assert main(["score", str(path), "-l", "de", "--data", "sample"]) == 2
    assert "is not a finite number: 1000" in capsys.readouterr().err


def test_samples_of_a_whole_run_do_not(tmp_path, samples, capsys, caplog):
    for sample in samples:
        sample["doc"]["of"] = 2
    assert score_samples(tmp_path, samples) == 0
    assert "only" not in caplog.text + capsys.readouterr().out


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s["doc"].pop("target"),
        lambda s: s["doc"].pop("counts"),
        lambda s: s["doc"].update(counts=[0, 1, 1]),
        lambda s: s["doc"].update(split="outer"),
        lambda s: s["doc"].update(candidates=5),
        lambda s: s["filtered_resps"].pop(),
        lambda s: s["filtered_resps"][0].pop(),
        lambda s: s["filtered_resps"][0].__setitem__(0, "nan"),
    ],
)
def test_a_damaged_sample_is_one_line_that_names_it(tmp_path, samples, capsys, damage):
    damage(samples[1])
    assert score_samples(tmp_path, samples) == 2
    err = capsys.readouterr().err
    assert "samples_stereoset_de.jsonl, line 2" in err
    assert err.count("\n") == 1


def answer(sample, total="-3.0", second="False"):
    sample["filtered_resps"][1] = [total, second]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda s: answer(s, "0.5"), "'0.5' is not a log-likelihood"),
        (lambda s: answer(s, "3"), "not above 0"),
        (lambda s: answer(s, "-inf"), "'-inf' is not a log-likelihood"),
        (lambda s: answer(s, "-1e300"), "is not a log-likelihood"),
        (lambda s: answer(s, "-1e99999"), "is not a log-likelihood"),
        (lambda s: answer(s, "-3 "), "is not a log-likelihood"),
        (lambda s: answer(s, "-1_0"), "is not a log-likelihood"),
        (lambda s: answer(s, float("nan")), "nan is not a log-likelihood"),
        (lambda s: answer(s, True), "True is not a log-likelihood"),
        (lambda s: answer(s, {"a": 1}), "is not a log-likelihood"),
        (lambda s: answer(s, 10**4000), "is not a log-likelihood"),
        (lambda s: answer(s, second="-2"), "-2 is not a number of tokens"),
        (lambda s: answer(s, second="0"), "0 is not a number of tokens"),
        (lambda s: answer(s, second="9" * 19), "is not a number of tokens"),
        (lambda s: answer(s, second="9" * 5000), "neither True, False nor a number of tokens"),
        (lambda s: answer(s, second="2.5"), "neither True, False nor a number of tokens"),
        (lambda s: answer(s, second=None), "neither True, False nor a number of tokens"),
        (
            lambda s: s["filtered_resps"].append(["-3.0", "False"]),
            "answers to 3 candidates (filtered_resps), found 4",
        ),
        (lambda s: s.pop("filtered_resps"), "answers to 3 candidates"),
        (lambda s: s.update(filtered_resps="---"), "answers to 3 candidates"),
        (
            lambda s: s["filtered_resps"].__setitem__(2, "-3.0"),
            "an answer must be [log-likelihood, second part]",
        ),
        (lambda s: s["filtered_resps"][2].append(1), "an answer must be [log-likelihood, second part]"),
        (lambda s: s["doc"].update(counts=[True, 1, 1]), "True is not a number of tokens"),
        (lambda s: s["doc"].update(counts=[2, -1, 1]), "-1 is not a number of tokens"),
        (lambda s: s["doc"].update(counts=[2, 2.5, 1]), "2.5 is not a number of tokens"),
        (lambda s: s["doc"].update(counts=[2, 2]), "needs 3 counts"),
        (lambda s: s["doc"].update(split=["intra"]), "split ['intra'] is not one of intra, inter"),
        (lambda s: s["doc"].update(language=5), "the language must be a text"),
        (lambda s: s["doc"].update(of="28"), "'of' must be the number of examples"),
        (lambda s: s.update(doc=[1]), "not a sample of a task of ours"),
    ],
)
def test_a_sample_that_no_model_can_have_given_is_refused(tmp_path, samples, capsys, damage, message):
    damage(samples[1])
    assert score_samples(tmp_path, samples) == 2
    err = capsys.readouterr().err
    assert "samples_stereoset_de.jsonl, line 2: " in err
    assert message in err
    assert err.count("\n") == 1


def test_answers_may_be_numbers_and_bring_their_own_count(tmp_path, samples):
    samples[0]["filtered_resps"] = [[-3.0, False], ["-8", "8"], [-5, 1]]
    score_samples(tmp_path, samples)
    scored = read_samples(tmp_path / "samples_stereoset_de.jsonl").parts["intra"]
    by_label = dict(zip(LABELS, scored.scores[0], strict=True))
    assert [by_label[c.label] for c in scored.examples[0].candidates] == [-1.5, -1, -5]


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"doc": 1' + b"0" * 5000 + b"}", b'"\xff"', b"\xff\xfe[\x00"]
)
def test_a_line_that_is_no_json_is_one_line_that_names_it(tmp_path, samples, capsys, content):
    path = tmp_path / "s.jsonl"
    path.write_bytes(json.dumps(samples[0]).encode() + b"\n" + content + b"\n")
    assert main(["score", str(path)]) == 2
    assert f"{path}, line 2: " in capsys.readouterr().err


def test_nothing_but_ties_is_warned_of_loudly(score, predictions, caplog):
    for entries in predictions.values():
        for entry in entries:
            entry["score"] = 0.25
    assert score(predictions, "-l", "de")[0] == 0
    assert (
        "intra: in 28 of 28 examples stereotype and anti-stereotype have the very same score" in caplog.text
    )
    assert (
        "the model or its tokenizer does not tell the candidates apart. Such scores mean NOTHING"
        in caplog.text
    )


def test_few_ties_are_not(score, predictions, caplog):
    predictions["intrasentence"][0]["score"] = predictions["intrasentence"][1]["score"]
    score(predictions, "-l", "de")
    assert "broken" not in caplog.text


def test_the_output_may_not_be_the_input_under_another_name(tmp_path, predictions, capsys):
    path, link, hard = tmp_path / "p.json", tmp_path / "link.json", tmp_path / "hard.json"
    path.write_text(json.dumps(predictions))
    link.symlink_to(path)
    hard.hardlink_to(path)
    for output in (link, hard, tmp_path / "x" / ".." / "p.json"):
        assert main(["score", str(path), "-l", "de", "--data", "sample", "-o", str(output)]) == 2
        assert "which is an input" in capsys.readouterr().err
    assert json.loads(path.read_text()) == predictions


def test_the_note_may_not_overwrite_the_input(tmp_path, predictions, capsys):
    path = tmp_path / "p.about.json"
    path.write_text(json.dumps(predictions))
    assert main(["score", str(path), "-l", "de", "--data", "sample", "-o", str(tmp_path / "p.json")]) == 2
    assert "its note" in capsys.readouterr().err
    assert json.loads(path.read_text()) == predictions


def test_the_note_may_not_overwrite_that_of_a_data_file(tmp_path, predictions, capsys):
    path, note = tmp_path / "p.json", tmp_path / "intra" / "de.about.json"
    path.write_text(json.dumps(predictions))
    note.parent.mkdir()
    note.write_text('{"source": "here", "version": "1", "sha256": "0"}')
    output = tmp_path / "intra" / "de.json"
    assert main(["score", str(path), "-l", "de", "--data", "sample", "-o", str(output)]) == 2
    assert "would overwrite a file that is not from `stereoset score`" in capsys.readouterr().err
    assert "here" in note.read_text()
    assert not output.exists()


def test_a_table_that_cannot_be_saved_is_still_shown(score, predictions, tmp_path):
    (tmp_path / "file").write_text("")
    code, printed = score(predictions, "-l", "de", "-o", tmp_path / "file" / "out.json")
    assert code == 2
    assert "cannot write" in printed.err
    assert "100.00 [100.00, 100.00]" in printed.out


def test_scoring_twice_replaces_table_and_note(score, predictions, tmp_path):
    for _ in range(2):
        assert score(predictions, "-l", "de", "-o", tmp_path / "out.csv")[0] == 0


def test_undefined_is_nan_in_csv(tmp_path, samples):
    assert score_samples(tmp_path, samples, "-o", str(tmp_path / "out.csv")) == 0
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    empty = next(row for row in rows if row["n"] == "0")
    assert {empty["ss"], empty["lms"], empty["icat"], empty["icat_low"], empty["ss_p50"]} == {"NaN"}


def test_a_pipe_is_neither_read_nor_replaced(tmp_path, predictions, capsys):
    pipe, path = tmp_path / "pipe.json", tmp_path / "p.json"
    os.mkfifo(pipe)
    path.write_text(json.dumps(predictions))
    assert main(["score", str(pipe), "-l", "de", "--data", "sample"]) == 2
    assert "pipe, socket or device" in capsys.readouterr().err
    assert main(["score", str(path), "-l", "de", "--data", "sample", "-o", str(pipe)]) == 2
    assert "pipe, socket or device" in capsys.readouterr().err
    assert pipe.is_fifo()


def test_samples_of_another_language_are_refused(tmp_path, samples, capsys):
    assert score_samples(tmp_path, samples, "-l", "fr") == 2
    assert "the samples are of language de, --language says fr" in capsys.readouterr().err
    other = tmp_path / "fr.jsonl"
    other.write_text(json.dumps(samples[0] | {"doc": samples[0]["doc"] | {"language": "fr"}}))
    assert score_samples(tmp_path, samples, str(other)) == 2
    assert "of several languages: de, fr" in capsys.readouterr().err


def test_a_note_beside_the_table_says_which_data_it_is_from(score, predictions, tmp_path):
    score(predictions, "-l", "de", "-o", tmp_path / "out.json")
    note = json.loads((tmp_path / "out.about.json").read_text())
    origin = load("intra", "de", "sample")
    assert note["language"] == "de"
    assert note["data"][0] == origin.describe() | {"scored": len(origin.examples)}
    assert "lm_eval" in note["packages"]
