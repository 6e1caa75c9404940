"""The published numbers beside the user's, for the models that the papers have.

paper_cells.csv holds the printed cells: source and table, row, how inter was scored, metric, languages.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources

from lm_eval_stereoset.benchmarks.declaration import OVERALL
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.report.extras import Beside, Published, PublishedCell
from lm_eval_stereoset.report.model_run import Run

SOURCES = {
    "paper": "Öztürk et al. 2023, How Different Is Stereotypical Bias Across Languages? (arXiv 2307.07331)",
    "thesis": "the first author's thesis on which the paper builds",
}
LANGUAGES = ("en", "de", "tr", "fr", "es")
METRICS = ("lms", "ss", "icat", "mc_lms", "mc_ss", "icat_macro", "icat_micro")

# How the papers' main tables score inter, by row; a file's own way of scoring goes first.
MAIN_SCORING = {
    "BERT": "BertNextSentence", "GPT-2": "GPT2LM_d", "T5": "ModelNSP",
    "mBERT": "BertNextSentence", "mGPT-2": "GPT2LM_d", "mT5": "ModelNSP",
}  # fmt: skip

# Row: the checkpoint of each language ("*": all of them), as in the names of the published files.
CHECKPOINTS = {
    "BERT": {
        "en": "bert-base-cased", "de": "dbmdz/bert-base-german-cased", "tr": "dbmdz/bert-base-turkish-cased",
        "fr": "flaubert/flaubert_base_cased", "es": "dccuchile/bert-base-spanish-wwm-cased",
    },
    "GPT-2": {
        "en": "gpt2", "de": "dbmdz/german-gpt2", "tr": "redrussianarmy/gpt2-turkish-cased",
        "fr": "asi/gpt-fr-cased-small", "es": "PlanTL-GOB-ES/gpt2-base-bne",
    },
    "T5": {
        "en": "t5-base", "de": "GermanT5/t5-efficient-gc4-german-base-nl36",
        "fr": "plguillou/t5-base-fr-sum-cnndm", "es": "flax-community/spanish-t5-small",
    },
    "mBERT": {"*": "bert-base-multilingual-cased"},
    "mGPT-2": {"*": "THUMT/mGPT"},
    "mT5": {"*": "google/mt5-base"},
}  # fmt: skip

# Cells that nobody can reproduce from the published files: (row, language, splits, metrics or None) and why.
IRREPRODUCIBLE = (
    ("mBERT", "de", ("intra", "overall"), None, "the published file is from another run than this cell"),
    ("T5", "en", ("overall",), None, "three examples are missing in the authors' count"),
    ("mBERT", "tr", ("inter",), ("lms",), "a misprint of 78.73"),
)


def why_irreproducible(cell: PublishedCell) -> str:
    for row, language, splits, metrics, why in IRREPRODUCIBLE:
        here = (row, language) == (cell.row, cell.language) and cell.split in splits
        if here and (metrics is None or cell.metric in metrics):
            return why
    return ""


@lru_cache(maxsize=1)
def cells() -> tuple[PublishedCell, ...]:
    text = resources.files(__package__).joinpath("paper_cells.csv").read_text("utf-8")
    found = []
    for line in csv.DictReader(text.splitlines()):
        for language in LANGUAGES:
            if printed := line[language]:
                key = {name: line[name] for name in ("source", "table", "split", "row", "scoring", "metric")}
                found.append(PublishedCell(**key, language=language, value=float(printed)))
    return tuple(found)


def row_of(model: str, language: str) -> str | None:
    """The papers' row for a model; a hub id counts with and without its owner, "/" also written "_"."""
    wanted = _plain(model)
    for row, checkpoints in CHECKPOINTS.items():
        if wanted == _plain(row):
            return row
        checkpoint = checkpoints.get(language) or checkpoints.get("*")
        if checkpoint and wanted in (_plain(checkpoint), _plain(checkpoint.rpartition("/")[2])):
            return row
        if checkpoint and model.rpartition("/")[2].lower() == checkpoint.rpartition("/")[2].lower():
            return row
    return None


def _plain(name: str) -> str:
    return name.lower().replace("/", "_")


def beside(runs: Sequence[Run], rows: Mapping[str, str]) -> list[Beside]:
    """Every published cell that a run has a number for; of several printings the paper's first one."""
    index: dict[tuple[str, str, str, str, str], PublishedCell] = {}
    for cell in cells():  # the paper comes before the thesis
        index.setdefault((cell.split, cell.row, cell.scoring, cell.metric, cell.language), cell)
    found = []
    for run in runs:
        row = rows.get(run.model) or rows.get(run.base) or row_of(run.base, run.language)
        if row is None:
            continue
        scoring = run.scoring or MAIN_SCORING[row]
        for split in (OVERALL, *SPLITS):
            for metric in METRICS:
                key = (split, row, "" if split == "intra" else scoring, metric, run.language)
                value = run.overall(split, metric)
                if key in index and not math.isnan(value):
                    found.append(Beside(run, index[key], value, why_irreproducible(index[key])))
    return found


PUBLISHED = Published(SOURCES, tuple(CHECKPOINTS), beside)
