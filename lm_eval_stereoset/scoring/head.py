"""Log-probabilities of chosen tokens at chosen positions, without ever holding a row of logits.

The normaliser of a softmax is summed over blocks of the vocabulary that stay in the processor's cache: a
250,000-word head then runs near the speed of its matrix product and needs no memory to speak of.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.batching import max_rows
from lm_eval_stereoset.scoring.cpu_linear import fast_linear
from lm_eval_stereoset.scoring.reading import check_as_long, log_probabilities, logits_at

CPU_BLOCK_BYTES, GPU_BLOCK_BYTES = 8 * 2**20, 256 * 2**20  # float32 logits of one block
NOTHING = (
    -80.0
)  # exp of it adds nothing to a sum of at least 1; much below, exp gives denormals, 20 times slower
GATHERED_ROWS = 1024  # hidden states that are enough for a product at full speed


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
        hidden = self.hidden(rows, **inputs)
        self.refuse_beyond_head(tokens)  # after the pass, which names a token beyond the embeddings better
        if hidden is None:
            return log_probabilities(logits_at(self.model, rows, **inputs), which, tokens)
        return log_probabilities_in_parts(hidden, self.head.weight, self.head.bias, which, tokens)

    def refuse_beyond_head(self, tokens: torch.Tensor) -> None:
        """A token that is asked for but never fed (a final </s>) passes the check of the embeddings."""
        size = getattr(self.head, "out_features", None)
        if size is not None and len(tokens) and int(tokens.max()) >= size:
            raise UserError(
                f"the tokenizer gives the token id {int(tokens.max())}, the model's output head has {size} rows "
                "only: tokenizer and model do not belong together; name the right tokenizer"
            )

    def hidden(self, rows: torch.Tensor, **inputs: Any) -> torch.Tensor | None:
        """What the head would see at `rows`; None, and no pass, if blocks cannot be used."""
        if self.blocks is None:
            self.blocks = self._head_is_all(rows[:1], inputs)
        return self._hidden_at(rows, 0, inputs)[0] if self.blocks else None

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
        if logits.shape != ours.shape or getattr(
            self.model.config.get_text_config(), "final_logit_softcapping", None
        ):
            return False
        # sums are float32 and rounded once: what is coarse is each logit by itself, so that no cap can hide
        size = ours.float().abs()
        tolerance = 2 * torch.finfo(ours.dtype).eps * size + 64 * torch.finfo(torch.float32).eps * size.max()
        return bool(((logits.float() - ours.float()).abs() <= tolerance).all())

    def _hidden_at(
        self, rows: torch.Tensor, through: int, inputs: dict[str, Any]
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """What the head would see at `rows`, and its logits of the first `through` of them."""
        seen: list[torch.Tensor] = []

        def take(_module: torch.nn.Module, arguments: tuple, keywords: dict[str, Any]) -> tuple:
            hidden = (arguments[0] if arguments else next(iter(keywords.values()))).flatten(0, -2)
            check_as_long(len(hidden), inputs)
            hidden = hidden[rows.to(hidden.device)]
            seen.append(hidden)
            return (hidden[None, :through],), {}

        handle = self.head.register_forward_pre_hook(take, with_kwargs=True)
        try:
            output = self.model(**inputs)
        finally:
            handle.remove()
        logits = output.prediction_logits if "prediction_logits" in output else output.logits
        return (seen[0] if len(seen) == 1 else None), (logits.flatten(0, -2) if through else None)


class Waiting(NamedTuple):
    """What one pass wants to know: hidden states, and for each wanted token its row among them."""

    hidden: torch.Tensor
    which: torch.Tensor
    tokens: torch.Tensor
    store: Callable[[np.ndarray], None]


class GatheredHead:
    """As HeadReader, but hidden states of several passes wait until their head is worth running.

    A head of 250,000 words is read from memory as a whole for every product, whether it has ten rows or a thousand.

        pass 1: 300 states ─┐
        pass 2: 410 states ─┼─ 1,030 rows x head ─┬─ store of pass 1
        pass 3: 320 states ─┘    (one product)    ├─ store of pass 2
                                                  └─ store of pass 3
    """

    def __init__(self, model: nn.Module):
        self.reader = HeadReader(model)
        self._waiting: list[Waiting] = []

    def read(
        self,
        store: Callable[[np.ndarray], None],
        rows: np.ndarray,
        which: np.ndarray,
        tokens: np.ndarray,
        **inputs: Any,
    ) -> None:
        """`store` is called with the log-probabilities (see HeadReader), at the latest by `flush`."""
        device = self.reader.model.device
        at, index, wanted = (torch.from_numpy(x).to(device) for x in (rows, which, tokens))
        hidden = self.reader.hidden(at, **inputs)
        self.reader.refuse_beyond_head(wanted)
        if hidden is None:
            store(self.reader(at, index, wanted, **inputs).numpy())
            return
        self._waiting.append(Waiting(hidden, index, wanted, store))
        if sum(len(one.hidden) for one in self._waiting) >= GATHERED_ROWS:
            self.flush()

    def flush(self) -> None:
        """Reads all that waits. If memory runs out for good it goes on waiting: the caller may answer with a smaller
        batch of its own, and must not lose the states of the batches before it."""
        if self._waiting:
            self._store(self._waiting)
        self._waiting = []

    def _store(self, waiting: list[Waiting]) -> None:
        head = self.reader.head
        offsets = np.cumsum([0] + [len(one.hidden) for one in waiting[:-1]]).tolist()
        with torch.inference_mode(), fast_linear(waiting[0].hidden.device):
            values = log_probabilities_in_parts(
                torch.cat([one.hidden for one in waiting]),
                head.weight,
                head.bias,
                torch.cat([one.which + offset for one, offset in zip(waiting, offsets, strict=True)]),
                torch.cat([one.tokens for one in waiting]),
            ).numpy()
        ends = np.cumsum([len(one.tokens) for one in waiting])
        for one, part in zip(waiting, np.split(values, ends[:-1]), strict=True):
            one.store(part)


def log_probabilities_in_parts(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    which: torch.Tensor,
    tokens: torch.Tensor,
) -> torch.Tensor:
    """As block_log_probabilities, in two parts of the rows (and so on) if memory is too short for all of them."""
    from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size

    try:
        return block_log_probabilities(hidden, weight, bias, which, tokens)
    except Exception as error:
        if len(hidden) == 1 or not should_reduce_batch_size(error):
            raise
    clear_device_cache(garbage_collection=True)
    values = torch.full((len(tokens),), torch.nan, dtype=torch.float64)
    middle = len(hidden) // 2
    for begin, end in ((0, middle), (middle, len(hidden))):
        mine = (which >= begin) & (which < end)
        part = hidden[begin:end], weight, bias, which[mine] - begin, tokens[mine]
        values[mine.cpu()] = log_probabilities_in_parts(*part)
    return values


def block_log_probabilities(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    which: torch.Tensor,
    tokens: torch.Tensor,
) -> torch.Tensor:
    """log softmax(hidden @ weight.T + bias)[which[i], tokens[i]], as float64 on the CPU."""
    hidden, which, tokens = (x.to(weight.device) for x in (hidden, which, tokens))  # of a model over several
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
    # in half precision the normaliser is of rounded logits, so that the difference can come out above 0
    return (chosen.double() - normaliser[which].double()).clamp_(max=0).cpu()


def _log_sum_exp(logits: torch.Tensor) -> torch.Tensor:
    """Over the last dimension, in place: torch's own makes two more tensors of that size on the way."""
    largest = logits.amax(dim=-1, keepdim=True).clamp_(min=torch.finfo(logits.dtype).min)  # a block of -inf
    return logits.sub_(largest).clamp_(min=NOTHING).exp_().sum(dim=-1).log_() + largest[:, 0]
