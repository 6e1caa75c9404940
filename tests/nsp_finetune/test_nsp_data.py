"""The plan of an epoch: every pair once, the same on any number of processes, little padding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsp_finetune.batches import batches_by_length, plan_epoch, share_of
from nsp_finetune.data import load_pairs, token_table
from nsp_finetune.models import new_model


@settings(max_examples=150, deadline=None)
@given(
    pairs=st.integers(1, 200),
    batch_size=st.integers(1, 9),
    accumulation=st.integers(1, 6),
    processes=st.integers(1, 5),
    grouped=st.booleans(),
)
def test_every_pair_is_seen_exactly_once_an_epoch(pairs, batch_size, accumulation, processes, grouped):
    lengths = np.random.default_rng(pairs).integers(2, 60, pairs)
    plan = plan_epoch(lengths, batch_size, accumulation, [27, 0], grouped)
    seen = []
    for step in plan:
        shares = [share_of(step, rank, processes, accumulation) for rank in range(processes)]
        together = sorted(i for share in shares for _, batch in share for i in batch.tolist())
        assert together == sorted(
            np.concatenate(step).tolist()
        )  # the processes share the step and nothing else
        seen += together
    assert sorted(seen) == list(range(pairs))
    assert all(sum(map(len, step)) == batch_size * accumulation for step in plan[:-1])


def test_epochs_and_seeds_have_orders_of_their_own():
    lengths = np.full(100, 7)
    plans = [
        np.concatenate([batch for step in plan_epoch(lengths, 4, 2, seed, True) for batch in step])
        for seed in ([1, 0], [1, 1], [2, 0], [1, 0])
    ]
    assert plans[0].tolist() == plans[3].tolist()
    assert len({tuple(plan.tolist()) for plan in plans}) == 3


def test_grouping_by_length_saves_padding_and_still_mixes_lengths_in_a_step():
    lengths = np.random.default_rng(0).geometric(0.02, 4000) + 5

    def padded(plan):
        return sum(len(batch) * lengths[batch].max() for step in plan for batch in step)

    grouped, plain = (plan_epoch(lengths, 8, 8, [27, 0], flag) for flag in (True, False))
    assert padded(grouped) < 1.1 * lengths.sum()
    assert padded(plain) > 2 * lengths.sum()
    means = [lengths[np.concatenate(step)].mean() for step in grouped[:-1]]
    assert max(means) < 2 * np.mean(lengths)


def test_whole_batches_are_dealt_when_they_can_be():
    step = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5]), np.array([6])]
    assert [(n, b.tolist()) for n, b in share_of(step, 1, 2, 4)] == [(1, [2, 3]), (3, [6])]
    assert [(n, b.tolist()) for n, b in share_of(step[:1], 1, 2, 4)] == []
    assert [(n, b.tolist()) for n, b in share_of(step[:3], 1, 2, 3)] == [(0, [1]), (1, [3]), (2, [5])]


def test_evaluation_batches_cover_everything_longest_first():
    lengths = np.array([3, 9, 4, 9, 1])
    batches = batches_by_length(lengths, 2)
    assert [b.tolist() for b in batches] == [[1, 3], [2, 0], [4]]


@pytest.mark.parametrize("family", ["decoder", "encoder", "seq2seq"])
def test_tokens_are_those_of_the_pairs_and_kept_for_next_time(family, bases, pairs, tmp_path):
    model = new_model(str(bases[family]))
    tokens = token_table(model, pairs, "validation", tmp_path, 20)
    rows = load_pairs(pairs, "validation", 20)
    expected = model.encode(list(zip(rows["first"], rows["second"], strict=True)))
    assert tokens["input_ids"][:] == [one["input_ids"] for one in expected]
    assert tokens["length"][:] == [len(one["input_ids"]) for one in expected]
    assert tokens["label"][:] == rows["label"][:]
    (cached,) = tmp_path.glob("validation-*.arrow")
    before = cached.stat().st_mtime_ns
    model.encode = None  # would fail if it were called again
    token_table(model, pairs, "validation", tmp_path, 20)
    assert cached.stat().st_mtime_ns == before
