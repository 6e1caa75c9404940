"""A classifier of sentence pairs while it is trained: transformers' own model, fed and read as the runs expect.

What is saved is a plain folder of transformers with three labels in id2label: `AutoModelForSequenceClassification`
loads it, and so does `stereoset-hf`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lm_eval_stereoset.benchmarks.snli.rows import NUMBERED
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import classifier
from lm_eval_stereoset.scoring.architecture import untied
from lm_eval_stereoset.scoring.checkpoint import one_line, refuse_mismatched, without_load_report
from lm_eval_stereoset.scoring.loading import load
from lm_eval_stereoset.scoring.nsp_folder import write_folder
from lm_eval_stereoset.scoring.nsp_model import NSPOutput
from nsp_finetune.models import PAD_TOKEN, load_config, load_tokenizer, usable_length
from nsp_finetune.settings import TrainSettings


@dataclass(frozen=True)
class PairSettings:
    """What token ids depend on besides the tokenizer."""

    max_length: int
    token_types: bool


class NLIModel(nn.Module):
    """`fresh`: names of the core's parameters that no checkpoint held; they get the head's learning rate."""

    def __init__(self, core: Any, tokenizer: Any, max_length: int, fresh: frozenset[str] = frozenset()):
        super().__init__()
        self.core, self.tokenizer, self.fresh = core, tokenizer, fresh
        types = (getattr(core.config, "type_vocab_size", None) or 0) > 1
        self.settings = PairSettings(usable_length(core, max_length), types)

    def parameter_groups(self) -> tuple[list[Any], list[Any]]:
        """(the model, the fresh head)."""
        named = list(self.core.named_parameters())
        return [p for name, p in named if name not in self.fresh], [p for n, p in named if n in self.fresh]

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, list[int]]]:
        return classifier.encode(self.core, self.tokenizer, pairs, self.settings.max_length)

    def collate(self, encoded: Sequence[Mapping[str, list[int]]]) -> dict[str, torch.Tensor]:
        return classifier.collate(self.core, encoded, torch.device("cpu"))

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
    ) -> NSPOutput:
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if token_type_ids is not None:
            inputs["token_type_ids"] = token_type_ids
        logits = self.core(**inputs).logits.float()
        return NSPOutput(logits, logits.logsumexp(dim=-1), logits.argmax(dim=-1))


def new_classifier(settings: TrainSettings) -> NLIModel:
    """The base model with a fresh head for three labels."""
    from transformers import AutoModelForSequenceClassification

    base = settings.start_from
    config, tokenizer = load_config(base), load_tokenizer(base)
    names = dict(enumerate(NUMBERED))
    options: dict[str, Any] = {"num_labels": len(names), "id2label": names, "dtype": "float32"}
    options |= {"label2id": {name: number for number, name in names.items()}}
    options |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
    with without_load_report():
        core, info = one_line(
            base, lambda: AutoModelForSequenceClassification.from_pretrained(base, **options)
        )
    mismatched = {entry[0] for entry in info.get("mismatched_keys") or []}
    if foreign := [e for e in info.get("mismatched_keys") or [] if not is_of_head(core, e[0])]:
        refuse_mismatched({"mismatched_keys": foreign}, base)
    missing = untied(core, info["missing_keys"])
    if lost := sorted(key for key in missing if not is_of_head(core, key)):
        raise UserError(f"{base}: lacks {len(lost)} weights of the model ({lost[0]} …); is it complete?")
    if tokenizer.pad_token_id is None:
        tokenizer.add_special_tokens({"pad_token": PAD_TOKEN})
    if len(tokenizer) > core.get_input_embeddings().weight.shape[0]:
        core.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    core.config.pad_token_id = tokenizer.pad_token_id
    core.config.problem_type = "single_label_classification"
    config.pad_token_id = tokenizer.pad_token_id
    head = {name for name, _ in core.named_parameters() if is_of_head(core, name) and "pooler" not in name}
    return NLIModel(core, tokenizer, settings.max_length, frozenset(missing | mismatched | head))


def is_of_head(core: Any, key: str) -> bool:
    """Whatever classifies: the head, and the pooler in front of it, which language models have no weights for."""
    return "pooler" in key or not key.startswith(core.base_model_prefix + ".")


def save_classifier(model: NLIModel, folder: Path | str, also: Callable[[Path], None] | None = None) -> None:
    """The whole folder or nothing; `also` may put more files into it."""
    if model.tokenizer.is_fast:  # the last call's cutting would be saved with it
        model.tokenizer.backend_tokenizer.no_truncation()
        model.tokenizer.backend_tokenizer.no_padding()

    def write(temporary: Path) -> None:
        model.core.save_pretrained(temporary)
        model.tokenizer.save_pretrained(temporary)
        if also is not None:
            also(temporary)

    write_folder(Path(folder), write)


def load_classifier(folder: Path, device: Any, max_length: int = 512) -> NLIModel:
    core, tokenizer = load(folder, "classifier", device=device)
    return NLIModel(core, tokenizer, max_length).eval()
