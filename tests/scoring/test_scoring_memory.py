"""Memory that runs out in the middle costs no score: every family, at every moment."""

import numpy as np
import pytest
import torch
from masked_tiny import masked_model, tokenizer_for
from scoring_tiny import INTER, INTRA, byte_level, causal_model, inter, intra, sentinels, seq2seq_model

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import CandidateScore, checked, head, score

WORDS = ("hispanic", "asian", "fox", "thin", "red", "unable")
MANY_INTRA = [
    *INTRA,
    *(
        intra(10 + i, f"The {a} player was BLANK.", *np.roll(WORDS, i)[:3].tolist())
        for i, a in enumerate(WORDS)
    ),
]
MANY_INTER = [
    *INTER,
    *(
        inter(10 + i, f"The {a} people are it.", *(f"It is {b}." for b in np.roll(WORDS, i)[:3]))
        for i, a in enumerate(WORDS)
    ),
]
FAMILIES = {
    "masked": lambda: (masked_model("bert", 200), tokenizer_for("bert")),
    "causal": lambda: (causal_model("gpt2"), byte_level()),
    "sentinels": lambda: (seq2seq_model("t5"), sentinels()),
    "mask": lambda: (seq2seq_model("bart"), byte_level(mask=True)),
}


def log_scores(model, tokenizer, examples, **options):
    return np.array(
        [[s.log_score for s in triple] for triple in score(model, tokenizer, examples, **options)]
    )


@pytest.mark.parametrize("examples", [MANY_INTRA, MANY_INTER], ids=["intra", "inter"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_head_that_runs_out_of_memory_at_any_call_loses_nothing(family, examples, monkeypatch):
    model, tokenizer = FAMILIES[family]()
    expected = log_scores(model, tokenizer, examples, batch_tokens=64)
    whole, calls = head.block_log_probabilities, []
    monkeypatch.setattr(head, "GATHERED_ROWS", 12)  # so that several passes wait for the head together

    def failing(at):
        def block(hidden, *others):
            calls.append(len(hidden))
            if len(calls) - 1 in at and len(hidden) > 1:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return whole(hidden, *others)

        return block

    monkeypatch.setattr("accelerate.utils.memory.gc.collect", lambda: None)  # half a second each time
    for first in (0, 1, 3):
        for many in (1, 6):  # once, and until a row is read alone
            calls.clear()
            monkeypatch.setattr(head, "block_log_probabilities", failing(range(first, first + many)))
            found = log_scores(model, tokenizer, examples, batch_tokens=64)
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert calls or (family == "masked" and examples is MANY_INTER)  # which reads whole rows of logits


def test_what_waits_survives_a_single_row_that_does_not_fit(monkeypatch):
    """The caller halves its own batch then and comes back; the passes before it must still be there."""
    model = masked_model("bert", 200)
    gathered, stored = head.GatheredHead(model), {}
    whole, broken = head.block_log_probabilities, [True]

    def block(*arguments):
        if broken:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(*arguments)

    for name in "ab":
        hidden, one = torch.randn(1, 32), torch.zeros(1, dtype=torch.long)
        gathered._waiting.append(
            head.Waiting(hidden, one, one, lambda v, name=name: stored.update({name: v}))
        )
    monkeypatch.setattr(head, "block_log_probabilities", block)
    with pytest.raises(torch.OutOfMemoryError):
        gathered.flush()
    assert not stored
    broken.clear()
    gathered.flush()
    assert set(stored) == {"a", "b"}
    assert np.isfinite([stored[name][0] for name in "ab"]).all()


def test_a_value_that_was_never_written_is_an_error_naming_the_candidate(monkeypatch):
    """A head that forgets to store: once 119 of 4,500 candidates came out as log p = 0."""
    model, tokenizer = FAMILIES["masked"]()
    monkeypatch.setattr(head.GatheredHead, "flush", lambda self: self._waiting.clear())
    with pytest.raises(UserError, match=r"example e1, candidate 1-stereotype: .* not a finite number"):
        score(model, tokenizer, INTRA)


@pytest.mark.parametrize(
    ("log_score", "tokens", "message"),
    [
        (float("nan"), 3, "not a finite number"),
        (float("-inf"), 3, "not a finite number"),
        (0.5, 3, "a probability above 1"),
        (-1.0, 0, "no token"),
    ],
)
def test_a_score_that_is_none_is_refused(log_score, tokens, message):
    good = CandidateScore(-1.0, 2)
    with pytest.raises(UserError, match=f"example e1, candidate 1-anti-stereotype: .*{message}"):
        checked(INTRA[0].question, (good, CandidateScore(log_score, tokens), good))


def test_a_ratio_of_probabilities_may_be_above_1():
    good = (CandidateScore(0.5, 1),) * 3
    assert checked(INTRA[0].question, good, ratio=True) == good
