"""Log-probabilities of chosen tokens at chosen positions, without ever holding a row of logits.

The normaliser of a softmax is summed over blocks of the vocabulary that stay in the processor's cache: a
250,000-word head then runs near the speed of its matrix product and needs no memory to speak of.
"""

from typing import Any

import torch
from torch import nn

from lm_eval_stereoset.scoring.batching import max_rows
from lm_eval_stereoset.scoring.reading import log_probabilities, logits_at

CPU_BLOCK_BYTES, GPU_BLOCK_BYTES = 8 * 2**20, 256 * 2**20  # float32 logits of one block


class HeadReader:
    """`reader(rows, which, tokens, **inputs)`: log p(tokens[i]) at flat position rows[which[i]] of a forward pass.

    Position b * length + p is token p of row b. The blocks are used if the head is an ordinary linear layer and
    the model does nothing to its output (no soft cap, no scale, no bias of its own): compared once, on the first
    row ever read. Otherwise the model's own logits at those rows are read.
    """

    def __init__(self, model: nn.Module):
        self.model = model
        self.head = model.get_output_embeddings()
        ordinary = type(self.head) is nn.Linear and self.head.weight.device.type != "meta"
        self.blocks: bool | None = None if ordinary else False  # None: not compared yet

    @property
    def rows_limit(self) -> int | None:
        """How many positions a batch may read; None: any number."""
        return None if self.blocks else max_rows(self.model.config.get_text_config().vocab_size)

    def __call__(
        self, rows: torch.Tensor, which: torch.Tensor, tokens: torch.Tensor, **inputs: Any
    ) -> torch.Tensor:
        if self.blocks is None:
            self.blocks = self._head_is_all(rows[:1], inputs)
        if self.blocks is False:
            return log_probabilities(logits_at(self.model, rows, **inputs), which, tokens)
        hidden, _ = self._hidden_at(rows, 0, inputs)
        return block_log_probabilities(hidden, self.head.weight, self.head.bias, which, tokens)

    def compare(self, **inputs: Any) -> None:
        """Decides about the blocks on an input of one row: for callers whose inputs may not be run twice."""
        if self.blocks is None:
            self.blocks = self._head_is_all(
                torch.zeros(1, dtype=torch.long, device=self.model.device), inputs
            )

    def _head_is_all(self, row: torch.Tensor, inputs: dict[str, Any]) -> bool:
        hidden, logits = self._hidden_at(row, 1, inputs)
        if hidden is None or logits is None or logits.shape[0] != 1:
            return False
        ours = nn.functional.linear(hidden, self.head.weight, self.head.bias)
        tolerance = 8 * torch.finfo(ours.dtype).eps * float(ours.abs().max())
        return logits.shape == ours.shape and bool((logits - ours).abs().max() <= tolerance)

    def _hidden_at(
        self, rows: torch.Tensor, through: int, inputs: dict[str, Any]
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """What the head would see at `rows`, and its logits of the first `through` of them."""
        seen: list[torch.Tensor] = []

        def take(_module, arguments, keywords):
            hidden = (arguments[0] if arguments else next(iter(keywords.values()))).flatten(0, -2)[rows]
            seen.append(hidden)
            return (hidden[None, :through],), {}

        handle = self.head.register_forward_pre_hook(take, with_kwargs=True)
        try:
            output = self.model(**inputs)
        finally:
            handle.remove()
        logits = output.prediction_logits if "prediction_logits" in output else output.logits
        return (seen[0] if len(seen) == 1 else None), (logits.flatten(0, -2) if through else None)


def block_log_probabilities(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    which: torch.Tensor,
    tokens: torch.Tensor,
) -> torch.Tensor:
    """log softmax(hidden @ weight.T + bias)[which[i], tokens[i]], as float64 on the CPU."""
    budget = CPU_BLOCK_BYTES if hidden.device.type == "cpu" else GPU_BLOCK_BYTES
    columns = max(256, budget // (4 * max(1, len(hidden))))
    sums = []
    for start in range(0, len(weight), columns):
        part = slice(start, start + columns)
        logits = nn.functional.linear(hidden, weight[part], None if bias is None else bias[part])
        sums.append(_log_sum_exp(logits.float()))
    normaliser = torch.logsumexp(torch.stack(sums), dim=0)
    chosen = (hidden[which].float() * weight[tokens].float()).sum(dim=-1)
    if bias is not None:
        chosen = chosen + bias[tokens].float()
    return (chosen.double() - normaliser[which].double()).cpu()


def _log_sum_exp(logits: torch.Tensor) -> torch.Tensor:
    """Over the last dimension, in place: torch's own makes two more tensors of that size on the way."""
    largest = logits.amax(dim=-1, keepdim=True)
    return logits.sub_(largest).exp_().sum(dim=-1).log_() + largest[:, 0]
