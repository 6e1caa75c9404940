"""Refuses tokenizers that cannot read the data: without the check every candidate gets the same score, and no error.

transformers builds an empty tokenizer where a checkpoint has no tokenizer files, or where its config leads to the
wrong class. "The chess player was Hispanic." then comes out as

    BERT    [CLS] [UNK] [UNK] [UNK] [UNK] [UNK] [UNK] [SEP]
    T5      ▁ <unk> ▁ <unk> ▁ <unk> ▁ <unk> ▁ <unk> </s>
    GPT-2   (nothing)
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from lm_eval_stereoset.errors import UserError

LOOKED_AT = 300  # texts; an empty tokenizer shows on the first one
BOUNDARY_MARKS = "▁Ġ "  # a piece that is nothing else says where a word begins, not which word it is
WAY_OUT = (
    "give the right one with tokenizer=… (a name or a folder), or its class with tokenizer_class=… "
    "(such as BertTokenizerFast); in `stereoset predict`: --tokenizer, --tokenizer-class"
)


def refuse_useless_tokenizer(tokenizer: Any, texts: Sequence[str], name: str, way_out: str = WAY_OUT) -> None:
    """Raises a UserError if the tokenizer yields no tokens, or mostly unknown ones, for these texts.

    `name`: the checkpoint or tokenizer, as the user gave it.
    """
    step = max(1, len(texts) // LOOKED_AT)
    looked_at = [text for text in texts[::step] if text.strip()]
    if not looked_at:
        return
    encoded = tokenizer(looked_at, add_special_tokens=False, verbose=False)["input_ids"]
    kind = f"{type(tokenizer).__name__}, {len(tokenizer)} tokens"
    if sum(1 for ids in encoded if len(ids) == 0) > len(encoded) / 2:
        raise UserError(
            f"{name}: its tokenizer ({kind}) makes no tokens of {looked_at[0][:60]!r}: its files are missing or of "
            f"another kind; {way_out}"
        )
    every = [token for ids in encoded for token in ids]
    telling = {token for token in set(every) if _tells_something(tokenizer, token)}
    known = sum(token in telling for token in every)
    if known <= len(every) / 2:
        raise UserError(
            f"{name}: its tokenizer ({kind}) knows only {known} of the {len(every)} tokens of this text, such as "
            f"{looked_at[0][:60]!r}: its files are missing, its class is another, or it is of another language; "
            f"{way_out}"
        )


def _tells_something(tokenizer: Any, token: int) -> bool:
    if token == tokenizer.unk_token_id:
        return False
    piece = tokenizer.convert_ids_to_tokens(int(token))
    return bool(piece and str(piece).strip(BOUNDARY_MARKS))


@contextmanager
def ids_within_embeddings(model: Any, tokenizer: Any) -> Iterator[None]:
    """While open, a token id beyond the model's embeddings is one line instead of an IndexError.

    On a GPU such an id would end the whole process.
    """
    embedding = model.get_input_embeddings()
    rows = embedding.weight.shape[0] if hasattr(embedding, "weight") else None

    def check(module: torch.nn.Module, arguments: tuple) -> None:
        ids = arguments[0] if arguments else None
        if not isinstance(ids, torch.Tensor) or ids.numel() == 0 or ids.is_floating_point():
            return
        largest = int(ids.max())
        if largest >= module.num_embeddings:
            raise UserError(
                f"the tokenizer {tokenizer.name_or_path or type(tokenizer).__name__} gives the token id {largest} "
                f"({tokenizer.convert_ids_to_tokens(largest)!r}), the model has embeddings for "
                f"{module.num_embeddings} tokens only: they do not belong together; {WAY_OUT}"
            )

    handles = [
        module.register_forward_pre_hook(check)
        for module in model.modules()
        if isinstance(module, torch.nn.Embedding) and module.num_embeddings == rows
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
