"""What a run trains. The run itself (train.py) is the same for all: batches, steps, checkpoints, curve, test.

NSP here is next-sentence prediction on the pairs that `prepare` has made; nli.py has natural language inference.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.files import read_json
from lm_eval_stereoset.scoring.nsp_folder import load_nsp_model, save_nsp_model
from lm_eval_stereoset.scoring.nsp_model import NSPModel
from nsp_finetune.card import model_card
from nsp_finetune.data import token_table
from nsp_finetune.lengths import long_test_pairs
from nsp_finetune.models import new_model
from nsp_finetune.prepare import SPLITS, pair_files, read_statistics
from nsp_finetune.settings import TrainSettings

if TYPE_CHECKING:
    from datasets import Dataset

Also = Callable[[Path], None]  # puts more files into a folder before it gets its name


@dataclass(frozen=True)
class Finished:
    """What the card of a finished model tells."""

    settings: TrainSettings
    data: Path
    accuracy: dict[str, dict[str, Any]]
    seen: int  # training pairs
    folder: Path


@dataclass(frozen=True)
class Job:
    name: str  # of the tracker's project
    title: str  # of the learning curve
    chance: float  # accuracy of guessing, in percent
    clusters: str  # what pairs of one source are said to be of: articles
    check: Callable[[Path], None]  # the data, before anything is loaded
    inputs: Callable[[Path], Any]  # what the data are made of: a run is resumed on the same only
    new_model: Callable[
        [TrainSettings], Any
    ]  # a module with encode, collate, core, head, tokenizer and settings
    load_model: Callable[[Path, Any], Any]  # (folder, device)
    save_model: Callable[[Any, Path, Also | None], None]
    tokens: Callable[[Any, Path, str, Path, int | None], "Dataset"]  # (model, data, split, cache, at most)
    beforehand: Callable[[Any, Path], list[str]]  # lines that are said before the training starts
    card: Callable[[Any, Finished], str]


def _check_pairs(pairs: Path) -> None:
    for split in SPLITS:
        pair_files(pairs, split)
    read_statistics(pairs)  # the card needs it at the end


def _new_nsp_model(settings: TrainSettings) -> NSPModel:
    return new_model(
        settings.start_from,
        family=settings.family,
        pair=settings.pair,
        prefix=settings.prefix,
        max_length=settings.max_length,
        gguf_file=settings.gguf_file,
    )


def _long_pairs(model: NSPModel, pairs: Path) -> list[str]:
    return long_test_pairs(model, read_statistics(pairs)["languages"])


def _nsp_card(model: NSPModel, done: Finished) -> str:
    statistics = read_statistics(done.data)
    return model_card(
        done.settings, asdict(model.settings), statistics, done.accuracy, done.seen, done.folder
    )


NSP = Job(
    name="nsp",
    title="next-sentence prediction",
    chance=50,
    clusters="articles",
    check=_check_pairs,
    inputs=lambda pairs: read_json(pairs / "inputs.json"),
    new_model=_new_nsp_model,
    load_model=lambda folder, device: load_nsp_model(folder, device=device),
    save_model=save_nsp_model,
    tokens=token_table,
    beforehand=_long_pairs,
    card=_nsp_card,
)
