"""Settings of natural language inference: those of all runs with other defaults, without what is for NSP only."""

from collections.abc import Mapping
from typing import Any

from lm_eval_stereoset.errors import UserError
from nsp_finetune.settings import TrainSettings, load_settings

# Where neither the command line nor a preset says otherwise; usual for fine-tuning BERT.
DEFAULTS = {
    "core_lr": 2e-5,
    "head_lr": 1e-4,
    "batch_size": 32,
    "accumulation": 1,
    "max_length": 128,
    "epochs": 3,
}
UNUSED = ("family", "pair", "prefix", "gguf_file")


def nli_settings(preset: str | None, given: Mapping[str, Any]) -> TrainSettings:
    settings = load_settings(preset, given, DEFAULTS)
    if used := [name for name in UNUSED if getattr(settings, name)]:
        raise UserError(f"{used[0]}: is for next-sentence prediction; leave it out")
    return settings
