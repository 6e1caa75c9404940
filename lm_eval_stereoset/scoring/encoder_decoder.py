"""Log-probabilities of decoder tokens: every encoder input runs once, decoders share their beginnings.

Batches are sorted by encoder length. Within one the decoders' common beginning runs once per encoder input and
leaves its keys and values (its own, and those of the encoder's states) in a cache; the continuations, sorted by
length, go on from copies of it. Two examples, the first with two decoders behind its input, the second with three:

    encoder, once each      common beginning, once each     continuations, in one batch
    [The <0> is tall.]  ->  [<pad> <0>]  ->  cache of 0  ->  copy 0: [chess player]   copy 0: [cat]
    [A <0> sings.]      ->  [<pad> <0>]  ->  cache of 1  ->  copy 1: [bird]  copy 1: [stone]  copy 1: [boy]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lm_eval_stereoset.scoring.batching import pad, plan_batches, run_batches, token_budget
from lm_eval_stereoset.scoring.fused import fused_activations
from lm_eval_stereoset.scoring.head import GatheredHead, HeadReader
from lm_eval_stereoset.scoring.questions import Model, Settings

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Query:
    """log p(targets[i]) at position len(decoder) - len(targets) + i of the decoder, given the encoder's input."""

    encoder: Ids
    decoder: Ids  # what is fed, start token included
    targets: Ids
    shared: int = 0  # this many first tokens are common to all decoders behind the same encoder input


@dataclass
class Group:
    """All that is asked behind one encoder input: its distinct decoders, and which queries each answers."""

    encoder: Ids
    shared: int
    decoders: dict[Ids, list[int]]

    @property
    def beginning(self) -> int:
        """Tokens to run ahead of the decoders: none if there is but one, and always one left to feed."""
        if len(self.decoders) < 2:
            return 0
        return min(self.shared, min(map(len, self.decoders)) - 1)


def decoder_log_probabilities(model: Model, queries: Sequence[Query], settings: Settings) -> list[np.ndarray]:
    """A float64 array per query, as long as its targets."""
    groups = _groups(queries)
    found = [np.full(len(query.targets), np.nan) for query in queries]
    head = GatheredHead(model)

    def forward(batch: np.ndarray) -> None:
        beginnings = np.array([groups[i].beginning for i in batch])
        for beginning in np.unique(beginnings):
            part = [groups[i] for i in batch[beginnings == beginning]]
            _Pass(model, head, queries, found, settings).run(part, int(beginning))

    lengths = [len(group.encoder) for group in groups]
    reads = [sum(map(len, group.decoders)) for group in groups]
    with fused_activations(model):
        if groups:
            _compare_head(model, head.reader, groups[0])
        limit = head.reader.rows_limit
        run_batches(lengths, forward, settings, model.device, reads, limit)
        head.flush()
    return found


def _groups(queries: Sequence[Query]) -> list[Group]:
    """Sorted by tokens, so that no result depends on the order of the examples."""
    groups: dict[Ids, Group] = {}
    for i in sorted(range(len(queries)), key=lambda i: (queries[i].encoder, queries[i].decoder)):
        query = queries[i]
        group = groups.setdefault(query.encoder, Group(query.encoder, query.shared, {}))
        group.shared = min(group.shared, query.shared)
        group.decoders.setdefault(query.decoder, []).append(i)
    return list(groups.values())


def _compare_head(model: Model, reader: HeadReader, group: Group) -> None:
    with torch.inference_mode():
        encoder, _ = pad([group.encoder], 0, model.device)
        decoder, _ = pad([next(iter(group.decoders))], 0, model.device)
        reader.compare(input_ids=encoder, decoder_input_ids=decoder, use_cache=False)


@dataclass
class _Pass:
    """One batch of groups through the model; results go to `found`."""

    model: torch.nn.Module
    head: GatheredHead
    queries: Sequence[Query]
    found: list[np.ndarray]
    settings: Settings

    def run(self, groups: Sequence[Group], beginning: int) -> None:
        ids, mask = pad([group.encoder for group in groups], 0, self.model.device)
        states = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        rows = [(g, decoder) for g, group in enumerate(groups) for decoder in group.decoders]
        cache = None
        if beginning:
            cache = new_cache()
            common = [next(iter(group.decoders))[:beginning] for group in groups]
            reads = [
                (g, read)
                for g, group in enumerate(groups)
                for decoder in group.decoders
                for read in self._reads(group, decoder, 0, beginning)
            ]
            self._decode(common, states, mask, cache, reads)
        lengths = [len(decoder) - beginning for _, decoder in rows]
        for chosen in plan_batches(lengths, token_budget(self.settings, self.model.device)):
            part = [rows[i] for i in chosen]
            at = torch.tensor([g for g, _ in part], device=self.model.device)
            reads = [
                (row, read)
                for row, (g, decoder) in enumerate(part)
                for read in self._reads(groups[g], decoder, beginning, len(decoder))
            ]
            rest = [decoder[beginning:] for _, decoder in part]
            self._decode(rest, states[at], mask[at], select_cache(cache, at) if cache else None, reads)

    def _reads(self, group: Group, decoder: Ids, start: int, stop: int) -> list[tuple[int, int, int, int]]:
        """(first position relative to start, query, its first target, its last + 1) between start and stop."""
        result = []
        for query in group.decoders[decoder]:
            first = len(decoder) - len(self.queries[query].targets)
            begin, end = max(first, start), min(len(decoder), stop)
            if begin < end:
                result.append((begin - start, query, begin - first, end - first))
        return result

    def _decode(
        self, fed: Sequence[Ids], states: torch.Tensor, mask: torch.Tensor, cache: Any, reads: Any
    ) -> None:
        from transformers.modeling_outputs import BaseModelOutput

        ids, _ = pad(
            fed, 0, self.model.device
        )  # padding comes after all that is read, and nothing looks ahead
        inputs = {
            "encoder_outputs": BaseModelOutput(last_hidden_state=states),
            "attention_mask": mask,
            "decoder_input_ids": ids,
            "past_key_values": cache,
            "use_cache": cache is not None,
        }
        if not reads:
            if cache is not None:
                self.model(**inputs)
            return
        at = np.concatenate(
            [
                row * ids.shape[1] + np.arange(first, first + stop - begin)
                for row, (first, _, begin, stop) in reads
            ]
        )
        tokens = np.concatenate([self.queries[query].targets[a:b] for _, (_, query, a, b) in reads])
        positions, which = np.unique(at, return_inverse=True)

        def store(values: np.ndarray) -> None:
            done = 0
            for _, (_, query, begin, stop) in reads:
                self.found[query][begin:stop] = values[done : done + stop - begin]
                done += stop - begin

        self.head.read(store, positions, which, tokens, **inputs)


def new_cache() -> Any:
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache

    return EncoderDecoderCache(DynamicCache(), DynamicCache())


def select_cache(cache: Any, rows: torch.Tensor) -> Any:
    """A new cache with these rows (repeats allowed) of another."""
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache

    parts = []
    for one in (cache.self_attention_cache, cache.cross_attention_cache):
        copy = DynamicCache()
        for layer, stored in enumerate(one.layers):
            copy.update(stored.keys[rows], stored.values[rows], layer)
        parts.append(copy)
    return EncoderDecoderCache(*parts)
