"""The response cache: a second run answers from it; other settings, other examples and other tasks do not."""

import dataclasses

import pytest
from harness_samples import requests, scores_of_samples
from lm_eval.api.instance import Instance
from lm_eval.api.model import CachingLM

from lm_eval_stereoset.data import store
from lm_eval_stereoset.models import stereoset_hf
from lm_eval_stereoset.models.stereoset_hf import StereoSetHF


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
    import os
    import shutil

    folder = tmp_path / "model"
    shutil.copytree(checkpoints["causal"], folder)
    asked = requests(store.load("intra", "en", fetched).examples[:2])
    for _ in range(2):
        CachingLM(StereoSetHF(str(folder), device="cpu"), str(tmp_path / "cache.db")).loglikelihood(asked)
        os.utime(folder / "model.safetensors", ns=(1, 1))
    assert len(counted) == 4


def test_examples_with_equal_sentences_but_other_words_keep_their_own_scores(checkpoints, fetched, tmp_path):
    example = store.load("intra", "en", fetched).examples[0]
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
    answers = [
        CachingLM(
            StereoSetHF(str(checkpoints["masked"]), device="cpu"), str(tmp_path / "c.db")
        ).loglikelihood(asked)
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert answers[1][0] != answers[1][3]


@pytest.mark.parametrize("family", ["masked", "causal"])
def test_other_tasks_are_cached_as_usual_and_apart_from_stereoset(
    checkpoints, fetched, tmp_path, family, monkeypatch
):
    example = store.load("intra", "en", fetched).examples[0]
    ours = requests([example])
    theirs = [
        Instance("loglikelihood", {"question": "?"}, r.args, 0, ("t", i, 1)) for i, r in enumerate(ours)
    ]
    first, second = (
        CachingLM(StereoSetHF(str(checkpoints[family]), device="cpu"), str(tmp_path / "c.db"))
        for _ in range(2)
    )
    answers = first.loglikelihood([*ours, *theirs])
    monkeypatch.setattr(StereoSetHF, "_other_loglikelihoods", None)  # a call would fail
    again = second.loglikelihood([*theirs, *ours])
    assert again == [*answers[3:], *answers[:3]]
    assert all(type(a[1]) is int for a in answers[:3])
    assert all(type(a[1]) is bool for a in answers[3:])


def test_an_interrupted_run_keeps_what_it_has_scored(checkpoints, counted, fetched, tmp_path, monkeypatch):
    monkeypatch.setattr(stereoset_hf, "CACHED_AT_ONCE", 4)
    asked = requests(store.load("inter", "en", fetched).examples[:10])
    model = CachingLM(StereoSetHF(str(checkpoints["nsp"]), device="cpu"), str(tmp_path / "c.db"))
    working = stereoset_hf.score_with

    def breaks(*arguments):
        if len(counted) >= 8:
            raise KeyboardInterrupt
        return working(*arguments)

    monkeypatch.setattr(stereoset_hf, "score_with", breaks)
    with pytest.raises(KeyboardInterrupt):
        model.loglikelihood(asked)
    monkeypatch.setattr(stereoset_hf, "score_with", working)
    again = CachingLM(StereoSetHF(str(checkpoints["nsp"]), device="cpu"), str(tmp_path / "c.db"))
    assert len(again.loglikelihood(asked)) == 30
    assert len(counted) == 10
