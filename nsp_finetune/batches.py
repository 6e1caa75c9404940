"""The plan of an epoch: which pairs form which batch, in which order, on which process.

With two processes, batches of 2 pairs and 3 batches to a step (accumulation), 10 pairs make two steps:

    step 0    [7 2] [0 9] [4 5]        process 0: [7] [0] [4]      process 1: [2] [9] [5]
    step 1    [1 8] [3 6]              process 0: [1] [3]          process 1: [8] [6]
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lm_eval_stereoset.scoring.nsp_model import NSPModel
from nsp_finetune.settings import TrainSettings

if TYPE_CHECKING:
    import torch
    from datasets import Dataset

SORTED_STEPS = 50  # optimiser steps whose pairs are sorted by length together

MicroBatch = np.ndarray  # indices of the pairs that one process computes at once
Step = list[MicroBatch]  # all that make one optimiser step, over all processes
Batch = tuple[
    int, int, dict[str, "torch.Tensor"]
]  # its number in the step (-1: without weight), the step's pairs


def plan_epoch(
    lengths: np.ndarray, batch_size: int, accumulation: int, seed: Sequence[int], grouped: bool
) -> list[Step]:
    """Every pair once, in a random order that depends on the seed alone, never on the number of processes.

    Grouped: within runs of SORTED_STEPS steps pairs are sorted by length before they are cut into batches, so a
    batch holds little padding; the batches are then shuffled, so a step still holds short and long ones.
    """
    generator = np.random.default_rng(list(seed))
    order = generator.permutation(len(lengths))
    if grouped:
        run = SORTED_STEPS * accumulation * batch_size
        for begin in range(0, len(order), run):
            part = order[begin : begin + run]
            order[begin : begin + run] = part[np.argsort(-lengths[part], kind="stable")]
    batches = [order[begin : begin + batch_size] for begin in range(0, len(order), batch_size)]
    # the last batch, which may be short, stays last: every other step has its full number of pairs
    mixed = (
        [*generator.permutation(len(batches) - 1).tolist(), len(batches) - 1]
        if grouped
        else range(len(batches))
    )
    batches = [batches[i] for i in mixed]
    return [batches[begin : begin + accumulation] for begin in range(0, len(batches), accumulation)]


def share_of(step: Step, rank: int, processes: int, accumulation: int) -> list[tuple[int, MicroBatch]]:
    """What one process computes of a step, each batch with its number in the step; perhaps nothing of a short one.

    Whole batches where a full step can be dealt out evenly (then even dropout is the same for any number of
    processes), otherwise a slice of each.
    """
    numbered = list(enumerate(step))
    if accumulation % processes == 0:
        return numbered[rank::processes]
    return [(number, part) for number, batch in numbered if len(part := batch[rank::processes])]


def batches_by_length(lengths: np.ndarray, batch_size: int) -> list[MicroBatch]:
    """For evaluation: longest first, so that memory runs out at once or never."""
    order = np.argsort(-lengths, kind="stable")
    return [order[begin : begin + batch_size] for begin in range(0, len(order), batch_size)]


def model_inputs(tokens: "Dataset") -> "Dataset":
    """The columns that a batch is made of."""
    return tokens.select_columns(
        [n for n in ("input_ids", "token_type_ids", "label") if n in tokens.column_names]
    )


def steps_of_epoch(
    model: NSPModel,
    tokens: "Dataset",
    lengths: np.ndarray,
    settings: TrainSettings,
    epoch: int,
    done: int,
    place: tuple[int, int],
) -> Iterator[list[Batch]]:
    """What one process computes in each step of an epoch after the first `done`. `place`: its rank, and of how many."""
    from torch.utils.data import DataLoader

    size, accumulation = settings.batch_size, settings.accumulation
    plan = plan_epoch(lengths, size, accumulation, [settings.seed, epoch], settings.group_by_length)[done:]
    # A process without a share in the last, short step computes one pair without weight: all must take part.
    shares = [share_of(step, *place, accumulation) or [(-1, step[0][:1])] for step in plan]

    loader = iter(
        DataLoader(
            model_inputs(tokens),
            batch_sampler=[batch.tolist() for share in shares for _, batch in share],
            collate_fn=partial(with_labels, model),
            num_workers=settings.loader_workers,
        )
    )
    for whole, share in zip(plan, shares, strict=True):
        pairs = sum(map(len, whole))
        yield [(number, pairs, next(loader)) for number, _ in share]


def with_labels(model: NSPModel, rows: list[dict[str, Any]]) -> dict[str, "torch.Tensor"]:
    """One batch as the model takes it, and what it should answer."""
    import torch

    labels = torch.tensor([row["label"] for row in rows])
    return model.collate(rows) | {"labels": labels}


def dropout_seed(seed: int, step: int, batch: int) -> int:
    """Of one batch: whichever process computes it, and whether or not the run was interrupted before."""
    return int(np.random.SeedSequence([seed, step, batch + 1]).generate_state(1, np.uint64)[0] >> 1)
