"""What a training run starts with: checks, accelerator, model, optimiser and schedule."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.nsp_model import NSPModel
from nsp_finetune.models import load_config, load_tokenizer, new_model
from nsp_finetune.prepare import pair_files
from nsp_finetune.settings import TrainSettings

if TYPE_CHECKING:
    from accelerate import Accelerator


def check_before(settings: TrainSettings, pairs: Path, output: Path, folder: Path, resume: bool) -> None:
    """Every mistake that can be seen before the work starts."""
    if settings.base is None:
        raise UserError("which model? give --base FOLDER_OR_HUB_NAME or a --preset that names one")
    for split in ("train", "validation", "test"):
        pair_files(pairs, split)
    if not resume and (output.exists() or (folder / "checkpoints").exists()):
        raise UserError(
            f"{output} (or {folder.name} beside it) holds a run already: --resume it or choose another --output"
        )
    load_config(settings.base, settings.gguf_file)
    load_tokenizer(settings.base, settings.gguf_file)


def get_accelerator(settings: TrainSettings, run: Path) -> "Accelerator":
    from importlib.util import find_spec

    from accelerate import Accelerator

    if settings.tracker == "wandb" and find_spec("wandb") is None:
        raise UserError("--tracker wandb needs Weights & Biases: pip install wandb")
    tracker = settings.tracker
    if tracker == "none" or (tracker == "tensorboard" and find_spec("tensorboard") is None):
        tracker = None
    try:
        accelerator = Accelerator(
            mixed_precision=settings.mixed_precision, log_with=tracker, project_dir=str(run)
        )
    except ValueError as error:
        raise UserError(f"{error}; choose --mixed-precision bf16 or no") from error
    if accelerator.mixed_precision == "fp16" and accelerator.device.type == "cpu":
        raise UserError("fp16 needs a GPU; choose --mixed-precision bf16 or no")
    if tracker is not None:
        known = {key: value for key, value in asdict(settings).items() if value is not None}
        accelerator.init_trackers("nsp", config=known)
    return accelerator


def get_model(settings: TrainSettings) -> NSPModel:
    import torch

    torch.manual_seed(settings.seed)  # the fresh head
    model = new_model(
        settings.base,
        family=settings.family,
        pair=settings.pair,
        prefix=settings.prefix,
        max_length=settings.max_length,
        gguf_file=settings.gguf_file,
    )
    if settings.gradient_checkpointing:
        enable = getattr(
            model.core, "activation_checkpointing_enable", model.core.gradient_checkpointing_enable
        )
        enable({"use_reentrant": False})
    return model


def get_optimizer(model: NSPModel, settings: TrainSettings, total: int) -> tuple[Any, Any]:
    """AdamW with two learning rates; cosine with hard restarts after a warm-up."""
    from torch.optim import AdamW
    from transformers import get_cosine_with_hard_restarts_schedule_with_warmup

    groups = [{"params": list(model.core.parameters()), "lr": settings.core_lr, "name": "core"}]
    if model.head is not None:
        groups.append({"params": list(model.head.parameters()), "lr": settings.head_lr, "name": "head"})
    optimizer = AdamW(groups, weight_decay=settings.weight_decay)
    warmup = total // 100 + 1 if settings.warmup_steps is None else settings.warmup_steps
    return optimizer, get_cosine_with_hard_restarts_schedule_with_warmup(
        optimizer, warmup, total, settings.cycles
    )
