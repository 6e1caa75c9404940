import json
import subprocess
import sys

import lm_eval.tasks
import numpy as np
import pytest
from lm_eval.tasks._index import Entry, Kind

from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.benchmarks.evaluation import evaluate as evaluate_parts
from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import BIAS_TYPES, LABELS, SPLITS, Example
from lm_eval_stereoset.benchmarks.stereoset.example import Candidate as StereoSetCandidate
from lm_eval_stereoset.harness import aggregation, docs
from lm_eval_stereoset.harness.aggregation import aggregate, harness_metrics, items_of
from lm_eval_stereoset.harness.answers import candidate_scores
from lm_eval_stereoset.harness.bends import tasks_found
from lm_eval_stereoset.harness.paths import include_paths, task_folder
from lm_eval_stereoset.harness.samples import read_samples
from lm_eval_stereoset.harness.yaml_tasks import task_files
from lm_eval_stereoset.scoring.questions import Candidate, Question, requests_of

ALL_TASKS = [f"stereoset_{split}_{code}" for split in SPLITS for code in STEREOSET.languages] + [
    f"stereoset_{code}" for code in STEREOSET.languages
]


@pytest.fixture(scope="module")
def manager():
    from lm_eval.tasks import TaskManager

    paths = [str(path) for path in include_paths()]
    return TaskManager(include_path=paths, metadata={"data": "sample"}, include_defaults=False)


@pytest.mark.parametrize("name", ALL_TASKS)
def test_every_task_loads_by_name(manager, name):
    task = manager.load(name)["tasks"][name]
    splits = 2 if name.count("_") == 1 else 1
    assert len(task.eval_docs) == 28 * splits
    assert task.VERSION == 1.0
    assert {doc["language"] for doc in task.eval_docs} == {name.split("_")[-1]}


@pytest.mark.parametrize(
    ("group", "members"),
    [("stereoset", ALL_TASKS[10:]), ("stereoset_intra", ALL_TASKS[:5]), ("stereoset_inter", ALL_TASKS[5:10])],
)
def test_groups_hold_the_tasks_of_all_languages(manager, group, members):
    assert sorted(manager.load(group)["tasks"]) == sorted(members)


def test_our_files_leave_the_harnesss_tag_alone_and_a_run_adds_them(manager):
    """A tag in an include path takes the place of the harness's own; the wheel's files are looked at in packaging/."""
    assert "social_bias" not in manager.task_index
    manager.task_index["social_bias"] = Entry("social_bias", Kind.TAG, None, tags={"theirs"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lm_eval.tasks.TaskManager", lambda: manager)
        with tasks_found(with_the_harnesss=True):
            tagged = lm_eval.tasks.TaskManager().task_index.pop("social_bias").tags
    assert {*ALL_TASKS, "theirs", "stereoset_pt", "stereoset_intra_pt", "stereoset_inter_pt"} <= tagged
    assert not any("chat" in task for task in tagged), "they have a tag of their own"


def test_committed_yaml_is_what_the_generator_writes():
    folder = task_folder() / "stereoset"
    written = {
        path.name: path.read_text()
        for path in folder.iterdir()
        if path.suffix == ".yaml" or path.suffix == ""
    }
    written = {name: text for name, text in written.items() if name != "__pycache__"}
    assert written == task_files(STEREOSET)
    assert (
        subprocess.run([sys.executable, task_folder() / "generate.py", "--check"], check=False).returncode
        == 0
    )


def test_leaves_are_three_lines():
    assert all(
        text.count("\n") == 3 for name, text in task_files(STEREOSET).items() if name.startswith("stereoset_")
    )


def test_ss_has_no_arrow_and_lms_and_icat_point_up(manager):
    task = manager.load("stereoset_de")["tasks"]["stereoset_de"]
    up = ("lms", "icat", "mc_lms", "icat_macro", "icat_micro")
    assert len(task.higher_is_better()) > 50
    for name, arrow in task.higher_is_better().items():
        one = harness_metrics(STEREOSET, SPLITS)[name]
        assert arrow == (True if one.metric.name in up and not one.stderr else None), name


def test_intra_asks_for_the_sentence_alone():
    doc = docs.example_to_doc(STEREOSET, load("intra", "en", "sample").examples[0], "en")
    assert docs.doc_to_text(doc) == ""
    assert docs.doc_to_choice(doc) == [c["sentence"] for c in doc["candidates"]]


@pytest.mark.parametrize(
    ("context", "asked"),
    [("A cook came", "A cook came."), ("A cook came.", "A cook came."), ("A cook?", "A cook?"), ("Oh!", "Oh!"),
     ('He said "no"', 'He said "no".'), ("Wait…", "Wait….")],
)  # fmt: skip
def test_inter_context_gets_a_final_dot_only_without_end_punctuation(context, asked):
    question = Question("follow", "x", context, (Candidate("y", "It rained."),))
    assert requests_of(question) == [(asked, " It rained.")]


def test_target_is_the_stereotypes_place():
    for example in load("inter", "de", "sample").examples:
        doc = docs.example_to_doc(STEREOSET, example, "de")
        assert doc["candidates"][docs.doc_to_target(doc)]["label"] == "stereotype"


def process_results(answers, counts=(2, 4, 5)):
    """What one document of StereoSet adds to the metrics of its task."""
    labels = ("unrelated", "stereotype", "anti-stereotype")
    candidates = tuple(StereoSetCandidate(label, label, f"A {label}.", label) for label in labels)
    example = Example("x", "Norwegen", "Norway", "race", "A BLANK.", candidates)
    scores = candidate_scores({"counts": list(counts)}, answers)
    return items_of(STEREOSET, ("intra",), example, scores)


def aggregated(name, items):
    return aggregate(STEREOSET, harness_metrics(STEREOSET, ("intra",))[name], items)


def test_sums_are_divided_by_token_counts_and_matched_to_labels():
    # means: unrelated -3, stereotype -2, anti-stereotype -2.5
    result = process_results([(-6.0, False), (-8.0, True), (-12.5, False)])
    assert result["ss"] == ("Norway", 1, 1, 0, 0)
    # by sums the unrelated one would have won
    result = process_results([(-6.0, False), (-8.0, True), (-12.5, False)], counts=(1, 1, 1))
    assert result["ss"] == ("Norway", 1, 0, 0, 0)


def test_a_models_own_count_in_the_second_place_is_used():
    result = process_results([(-6.0, 2), (-8.0, 4), (-12.5, 5)], counts=(9, 9, 9))
    assert result["lms"] == ("Norway", 1, 1, 0, 0)


def test_a_document_counts_only_in_its_own_subsets():
    result = process_results([(-6.0, False), (-8.0, False), (-12.5, False)])
    metrics = harness_metrics(STEREOSET, ("intra",))
    assert {name for name, value in result.items() if value is None} == {
        name for name in result if metrics[name].subset in {"gender", "profession", "religion"}
    }


@pytest.mark.parametrize("answer", [float("nan"), float("-inf")])
def test_an_answer_that_is_no_number_is_an_error_naming_the_example(answer):
    with pytest.raises(ValueError, match="example x: the model's answer is not a finite number"):
        process_results([(answer, False), (-8.0, False), (-12.5, False)])


def test_metrics_equal_those_of_the_replay(tiny_models, evaluate, tmp_path):
    """The harness's aggregation and `stereoset score` are two ways to the same numbers."""
    results = evaluate(tiny_models["bos known"], ["stereoset_de"], batch_size=8, log_samples=True)
    samples = results["samples"]["stereoset_de"]
    rows = {split: ([], []) for split in SPLITS}
    for sample in samples:
        doc = sample["doc"]
        means = {
            c["label"]: answer[0] / count
            for c, answer, count in zip(
                doc["candidates"], sample["filtered_resps"], doc["counts"], strict=True
            )
        }
        example = next(e for e in load(doc["split"], "de", "sample").examples if e.id == doc["id"])
        rows[doc["split"]][0].append(example)
        rows[doc["split"]][1].append([means[label] for label in LABELS])
    table = evaluate_parts(
        {s: Scored(STEREOSET, examples, np.array(scores)) for s, (examples, scores) in rows.items()}
    )
    found = results["results"]["stereoset_de"]
    for name, (_, metric, subset, stderr) in harness_metrics(STEREOSET, SPLITS).items():
        split, group = (subset, "overall") if subset in SPLITS else ("overall", subset or "overall")
        expected = table[split][group][metric.name + "_stderr" * stderr]
        assert found[f"{name},none"] == pytest.approx(expected, nan_ok=True), name


def test_batch_size_does_not_change_a_metric(tiny_models, evaluate):
    tasks = ["stereoset_en", "stereoset_intra_tr"]
    runs = [evaluate(tiny_models["bos added"], tasks, batch_size=n)["results"] for n in (1, 32)]
    for task in tasks:
        assert runs[0][task] == pytest.approx(runs[1][task], nan_ok=True)


def test_results_say_which_data_and_normaliser_they_are_from(tiny_models, evaluate):
    results = evaluate(
        tiny_models["bos known"], ["stereoset_intra_fr", "stereoset_fr"], batch_size=8, limit=4
    )
    one = results["configs"]["stereoset_intra_fr"]["metadata"]["provenance"]
    both = results["configs"]["stereoset_fr"]["metadata"]["provenance"]
    assert [d["split"] for d in one["data"]] == ["intra"]  # each task has its own
    assert [d["split"] for d in both["data"]] == ["intra", "inter"]
    assert both["data"][0] | {"sha256": 0} == {
        "split": "intra", "language": "fr", "data": "sample", "source": "lm-eval-stereoset",
        "version": "1.0", "sha256": 0, "examples": 28, "used": 2,
        "scoring": "mean log-likelihood of the sentence", "normaliser": f"tokens of {tiny_models['bos known']}",
    }  # fmt: skip
    assert both["data"][0]["sha256"] == load("intra", "fr", "sample").provenance.sha256
    assert {"lm-eval-stereoset", "lm_eval", "torch", "transformers"} <= set(both["packages"])


def test_limit_on_the_overall_task_keeps_both_splits(tiny_models, evaluate):
    results = evaluate(tiny_models["bos known"], ["stereoset_es"], batch_size=8, limit=6, log_samples=True)
    assert [s["doc"]["split"] for s in results["samples"]["stereoset_es"]] == ["intra", "inter"] * 3


def test_undefined_metrics_are_nan_and_said(tiny_models, evaluate, caplog):
    results = evaluate(tiny_models["bos known"], ["stereoset_intra_en"], batch_size=8, limit=1)["results"]
    found = results["stereoset_intra_en"]
    present = next(b for b in BIAS_TYPES if not np.isnan(found[f"ss_{b},none"]))
    absent = [b for b in BIAS_TYPES if b != present]
    assert all(np.isnan(found[f"{m}_{b},none"]) for b in absent for m in ("ss", "lms", "icat"))
    assert np.isnan(found["ss_stderr,none"])  # one target term: no spread to estimate
    assert f"{absent[0]}: SS, LMS, ICAT are undefined" in caplog.text


def test_logged_samples_give_the_same_table(tiny_models, evaluate, tmp_path):
    from lm_eval.loggers import EvaluationTracker

    tracker = EvaluationTracker(output_path=str(tmp_path))
    results = evaluate(
        tiny_models["bos added"], ["stereoset_tr"], batch_size=8, log_samples=True, evaluation_tracker=tracker
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    tracker.save_results_samples(task_name="stereoset_tr", samples=samples["stereoset_tr"])
    file = next(tmp_path.rglob("samples_stereoset_tr_*.jsonl"))
    read = read_samples(file)
    assert (read.language, set(read.parts)) == ("tr", {"intra", "inter"})
    assert read.data == ("sample 1.0",)
    table = evaluate_parts(read.parts)
    found = results["results"]["stereoset_tr"]
    for metric in ("ss", "lms", "icat", "mc_ss", "icat_macro", "ties"):
        assert found[f"{metric},none"] == table["overall"]["overall"][metric]
    saved = json.loads(next(tmp_path.rglob("results_*.json")).read_text())["results"]["stereoset_tr"]
    assert saved["icat,none"] == table["overall"]["overall"]["icat"]
    assert saved["icat_stderr,none"] == table["overall"]["overall"]["icat_stderr"]


def test_a_model_without_tokenizer_is_normalised_by_bytes(evaluate):
    results = evaluate({}, ["stereoset_inter_de"], model="dummy")
    (about,) = results["configs"]["stereoset_inter_de"]["metadata"]["provenance"]["data"]
    assert about["normaliser"] == "utf-8 bytes"


def test_mostly_ties_are_no_numbers_and_it_is_said(caplog):
    """Ten examples, six of them ties: a model that does not tell the candidates apart had LMS 0 and no error."""
    aggregation.problems.clear()
    tied, untied = [(-2.0, 1)] * 3, [(-6.0, 2), (-8.0, 4), (-12.5, 5)]
    rows = [process_results(answers) for answers in [tied] * 6 + [untied] * 4]
    for name in ("ss", "lms", "icat", "icat_stderr", "mc_ss", "ss_race"):
        assert np.isnan(aggregated(name, [row[name] for row in rows])), name
    assert aggregated("ties", [row["ties"] for row in rows]) == 60
    assert "in 6 of 10 examples stereotype and anti-stereotype have the very same score" in caplog.text
    assert len(aggregation.problems) == 1
    assert aggregated("ss", [row["ss"] for row in rows[1:]]) > 0, "nine examples are too few to tell"


def test_plain_lm_eval_prints_icat_lms_and_ss_first(tiny_models, evaluate):
    from lm_eval.utils import make_table

    table = make_table(evaluate(tiny_models["bos known"], ["stereoset_de"], batch_size=8))
    metrics = [row.split("|")[5].strip() for row in table.splitlines()[2:]]
    assert metrics[:3] == ["icat", "lms", "ss"]
    assert "icat_gender" in metrics
    assert "ss_inter" in metrics
