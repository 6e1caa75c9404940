"""What goes in: kinds of results, names, and what is wrong, partial or not comparable about them."""

import json

import pytest

from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.cli import main as stereoset
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness import closing
from lm_eval_stereoset.report import inputs, names
from lm_eval_stereoset.report.model_run import Run


def texts(data: dict, level: str | None = None) -> str:
    return "\n".join(n["text"] for n in data["notices"] if level in (None, n["level"]))


def write_predictions(path, language="en", splits=("intra", "inter"), shift=0.0):
    """Scores for the bundled sample that prefer every stereotype by `shift`."""
    keys = {"intra": "intrasentence", "inter": "intersentence"}
    content = {
        keys[split]: [
            {"id": c.id, "score": len(c.sentence) % 7 + (shift if c.label == "stereotype" else 0)}
            for e in load(split, language, "sample").examples
            for c in e.candidates
        ]
        for split in splits
    }
    path.write_text(json.dumps(content))
    return path


# names


@pytest.mark.parametrize(
    ("stem", "model", "language", "variant"),
    [
        ("gpt2_GPT2LM_GPT2LM_d_en", "gpt2", "en", "GPT2LM_d"),
        ("gpt2__GPT2LM_e_en", "gpt2", "en", "GPT2LM_e"),
        ("gpt2__GPT2LM_orig_en", "gpt2", "en", "GPT2LM_orig"),
        ("org_a_base_cased_BertLM_BertNextSentence_fr", "org_a_base_cased", "fr", "BertNextSentence"),
        ("google_mt5-base_mT5LM_ModelNSP_de", "google_mt5-base", "de", "ModelNSP"),
        ("t5-base_T5LM_T5LM_en", "t5-base", "en", "T5LM"),
        ("my_model_tr", "my_model", "tr", None),
        ("predictions", "predictions", None, None),
    ],
)  # fmt: skip
def test_model_and_language_come_from_the_file_name(tmp_path, stem, model, language, variant):
    assert names.parse_file_name(tmp_path / f"{stem}.json", BENCHMARK)[:3] == (model, language, variant)


def test_arguments_can_name_model_and_language(tmp_path):
    assert names.parse_argument("mBERT:de=a/b.json")[1:] == ("mBERT", "de")
    assert names.parse_argument("org/model=a=b.json") == (names.Path("a=b.json"), "org/model", None)
    odd = tmp_path / "a=b.json"
    odd.write_text("{}")
    assert names.parse_argument(str(odd)) == (odd, None, None)  # a file that exists is a path


def test_local_paths_of_models_become_short_and_hub_ids_stay():
    assert closing.model_name("/data/models/tiny") == "tiny"
    assert closing.model_name("org/model") == "org/model"


def test_variants_tell_runs_of_one_model_apart_only_where_needed():
    found = (
        ("gpt2", "en", "a", "c"),
        ("gpt2", "en", "b", "d"),
        ("gpt2", "de", "c", "d"),
        ("bert", "en", "d", "x"),
    )
    runs = [Run(BENCHMARK, *names, {}, variant=variant) for *names, variant in found]
    names.tell_apart(runs)
    assert [run.model for run in runs] == ["gpt2 (c)", "gpt2 (d)", "gpt2 (d)", "bert"]


def test_two_results_under_one_name_are_refused():
    with pytest.raises(UserError, match=r"two results for m in de: a and b; .*NAME=PATH"):
        names.tell_apart([Run(BENCHMARK, "m", "de", "a", {}), Run(BENCHMARK, "m", "de", "b", {})])


# kinds of input


def test_harness_folder_with_samples_gives_everything(harness_folder, report):
    harness_folder.write("org/model-a", "en", seed=1)
    harness_folder.write("org/model-a", "de", seed=2)
    harness_folder.write("org/model-b", "en", seed=3)
    data = report(harness_folder.root)
    assert data["models"] == ["org/model-a", "org/model-b"]
    assert [language["code"] for language in data["languages"]] == ["en", "de"]
    assert {(c["kind"], c["split"]) for c in data["comparisons"]} == {
        (kind, split) for kind in ("models", "languages") for split in ("overall", "intra", "inter")
    }
    assert [notice["level"] for notice in data["notices"]] == ["warning"]  # that it is the bundled sample


@pytest.mark.parametrize("samples", [True, False])
def test_results_that_do_not_name_their_benchmark_are_read_as_before(harness_folder, report, samples):
    folders = [
        harness_folder.write(name, as_in_0_1=old, samples=samples)
        for name, old in (("a", True), ("b", False))
    ]
    old, new = (report(folder)["runs"][0]["values"] for folder in folders)
    assert old == new
    content = json.loads(next(folders[0].glob("results_*.json")).read_text())
    del content["configs"]["stereoset_en"][
        "metadata"
    ]  # plain `lm_eval` of other times: only the name says it
    next(folders[0].glob("results_*.json")).write_text(json.dumps(content))
    assert report(folders[0])["runs"][0]["values"] == new


def test_an_unknown_benchmark_is_one_line(harness_folder, capsys):
    path = next(harness_folder.write().glob("results_*.json"))
    path.write_text(path.read_text().replace('"benchmark": "stereoset"', '"benchmark": "later"'))
    assert "its benchmark 'later' is not one of stereoset" in fails(capsys, path)


def test_results_file_and_samples_file_can_be_given_themselves(harness_folder, report):
    folder = harness_folder.write()
    by_folder = report(folder)["runs"][0]["values"]
    assert report(next(folder.glob("results_*.json")))["runs"][0]["values"] == by_folder
    data = report(f"x={next(folder.glob('samples_*.jsonl'))}")
    assert data["runs"][0]["values"] == by_folder
    assert "not known" in texts(data)


def test_results_under_a_name_of_the_users_own_are_found(harness_folder, report):
    """`--output_path out.json` makes out_<time>.json, and the samples beside it."""
    path = next(harness_folder.write().glob("results_*.json"))
    path.rename(path.with_name(path.name.replace("results_", "out_")))
    data = report(harness_folder.root)
    assert data["runs"][0]["samples"]
    assert [notice["level"] for notice in data["notices"]] == ["warning"]  # that it is the bundled sample


def test_numbers_from_samples_equal_those_in_the_results_file(harness_folder, report):
    folder = harness_folder.write(seed=5)
    reported = json.loads(next(folder.glob("results_*.json")).read_text())["results"]["stereoset_en"]
    shown = report(folder)["runs"][0]["values"]["overall"]["overall"]
    for metric in ("ss", "lms", "icat", "mc_ss", "mc_lms", "icat_macro", "icat_micro"):
        assert shown[metric][0] == pytest.approx(reported[f"{metric},none"], abs=1e-8)


def test_separate_tasks_of_the_splits_are_pooled_from_their_samples(harness_folder, report):
    harness_folder.write("m", splits=("intra",), seed=1)
    harness_folder.write("m", splits=("inter",), seed=2, time="2025-01-01T11-00-00.0")
    data = report(harness_folder.root)
    assert len(data["runs"]) == 1
    assert data["runs"][0]["values"]["overall"]["overall"]["n"] == 56


def test_newest_result_of_a_task_counts_and_older_ones_are_mentioned(harness_folder, report):
    harness_folder.write("m", seed=1, time="2025-01-01T10-00-00.0")
    newest = report(harness_folder.write("m", seed=2, time="2025-02-01T10-00-00.0"))
    assert "1 older result(s)" in texts(newest)
    for path in harness_folder.root.rglob("*2025-01*"):
        path.unlink()
    assert report(harness_folder.root)["runs"][0]["values"] == newest["runs"][0]["values"]


def test_same_model_under_two_harness_classes_is_two_models(harness_folder, report):
    harness_folder.write("m", seed=1, time="2025-01-01T10-00-00.0", source="hf")
    harness_folder.write("m", seed=2, time="2025-02-01T10-00-00.0", source="stereoset-hf")
    assert report(harness_folder.root)["models"] == ["m (hf)", "m (stereoset-hf)"]


def test_prediction_files_of_the_sample_need_the_data_named(tmp_path, report):
    path = write_predictions(tmp_path / "m_T5LM_T5LM_en.json", shift=20)
    data = report(path, "--data", "sample")
    assert data["models"] == ["m"]
    assert data["runs"][0]["values"]["overall"]["overall"]["ss"][0] == 100


def test_scores_only_are_shown_without_tests_or_examples(tmp_path, report, capsys):
    path = write_predictions(tmp_path / "m_en.json")
    scores = tmp_path / "scores_en.json"
    assert stereoset(["score", str(path), "-l", "en", "--data", "sample", "-o", str(scores)]) == 0
    whole = report(path, "--data", "sample")
    data = report(f"only-scores:en={scores}", tmp_path / "m_en.json", "--data", "sample")
    assert data["runs"][0]["values"] == whole["runs"][0]["values"]
    assert not data["comparisons"]
    assert "only-scores, en: scores only: no examples and no paired tests" in texts(data)


def test_page_without_examples_is_possible(harness_folder, report):
    data = report(harness_folder.write(), "--no-examples")
    assert data["examples"] is None
    assert data["path"].stat().st_size < 200_000


# what a reader must know


def test_limited_run_is_warned_about(harness_folder, report):
    data = report(harness_folder.write(limit=9))
    assert "intra covers only 9 of 28 examples" in texts(data, "warning")
    assert "inter covers only 9 of 28 examples" in texts(data, "warning")


def test_limited_run_without_samples_is_warned_about(harness_folder, report):
    data = report(harness_folder.write(limit=9, samples=False))
    assert "covers only 18 of 56 examples" in texts(data, "warning")


def test_different_versions_of_the_data_are_warned_about(harness_folder, report):
    harness_folder.write("a")
    harness_folder.write("b", version="other 2.0")
    found = texts(report(harness_folder.root), "warning")
    assert "intra/en: runs used different versions of the data" in found
    assert "sample other 2.0" in found


def test_different_normalisers_are_warned_about_and_different_tokenizers_are_not(harness_folder, report):
    harness_folder.write("a", normaliser="tokens of a")
    harness_folder.write("b", normaliser="tokens of b")
    assert "normalised" not in texts(report(harness_folder.root))
    harness_folder.write("c", normaliser="bytes of the text")
    assert "by tokens: a, en, b, en; by bytes: c, en" in texts(report(harness_folder.root), "warning")


def test_frequent_ties_are_warned_about(harness_folder, report):
    data = report(harness_folder.write(score=lambda doc: [-10, -10, -10]))
    assert "in 100.0 % of the intra examples" in texts(data, "warning")
    assert "SS would be 100.0 points higher" in texts(data, "warning")


def test_results_file_that_disagrees_with_its_samples_is_noticed(harness_folder, report):
    folder = harness_folder.write(seed=3)
    path = next(folder.glob("results_*.json"))
    content = json.loads(path.read_text())
    content["results"]["stereoset_en"]["ss,none"] += 1
    path.write_text(json.dumps(content))
    assert "in the results file but" in texts(report(folder))


def test_language_of_the_argument_against_that_of_the_file_name_is_noticed(tmp_path, report):
    path = write_predictions(tmp_path / "m_T5LM_T5LM_fr.json")
    assert "name says fr, it was given as en" in texts(report(f"m:en={path}", "--data", "sample"))


def test_only_shared_examples_are_compared(harness_folder, report):
    harness_folder.write("a")
    harness_folder.write("b", limit=10)
    data = report(harness_folder.root)
    (overall,) = (c for c in data["comparisons"] if c["split"] == "overall")
    assert (overall["n"], overall["leftOut"]) == (20, 36)
    assert "1 comparisons use only the examples that both sides have" in texts(data)


# bad input: one clear line


def fails(capsys, *arguments) -> str:
    assert stereoset(["report", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.strip().splitlines()
    assert "Traceback" not in captured.err
    return line


def test_missing_path(tmp_path, capsys):
    assert "no such file or folder" in fails(capsys, tmp_path / "nothing", "-o", tmp_path / "r.html")


def test_folder_without_results(tmp_path, capsys):
    assert "a folder without results" in fails(capsys, tmp_path, "-o", tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_results_of_other_tasks(tmp_path, capsys):
    content = {"results": {"hellaswag": {"acc,none": 0.5}}, "configs": {"hellaswag": {}}}
    (tmp_path / "results_2025.json").write_text(json.dumps(content))
    line = fails(capsys, tmp_path)
    assert "results of other tasks only (hellaswag), none of StereoSet" in line


def test_other_tasks_beside_ours_are_ignored(harness_folder, report):
    data = report(harness_folder.write(extra={"hellaswag": {"acc,none": 0.5}}))
    assert len(data["runs"]) == 1


def test_truncated_results_file(harness_folder, capsys):
    path = next(harness_folder.write().glob("results_*.json"))
    path.write_text(path.read_text()[:-100])
    line = fails(capsys, harness_folder.root)
    assert path.name in line
    assert "cut off" in line


def test_truncated_samples_file(harness_folder, capsys):
    path = next(harness_folder.write().glob("samples_*.jsonl"))
    path.write_text(path.read_text()[:-100])
    line = fails(capsys, harness_folder.root)
    assert f"{path.name}, line 56" in line


def test_truncated_predictions(tmp_path, capsys):
    path = write_predictions(tmp_path / "m_en.json")
    path.write_text(path.read_text()[:-10])
    assert "cut off" in fails(capsys, path, "--data", "sample")


def test_predictions_of_unknown_language(tmp_path, capsys):
    path = write_predictions(tmp_path / "predictions.json")
    line = fails(capsys, path, "--data", "sample")
    assert "does not say which language" in line
    assert "NAME:LANGUAGE=PATH" in line


def test_predictions_for_other_data(tmp_path, capsys):
    path = tmp_path / "m_en.json"
    path.write_text(json.dumps({"intrasentence": [{"id": "x", "score": 1.0}]}))
    assert "no score for 84 of 84 candidates" in fails(capsys, path, "--data", "sample")


def test_other_json(tmp_path, capsys):
    path = tmp_path / "m_en.json"
    path.write_text('["hello"]')
    assert "neither results of the harness, nor predictions" in fails(capsys, path)


def test_scores_with_text_for_a_number(tmp_path, capsys):
    path = tmp_path / "m_en.json"
    path.write_text(json.dumps({"intra": {"overall": {"ss": "50"}}}))
    assert 'ss is not a number: "50"' in fails(capsys, path)


def test_output_that_is_a_folder(tmp_path, capsys):
    assert "is a folder" in fails(capsys, tmp_path, "-o", tmp_path)


def test_language_that_results_contradict(harness_folder, capsys):
    path = harness_folder.write()
    assert "is of language en, not de" in fails(capsys, f"x:de={path}")


def test_unknown_row_of_the_paper(harness_folder, capsys):
    path = harness_folder.write()
    assert "row of BERT, GPT-2" in fails(capsys, path, "--paper-row", "m=XLNet")
    assert "no model 'm'" in fails(capsys, path, "--paper-row", "m=BERT")


def test_help_comes_without_heavy_imports():
    import subprocess
    import sys

    code = """
import sys
from lm_eval_stereoset.cli import main
try:
    main(["report", "--help"])
except SystemExit:
    print([name for name in ("numpy", "matplotlib", "torch") if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip().endswith("[]")


def test_same_data_is_read_once_for_all_models(tmp_path):
    for name in ("a_en.json", "b_en.json"):
        write_predictions(tmp_path / name)
    one, two = inputs.load([str(tmp_path / "a_en.json"), str(tmp_path / "b_en.json")], "sample")
    assert one.parts["intra"].examples is two.parts["intra"].examples
