"""Batches, memory back-off, reading of chosen rows, and the faster matrix products."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from masked_tiny import masked_model
from scoring_tiny import causal_model

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import batching, cpu_linear
from lm_eval_stereoset.scoring.fused import fused_activations
from lm_eval_stereoset.scoring.questions import CandidateScore, Settings
from lm_eval_stereoset.scoring.reading import log_probabilities, logits_at

CPU = torch.device("cpu")


@given(
    lengths=st.lists(st.integers(1, 60), max_size=40),
    tokens=st.integers(1, 300),
    size=st.none() | st.integers(1, 9),
    rows_limit=st.none() | st.integers(1, 20),
)
def test_batches_hold_every_input_once_and_keep_their_limits(lengths, tokens, size, rows_limit):
    rows = [1 + n % 3 for n in lengths]
    batches = batching.plan_batches(lengths, tokens, size, rows, rows_limit)
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        if len(batch) > 1:
            assert len(batch) * max(lengths[i] for i in batch) <= tokens
            assert size is None or len(batch) <= size
            assert rows_limit is None or sum(rows[i] for i in batch) <= rows_limit
    longest = [max(lengths[i] for i in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)


def test_a_batch_that_does_not_fit_is_halved_until_it_does():
    done, tried = [], []

    def forward(batch):
        tried.append(len(batch))
        if len(batch) > 3:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        done.extend(batch.tolist())

    batching.run_batches([5] * 20, forward, Settings(batch_tokens=100), CPU)
    assert sorted(done) == list(range(20))
    assert tried[:4] == [20, 10, 5, 2]
    assert tried.count(20) == 1


def test_one_input_that_does_not_fit_and_other_errors_are_raised():
    def memory(batch):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    def bug(batch):
        raise ZeroDivisionError

    with pytest.raises(torch.cuda.OutOfMemoryError):
        batching.run_batches([5, 5], memory, Settings(), CPU)
    with pytest.raises(ZeroDivisionError):
        batching.run_batches([5, 5], bug, Settings(), CPU)


def test_distinct_keeps_first_places():
    values, where = batching.distinct([(1, 2), (3,), (1, 2)])
    assert values == [(1, 2), (3,)]
    assert where.tolist() == [0, 1, 0]


@pytest.mark.parametrize("make", [lambda: masked_model("bert", 300), lambda: causal_model("gemma2")])
def test_only_the_wanted_rows_reach_the_head(make):
    model = make()
    ids = torch.randint(3, 290, (3, 7))
    rows = torch.tensor([2, 9, 20])
    shapes = []
    head = model.get_output_embeddings()
    head.register_forward_hook(lambda _m, given, _o: shapes.append(tuple(given[0].shape)))
    with torch.inference_mode():
        found = logits_at(model, rows, input_ids=ids)
        whole = model(input_ids=ids).logits.flatten(0, 1)[rows]  # gemma2 caps its logits after the head
    assert shapes[0][:2] == (1, 3)
    torch.testing.assert_close(found, whole, rtol=1e-5, atol=1e-5)


def test_log_probabilities_are_of_the_whole_vocabulary():
    logits = torch.randn(130, 50)
    rows, tokens = torch.arange(130).repeat(2), torch.randint(0, 50, (260,))
    wanted = logits.double().log_softmax(-1)[rows, tokens]
    torch.testing.assert_close(log_probabilities(logits, rows, tokens), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["linear", "conv1d"])
def test_one_dnn_gives_the_same_products(kind):
    x = torch.randn(2, 5, 300)
    if kind == "linear":
        layer = torch.nn.Linear(300, 400)
    else:
        from transformers.pytorch_utils import Conv1D

        layer = Conv1D(400, 300)
    with torch.inference_mode():
        plain = layer(x)
        with cpu_linear.OneDNNLinear():
            torch.testing.assert_close(layer(x), plain, rtol=1e-5, atol=1e-5)
            small = torch.nn.Linear(300, 3)(x)
            assert small.shape == (2, 5, 3)
            assert layer.double()(x.double()).dtype == torch.float64


def test_one_dnn_reads_a_bias_by_its_stride():
    """oneDNN itself takes every bias for one whose numbers lie side by side."""
    torch.manual_seed(0)
    x, weight, bias = torch.randn(5, 300), torch.randn(300, 300), torch.randn(300, 2)[:, 0]
    assert bias.stride() == (2,)
    expected = torch.nn.functional.linear(x, weight, bias)
    with torch.inference_mode(), cpu_linear.OneDNNLinear():
        found = torch.nn.functional.linear(x, weight, bias)
        by_addmm = torch.addmm(bias, x, weight.t())
        broadcast = torch.addmm(bias[:1], x, weight.t())
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(by_addmm, expected, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(broadcast, torch.addmm(bias[:1], x, weight.t()), rtol=1e-4, atol=1e-3)


def test_the_choice_of_library_is_made_once():
    assert cpu_linear.one_dnn_is_faster() == cpu_linear.one_dnn_is_faster()
    assert cpu_linear.one_dnn_is_faster.cache_info().misses == 1


@pytest.mark.parametrize("choice", ["onednn", "torch"])
def test_the_library_can_be_named_and_is_what_results_record(monkeypatch, choice):
    monkeypatch.setenv("STEREOSET_MATMUL", choice)
    assert cpu_linear.library_of(torch.device("cpu")) == choice
    assert isinstance(cpu_linear.fast_linear(torch.device("cpu")), cpu_linear.OneDNNLinear) == (
        choice == "onednn"
    )
    assert cpu_linear.library_of(torch.device("meta")) == "torch"


def test_a_library_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("STEREOSET_MATMUL", "mkl")
    with pytest.raises(UserError, match="STEREOSET_MATMUL=mkl: must be one of auto, onednn, torch"):
        cpu_linear.fast_linear(torch.device("cpu"))


@pytest.mark.parametrize("kind", ["hook", "pre-hook", "forward"])
def test_an_activation_that_somebody_watches_is_not_swapped(kind):
    from transformers.activations import NewGELUActivation

    model = torch.nn.Sequential(NewGELUActivation(), NewGELUActivation())
    seen = []
    watched, theirs = model[0], model[0].forward
    if kind == "hook":
        watched.register_forward_hook(lambda module, given, result: seen.append("hook"))
    elif kind == "pre-hook":
        watched.register_forward_pre_hook(lambda module, given: seen.append("pre-hook"))
    else:
        watched.forward = lambda x: (seen.append("forward"), theirs(x))[1]
    with fused_activations(model):
        assert (model[0] is watched, type(model[1])) == (True, torch.nn.GELU)
        model(torch.ones(2))
    assert seen == [kind]
    assert type(model[1]) is NewGELUActivation


def test_scores_are_what_the_papers_call_them():
    geometric = CandidateScore(np.log(0.5) + np.log(0.125), 2)
    assert geometric.probability == pytest.approx(0.25)  # paper eq. 4


@pytest.mark.parametrize("value", [0, 1.5, "abc"])
@pytest.mark.parametrize("name", ["batch_tokens", "batch_size"])
def test_batches_that_are_no_number_or_smaller_than_one_are_refused(name, value):
    with pytest.raises(UserError, match=f"{name} must be a whole number of at least 1, is {value!r}"):
        Settings(**{name: value})
