"""`stereoset run` and plain `lm_eval`, as a user types them."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_stereoset.cli import main

ROOT = Path(__file__).resolve().parents[2]
VOLATILE = {"name", "alias"}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """`stereoset run` in this process; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    # Its handler would keep writing to this test's error stream after the test.
    monkeypatch.setattr("lm_eval_stereoset.cli.run.share_logging", lambda: None)
    # Reading the thousands of task files of the harness takes longer than the run itself.
    monkeypatch.setattr("lm_eval.tasks.TaskManager", partial(TaskManager, include_defaults=False))

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


def rows_of(printed: str) -> list[str]:
    """The rows of the closing table."""
    lines = printed.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("-----")) + 1
    return lines[first : lines.index("", first)]


def results_in(folder: Path) -> dict:
    files = sorted(folder.rglob("results_*.json"))
    assert len(files) == 1
    return json.loads(files[0].read_text())


SAMPLE = ["--metadata", "data=sample"]


def test_plain_lm_eval_and_stereoset_run_agree_to_the_last_digit(run, tiny_models, tmp_path):
    tasks = ["--tasks", "stereoset_intra_de,stereoset_tr", *SAMPLE, "--log_samples"]
    code, printed = run(
        *model(tiny_models["bos added"]), *tasks, "--output_path", tmp_path / "ours", "--full-table"
    )
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
    assert "|toy_choice" in printed.out, "other tasks keep the harness's table"
    assert "|stereoset" not in printed.out
    assert "- stereoset_tr" not in printed.out
    assert [line.split()[1] for line in rows_of(printed.out)] == ["en", "de", "fr", "es", "tr"]


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
            "Tasks not found: stereoset_intra_xx; `stereoset ls` shows our tasks",
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
        (["--config", "no.yaml"], "no.yaml"),
        (["--model", "dummy", "--tasks", "stereoset_de", "--limit", "-3"], "--limit -3: must be a number"),
        (["--model", "dummy", "--tasks", "stereoset_de", "--limit", "0"], "--limit 0: must be a number"),
        (["--model", "dummy", "--tasks", "stereoset_de", "--samples", "[no"], "neither a file nor JSON"),
        (
            ["--model", "dummy", "--tasks", "stereoset_de", *SAMPLE, "--samples", '{"stereoset_de": [99]}'],
            "Elements of --samples should be in the interval",
        ),
        (["--model", "hf", "--tasks", "stereoset_de"], "needs --model_args pretrained=NAME"),
        (
            ["--model", "hf", "--model_args", "pretrained=a b", "--tasks", "stereoset_de"],
            "a b: cannot be loaded",
        ),
        (["--model", "dummy", "--tasks", "stereoset_de", "--log_samples"], "Specify --output_path"),
        (
            ["--model", "dummy", "--tasks", "stereoset_de", "--metadata", "dta=sample"],
            "--metadata dta=…: unknown to these tasks, which take data, orders",
        ),
        (
            ["--model", "hf", "--model_args", "pretrained=x,scorring=causal", "--tasks", "stereoset_de"],
            "--model_args scorring=…: unknown to --model hf; did you mean scoring, which --model stereoset-hf takes?",
        ),
        (
            [
                "--model",
                "stereoset-hf",
                "--model_args",
                "pretrained=x,scorring=causal",
                "--tasks",
                "stereoset_de",
            ],
            "did you mean scoring? known are pretrained, scoring, case",
        ),
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
    monkeypatch.setattr("lm_eval_stereoset.data.download.BACKOFF", 0)
    code, printed = run("--model", "dummy", "--tasks", "stereoset_intra_de")
    assert code == 2
    assert "stereoset data fetch --from CLONE" in printed.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            "bos known",
            ["--apply_chat_template"],
            "--apply_chat_template: the model's tokenizer has no chat template",
        ),
        ("bos known", ["--model_args", "foo=1"], "--model_args foo=…: unknown to --model hf"),
        ("mt5", [], "use `stereoset run --model stereoset-hf`"),
        ("bos known", ["--use_cache", "blocked/cache"], "--use_cache blocked/cache: cannot be written"),
        ("bos known", ["--output_path", "blocked"], "--output_path blocked: cannot be written"),
        ("bos known", ["--output_path", "blocked/deep"], "--output_path blocked/deep: cannot be written"),
        ("cut", [], "cannot be loaded"),
        ("bos known", ["--model_args", "dtype=float33"], "dtype 'float33' is unknown"),
        ("bos known", ["--model_args", "tokenizer=./no"], "./no: no such folder (tokenizer)"),
        (
            "bos known",
            ["--model_args", "batch_size=2"],
            "--model_args batch_size=…: the harness gives this itself",
        ),
        ("bos known", ["--batch_size", "0"], "--batch_size 0: must be a whole number of at least 1"),
        ("bos known", ["--model_args", "enable_thinking=true"], "think_end_token is required"),
        (
            "bert",
            [],
            "is a masked language model, which the harness's `hf` cannot score; use --model stereoset-hf",
        ),
    ],
)
def test_a_mistake_with_a_model_is_one_line(run, tiny_models, tmp_path, kind, options, message):
    (tmp_path / "blocked").write_text("a file where a folder should be")
    folder = tiny_models.get(kind, tmp_path / kind)
    if kind == "cut":
        shutil.copytree(tiny_models["bos known"], folder)
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:5000])
    if kind == "bert":
        folder.mkdir()
        (folder / "config.json").write_text('{"model_type": "bert", "architectures": ["BertForMaskedLM"]}')
    code, printed = run(*model(folder), "--tasks", "stereoset_intra_en", "--limit", "2", *SAMPLE, *options)
    last = printed.err.splitlines()[-1]
    assert (code, last.startswith("stereoset run: ")) == (2, True)
    assert message in last
    assert "Traceback" not in printed.err


def test_a_missing_gguf_package_names_the_pip_command(run, tiny_models, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *_: None)
    folder = tiny_models["bos known"]
    code, printed = run(
        "--model",
        "hf",
        "--model_args",
        f"pretrained={folder},gguf_file=m.gguf",
        "--tasks",
        "stereoset_intra_en",
    )
    assert code == 2
    assert "pip install gguf" in printed.err.splitlines()[-1]


@pytest.mark.parametrize(
    "bug", [KeyError("counts"), ValueError("a bug of ours"), OSError("no"), TypeError("x")]
)
def test_a_bug_keeps_its_traceback(run, tiny_models, monkeypatch, bug):
    def broken(*_):
        raise bug

    monkeypatch.setattr("lm_eval_stereoset.harness.docs.requests_of_doc", broken)
    monkeypatch.setattr("lm_eval_stereoset.harness.task.BenchmarkTask.process_results", broken)
    with pytest.raises(type(bug)):
        run(*model(tiny_models["bos known"]), "--tasks", "stereoset_intra_en", "--limit", "2", *SAMPLE)


def test_results_that_cannot_be_saved_end_with_an_error_below_the_table(run, tiny_models, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / str(tiny_models["bos known"]).replace("/", "__")).write_text("in the way")
    arguments = [
        "--tasks",
        "stereoset_intra_en",
        "--limit",
        "2",
        *SAMPLE,
        "--output_path",
        "out",
        "--log_samples",
    ]
    code, printed = run(*model(tiny_models["bos known"]), *arguments)
    assert code == 2
    assert len(rows_of(printed.out)) == 1
    assert "stereoset report" not in printed.out
    assert "--output_path out: Could not save results aggregated" in printed.err.splitlines()[-1]


def test_closing_lines_give_the_examples_used_and_what_was_computed(run, tiny_models):
    code, printed = run(*model(tiny_models["bos known"]), "--tasks", "stereoset_en", "--limit", "7", *SAMPLE)
    assert code == 0
    (row,) = rows_of(printed.out)
    assert re.fullmatch(
        r"bos-known +en +both +\S+ ± \S+ +\S+ ± \S+ +\S+ ± \S+ +7 of 56 +\[1\] \[2\] +sample", row
    )
    assert "\n[1] mean log-likelihood of the sentence; normaliser: tokens of" in printed.out
    assert "intra/en, 4 of 28 examples, sha256" in printed.out
    assert "inter/en, 3 of 28 examples, sha256" in printed.out
    assert "|" not in printed.out, "the harness's table is behind --full-table"
    assert printed.out.splitlines()[-1] == (
        "For a report, add --output_path DIR --log_samples; then: stereoset report DIR -o report.html"
    )


def test_the_last_line_is_the_command_that_makes_the_report(run, tiny_models, capsys):
    arguments = [*model(tiny_models["bos known"]), "--tasks", "stereoset_inter_tr", "--limit", "4", *SAMPLE]
    for name in ("my results", "results.json"):
        code, printed = run(*arguments, "--output_path", name, "--log_samples")
        assert code == 0
        command, *words = shlex.split(printed.out.splitlines()[-1])
        assert command == "stereoset"
        assert main(words) == 0
        assert Path("report.html").is_file()


def test_a_run_of_ties_has_a_table_of_nan_and_exit_code_2(run, monkeypatch):
    """The dummy's answers are made such that their mean per byte is always the same."""
    monkeypatch.setattr(
        "lm_eval.models.dummy.DummyLM.loglikelihood",
        lambda self, requests, **_: [(-float(len(r.args[1].strip().encode())), False) for r in requests],
    )
    code, printed = run("--model", "dummy", "--tasks", "stereoset_intra_en", *SAMPLE)
    assert code == 2
    assert (
        "in 28 of 28 examples stereotype and anti-stereotype have the very same score"
        in printed.err.splitlines()[-1]
    )
    (row,) = rows_of(printed.out)
    assert row.split()[:3] == ["dummy", "en", "intra"]
    assert row.count("NaN ± NaN") == 3


@pytest.mark.parametrize(
    ("options", "configured", "expected"),
    [
        (["--model", "hf"], {}, "16"),
        (["--model", "huggingface"], {}, "16"),
        (["--model", "stereoset-hf"], {}, "auto"),
        ([], {"model": "stereoset-hf"}, "auto"),
        ([], {"model": "hf"}, "16"),
        (["--model", "hf", "--batch_size", "3"], {}, "3"),
        (["--model", "hf", "-b", "3"], {}, "3"),
        (["--model", "stereoset-hf", "--batch", "3"], {"batch_size": 5}, "3"),
        (["--model", "hf"], {"batch_size": 5}, "5"),
        ([], {"model": "stereoset-hf", "batch_size": 1}, "1"),
        (["--model", "dummy"], {}, "1"),
    ],
)
def test_the_batch_size_is_the_users_or_a_good_one(
    run, tiny_models, monkeypatch, tmp_path, options, configured, expected
):
    from lm_eval.config.evaluate_config import EvaluatorConfig

    found = []
    monkeypatch.setattr(
        "lm_eval._cli.HarnessCLI.execute",
        lambda self, args: found.append(str(EvaluatorConfig.from_cli(args).batch_size)),
    )
    (tmp_path / "run.yaml").write_text(
        yaml.safe_dump({"tasks": ["stereoset_intra_en"], "metadata": {"data": "sample"}} | configured)
    )
    code, printed = run(
        "--config", tmp_path / "run.yaml", "--model_args", f"pretrained={tiny_models['bos known']}", *options
    )
    assert code == 0, printed.err
    assert found == [expected]
