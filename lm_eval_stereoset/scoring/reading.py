"""Log-probabilities at chosen positions only: the vocabulary-sized head never sees the others."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import Model

CHUNK = 64  # rows per softmax step: keeps the temporary of logsumexp small


def check_as_long(positions: int, inputs: dict[str, Any]) -> None:
    """A model must answer with one row of logits per token fed: rows are read by the token's place in the input."""
    fed = inputs["decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"].numel()
    if positions != fed:
        raise UserError(
            f"the model answers an input of {fed} tokens with {positions} positions: it puts tokens of its own in, or "
            "leaves some out (an adapter, or code of its own), so that nothing can be read by position"
        )


@contextmanager
def _head_on_rows(
    head: torch.nn.Module | None, rows: torch.Tensor, inputs: dict[str, Any] | None = None
) -> Iterator[list[bool]]:
    """While open, `head` is given only the hidden states of `rows` (flat indices b * length + position)."""
    fired: list[bool] = []

    def select(_module: torch.nn.Module, arguments: tuple, keywords: dict[str, Any]) -> tuple | None:
        hidden = arguments[0] if arguments else next(iter(keywords.values()))
        if hidden.dim() != 3:
            return None
        fired.append(True)
        if inputs is not None:
            check_as_long(hidden.shape[0] * hidden.shape[1], inputs)
        chosen = hidden.flatten(0, 1)[rows].unsqueeze(0)
        return ((chosen, *arguments[1:]), keywords) if arguments else ((chosen,), {})

    if head is None:
        yield fired
        return
    handle = head.register_forward_pre_hook(select, with_kwargs=True)
    try:
        yield fired
    finally:
        handle.remove()


def logits_at(model: Model, rows: torch.Tensor, **inputs: Any) -> torch.Tensor:
    """Logits [len(rows), vocabulary] at flat positions `rows`, from the model's own forward pass.

    The selection happens in front of the output embedding, so whatever a model does after it (biases,
    soft caps, scales) still happens.
    """
    with _head_on_rows(model.get_output_embeddings(), rows, inputs) as fired:
        output = model(**inputs)
    logits = output.prediction_logits if "prediction_logits" in output else output.logits
    logits = logits.flatten(0, -2)
    if fired:
        return logits
    check_as_long(len(logits), inputs)
    return logits[rows]


def head_reads_nothing(model: Model) -> AbstractContextManager:
    """While open, a forward pass skips the vocabulary-sized head: for what other heads say."""
    whole = getattr(getattr(model, "cls", None), "predictions", None)  # BERT's, with the layer in front of it
    head = model.get_output_embeddings() if whole is None else whole
    return _head_on_rows(head, torch.empty(0, dtype=torch.long, device=model.device))


def log_probabilities(logits: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """log p(tokens[i]) under the softmax of logits[rows[i]] over the whole vocabulary; float64 on the CPU."""
    normaliser = torch.cat([torch.logsumexp(part.float(), dim=-1) for part in logits.split(CHUNK)])
    # a token that is all but certain can come out a rounding above 0
    return (logits[rows, tokens].double() - normaliser[rows].double()).clamp_(max=0).cpu()
