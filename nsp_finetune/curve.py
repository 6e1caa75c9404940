"""The learning curve of a run as a picture: loss, accuracy, learning rate; raw and smoothed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

SMOOTHING = 0.9  # weight of the past in the running mean


def smoothed(values: Sequence[float]) -> np.ndarray:
    """Exponential running mean, corrected for its start as Adam corrects its moments."""
    mean, result = 0.0, []
    for count, value in enumerate(values, start=1):
        mean = SMOOTHING * mean + (1 - SMOOTHING) * value
        result.append(mean / (1 - SMOOTHING**count))
    return np.array(result)


def draw(history: dict[str, list[dict[str, Any]]], path: Path, title: str, chance: float = 50) -> None:
    """`history`: "train" and "validation" points, each with examples, loss, accuracy (and learning rates).

    `chance`: the accuracy of guessing, in percent.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 8), layout="constrained")
    FigureCanvasAgg(figure)
    loss, accuracy, rate = figure.subplots(3, 1, sharex=True, height_ratios=(3, 3, 1.6))
    train, validation = history["train"], history["validation"]
    for axis, name, unit in ((loss, "loss", 1), (accuracy, "accuracy", 100)):
        values = [unit * point[name] for point in train]
        axis.plot(_x(train), values, color="#9db8d9", linewidth=0.8, label="training, raw")
        axis.plot(_x(train), smoothed(values), color="#1f4e8c", linewidth=1.8, label="training, smoothed")
        held_out = [unit * point[name] for point in validation]
        axis.plot(
            _x(validation), held_out, "o-", color="#c2410c", markersize=3.5, linewidth=1.2, label="validation"
        )
        axis.grid(alpha=0.25)
    if validation and "low" in validation[0]:
        bounds = [[100 * point[name] for point in validation] for name in ("low", "high")]
        accuracy.fill_between(
            _x(validation), *bounds, color="#c2410c", alpha=0.15, linewidth=0, label="95 % interval"
        )
    accuracy.axhline(chance, color="#888888", linestyle=":", linewidth=1)
    accuracy.annotate(
        "chance", (0.995, chance), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8
    )
    loss.set_ylabel("cross-entropy (nats)")
    accuracy.set_ylabel("accuracy (%)")
    for name, style in (("core", "-"), ("head", "--")):
        if train and f"{name}_lr" in train[0]:
            rate.plot(_x(train), [p[f"{name}_lr"] for p in train], style, color="#3f6212", label=name)
    if any(point.get("core_lr") for point in train):  # zero has no place on it
        rate.set_yscale("log")
    rate.set_ylabel("learning rate")
    rate.set_xlabel("training pairs seen")
    rate.grid(alpha=0.25)
    for axis in (loss, accuracy, rate):
        axis.legend(fontsize=8, framealpha=0.9)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=120)


def _x(points: Sequence[dict[str, Any]]) -> list[int]:
    return [point["examples"] for point in points]
