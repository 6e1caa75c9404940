"""What the tests of training runs share: a short run's settings, and its weights as bytes."""

import os
from pathlib import Path

from nsp_finetune.settings import TrainSettings

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
SHORT = {
    "batch_size": 4, "accumulation": 2, "max_examples": 84, "core_lr": 1e-3, "log_every": 8, "eval_every": 40,
    "eval_examples": 24, "test_examples": 40, "tracker": "none", "checkpoint_every": 0.25,
}  # fmt: skip


def arguments(values: dict) -> list[str]:
    return [part for name, value in values.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def short(bases, family="decoder", **changes) -> TrainSettings:
    return TrainSettings(base=str(bases[family]), **SHORT | changes)


def weights(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.safetensors"))}
