"""What a training run starts with: checks, accelerator, model, optimiser and schedule."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError, missing_package
from lm_eval_stereoset.files import read_json
from nsp_finetune.job import NSP, Job
from nsp_finetune.models import load_config, load_tokenizer
from nsp_finetune.prepare import check_output
from nsp_finetune.settings import TrainSettings, refuse_other_run

if TYPE_CHECKING:
    from accelerate import Accelerator


def check_before(
    settings: TrainSettings, pairs: Path, output: Path, folder: Path, resume: bool, job: Job = NSP
) -> None:
    """Every mistake that can be seen before the work starts."""
    base = settings.start_from
    job.check(pairs)
    for given in (base, pairs):
        if output.resolve() == Path(given).resolve():
            raise UserError(f"--output {output} is what the run starts from; choose another --output")
    if not resume and (output.exists() or (folder / "checkpoints").exists()):
        raise UserError(
            f"{output} (or {folder.name} beside it) holds a run already: --resume it or choose another --output"
        )
    check_tracker(settings.tracker)
    load_config(base, settings.gguf_file)
    load_tokenizer(base, settings.gguf_file)


def check_tracker(tracker: str) -> None:
    from importlib.util import find_spec

    if tracker == "wandb" and find_spec("wandb") is None:
        raise missing_package("wandb", "--tracker wandb")
    if tracker == "tensorboard" and find_spec("tensorboard") is None:
        missing = missing_package("tensorboard", "--tracker tensorboard (the default)", extra="nsp")
        raise UserError(f"{missing}, or choose --tracker none")


def is_first_process() -> bool:
    """As the launcher says, before there is an accelerator to ask."""
    return os.environ.get("RANK", "0") == "0"


def run_folder(output: Path) -> Path:
    """Where checkpoints, token ids and the tracker's files are kept: beside the model."""
    if output.name in ("", ".."):
        raise UserError(f"--output {output}: needs a name of its own, such as {output / 'model'}")
    folder = output.with_name(f"{output.name}.run")
    check_output(folder)
    return folder


def finished_before(settings: TrainSettings, output: Path) -> dict[str, Any] | None:
    """Test accuracy of a run to be resumed that has come to its end; None if there is still work to do."""
    if not output.exists():
        return None
    path = output / "training.json"
    if not path.is_file():
        raise UserError(f"{output} exists and was not made by this run; choose another --output")
    saved = read_json(path)
    if not isinstance(saved, dict) or not isinstance(saved.get("settings"), dict) or "test" not in saved:
        raise UserError(f"{path}: not what a run writes there; choose another --output")
    refuse_other_run(saved["settings"], asdict(settings), output)
    return saved["test"]


def get_accelerator(settings: TrainSettings, run: Path, project: str = NSP.name) -> "Accelerator":
    from accelerate import Accelerator

    tracker = None if settings.tracker == "none" else settings.tracker
    try:
        accelerator = Accelerator(
            mixed_precision=settings.mixed_precision, log_with=tracker, project_dir=str(run)
        )
    except ValueError as error:
        raise UserError(f"{error}; choose --mixed-precision bf16 or no") from error
    if accelerator.mixed_precision == "fp16" and accelerator.device.type == "cpu":
        raise UserError("fp16 needs a GPU; choose --mixed-precision bf16 or no")
    if accelerator.distributed_type.name in ("FSDP", "DEEPSPEED", "MEGATRON_LM"):
        raise UserError(
            f"accelerate is configured for {accelerator.distributed_type.name}, which spreads the weights over "
            "processes; here every process holds the whole model: choose plain multi-GPU in `accelerate config`"
        )
    if tracker is not None:
        known = {key: value for key, value in asdict(settings).items() if value is not None}
        accelerator.init_trackers(project, config=known)
    return accelerator


def get_model(settings: TrainSettings, job: Job = NSP) -> Any:
    import torch

    torch.manual_seed(settings.seed)  # the fresh head
    model = job.new_model(settings)
    if settings.gradient_checkpointing:
        enable = getattr(
            model.core, "activation_checkpointing_enable", model.core.gradient_checkpointing_enable
        )
        enable({"use_reentrant": False})
    return model


def get_optimizer(model: Any, settings: TrainSettings, total: int) -> tuple[Any, Any]:
    """AdamW with two learning rates; cosine with hard restarts after a warm-up."""
    from torch.optim import AdamW
    from transformers import get_cosine_with_hard_restarts_schedule_with_warmup

    core, head = model.parameter_groups()
    groups = [{"params": core, "lr": settings.core_lr, "name": "core"}]
    if head:
        groups.append({"params": head, "lr": settings.head_lr, "name": "head"})
    optimizer = AdamW(groups, weight_decay=settings.weight_decay)
    warmup = total // 100 + 1 if settings.warmup_steps is None else settings.warmup_steps
    return optimizer, get_cosine_with_hard_restarts_schedule_with_warmup(
        optimizer, warmup, total, settings.cycles
    )
