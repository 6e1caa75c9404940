"""Accuracy on held-out pairs with a 95 % interval.

stereoset nsp evaluate DIR --pairs PAIRS
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.nsp_folder import load_nsp_model
from lm_eval_stereoset.scoring.nsp_model import NSPModel
from nsp_finetune.batches import batches_by_length, model_inputs
from nsp_finetune.data import token_table

if TYPE_CHECKING:
    import torch
    from datasets import Dataset

Z = 1.959964  # of a two-sided 95 % interval


@dataclass(frozen=True)
class Accuracy:
    accuracy: float
    low: float  # 95 % interval
    high: float
    pairs: int
    articles: int
    no_answer: float = 0.0  # share of pairs to which a text-to-text model generates neither "0" nor "1"
    loss: float = math.nan

    def __str__(self) -> str:
        return self.in_words("articles")

    def in_words(self, clusters: str) -> str:
        """`clusters`: what pairs of one source are of."""
        interval = f"95 % interval {100 * self.low:.2f} to {100 * self.high:.2f}"
        silent = f"; {100 * self.no_answer:.2f} % answered neither 0 nor 1" if self.no_answer else ""
        counted = f"{self.pairs} pairs of {self.articles} {clusters}{silent}"
        return f"{100 * self.accuracy:.2f} % ({interval}; {counted})"


def accuracy_with_interval(correct: np.ndarray, article: np.ndarray) -> tuple[float, float, float]:
    """Accuracy and its Wilson interval, for as many independent pairs as these are worth.

    Pairs of one article stand or fall together; the variance over articles tells by how much less they count.
    """
    total, accuracy = len(correct), float(correct.mean())
    _, index = np.unique(article, return_inverse=True)
    sizes = np.bincount(index)
    groups = len(sizes)
    independent = float(total)
    if groups > 1 and 0 < accuracy < 1:
        residual = np.bincount(index, weights=correct - accuracy)
        variance = groups / (groups - 1) * float((residual**2).sum()) / total**2
        if variance > 0:
            independent = min(total, accuracy * (1 - accuracy) / variance)
    centre = (accuracy + Z**2 / (2 * independent)) / (1 + Z**2 / independent)
    half = Z * math.sqrt(accuracy * (1 - accuracy) / independent + Z**2 / (4 * independent**2))
    half /= 1 + Z**2 / independent
    return accuracy, max(0.0, centre - half), min(1.0, centre + half)


def answers(
    model: Callable[..., Any],
    collate: Callable[..., dict[str, "torch.Tensor"]],
    tokens: "Dataset",
    batch_size: int,
    device: "torch.device",
    rank: int = 0,
    processes: int = 1,
    progress: bool = False,
) -> "torch.Tensor":
    """(pairs, 2): the class answered (or -1) and the loss; zeros where another process is responsible.

    Nothing tells the model the label: a text-to-text model answers at the step after its start token.
    """
    import torch
    from tqdm import tqdm

    result = torch.zeros(len(tokens), 2, dtype=torch.float64)
    inputs = model_inputs(tokens)
    mine = batches_by_length(np.asarray(tokens["length"]), batch_size)[rank::processes]
    with (
        torch.inference_mode(),
        tqdm(total=len(mine), desc="evaluating", unit="batch", disable=not progress, leave=False) as bar,
    ):
        for indices in mine:
            rows = inputs.__getitems__(indices.tolist())
            labels = torch.tensor([row.pop("label") for row in rows], device=device)
            output = model(**{key: value.to(device) for key, value in collate(rows).items()})
            loss = output.log_normaliser - output.logits.gather(1, labels[:, None])[:, 0]
            result[torch.from_numpy(indices)] = torch.stack([output.predicted, loss], dim=1).double().cpu()
            bar.update()
    return result.to(device) if device.type != "mps" else result.float().to(device)


def summarise(result: "torch.Tensor", tokens: "Dataset") -> Accuracy:
    predicted, loss = result.double().cpu().numpy().T
    if wrong := int((~np.isfinite(loss)).sum()):
        raise UserError(
            f"the model's answers to {wrong} of {len(loss)} pairs are not numbers: its weights are damaged, or the "
            "training has diverged"
        )
    correct = (predicted == np.asarray(tokens["label"])).astype(float)
    # an article's number is its place in the corpus of its language
    article = np.array(
        [f"{language}{n}" for language, n in zip(tokens["language"], tokens["first_article"], strict=True)]
    )
    value, low, high = accuracy_with_interval(correct, article)
    return Accuracy(
        value,
        low,
        high,
        len(correct),
        len(np.unique(article)),
        float((predicted < 0).mean()),
        float(loss.mean()),
    )


def by_language(result: "torch.Tensor", tokens: "Dataset") -> dict[str, Accuracy]:
    """Of all languages together under "all", and of each where there are several."""
    summary = {"all": summarise(result, tokens)}
    languages = np.asarray(tokens["language"])
    if len(names := sorted(set(languages.tolist()))) > 1:
        for name in names:
            rows = np.flatnonzero(languages == name)
            summary[name] = summarise(result[rows], tokens.select(rows))
    return summary


def evaluate(
    folder: Path, pairs: Path, split: str, batch_size: int, max_examples: int | None, cache: Path
) -> dict[str, dict[str, Any]]:
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model: NSPModel = load_nsp_model(folder, device=device)
    tokens = token_table(model, pairs, split, cache, max_examples)
    result = answers(model, model.collate, tokens, batch_size, device, progress=True)
    return {name: asdict(value) for name, value in by_language(result, tokens).items()}
