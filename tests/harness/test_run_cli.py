"""`stereoset run` and plain `lm_eval`, as a user types them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lm_eval_stereoset.cli import main

ROOT = Path(__file__).resolve().parents[2]
VOLATILE = {"name", "alias"}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """`stereoset run` in this process; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    # Its handler would keep writing to this test's error stream after the test.
    monkeypatch.setattr("lm_eval_stereoset.cli.run.share_logging", lambda: None)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", list(sys.argv))  # the command replaces it
        try:
            code = main(["run", *map(str, arguments)])
        except SystemExit as stop:
            code = stop.code
        return code, capsys.readouterr()

    return call


def model(folder) -> list[str]:
    return ["--model", "hf", "--model_args", f"pretrained={folder}", "--device", "cpu", "--batch_size", "8"]


def results_in(folder: Path) -> dict:
    files = sorted(folder.rglob("results_*.json"))
    assert len(files) == 1
    return json.loads(files[0].read_text())


SAMPLE = ["--metadata", "data=sample"]


def test_plain_lm_eval_and_stereoset_run_agree_to_the_last_digit(run, tiny_models, tmp_path):
    tasks = ["--tasks", "stereoset_intra_de,stereoset_tr", *SAMPLE, "--log_samples"]
    code, printed = run(*model(tiny_models["bos added"]), *tasks, "--output_path", tmp_path / "ours")
    assert code == 0
    assert "data: sample 1.0, intra/de, 28 examples" in printed.out
    command = [sys.executable, "-m", "lm_eval", *model(tiny_models["bos added"]), *tasks]
    command += ["--include_path", "tasks", "--output_path", str(tmp_path / "plain")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    ours, plain = results_in(tmp_path / "ours"), results_in(tmp_path / "plain")
    assert json.dumps(ours["results"]) == json.dumps(plain["results"])  # as texts: NaN is not equal to itself
    assert "ss,none" in ours["results"]["stereoset_tr"]
    assert ours["higher_is_better"]["stereoset_tr"]["ss"] is None
    table = [line.split("|") for line in printed.out.splitlines() if "|" in line]
    rows = {line[5].strip(): line for line in table if len(line) > 9}
    assert (rows["ss"][6].strip(), rows["icat"][6].strip()) == ("", "↑")
    for metric in ("ss", "lms", "icat"):
        assert float(rows[metric][9]) > 0, "the ± column is filled"


def test_the_cache_answers_the_second_time(run, tiny_models, tmp_path, caplog):
    arguments = [
        *model(tiny_models["bos known"]),
        "--tasks",
        "stereoset_inter_en",
        *SAMPLE,
        "--use_cache",
        tmp_path / "c",
    ]
    caplog.set_level("INFO", "lm_eval")
    run(*arguments, "--output_path", tmp_path / "1")
    caplog.clear()
    run(*arguments, "--output_path", tmp_path / "2")
    assert "Cached requests: 84, Requests remaining: 0" in caplog.text
    first, second = (json.dumps(results_in(tmp_path / n)["results"]) for n in "12")
    assert first == second


def test_predict_only_leaves_samples_that_score_reads(run, tiny_models, tmp_path, capsys):
    arguments = [*model(tiny_models["no bos"]), "--tasks", "stereoset_fr", *SAMPLE]
    run(*arguments, "--predict_only", "--output_path", tmp_path / "predicted")
    run(*arguments, "--limit", "1000", "--output_path", tmp_path / "scored")
    file = next((tmp_path / "predicted").rglob("samples_stereoset_fr_*.jsonl"))
    assert main(["score", str(file), "--output", str(tmp_path / "table.json")]) == 0
    table = json.loads((tmp_path / "table.json").read_text())
    found = results_in(tmp_path / "scored")["results"]["stereoset_fr"]
    assert table["overall"]["overall"]["icat"] == found["icat,none"]
    assert table["inter"]["race"]["n"] == 7


def test_configuration_file_runs_stereoset_beside_other_tasks(run, tiny_models, tmp_path):
    """The shipped configuration, with a small task of our own in place of those that need a download."""
    config = yaml.safe_load((ROOT / "configs" / "shared_benchmark.yaml").read_text())
    assert "stereoset" in config["tasks"]
    assert len(config["tasks"]) > 1
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "data.json").write_text(
        '{"q": "One and one is", "a": 0}\n{"q": "Ice is", "a": 1}\n'
    )
    task = {
        "task": "toy_choice", "dataset_path": "json", "test_split": "train", "output_type": "multiple_choice",
        "dataset_kwargs": {"data_files": str(tmp_path / "other" / "data.json")}, "doc_to_text": "{{q}}",
        "doc_to_choice": ["two", "cold"], "doc_to_target": "a",
    }  # fmt: skip
    (tmp_path / "other" / "toy.yaml").write_text(yaml.safe_dump(task))
    config |= {"tasks": ["stereoset", "toy_choice"], "include_path": str(tmp_path / "other"), "device": "cpu"}
    config |= {"metadata": {"data": "sample"}, "batch_size": 8, "output_path": str(tmp_path / "out")}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(config))
    code, printed = run(
        "--config", tmp_path / "run.yaml", "--model_args", f"pretrained={tiny_models['bos known']}"
    )
    assert code == 0
    results = results_in(tmp_path / "out")["results"]
    assert {"toy_choice", *(f"stereoset_{code}" for code in ("en", "de", "fr", "es", "tr"))} <= set(results)
    assert results["toy_choice"]["acc,none"] in (0, 0.5, 1)
    assert "- stereoset_tr" in printed.out


def test_own_data_become_a_task_with_one_command(run, tiny_models, tmp_path, example_line, capsys):
    for split in ("intra", "inter"):
        (tmp_path / "mine" / split).mkdir(parents=True)
        lines = "\n".join(json.dumps(example_line(i, split)) for i in range(8))
        (tmp_path / "mine" / split / "it.jsonl").write_text(lines)
    assert main(["data", "add", str(tmp_path / "mine"), "--language", "it"]) == 0
    assert "stereoset_intra_it, stereoset_inter_it, stereoset_it" in capsys.readouterr().out
    code, _ = run(
        *model(tiny_models["bos known"]), "--tasks", "stereoset_it", "--output_path", tmp_path / "out"
    )
    assert code == 0
    results = results_in(tmp_path / "out")
    assert results["n-samples"]["stereoset_it"]["effective"] == 16
    data = results["configs"]["stereoset_it"]["metadata"]["provenance"]["data"]
    assert [(d["data"], d["source"]) for d in data] == [("own", "added from mine")] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--model", "dummy", "--tasks", "stereoset_intra_xx"],
            "Tasks not found: stereoset_intra_xx; StereoSet is there in en, de",
        ),
        (["--model", "hf", "--model_args", "pretrained=no/such", "--tasks", "stereoset_intra_de"], "no/such"),
        (
            ["--model", "hf", "--model_args", "pretrained=./none", "--tasks", "stereoset_de"],
            "./none: no such folder",
        ),
        (["--model", "nobody", "--tasks", "stereoset_intra_de"], "nobody"),
        (
            ["--model", "dummy", "--tasks", "stereoset_intra_de", "--metadata", "data=nowhere"],
            "data 'nowhere': no file",
        ),
        (
            ["--model", "dummy", "--model_args", "tokenizer=no/such", "--tasks", "stereoset_de", *SAMPLE],
            "cannot load the tokenizer",
        ),
        (["--config", "no.yaml"], "no.yaml"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(run, arguments, message):
    code, printed = run(*arguments)
    assert code == 2
    lines = [line for line in printed.err.splitlines() if line.startswith("stereoset run: ")]
    assert len(lines) == 1
    assert message in lines[0]
    assert "Traceback" not in printed.err


def test_no_data_and_no_network_names_what_helps(run, monkeypatch):
    monkeypatch.setenv("STEREOSET_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setattr("lm_eval_stereoset.data.fetch.BACKOFF", 0)
    code, printed = run("--model", "dummy", "--tasks", "stereoset_intra_de")
    assert code == 2
    assert "stereoset data fetch --from CLONE" in printed.err.splitlines()[-1]
