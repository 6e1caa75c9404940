"""The last step: strict examples and their tasks, by the same route as `stereoset data add`."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.format import Example, write_examples
from lm_eval_stereoset.errors import UserError
from translation.checks import KINDS, NEVER, problems
from translation.folder import Folder


@dataclass(frozen=True)
class Built:
    datasets: list[store.Dataset]
    tasks: list[str]
    left_out: list[str]  # ids


def build(folder: Folder, name: str, drop_unresolved: bool = False) -> Built:
    """Adds the data set and its tasks; an example that may never get into data stops it or is left out."""
    from lm_eval_stereoset.harness.own_tasks import write_own_tasks

    folder.notice_edits(adopt=True)
    data = folder.read()
    unresolved = {
        (split, example.id): kinds
        for split, examples in data.items()
        for example in examples
        if (kinds := [k for k in problems(example) if KINDS[k].grade == NEVER])
    }
    if unresolved and not drop_unresolved:
        (split, id_), kinds = next(iter(unresolved.items()))
        raise UserError(
            f"{len(unresolved)} examples may not get into a data set, e.g. {split} {id_}: "
            f"{KINDS[kinds[0]].meaning}; correct them with `stereoset translate review` and `apply`, "
            "or leave them out with --drop-unresolved"
        )
    usable = {s: [e for e in examples if (s, e.id) not in unresolved] for s, examples in data.items()}
    datasets = _add(usable, folder, name)
    return Built(datasets, write_own_tasks(name), [id_ for _, id_ in unresolved])


def _add(data: dict[str, list[Example]], folder: Folder, name: str) -> list[store.Dataset]:
    with tempfile.TemporaryDirectory() as parent:
        # The folder's name becomes part of the data's provenance.
        staging = Path(parent) / (folder.path.resolve().parent.name or "translation")
        for split, examples in data.items():
            if not examples:
                raise UserError(f"no {split} example is left")
            write_examples(staging / split / f"{name}.jsonl", examples)
        return store.add(staging, name)
