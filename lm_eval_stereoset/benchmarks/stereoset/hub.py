"""English StereoSet from the Hugging Face hub, McGill-NLP/stereoset, into the canonical format."""

from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, Example, parse_example
from lm_eval_stereoset.benchmarks.stereoset.facts import refuse_other_facts
from lm_eval_stereoset.benchmarks.stereoset.words import candidate_word
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError

REPOSITORY = "McGill-NLP/stereoset"
# The hub's class numbers. Reading them in another order turns SS into 100 - SS without any error.
GOLD_LABELS = {0: "anti-stereotype", 1: "stereotype", 2: "unrelated"}


def fetch_hub(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """Both English splits from the hub into the data folder; both are read before either is written."""
    import datasets

    repository, revision = REPOSITORY, wanted.revision
    if wanted.languages not in (benchmark.languages, ("en",)) or wanted.clone or wanted.splits != SPLITS:
        raise UserError(
            "--source hub has English only, both splits; leave out --language, --split and --from"
        )
    examples = {}
    for split in SPLITS:
        config = f"{split}sentence"
        try:
            table = datasets.load_dataset(repository, config, split="validation", revision=revision)
        except Exception as error:  # offline, unknown revision, no such config: many types, one answer
            raise UserError(
                f"cannot load {repository} ({config}) from the hub ({type(error).__name__}: {error}); "
                "without --source hub the authors' repository is used, with --from DIR a local clone of it"
            ) from error
        _check_names(table, config)
        examples[split] = [
            row_to_example(row, split, f"{repository} {config}, row {number}")
            for number, row in enumerate(table)
        ]
        refuse_other_facts(examples[split], f"{repository} {config}")
    version = f"hub {revision or 'main'}"
    for split in SPLITS:
        store.say_what_is_replaced(benchmark, store.file_of(benchmark, split, "en"), repository, version)
    origins = dict.fromkeys(SPLITS, store.Origin(repository, version))
    return store.save_splits(benchmark, "en", examples, origins)


def _check_names(table: Any, config: str) -> None:
    """Where the hub names its classes, the names must be the ones this reader counts on."""
    feature = table.features["sentences"]
    feature = feature["gold_label"] if isinstance(feature, dict) else feature.feature["gold_label"]
    names = getattr(getattr(feature, "feature", feature), "names", None)
    if names is not None and dict(enumerate(names[:3])) != GOLD_LABELS:
        raise UserError(f"{config}: the hub's labels are now {names}; refusing to guess which is which")


def row_to_example(row: dict[str, Any], split: str, where: str) -> Example:
    sentences = row["sentences"]
    candidates = []
    for id_, sentence, label in zip(
        sentences["id"], sentences["sentence"], sentences["gold_label"], strict=True
    ):
        if label not in GOLD_LABELS:
            raise UserError(f"{where}: gold_label {label!r} of {id_} is not one of 0, 1, 2")
        candidate = {"id": id_, "label": GOLD_LABELS[label], "sentence": sentence}
        if split == "intra":
            candidate["word"] = candidate_word(row["context"], sentence)
        candidates.append(candidate)
    fields = {key: row[key] for key in ("id", "target", "bias_type", "context")}
    return parse_example(fields | {"target_original": row["target"], "candidates": candidates}, split, where)
