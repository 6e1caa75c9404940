"""Tasks for a user's own languages, written beside their data when `stereoset data add` takes them in."""

from lm_eval_stereoset.data.format import SPLITS
from lm_eval_stereoset.data.store import data_folder, file_in
from lm_eval_stereoset.files import atomic_write
from lm_eval_stereoset.harness.paths import own_task_folder
from lm_eval_stereoset.harness.yaml_tasks import common_file, leaf_file, task_name


def write_own_tasks(language: str) -> list[str]:
    """Files for the splits that are there, and for both pooled if both are; returns the tasks' names."""
    splits: list[str | None] = [s for s in SPLITS if file_in(data_folder(), s, language).is_file()]
    if len(splits) == len(SPLITS):
        splits.append(None)
    files = {"_common": common_file(("intra",)), "_common_overall": common_file(SPLITS)}
    files |= {f"{task_name(split, language)}.yaml": leaf_file(split, language) for split in splits}
    for name, text in files.items():
        with atomic_write(own_task_folder() / name) as handle:
            handle.write(text)
    return [task_name(split, language) for split in splits]
