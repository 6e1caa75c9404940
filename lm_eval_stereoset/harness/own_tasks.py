"""Tasks for a user's own languages: files that `stereoset data add` puts in place together with the data."""

from collections.abc import Sequence
from pathlib import Path

from lm_eval_stereoset.data.format import SPLITS
from lm_eval_stereoset.data.store import data_folder, file_in
from lm_eval_stereoset.harness.paths import own_task_folder
from lm_eval_stereoset.harness.yaml_tasks import common_file, leaf_file, task_name


def own_task_files(language: str, splits: Sequence[str]) -> dict[Path, bytes]:
    """A task for each split, and one for both pooled if both are there."""
    files = {"_common": common_file(("intra",)), "_common_overall": common_file(SPLITS)}
    files |= {
        f"{task_name(split, language)}.yaml": leaf_file(split, language) for split in _with_pooled(splits)
    }
    return {own_task_folder() / name: text.encode("utf-8") for name, text in files.items()}


def own_task_names(language: str) -> list[str]:
    """The tasks of a language that is in the data folder."""
    there = [split for split in SPLITS if file_in(data_folder(), split, language).is_file()]
    return [task_name(split, language) for split in _with_pooled(there)]


def _with_pooled(splits: Sequence[str]) -> list[str | None]:
    return [*splits, None] if len(splits) == len(SPLITS) else [*splits]
