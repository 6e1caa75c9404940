"""From a real run of the harness to the page: whatever the harness writes today is what the report reads."""

import json
import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def folder(shared, tmp_path_factory):
    """Two models, two languages, the bundled sample."""
    root = tmp_path_factory.mktemp("real")
    for model, kind in (("tiny-gpt2", "hf"), ("tiny-bert", "stereoset-hf")):
        command = [
            sys.executable, "-m", "lm_eval_stereoset", "run", "--model", kind, "--device", "cpu", "--batch_size", "8",
            "--model_args", f"pretrained={shared / 'golden' / 'models' / model}",
            "--tasks", "stereoset_en,stereoset_intra_tr", "--metadata", '{"data": "sample"}',
            "--log_samples", "--output_path", str(root),
        ]  # fmt: skip
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert result.returncode == 0, result.stderr[-2000:]
    return root


def test_report_of_a_real_run_has_the_harness_own_numbers(folder, report):
    data = report(folder)
    assert sorted(data["models"]) == ["tiny-bert", "tiny-gpt2"]
    checked = 0
    for path in folder.rglob("results_*.json"):
        content = json.loads(path.read_text("utf-8"))
        model = data["models"].index(content["model_name"].rpartition("/")[2])
        for task, split, language in (("stereoset_en", "overall", 0), ("stereoset_intra_tr", "intra", 1)):
            run = next(r for r in data["runs"] if (r["model"], r["language"]) == (model, language))
            for metric in ("ss", "lms", "icat", "mc_ss", "mc_lms", "icat_macro", "icat_micro"):
                value = content["results"][task][f"{metric},none"]
                assert run["values"][split]["overall"][metric][0] == pytest.approx(value, abs=1e-7)
                checked += 1
            for group in ("gender", "race"):
                value = content["results"][task][f"ss_{group},none"]
                assert run["values"][split][group]["ss"][0] == pytest.approx(value, abs=1e-7)
    assert checked == 28


def test_report_of_a_real_run_knows_where_its_numbers_come_from(folder, report):
    data = report(folder)
    assert {run["data"] for run in data["runs"]} == {"sample 1.0"}
    # A page may be published: folders of the machine stay out of it.
    normalisers = {run["normaliser"] for run in data["runs"]}
    assert normalisers == {
        "tokens of tiny-gpt2",
        "tokens of tiny-bert, of the candidate word only",
        "none and tokens of tiny-bert, of the candidate word only",
    }
    assert any(
        "probability that the candidate follows the context" in run["quantity"] for run in data["runs"]
    )
    assert str(folder.parent) not in data["path"].read_text("utf-8")
    warnings = [n["text"] for n in data["notices"] if n["level"] == "warning"]
    assert len(warnings) == 1
    assert "on the small sample" in warnings[0]
    assert {(c["kind"], c["split"]) for c in data["comparisons"]} == {
        ("models", "overall"), ("models", "intra"), ("models", "inter"), ("languages", "intra"),
    }  # fmt: skip
