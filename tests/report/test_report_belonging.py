"""Results under one name that are not of one model, setting or data are never pooled, and it is said."""

import json

import pytest

from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.cli import main as stereoset


def texts(data: dict) -> str:
    return "\n".join(notice["text"] for notice in data["notices"])


def identified(weights="w1", arguments=None, **settings) -> dict:
    identity = {"weights": weights, "tokenizer": "t", "settings": settings}
    identity["fingerprint"] = json.dumps(identity)
    return {"model_args": arguments or {"pretrained": "m"}, "stereoset": {"identity": identity}}


def write_both(harness_folder, first, second):
    """intra of one and inter of the other, as two runs of the harness leave them in one folder."""
    harness_folder.write("m", splits=("intra",), seed=1, **first)
    harness_folder.write("m", splits=("inter",), seed=2, **second)
    return harness_folder.root


APART = {
    "weights": ({"config": identified("w1")}, {"config": identified("w2")}, "weights"),
    "settings": ({"config": identified(case="d")}, {"config": identified(case="e")}, "settings"),
    "subfolder of older results": (
        {"config": {"model_args": {"pretrained": "m", "subfolder": "a"}}},
        {"config": {"model_args": {"pretrained": "m", "subfolder": "b"}}},
        "subfolder b and a",
    ),
    "model_args as a text": (
        {"config": {"model_args": "pretrained=m,revision=x"}},
        {"config": {"model_args": "pretrained=m"}},
        "revision not given and x",
    ),
    "precision of older results": (
        {"config": {"model_dtype": "torch.float32"}},
        {"config": {"model_dtype": "torch.bfloat16"}},
        "model_dtype",
    ),
    "case of older results": (
        {"config": {"stereoset": {"case": "d"}}},
        {"config": {"stereoset": {"case": "e"}}},
        "case",
    ),
    "chat template": ({"more": {"chat_template_sha": "x"}}, {}, "chat template"),
    "few-shot examples": ({"more": {"n-shot": {"stereoset_intra_en": 3}}}, {}, "few-shot"),
    "data": ({"version": "1.0"}, {"version": "2.0"}, "data of inter and intra"),
}


@pytest.mark.parametrize("what", APART)
def test_splits_of_different_origin_are_not_pooled_and_one_line_says_why(harness_folder, report, what):
    first, second, reason = APART[what]
    data = report(write_both(harness_folder, first, second))
    assert len(data["runs"]) == 2
    assert all("overall" not in run["values"] for run in data["runs"])
    said = [line for line in texts(data).splitlines() if "do not belong together" in line]
    assert len(said) == 1
    assert reason in said[0]


def test_splits_of_the_same_identity_are_pooled_whatever_the_model_was_called(harness_folder, report):
    first = {"config": identified(arguments={"pretrained": "m", "batch_size": 4})}
    second = {"config": identified(arguments={"pretrained": "./m", "device": "cpu"})}
    data = report(write_both(harness_folder, first, second))
    assert data["runs"][0]["values"]["overall"]["overall"]["n"] == 56
    assert "belong" not in texts(data)
    assert "identity" not in texts(data)


def test_older_results_without_identity_are_pooled_by_their_model_args_and_it_is_said(harness_folder, report):
    same = {"config": {"model_args": {"pretrained": "m"}}}
    data = report(write_both(harness_folder, same, same))
    assert data["runs"][0]["values"]["overall"]["overall"]["n"] == 56
    assert "cannot be known" in texts(data)


def test_languages_of_different_weights_are_not_compared_as_one_model(harness_folder, report):
    harness_folder.write("m", "en", seed=1, config=identified("w1"))
    harness_folder.write("m", "de", seed=2, config=identified("w2"))
    data = report(harness_folder.root)
    assert len(data["models"]) == 2
    assert not [c for c in data["comparisons"] if c["kind"] == "languages"]


def test_a_model_named_by_the_user_keeps_what_tells_its_results_apart(harness_folder, report):
    root = write_both(harness_folder, *APART["weights"][:2])
    names = report(f"mine={root}")["models"]
    assert len(names) == 2
    assert all(name.startswith("mine (identity") for name in names)


@pytest.mark.parametrize(
    "config", [[], "x", {"stereoset": 3}, {"stereoset": {"identity": [1]}}, {"model_args": 5}]
)
def test_odd_contents_of_results_are_no_traceback(harness_folder, report, config):
    path = next(harness_folder.write("m").glob("results_*.json"))
    content = json.loads(path.read_text()) | {"config": config}
    path.write_text(json.dumps(content))
    assert len(report(harness_folder.root)["runs"]) == 1


# predictions with the head that `predict` writes


@pytest.fixture
def predictions(shared, tmp_path):
    out = tmp_path / "out.json"
    model = shared / "golden" / "models" / "tiny-gpt2"
    arguments = [str(model), "--language", "de", "--split", "intra", "--data", "sample", "--quiet"]
    assert stereoset(["predict", *arguments, "-o", str(out)]) == 0
    return out


def test_the_head_names_model_and_language(predictions, report, capsys):
    data = report(predictions, "--data", "sample")
    assert data["models"] == ["tiny-gpt2"]
    assert [language["code"] for language in data["languages"]] == ["de"]
    assert stereoset(["score", str(predictions), "--data", "sample"]) == 0
    assert "intra/de" in capsys.readouterr().out


def test_the_wrong_language_is_refused(predictions, tmp_path, capsys):
    assert stereoset(["score", str(predictions), "--language", "fr", "--data", "sample"]) == 2
    assert "predictions for language de" in capsys.readouterr().err
    arguments = [f"m:fr={predictions}", "--data", "sample", "-o", str(tmp_path / "r.html")]
    assert stereoset(["report", *arguments]) == 2
    assert "predictions for language de" in capsys.readouterr().err


def test_other_data_is_said(predictions, tmp_path, report, caplog):
    changed = tmp_path / "changed" / "intra" / "de.jsonl"
    changed.parent.mkdir(parents=True)
    changed.write_text(load("intra", "de", "sample").path.read_text().replace(" ist ", " war "))
    assert stereoset(["score", str(predictions), "--data", str(tmp_path / "changed")]) == 0
    assert "made from other data" in caplog.text
    assert "made from other data" in texts(report(predictions, "--data", tmp_path / "changed"))


def test_without_its_head_a_file_does_not_say_its_language(predictions, capsys):
    content = json.loads(predictions.read_text())
    predictions.write_text(json.dumps({"intrasentence": content["intrasentence"]}))
    assert stereoset(["score", str(predictions), "--data", "sample"]) == 2
    assert "of which language" in capsys.readouterr().err
    assert stereoset(["report", str(predictions), "--data", "sample"]) == 2
    assert "does not say which language" in capsys.readouterr().err


def test_the_head_says_how_predictions_were_scored(predictions, report):
    (run,) = report(predictions, "--data", "sample")["runs"]
    assert run["normaliser"] == "tokens of tiny-gpt2"
    assert run["quantity"]


def test_score_does_not_overwrite_predictions(predictions, capsys):
    before = predictions.read_bytes()
    assert stereoset(["score", str(predictions), "--data", "sample", "-o", str(predictions)]) == 2
    assert "which is an input" in capsys.readouterr().err
    assert predictions.read_bytes() == before
