"""A next-sentence model in memory: the one definition of its input and its forward pass.

decoder   mean of the last hidden states over the real tokens, then three linear layers in sequence
          (hidden -> 300 -> 300 -> 2) without activation
encoder   last hidden state of the first token, linear + tanh, linear to 2 (BERT's next-sentence head)
seq2seq   no head: the decoder's logits of the tokens of "0" and "1"

Its settings are in nsp_settings.py, its folder on disk in nsp_folder.py.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.checkpoint import decoder_start_token
from lm_eval_stereoset.scoring.nsp_settings import NSPSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

HEAD_WIDTH = 300  # of the paper's decoder head


class NSPOutput(NamedTuple):
    logits: torch.Tensor  # (n, 2) float32, by class
    log_normaliser: torch.Tensor  # (n,): log-sum-exp over all the model could answer (its whole vocabulary)
    predicted: torch.Tensor  # (n,): the class answered; -1 if a text-to-text model says something else


class NSPModel(nn.Module):
    """Core model, head (or none), tokenizer and settings; one forward pass for training and scoring."""

    def __init__(
        self,
        core: "PreTrainedModel",
        head: nn.Module | None,
        tokenizer: "PreTrainedTokenizerBase",
        settings: NSPSettings,
    ):
        super().__init__()
        self.core, self.head, self.tokenizer, self.settings = core, head, tokenizer, settings
        if settings.family == "seq2seq":
            self.label_ids = [label_token(tokenizer, label) for label in settings.labels]
            if self.label_ids[0] == self.label_ids[1]:
                raise UserError(
                    f"the tokenizer gives {settings.labels!r} the same token: no answer to tell apart"
                )
        elif getattr(core, "pooler", None) is not None:
            core.pooler = None  # our head takes its place; unused weights would also stall several processes

    def parameter_groups(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """(the model, the head): they have learning rates of their own."""
        return list(self.core.parameters()), [] if self.head is None else list(self.head.parameters())

    @property
    def config(self) -> Any:
        return self.core.config

    @property
    def device(self) -> torch.device:
        return next(self.core.parameters()).device

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, list[int]]]:
        """For training: as `encode_up_to`, with the length that training is set to."""
        return self.encode_up_to(pairs, self.settings.max_length)

    def encode_up_to(self, pairs: Sequence[tuple[str, str]], limit: int | None) -> list[dict[str, list[int]]]:
        """Token ids of each pair (A, B), not padded; at most `limit` of them (None: all), cut longest first."""
        settings, tokenizer = self.settings, self.tokenizer
        first = [settings.prefix + a for a, _ in pairs]
        second = [(" " + b if settings.pair == "space" else b) for _, b in pairs]
        if not pairs:
            return []
        if settings.pair == "tokenizer":
            # verbose=False: tokenizers warn of lengths that their models can well take
            columns = tokenizer(
                first,
                second,
                truncation=limit is not None and "longest_first",
                max_length=limit,
                verbose=False,
            )
            keys = [key for key in ("input_ids", "token_type_ids") if key in columns]
            return [{key: columns[key][i] for key in keys} for i in range(len(pairs))]
        ids = [
            tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
            for texts in (first, second)
        ]
        return [{"input_ids": joined(a, b, limit)} for a, b in zip(*ids, strict=True)]

    def collate(self, encoded: Sequence[Mapping[str, list[int]]]) -> dict[str, torch.Tensor]:
        """Right-padded to the longest of the batch; only `attention_mask` tells what is real."""
        width = max(len(one["input_ids"]) for one in encoded)
        pad = {"input_ids": pad_id(self.tokenizer), "token_type_ids": 0}
        batch = {
            key: torch.tensor([list(one[key]) + [pad[key]] * (width - len(one[key])) for one in encoded])
            for key in ("input_ids", "token_type_ids")
            if key in encoded[0]
        }
        lengths = torch.tensor([len(one["input_ids"]) for one in encoded])
        batch["attention_mask"] = (torch.arange(width)[None, :] < lengths[:, None]).long()
        return batch

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> NSPOutput:
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if self.settings.family == "seq2seq":
            vocabulary = self._label_step_logits(inputs).float()
            logits = vocabulary[:, self.label_ids]
            answer = vocabulary.argmax(dim=-1)
            no, yes = self.label_ids
            predicted = torch.where(answer == yes, 1, torch.where(answer == no, 0, -1))
            return NSPOutput(logits, vocabulary.logsumexp(dim=-1), predicted)
        if self.settings.family == "encoder" and token_type_ids is not None:
            inputs["token_type_ids"] = token_type_ids
        if self.settings.family == "decoder":
            inputs["use_cache"] = False
        hidden = self.core(**inputs).last_hidden_state
        pooled = hidden[:, 0] if self.settings.family == "encoder" else mean_over_real(hidden, attention_mask)
        assert self.head is not None  # only the seq2seq family, done above, answers with its vocabulary
        logits = self.head(pooled.to(next(self.head.parameters()).dtype)).float()
        return NSPOutput(logits, logits.logsumexp(dim=-1), logits.argmax(dim=-1))

    def _label_step_logits(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """(n, vocabulary) logits at the step that holds the answer; the encoder runs once.

        At step 1 the decoder has seen its start token only, so there is no teacher to force anything and the
        training pass itself gives the accuracy of free generation.
        """
        start = decoder_start_token(self.core.config)
        said = torch.full((len(inputs["input_ids"]), 1), start, device=inputs["input_ids"].device)
        encoder = self.core.get_encoder()(**inputs)
        cache = None
        for _ in range(self.settings.label_step):
            output = self.core(
                encoder_outputs=encoder,
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=said,  # each step's own token; those before are in the cache, as in generation
                past_key_values=cache,
                use_cache=self.settings.label_step > 1,
            )
            cache, logits = output.past_key_values, output.logits[:, -1]
            said = logits.argmax(dim=-1, keepdim=True)
        return logits

    @torch.inference_mode()
    def is_next_probability(self, pairs: Sequence[tuple[str, str]], batch_size: int = 32) -> list[float]:
        """P(B follows A) of every pair, in the order given; the model is put into evaluation mode."""
        self.eval()
        encoded = self.encode(pairs)
        order = sorted(range(len(pairs)), key=lambda i: -len(encoded[i]["input_ids"]))
        scores = [float("nan")] * len(pairs)
        for begin in range(0, len(order), batch_size):
            chunk = order[begin : begin + batch_size]
            batch = {k: v.to(self.device) for k, v in self.collate([encoded[i] for i in chunk]).items()}
            probability = self(**batch).logits.double().softmax(dim=-1)[:, self.settings.is_next_class]
            for i, value in zip(chunk, probability.tolist(), strict=True):
                scores[i] = value
        return scores


def mean_over_real(hidden: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """(n, tokens, d) to (n, d); padding has no share, so a score never depends on its neighbours."""
    mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * mask).sum(dim=1) / mask.sum(dim=1)


def new_head(family: str, hidden: int) -> nn.Module | None:
    if family == "decoder":
        sizes = (hidden, HEAD_WIDTH, HEAD_WIDTH, 2)
        return nn.Sequential(*(nn.Linear(sizes[i], sizes[i + 1]) for i in range(3)))
    if family == "encoder":
        return nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2))
    return None


def hidden_size(config: Any) -> int:
    """Width of the last hidden state; configs of models with several parts keep it in their text part."""
    return config.get_text_config().hidden_size


def label_token(tokenizer: "PreTrainedTokenizerBase", label: str) -> int:
    """The token that stands for a label: its last piece (sentencepiece may split off a leading '▁')."""
    ids = tokenizer(label, add_special_tokens=False)["input_ids"]
    if not ids:
        raise UserError(f"the tokenizer makes no token of the label {label!r}; are its files complete?")
    return ids[-1]


def pad_id(tokenizer: "PreTrainedTokenizerBase") -> int:
    """Any id will do where there is none: the mask hides it."""
    return 0 if tokenizer.pad_token_id is None else tokenizer.pad_token_id


def joined(a: list[int], b: list[int], max_length: int | None) -> list[int]:
    """a + b, the longer one cut at its end until both fit; two long ones share the room."""
    if max_length is not None and len(a) + len(b) > max_length:
        half = max_length // 2
        if len(a) <= max_length - half:
            b = b[: max_length - len(a)]
        elif len(b) <= half:
            a = a[: max_length - len(b)]
        else:
            a, b = a[: max_length - half], b[:half]
    return a + b
