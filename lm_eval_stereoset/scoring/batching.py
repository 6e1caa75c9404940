"""Batches by tokens, sorted by length, that shrink when memory runs out; padding; distinct inputs."""

import logging
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.cpu_linear import fast_linear
from lm_eval_stereoset.scoring.types import Model, Settings

logger = logging.getLogger(__name__)

Input = TypeVar("Input", bound=Hashable)

# Padded tokens of a batch. On a CPU larger ones are slower: their activations leave the cache, and memory for
# them is fetched from the system anew in every layer.
CPU_TOKENS, GPU_TOKENS = 512, 16384
LOGITS_BYTES = 512 * 2**20  # the largest block of float32 logits held at once


def distinct(inputs: Sequence[Input]) -> tuple[list[Input], np.ndarray]:
    """The different inputs in order of appearance, and for each given input its index among them.

    Saves work, and keeps ties exact: equal inputs in batches of different shapes would come out 1e-7 apart.
    """
    index: dict[Input, int] = {}
    where = [index.setdefault(item, len(index)) for item in inputs]
    return list(index), np.array(where, dtype=np.int64)


def pad(
    sequences: Sequence[Sequence[int] | np.ndarray], value: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded ids and the attention mask, both [sequences, longest]."""
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
    real = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(real.shape, value, dtype=np.int64)
    ids[real] = np.concatenate([np.asarray(sequence, dtype=np.int64) for sequence in sequences])
    return torch.from_numpy(ids).to(device), torch.from_numpy(real.astype(np.int64)).to(device)


def token_budget(settings: Settings, device: torch.device) -> int:
    return settings.batch_tokens or (CPU_TOKENS if device.type == "cpu" else GPU_TOKENS)


def max_rows(vocabulary: int) -> int:
    """How many positions may be read in one pass, so that their logits stay within LOGITS_BYTES."""
    return max(16, LOGITS_BYTES // (4 * vocabulary))


def plan_batches(
    lengths: Sequence[int] | np.ndarray,
    tokens: int,
    size: int | None = None,
    rows: Sequence[int] | np.ndarray | None = None,
    rows_limit: int | None = None,
) -> list[np.ndarray]:
    """Indices of each batch, longest inputs first (so that memory runs out at once or never).

    A batch holds at most `tokens` tokens with its padding, `size` inputs and `rows_limit` read rows
    (`rows`: how many each input reads), but always at least one input.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    rows = np.ones_like(lengths) if rows is None else np.asarray(rows, dtype=np.int64)
    order = np.lexsort((np.arange(len(lengths)), -lengths))
    batches: list[np.ndarray] = []
    batch: list[int] = []
    longest = read = 0
    for i in order.tolist():
        full = batch and (
            (len(batch) + 1) * longest > tokens
            or (size is not None and len(batch) >= size)
            or (rows_limit is not None and read + rows[i] > rows_limit)
        )
        if full:
            batches.append(np.array(batch))
            batch, read = [], 0
        if not batch:
            longest = int(lengths[i])
        batch.append(i)
        read += int(rows[i])
    if batch:
        batches.append(np.array(batch))
    return batches


def run_batches(
    lengths: Sequence[int] | np.ndarray,
    forward: Callable[[np.ndarray], None],
    settings: Settings,
    device: torch.device,
    rows: Sequence[int] | np.ndarray | None = None,
    rows_limit: int | None = None,
) -> None:
    """Calls `forward(indices)` for every batch, without gradients; halves a batch that does not fit.

    `forward` stores its results itself, and may be called again for a part of a batch that failed.
    """
    from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size

    budget = token_budget(settings, device)
    waiting = plan_batches(lengths, budget, settings.batch_size, rows, rows_limit)[::-1]
    fits = None  # inputs x longest of the largest batch that memory can hold, once one has failed
    lengths = np.asarray(lengths)
    done = 0
    while waiting:
        batch = waiting.pop()
        if fits is not None and len(batch) > 1 and len(batch) * lengths[batch].max() > fits:
            waiting += np.array_split(batch, 2)[::-1]
            continue
        try:
            with torch.inference_mode(), fast_linear(device):
                forward(batch)
        except Exception as error:
            if len(batch) == 1 or not should_reduce_batch_size(error):
                raise
            fits = len(batch) * int(lengths[batch].max()) // 2
            logger.warning("a batch of %d inputs did not fit into memory; trying halves", len(batch))
            waiting += np.array_split(batch, 2)[::-1]
        else:
            done += len(batch)
            if settings.progress:
                settings.progress.done(done, of=len(lengths))
            continue
        clear_device_cache(garbage_collection=True)


def max_positions(model: Model) -> int | None:
    """The longest input that the model has positions for; None when positions are relative."""
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    if config.model_type in ("t5", "mt5", "umt5", "longt5", "switch_transformers", "bloom"):
        return None
    for name in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"):
        limit = getattr(config, name, None)
        if isinstance(limit, int) and limit > 0:
            break
    else:
        return None
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            if module.padding_idx is not None and module.num_embeddings == limit:
                return limit - module.padding_idx - 1  # RoBERTa counts positions from padding_idx + 1
            break
    return limit


def check_lengths(lengths: Sequence[int] | np.ndarray, limit: int | None, names: Sequence[str]) -> None:
    """A text that is too long is refused, naming it: cut off, it would get a score of something else."""
    if limit is None:
        return
    lengths = np.asarray(lengths)
    too_long = np.flatnonzero(lengths > limit)
    if len(too_long):
        worst = int(too_long[0])
        raise UserError(
            f"{names[worst]} has {lengths[worst]} tokens, the model has {limit} positions"
            f"{f' ({len(too_long)} inputs are too long)' if len(too_long) > 1 else ''}; "
            "choose a model with more positions, or shorten the text in a copy of the data (metadata data=FOLDER, in "
            "`stereoset predict`: --data FOLDER)"
        )
