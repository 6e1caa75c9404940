"""Next-token log-probabilities of many token sequences, every shared beginning run once.

Sequences in lexicographic order are a tree walked depth first. A packed row holds a piece of that walk; each
node sees its ancestors only (a 4-D attention mask) and has its depth as position. So a row gives every sequence
in it exactly what a pass of its own would give, the three candidates of an example share all they have in
common, and there is next to no padding. Three sequences become a row of 7 nodes:

    The cat is black           node    0    1    2   3      4    5    6
    The cat is white           token   The  cat  is  black  white dog  barks
    The dog barks              depth   0    1    2   3      3    1    2          the position that the model is told
                               end     7    5    5   4      5    7    7          node i sees node j if j <= i < end[j]

"white" (node 4) sees The, cat, is (their ends lie behind it) but not black, whose end is 4.
"""

import inspect
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lm_eval_stereoset.scoring.batching import pad, run_batches
from lm_eval_stereoset.scoring.fused import fused_activations
from lm_eval_stereoset.scoring.head import HeadReader
from lm_eval_stereoset.scoring.questions import Model, Settings

logger = logging.getLogger(__name__)

Ids = tuple[int, ...]
MIN_ROW = 64  # nodes; longer rows share more but spend more on attention between strangers
ROW_PER_MEAN = 6  # a row holds about so many sequences
# How far packed rows may be from plain ones, as a mean of log-probabilities: next to nothing in float32, and in half
# precision no more than plain rows in batches of two sizes are from each other, times a margin.
SAME, NOISE = 1e-4, 2


@dataclass(frozen=True)
class PackedRow:
    """A piece of the tree, depth first. Node j is an ancestor of node i (or i itself) if j <= i < end[j]."""

    ids: np.ndarray
    depth: np.ndarray
    end: np.ndarray
    members: list[tuple[int, np.ndarray]]  # index of a sequence, and the nodes on its path


def next_token_log_probabilities(
    model: Model, sequences: Sequence[Ids], first: Sequence[int], settings: Settings
) -> list[np.ndarray]:
    """For each sequence s the float64 array of log p(s[i] | s[:i]) for i = first .. len(s) - 1 (first >= 1)."""
    wanted: dict[Ids, int] = {}
    for ids, begin in zip(sequences, first, strict=True):
        if begin < len(ids):
            wanted[ids] = min(begin, wanted.get(ids, begin))
    ordered = sorted(wanted)  # by tokens, so that no result depends on the order of the examples
    begins = [wanted[ids] for ids in ordered]
    reader = HeadReader(model)
    with fused_activations(model):
        layout = pack_rows(ordered) if _tree_works(model, ordered, reader) else plain_rows(ordered)
        found = _read(model, layout, ordered, begins, reader, settings)
    by_ids = dict(zip(ordered, found, strict=True))
    return [
        by_ids[ids][begin - wanted[ids] :] if begin < len(ids) else np.empty(0)
        for ids, begin in zip(sequences, first, strict=True)
    ]


def plain_rows(ordered: Sequence[Ids]) -> list[PackedRow]:
    """One sequence a row: what every model understands. The last token is read, never fed."""
    rows = []
    for index, ids in enumerate(ordered):
        n = len(ids) - 1
        nodes = np.arange(n)
        rows.append(PackedRow(np.array(ids[:-1], dtype=np.int64), nodes, np.full(n, n), [(index, nodes)]))
    return rows


def pack_rows(ordered: Sequence[Ids], capacity: int | None = None) -> list[PackedRow]:
    """Sequences (distinct, sorted) laid into rows of about `capacity` nodes."""
    fed = [np.array(ids[:-1], dtype=np.int64) for ids in ordered]
    if capacity is None:
        capacity = max(MIN_ROW, ROW_PER_MEAN * round(np.mean([len(ids) for ids in fed])))
    common = [0] + [_common_length(fed[i - 1], fed[i]) for i in range(1, len(fed))]
    rows, start, nodes = [], 0, 0
    for i in range(len(fed)):
        if i > start and nodes + len(fed[i]) - common[i] > capacity:
            rows.append(_lay_out(fed, common, start, i))
            start, nodes = i, 0
        nodes += len(fed[i]) - (common[i] if i > start else 0)
    if fed:
        rows.append(_lay_out(fed, common, start, len(fed)))
    return rows


def _common_length(a: np.ndarray, b: np.ndarray) -> int:
    n = min(len(a), len(b))
    differs = np.flatnonzero(a[:n] != b[:n])
    return int(differs[0]) if len(differs) else n


def _lay_out(fed: list[np.ndarray], common: list[int], start: int, stop: int) -> PackedRow:
    shared = [0, *common[start + 1 : stop]]  # nodes that each sequence takes over from the one before it
    new = [len(ids) - k for ids, k in zip(fed[start:stop], shared, strict=True)]
    after = np.cumsum(new)  # number of nodes once each sequence is laid out
    end = np.repeat(after, new)
    members, path = [], np.empty(0, dtype=np.int64)
    for i, k in enumerate(shared):
        end[path[:k]] = after[i]  # the shared ancestors' subtrees reach to here
        path = np.concatenate([path[:k], np.arange(after[i] - new[i], after[i])])
        members.append((start + i, path))
    ids = np.concatenate([ids[k:] for ids, k in zip(fed[start:stop], shared, strict=True)])
    depth = np.concatenate([np.arange(k, k + n) for k, n in zip(shared, new, strict=True)])
    return PackedRow(ids, depth, end, members)


def tree_inputs(
    rows: Sequence[PackedRow], dtype: torch.dtype, device: torch.device
) -> dict[str, torch.Tensor]:
    """Padded ids, positions and the additive mask [rows, 1, longest, longest]; padding sees itself only."""
    longest = max(len(row.ids) for row in rows)
    ids, depth = np.zeros((2, len(rows), longest), dtype=np.int64)
    end = np.tile(np.arange(1, longest + 1), (len(rows), 1))
    for i, row in enumerate(rows):
        n = len(row.ids)
        ids[i, :n], depth[i, :n], end[i, :n] = row.ids, row.depth, row.end
    node = torch.arange(longest, device=device)
    ends = torch.from_numpy(end).to(device)
    sees = (node[None, None, :] <= node[None, :, None]) & (node[None, :, None] < ends[:, None, :])
    mask = torch.zeros(sees.shape, dtype=dtype, device=device).masked_fill_(~sees, torch.finfo(dtype).min)
    return {
        "input_ids": torch.from_numpy(ids).to(device),
        "position_ids": torch.from_numpy(depth).to(device),
        "attention_mask": mask[:, None],
    }


def plain_inputs(rows: Sequence[PackedRow], device: torch.device) -> dict[str, torch.Tensor]:
    ids, mask = pad([row.ids for row in rows], 0, device)
    return {"input_ids": ids, "attention_mask": mask}


def _read(
    model: Model,
    layout: list[PackedRow],
    ordered: Sequence[Ids],
    begins: Sequence[int],
    reader: HeadReader,
    settings: Settings,
) -> list[np.ndarray]:
    found = [np.full(len(ids) - begin, np.nan) for ids, begin in zip(ordered, begins, strict=True)]
    is_tree = any(len(row.members) > 1 for row in layout)

    def forward(batch: np.ndarray) -> None:
        rows = [layout[i] for i in batch]
        inputs = tree_inputs(rows, model.dtype, model.device) if is_tree else plain_inputs(rows, model.device)
        longest = inputs["input_ids"].shape[1]
        members = [(r, index, path) for r, row in enumerate(rows) for index, path in row.members]
        at = [r * longest + path[begins[index] - 1 :] for r, index, path in members]
        positions, which = np.unique(np.concatenate(at), return_inverse=True)
        tokens = np.concatenate([ordered[index][begins[index] :] for _, index, _ in members])
        values = reader(
            *(torch.from_numpy(x).to(model.device) for x in (positions, which, tokens)),
            **inputs,
            use_cache=False,
        ).numpy()
        parts = np.split(values, np.cumsum([len(x) for x in at])[:-1])
        for (_, index, _), part in zip(members, parts, strict=True):
            found[index] = part

    reads = [
        len(np.unique(np.concatenate([path[begins[i] - 1 :] for i, path in row.members]))) for row in layout
    ]
    lengths = [len(row.ids) for row in layout]
    run_batches(lengths, forward, settings, model.device, reads, reader.rows_limit)
    return found


def _tree_works(model: Model, ordered: Sequence[Ids], reader: HeadReader) -> bool:
    """Whether this model takes a packed row as meant: asked of the model itself, on one row, before use.

    Some compute positions on their own (BLOOM), some attention kernels ignore such masks, some models are no
    transformers at all: none of them says so.
    """
    config: Any = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    if window is not None and max(map(len, ordered)) > window:
        return False
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model  # behind an adapter
    if "position_ids" not in inspect.signature(inner.forward).parameters or len(ordered) < 2:
        return False
    sample = max(pack_rows(ordered[:64]), key=lambda row: len(row.members) * len(row.ids))
    some = [ordered[index] for index, _ in sample.members]
    if len(some) < 2:
        return False
    begins = [1] * len(some)
    (row,) = pack_rows(some, 10**9)

    def read(layout: list[PackedRow], settings: Settings = Settings()) -> np.ndarray:  # noqa: B008
        return np.concatenate(_read(model, layout, some, begins, reader, settings))

    with torch.inference_mode():
        plain = read(plain_rows(some))
        noise = np.abs(plain - read(plain_rows(some), Settings(batch_size=1))).mean()
        try:
            packed = read([row])
            others = read([_with_other_strangers(row)])
        except Exception as error:
            logger.info("%s does not take packed rows (%s)", type(model).__name__, error)
            return False
    last = len(row.members[-1][1])
    difference = np.abs(plain - packed).mean()
    if difference > max(SAME, NOISE * noise) or not np.array_equal(packed[-last:], others[-last:]):
        logger.info("%s reads packed rows differently (%.1e): plain rows", type(model).__name__, difference)
        return False
    return True


def _with_other_strangers(row: PackedRow) -> PackedRow:
    """The row with other tokens wherever its last sequence must not look: read as meant, that one stays the same.

    Same shapes, same kernels: to the last bit, in any precision.
    """
    ids = np.roll(row.ids, 1)
    own = row.members[-1][1]
    ids[own] = row.ids[own]
    return PackedRow(ids, row.depth, row.end, row.members)
