"""What the class of our tasks adds to the harness's own."""

import json

import pytest

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness.answers import encode


def values(results, task):
    return json.dumps(results["results"][task])  # as a text: NaN is not equal to itself


def own_data(folder, example_line, count):
    folder.mkdir()
    lines = "".join(json.dumps(example_line(i, "intra")) + "\n" for i in range(count))
    (folder / "intra").mkdir()
    (folder / "intra" / "en.jsonl").write_text(lines)
    return str(folder)


def test_stored_requests_are_neither_written_nor_served(
    tiny_models, evaluate, tmp_path, example_line, monkeypatch, caplog
):
    """Other data under the same task's name gave the scores of the first data before."""
    monkeypatch.setattr("lm_eval.caching.cache.PATH", str(tmp_path / "cache"))
    other = own_data(tmp_path / "other", example_line, 12)
    task, model = "stereoset_intra_en", tiny_models["bos known"]
    expected = [values(evaluate(model, [task], data=data, batch_size=8), task) for data in ("sample", other)]
    found = [
        values(evaluate(model, [task], data=data, batch_size=8, cache_requests=True), task)
        for data in ("sample", other)
    ]
    assert found == expected
    assert found[0] != found[1]
    assert not (tmp_path / "cache").exists()
    assert "--cache_requests is not used" in caplog.text


def test_a_pickle_in_the_request_cache_is_not_opened(tiny_models, evaluate, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("dill.loads", lambda *_: opened.append(1))
    monkeypatch.setattr("lm_eval.caching.cache._cache_file_path", lambda _: str(tmp_path / "trap"))
    (tmp_path / "trap").write_bytes(b"x")
    evaluate(tiny_models["bos known"], ["stereoset_intra_en"], limit=2, cache_requests=True)
    assert not opened


def test_tasks_know_the_model_behind_a_response_cache(tiny_models, evaluate, tmp_path):
    first, second = (
        evaluate(
            tiny_models["llama 2"], ["stereoset_en"], limit=6, batch_size=8, log_samples=True,
            use_cache=str(tmp_path / "c"), system_instruction="Go on.",
        )
        for _ in range(2)
    )  # fmt: skip
    counts = [[s["doc"]["counts"] for s in run["samples"]["stereoset_en"]] for run in (first, second)]
    assert counts[0] == counts[1]
    assert values(first, "stereoset_en") == values(second, "stereoset_en")


def test_without_the_harness_s_evaluate_the_model_must_be_named(tiny_models):
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    from lm_eval_stereoset.harness.paths import include_paths

    manager = TaskManager(
        include_path=[str(p) for p in include_paths()], metadata={"data": "sample"}, include_defaults=False
    )
    task = manager.load("stereoset_intra_en")["tasks"]["stereoset_intra_en"]
    task.build_all_requests(limit=2)
    plain = [(-9.0, False)] * 3
    doc = dict(task.eval_docs[0])
    with pytest.raises(UserError, match=r"call task.answered_by\(model\)"):
        task.process_results(doc, plain)
    assert task.process_results(doc, [encode(-9.0, 3), encode(-8.0, 2), encode(-9.0, 1)])["ss"] is not None
    task.answered_by(HFLM(pretrained=str(tiny_models["bos known"]), device="cpu"))
    assert task.process_results(doc, plain)["ss"] is not None


@pytest.mark.parametrize("ours_imported", [False, True])
def test_mt5_under_hf_is_refused_whatever_was_imported(tiny_models, evaluate, ours_imported):
    if ours_imported:
        import lm_eval_stereoset.harness.model  # noqa: F401
    with pytest.raises(UserError, match=r"its scores would be wrong; use .*--model stereoset-hf"):
        evaluate(tiny_models["mt5"], ["stereoset_intra_en"], limit=2)
    assert evaluate(tiny_models["seq2seq"], ["stereoset_intra_en"], limit=2)


def test_the_model_that_answers_says_what_it_computed(tiny_models, evaluate):
    import lm_eval_stereoset.harness.model  # noqa: F401

    runs = {
        model: evaluate(
            {"pretrained": str(tiny_models["bos known"])},
            ["stereoset_en"],
            model=model,
            limit=7,
            log_samples=True,
        )
        for model in ("hf", "stereoset-hf")
    }
    for results in runs.values():
        intra, inter = results["configs"]["stereoset_en"]["metadata"]["provenance"]["data"]
        assert (intra["used"], inter["used"], intra["examples"]) == (4, 3, 28)
        assert intra["scoring"] == "mean log-likelihood of the sentence"
        assert intra["normaliser"] == f"tokens of {tiny_models['bos known']}"
        doc = results["samples"]["stereoset_en"][1]["doc"]
        assert (doc["scoring"], doc["normaliser"]) == (inter["scoring"], inter["normaliser"])
    assert inter["scoring"] == "mean log-likelihood of the candidate given the context (case d)"


def test_one_of_several_processes_knows_all_splits(tiny_models):
    """Processes take turns, and so do the splits of an overall task: the first process sees intra only."""
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    from lm_eval_stereoset.harness.paths import include_paths

    paths = [str(path) for path in include_paths()]
    manager = TaskManager(include_path=paths, metadata={"data": "sample"}, include_defaults=False)
    task = manager.load("stereoset_en")["tasks"]["stereoset_en"]
    task.build_all_requests(rank=0, world_size=2, limit=7)
    task.answered_by(HFLM(pretrained=str(tiny_models["bos known"]), device="cpu"))
    assert {instance.doc["split"] for instance in task.instances} == {"intra"}
    intra, inter = task.config.metadata["provenance"]["data"]
    assert (intra["used"], inter["used"]) == (4, 3)
    assert inter["scoring"] == "mean log-likelihood of the candidate given the context"
