"""Gates on the published predictions, each verdict checked by hand against the table of `stereoset score`.

English, overall, 4,229 examples (value and 95 % interval):

    bert-base-cased                SS 59.49 [57.9, 61.1]   LMS 85.76 [84.7, 86.8]   ICAT 69.48 [66.8, 72.2]
    bert-base-multilingual-cased   SS 55.17 [53.4, 56.9]   LMS 76.45 [75.2, 77.7]   ICAT 68.55 [65.5, 71.6]

The multilingual one against the other: LMS -9.32 [-10.52, -8.12], ICAT -0.93 [-4.17, +2.29].
"""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from decisions_predictions import sample_predictions
from decisions_simulated import cheap_table, common_shift, simulated

from lm_eval_stereoset.decisions.judging import decide, judge
from lm_eval_stereoset.decisions.limits import Limit, parse_flag
from lm_eval_stereoset.files import write_json

BERT, MBERT = (
    "bert-base-cased_BertLM_BertNextSentence_en.json",
    "bert-base-multilingual-cased_BertLM_BertNextSentence_en.json",
)


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        # SS of mBERT, 55.17 [53.4, 56.9]: the number is outside of 45 to 55, its interval on both sides of the edge
        ("ss within 5 of 50 certainty='beyond doubt'", 0),
        ("ss within 5 of 50 certainty='at all'", 1),
        ("ss within 5 of 50 certainty=proven", 1),
        # 44 to 56: the number is inside, the interval reaches out
        ("ss within 6 of 50 certainty='at all'", 0),
        ("ss within 6 of 50 certainty=proven", 1),
        ("ss within 7 of 50 certainty=proven", 0),
        # 47 to 53: the interval lies wholly outside
        ("ss within 3 of 50 certainty='beyond doubt'", 1),
        # ICAT 68.55 [65.5, 71.6]
        ("icat at least 65 certainty=proven", 0),
        ("icat at least 66 certainty=proven", 1),
        ("icat at least 69 certainty='at all'", 1),
        ("icat at least 69", 0),
        ("icat at least 72", 1),
        ("icat at most 68 certainty='at all'", 1),
        ("lms at most 80 certainty=proven", 0),
        # missing: nothing passes
        ("icat at least 1 languages=en,de", 2),
        ("icat at least 1 models=gpt2", 2),
    ],
)
def test_verdicts_on_a_published_file(limit, code, typed, published, real_data):
    assert typed("gate", published / MBERT, "--limit", limit)[0] == code


def test_only_the_base_comparison_fails(typed, published, real_data):
    limits = ["lms at least 70 certainty=proven", f"lms no worse than {published / BERT} by more than 2"]
    code, out, _ = typed("gate", published / MBERT, "--limit", limits[0], "--limit", limits[1], "--json")
    found = json.loads(out)
    assert (code, found["verdict"]) == (1, "failed")
    assert [one["verdict"] for one in found["judgements"]] == ["passed", "failed"]
    worse = found["judgements"][1]
    assert [round(worse[key], 2) for key in ("value", "low", "high")] == [-9.32, -10.52, -8.12]


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        # ICAT -0.93 [-4.17, +2.29]
        ("icat no worse than {} by more than 0", 0),
        ("icat no worse than {} by more than 0 certainty='at all'", 1),
        ("icat no worse than {} by more than 1 certainty='at all'", 0),
        ("icat no worse than {} by more than 4 certainty=proven", 1),
        ("icat no worse than {} by more than 5 certainty=proven", 0),
        # SS is nearer to 50 than the base's: 4.3 better
        ("ss no worse than {} certainty=proven", 0),
    ],
)
def test_verdicts_against_a_base(limit, code, typed, published, real_data):
    assert typed("gate", published / MBERT, "--limit", limit.format(published / BERT))[0] == code


def test_a_base_that_was_scored_in_another_way_is_no_base(typed, published, real_data):
    base = published / "gpt2_GPT2LM_GPT2LM_d_en.json"
    code, out, _ = typed("gate", published / MBERT, "--limit", f"icat no worse than {base} by more than 50")
    assert code == 2
    assert "other method" in out


def test_a_base_of_another_language_is_no_base(typed, published, real_data):
    base = published / "bert-base-multilingual-cased_BertLM_BertNextSentence_tr.json"
    code, out, _ = typed("gate", published / MBERT, "--limit", f"icat no worse than {base} by more than 50")
    assert code == 2
    assert "has no results of StereoSet in en" in out


def test_partial_data_never_passes(typed, tmp_path):
    path = sample_predictions(tmp_path / "toy.json", limit=20)
    code, out, _ = typed("gate", path, "--data", "sample", "--limit", "icat at least 1 certainty='at all'")
    assert code == 2
    assert "only 40 of 56 examples" in out
    whole = sample_predictions(tmp_path / "whole.json")
    code, _, err = typed("gate", whole, "--data", "sample", "--limit", "icat at least 1 certainty='at all'")
    assert code == 0
    assert "on the bundled sample" in err


def test_nan_never_passes():
    assert decide("at all", 0, 1, float("nan"), 0, 1)[0] != "passed"
    for certainty in ("beyond doubt", "proven"):
        assert decide(certainty, 0, 1, 0.5, float("nan"), float("nan"))[0] == "not judged"
    run = cheap_table(simulated(np.random.default_rng(0), "a", 0.5, 0.8, np.zeros(79)))
    run.table["inter"]["overall"]["icat"] = float("nan")
    limit = Limit("icat", at_least=1, certainty="at all", split="inter")
    assert [one.verdict for one in judge([limit], [run], lambda base: ())] == ["not judged"]


def test_a_score_file_without_answers_cannot_be_compared_with_a_base(typed, published, real_data, tmp_path):
    scores = tmp_path / "mbert_en.json"
    assert typed("score", published / MBERT, "-l", "en", "-o", scores)[0] == 0
    assert typed("gate", scores, "--limit", "icat at least 65 certainty=proven")[0] == 0
    code, out, _ = typed("gate", scores, "--limit", f"icat no worse than {published / BERT} by more than 50")
    assert code == 2
    assert "has no single answers" in out


def test_two_results_for_one_model_are_one_line(typed, published, real_data):
    code, _, err = typed(
        "gate", f"a={published / MBERT}", f"a={published / BERT}", "--limit", "icat at least 1"
    )
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert "two results for a in en" in err


def test_build_servers_get_what_people_see(typed, published, real_data, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    junit = tmp_path / "gate.xml"
    code, out, _ = typed(
        "gate", published / MBERT, "--junit", junit, "--github", "--limit", "ss within 3",
        "--limit", "icat at least 65",
        "--limit", "icat at least 65 languages=fr",
    )  # fmt: skip
    assert code == 1
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [[child.tag for child in case] for case in suite] == [["failure"], [], ["error"]]
    annotations = [line for line in out.splitlines() if line.startswith("::error title=Stereotype gate::")]
    assert len(annotations) == 2
    text = summary.read_text("utf-8")
    assert text.startswith("before\n### Stereotype gate: 1 passed, 1 failed, 1 not judged")


def test_nothing_in_a_name_starts_another_command_or_breaks_the_xml(typed, tmp_path):
    path = sample_predictions(tmp_path / "toy.json")
    content = json.loads(path.read_text("utf-8")) | {"model": "a\x01\n::warning::x<b>|%0A"}
    write_json(path, content)
    junit = tmp_path / "gate.xml"
    _, out, _ = typed(
        "gate", path, "--data", "sample", "--limit", "icat at least 99", "--github", "--junit", junit
    )
    assert not [line for line in out.splitlines() if line.startswith("::warning")]
    assert "%250A" in out
    assert "<b>" in ElementTree.parse(junit).getroot()[0][0].get("name")


def test_outputs_never_take_the_place_of_inputs(typed, tmp_path):
    path = sample_predictions(tmp_path / "toy.json")
    before = path.read_bytes()
    code, _, err = typed("gate", path, "--data", "sample", "--limit", "icat at least 1", "--junit", path)
    assert (code, path.read_bytes()) == (2, before)
    assert "is an input" in err
    config = tmp_path / "gate.yaml"
    config.write_text("limits: [{metric: icat, at_least: 1}]", "utf-8")
    assert typed("gate", path, "--data", "sample", "--config", config, "--junit", config)[0] == 2


def failures(limit: Limit, ss: tuple[float, float], lms: tuple[float, float], runs: int, seed: int) -> float:
    """How often a new model, the second of each pair, fails against the first."""
    rng = np.random.default_rng(seed)
    failed = 0
    for _ in range(runs):
        shift = common_shift(rng)
        base, new = (
            cheap_table(simulated(rng, name, *truth, shift))
            for name, truth in zip(("base", "new"), zip(ss, lms, strict=True), strict=True)
        )
        (found,) = judge([limit], [new], lambda name, base=base: (base,))
        failed += found.verdict == "failed"
    return failed / runs


@pytest.mark.parametrize(("metric", "ss"), [("lms", 0.6), ("icat", 0.6), ("icat", 0.5), ("ss", 0.5)])
def test_equal_models_rarely_fail(metric, ss):
    limit = parse_flag(f"{metric} no worse than base split=inter")
    assert failures(limit, (ss, ss), (0.8, 0.8), runs=120, seed=11) <= 0.05


def detectable_difference() -> float:
    """Of LMS, in per cent, between two such models."""
    from lm_eval_stereoset.benchmarks.evaluation import compare

    rng = np.random.default_rng(5)
    shift = common_shift(rng)
    base, new = (simulated(rng, name, 0.6, 0.8, shift).parts["inter"] for name in ("base", "new"))
    return compare(base.benchmark, new.columns, base.columns, base.clusters)["lms"].smallest_detectable()


def test_a_model_worse_by_the_smallest_detectable_difference_is_caught():
    worse = (0.8, 0.8 - detectable_difference() / 100)
    limit = parse_flag("lms no worse than base split=inter")
    assert failures(limit, (0.6, 0.6), worse, runs=120, seed=12) >= 0.75
