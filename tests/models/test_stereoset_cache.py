"""The response cache: a second run answers from it; other settings, other examples and other tasks do not."""

import dataclasses
import shutil

import pytest
from harness_samples import requests, scores_of_samples
from lm_eval.api.instance import Instance

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness import model as stereoset_hf
from lm_eval_stereoset.harness.identified import IdentifiedCachingLM
from lm_eval_stereoset.harness.model import StereoSetHF


def cached(folder, path, **options) -> IdentifiedCachingLM:
    """stereoset-hf as `stereoset run --use_cache` wraps it."""
    lm = StereoSetHF(str(folder), device="cpu", **options)
    return IdentifiedCachingLM(lm, str(path), lm.identity())


@pytest.fixture
def counted(monkeypatch):
    """The examples that went through a model."""
    scored = []
    original = stereoset_hf.score_with

    def count(methods, model, tokenizer, examples, settings):
        scored.extend(e.id for e in examples)
        return original(methods, model, tokenizer, examples, settings)

    monkeypatch.setattr(stereoset_hf, "score_with", count)
    return scored


@pytest.mark.parametrize("family", ["masked", "causal", "seq2seq", "nsp"])
def test_a_second_run_answers_from_the_cache_and_equals_the_first(
    checkpoints, evaluate, counted, tmp_path, family
):
    runs = [
        evaluate(
            checkpoints[family],
            ["stereoset_inter_en"],
            use_cache=str(tmp_path / "cache"),
            log_samples=True,
            limit=20,
        )
        for _ in range(2)
    ]
    assert len(counted) == 20
    first, second = (scores_of_samples(run["samples"]["stereoset_inter_en"]) for run in runs)
    assert first == second
    first, second = (run["results"]["stereoset_inter_en"] for run in runs)
    assert {k: str(v) for k, v in first.items()} == {k: str(v) for k, v in second.items()}


def test_more_examples_score_only_the_new_ones(checkpoints, evaluate, counted, tmp_path):
    for limit, total in ((5, 5), (12, 12)):
        evaluate(
            checkpoints["causal"], ["stereoset_intra_en"], limit=limit, use_cache=str(tmp_path / "cache")
        )
        assert len(counted) == total


def test_other_settings_do_not_reuse_it(checkpoints, evaluate, counted, tmp_path):
    settings = [{}, {"case": "c"}, {"case": "e"}, {"exact": True}, {}, {"case": "c"}]
    runs = [
        scores_of_samples(
            evaluate(
                checkpoints["causal"],
                ["stereoset_inter_en"],
                changed,
                limit=4,
                use_cache=str(tmp_path / "cache"),
                log_samples=True,
            )["samples"]["stereoset_inter_en"]
        )
        for changed in settings
    ]
    assert len(counted) == 4 * 4
    assert runs[4] == runs[0]
    assert runs[5] == runs[1]
    for i in range(4):
        for j in range(i):
            assert runs[i] != runs[j], (settings[i], settings[j])


def test_another_checkpoint_in_the_same_place_does_not_reuse_it(checkpoints, counted, fetched, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(checkpoints["causal"], folder)
    asked = requests(store.load(STEREOSET, "intra", "en", fetched).examples[:2])
    for _ in range(2):
        cached(folder, tmp_path / "cache.db").loglikelihood(asked)
        change_weights(folder)
    assert len(counted) == 4


def change_weights(folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    name = min(weights)
    weights[name] = weights[name] + 0.01
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def test_a_copy_of_a_checkpoint_elsewhere_reuses_it(checkpoints, counted, fetched, tmp_path):
    asked = requests(store.load(STEREOSET, "intra", "en", fetched).examples[:2])
    for name in ("one", "two"):
        shutil.copytree(checkpoints["masked"], tmp_path / name)
        cached(tmp_path / name, tmp_path / "cache.db").loglikelihood(asked)
    assert len(counted) == 2


@pytest.mark.parametrize("model", ["stereoset-hf", "hf"])
def test_models_in_subfolders_of_one_folder_keep_their_own_answers(checkpoints, evaluate, tmp_path, model):
    """The answers of the first used to be served for the second: only the texts, or the folder, were looked at."""
    for name in ("a", "b"):
        shutil.copytree(checkpoints["causal"], tmp_path / "two" / name)
    shutil.copy(checkpoints["causal"] / "config.json", tmp_path / "two")
    change_weights(tmp_path / "two" / "b")

    def scores(name, **options):
        run = evaluate(
            tmp_path / "two", ["stereoset_intra_en"], {"subfolder": name}, limit=3, log_samples=True, model=model,
            **options,
        )  # fmt: skip
        return [sample["filtered_resps"] for sample in run["samples"]["stereoset_intra_en"]]

    cache = {"use_cache": str(tmp_path / "cache")}
    assert scores("a", **cache) == scores("a") == scores("a", **cache)
    assert scores("b", **cache) == scores("b") != scores("a")


def test_examples_with_equal_sentences_but_other_words_keep_their_own_scores(checkpoints, fetched, tmp_path):
    example = store.load(STEREOSET, "intra", "en", fetched).examples[0]
    candidate = example.candidates[0]
    other_word = candidate.sentence.split()[0]
    twin = dataclasses.replace(
        example,
        id="twin",
        context="BLANK " + candidate.sentence.split(" ", 1)[1],
        candidates=tuple(
            dataclasses.replace(c, id=f"twin-{c.id}", word=other_word) for c in example.candidates
        ),
    )
    asked = requests([example, twin])
    assert asked[0].args == asked[3].args
    answers = [cached(checkpoints["masked"], tmp_path / "c.db").loglikelihood(asked) for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[1][0] != answers[1][3]


@pytest.mark.parametrize("family", ["masked", "causal"])
def test_other_tasks_are_cached_as_usual_and_apart_from_stereoset(
    checkpoints, fetched, tmp_path, family, monkeypatch
):
    example = store.load(STEREOSET, "intra", "en", fetched).examples[0]
    ours = requests([example])
    theirs = [
        Instance("loglikelihood", {"question": "?"}, r.args, 0, ("t", i, 1)) for i, r in enumerate(ours)
    ]
    first, second = (cached(checkpoints[family], tmp_path / "c.db") for _ in range(2))
    answers = first.loglikelihood([*ours, *theirs])
    monkeypatch.setattr(StereoSetHF, "_other_loglikelihoods", None)  # a call would fail
    again = second.loglikelihood([*theirs, *ours])
    assert again == [*answers[3:], *answers[:3]]
    assert all(type(a[1]) is int for a in answers[:3])
    assert all(type(a[1]) is bool for a in answers[3:])


def test_an_interrupted_run_keeps_what_it_has_scored(checkpoints, counted, fetched, tmp_path, monkeypatch):
    monkeypatch.setattr(stereoset_hf, "AT_ONCE", 4)
    asked = requests(store.load(STEREOSET, "inter", "en", fetched).examples[:10])
    model = cached(checkpoints["nsp"], tmp_path / "c.db")
    working = stereoset_hf.score_with

    def breaks(*arguments):
        if len(counted) >= 8:
            raise KeyboardInterrupt
        return working(*arguments)

    monkeypatch.setattr(stereoset_hf, "score_with", breaks)
    with pytest.raises(KeyboardInterrupt):
        model.loglikelihood(asked)
    monkeypatch.setattr(stereoset_hf, "score_with", working)
    again = cached(checkpoints["nsp"], tmp_path / "c.db").loglikelihood(asked)
    assert len(counted) == 10
    assert again == StereoSetHF(str(checkpoints["nsp"]), device="cpu").loglikelihood(asked)  # to the last bit


def test_under_lm_eval_itself_the_cache_is_refused_and_the_way_out_named(checkpoints, tmp_path):
    from lm_eval.api.model import CachingLM

    with pytest.raises(UserError, match="stereoset run"):
        CachingLM(StereoSetHF(str(checkpoints["causal"]), device="cpu"), str(tmp_path / "c.db"))


@pytest.mark.parametrize(
    "changed",
    [{"prefix_token_id": 5}, {"add_bos_token": True}, {"dtype": "bfloat16"}, {"case": "c"}, {"exact": True}],
    ids=lambda changed: next(iter(changed)),
)
def test_what_changes_answers_changes_the_identity(checkpoints, changed):
    plain, other = (StereoSetHF(str(checkpoints["causal"]), device="cpu", **o) for o in ({}, changed))
    assert plain.identity().fingerprint != other.identity().fingerprint


def test_results_record_the_identity_for_both_kinds_of_model(checkpoints, evaluate):
    recorded = {
        model: evaluate(checkpoints["causal"], ["stereoset_intra_en"], limit=2, model=model)["config"][
            "stereoset"
        ]
        for model in ("stereoset-hf", "hf")
    }
    ours, theirs = (about["identity"] for about in recorded.values())
    assert ours["weights"] == theirs["weights"]
    assert ours["tokenizer"] == theirs["tokenizer"]
    assert ours["fingerprint"] != theirs["fingerprint"]  # they compute different things
