"""The head in blocks: against a float64 softmax, for what models' logits may be, and gathered over passes."""

import numpy as np
import pytest
import torch
from scoring_tiny import causal_model

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import head as head_module
from lm_eval_stereoset.scoring.head import GatheredHead, HeadReader, block_log_probabilities

VOCABULARY, WIDTH, ROWS = 1000, 16, 5


def reference(hidden, weight, bias, which, tokens) -> np.ndarray:
    logits = torch.nn.functional.linear(hidden.double(), weight.double(), bias.double())
    return logits.log_softmax(dim=-1)[which, tokens].numpy()


def random_head(scale: float):
    generator = torch.Generator().manual_seed(3)
    hidden = torch.randn(ROWS, WIDTH, generator=generator) * scale
    weight = torch.randn(VOCABULARY, WIDTH, generator=generator)
    bias = torch.randn(VOCABULARY, generator=generator)
    which = torch.arange(ROWS).repeat_interleave(3)
    tokens = torch.randint(0, VOCABULARY, (len(which),), generator=generator)
    return hidden, weight, bias, which, tokens


@pytest.fixture(autouse=True)
def four_blocks(monkeypatch):
    monkeypatch.setattr(head_module, "CPU_BLOCK_BYTES", 4 * ROWS * 256)


@pytest.mark.parametrize("scale", [0.01, 1, 30, 1000], ids=lambda s: f"logits of about {4 * s:g}")
def test_blocks_give_the_softmax_over_the_whole_vocabulary(scale):
    """Also far beyond where float32's exp underflows: the blocks keep their own maxima."""
    arguments = random_head(scale)
    assert block_log_probabilities(*arguments).numpy() == pytest.approx(
        reference(*arguments), rel=2e-6, abs=1e-6
    )


def test_exponentials_too_small_to_count_are_not_computed_as_denormals():
    """Their sum is below float32's resolution, and arithmetic with them takes 20 times as long."""
    logits = torch.linspace(0, -200, 256).repeat(2, 1)
    wanted = logits.double().logsumexp(dim=-1)
    assert head_module._log_sum_exp(logits).double().numpy() == pytest.approx(wanted.numpy(), rel=1e-6)
    assert logits.min() >= torch.finfo(torch.float32).tiny  # what was summed, in place


def test_a_block_of_words_that_cannot_be_said_adds_nothing():
    """A vocabulary padded to a round number with a bias of minus infinity: the last block holds nothing else."""
    hidden, weight, bias, which, tokens = random_head(1.0)
    bias[256:] = -torch.inf
    values = block_log_probabilities(hidden, weight, bias, which, tokens % 256).numpy()
    assert values == pytest.approx(reference(hidden, weight, bias, which, tokens % 256), rel=2e-6)
    impossible = block_log_probabilities(hidden, weight, bias, which, tokens % 256 + 256).numpy()
    assert np.isneginf(impossible).all()


def test_not_a_number_stays_not_a_number():
    hidden, weight, bias, which, tokens = random_head(1.0)
    hidden[2, 0] = torch.nan
    bad = np.isnan(block_log_probabilities(hidden, weight, bias, which, tokens).numpy())
    assert bad.tolist() == (which == 2).tolist()


# Gathered over passes


def passes(model):
    """Three passes of different lengths: (rows, which, tokens, inputs)."""
    generator = np.random.default_rng(0)
    for batch, length in ((2, 7), (1, 3), (3, 5)):
        ids = torch.from_numpy(generator.integers(0, model.config.vocab_size, (batch, length)))
        rows = np.unique(generator.integers(0, batch * length, 4))
        which = generator.integers(0, len(rows), 6)
        yield rows, which, generator.integers(0, model.config.vocab_size, 6), {"input_ids": ids}


@pytest.mark.parametrize("enough", [1, 6, 10**6], ids=["every pass", "now and then", "only at the end"])
def test_each_pass_gets_its_own_values_however_many_wait(monkeypatch, enough):
    monkeypatch.setattr(head_module, "GATHERED_ROWS", enough)
    model = causal_model("gpt2")
    alone, gathered, got = HeadReader(model), GatheredHead(model), {}
    with torch.inference_mode():
        for i, (rows, which, tokens, inputs) in enumerate(passes(model)):
            gathered.read(lambda values, i=i: got.__setitem__(i, values), rows, which, tokens, **inputs)
        if enough > 100:
            assert not got
        gathered.flush()
        for i, (rows, which, tokens, inputs) in enumerate(passes(model)):
            logits = model(**inputs).logits.flatten(0, 1).double().log_softmax(-1)
            wanted = logits[torch.from_numpy(rows[which]), torch.from_numpy(tokens)].numpy()
            assert got[i] == pytest.approx(wanted, rel=1e-5)
            one = alone(*(torch.from_numpy(x) for x in (rows, which, tokens)), **inputs).numpy()
            assert got[i] == pytest.approx(one, rel=1e-6)
    assert alone.blocks
    assert gathered.reader.blocks


def test_flushing_twice_stores_once():
    model, calls = causal_model("gpt2"), []
    gathered = GatheredHead(model)
    rows, which, tokens, inputs = next(passes(model))
    with torch.inference_mode():
        gathered.read(calls.append, rows, which, tokens, **inputs)
    gathered.flush()
    gathered.flush()
    assert len(calls) == 1


def test_a_model_that_scales_its_logits_is_read_at_once_from_its_own(monkeypatch):
    model, got = causal_model("gpt2"), []
    forward = type(model).forward

    def capped(self, *args, **kwargs):
        output = forward(self, *args, **kwargs)
        output.logits = 3 * torch.tanh(output.logits / 3)
        return output

    monkeypatch.setattr(type(model), "forward", capped)
    gathered = GatheredHead(model)
    rows, which, tokens, inputs = next(passes(model))
    with torch.inference_mode():
        gathered.read(got.append, rows, which, tokens, **inputs)
        logits = model(**inputs).logits.flatten(0, 1).double().log_softmax(-1)
    assert gathered.reader.blocks is False
    assert got[0] == pytest.approx(
        logits[torch.from_numpy(rows[which]), torch.from_numpy(tokens)].numpy(), rel=1e-5
    )


def test_memory_that_runs_out_in_the_head_halves_what_waits(monkeypatch):
    """These states are computed already: running their batches again would only add to them."""
    model, got, sizes = causal_model("gpt2"), {}, []
    compute = head_module.block_log_probabilities

    def short_of_memory(hidden, *rest):
        sizes.append(len(hidden))
        if len(hidden) > 6:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")
        return compute(hidden, *rest)

    gathered = GatheredHead(model)
    with torch.inference_mode():
        for i, (rows, which, tokens, inputs) in enumerate(passes(model)):
            gathered.read(lambda values, i=i: got.__setitem__(i, values), rows, which, tokens, **inputs)
        monkeypatch.setattr(head_module, "block_log_probabilities", short_of_memory)
        gathered.flush()
        monkeypatch.setattr(head_module, "block_log_probabilities", compute)
        for i, (rows, which, tokens, inputs) in enumerate(passes(model)):
            wanted = HeadReader(model)(*(torch.from_numpy(x) for x in (rows, which, tokens)), **inputs)
            assert got[i] == pytest.approx(wanted.numpy(), rel=1e-6)
    assert max(sizes) > 6
    assert not gathered._waiting


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [1, 15, 20])
def test_a_soft_cap_is_seen_in_any_precision(dtype, scale):
    model = causal_model("gemma2", final_logit_softcapping=30.0).to(dtype)
    with torch.no_grad():
        model.lm_head.weight *= scale
    reader = HeadReader(model)
    with torch.inference_mode():
        reader(*(torch.tensor(x) for x in ([1], [0], [5])), input_ids=torch.tensor([[3, 4, 5]]))
    assert reader.blocks is False


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_an_ordinary_head_is_read_in_blocks_in_half_precision(kind):
    model = causal_model(kind).to(torch.bfloat16)
    reader = HeadReader(model)
    with torch.inference_mode():
        reader(*(torch.tensor(x) for x in ([1], [0], [5])), input_ids=torch.tensor([[3, 4, 5]]))
    assert reader.blocks is True


def test_no_probability_is_above_1_in_half_precision():
    hidden, weight, bias, which, _ = random_head(8.0)
    best = torch.nn.functional.linear(hidden, weight, bias).argmax(dim=-1)
    half = [x.to(torch.bfloat16) for x in (hidden, weight, bias)]
    values = block_log_probabilities(*half, which, best[which])
    assert values.max() <= 0
    assert values.min() > -1


def test_a_token_beyond_the_head_is_one_line():
    """Asked for but never fed, such as a final </s> with an id of its own."""
    model = causal_model("gpt2", vocabulary=400)
    inputs = {"input_ids": torch.tensor([[1, 2]])}
    row, token = torch.tensor([0]), torch.tensor([400])
    with pytest.raises(UserError, match="400 rows only"):
        HeadReader(model)(row, row, token, **inputs)
    with pytest.raises(UserError, match="400 rows only"):
        GatheredHead(model).read(print, row.numpy(), row.numpy(), token.numpy(), **inputs)
