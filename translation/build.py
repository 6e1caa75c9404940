"""The last step: strict examples and their tasks, by the same route as `stereoset data add`."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.format import Example, iter_lines, read_examples, write_examples
from lm_eval_stereoset.errors import UserError
from translation.checks import KINDS, NEVER, problems
from translation.folder import Folder


@dataclass(frozen=True)
class Built:
    datasets: list[store.Dataset]
    tasks: list[str]
    left_out: list[str]  # ids
    partial: dict[str, int]  # splits that are not all of the English data, and how large that is


def build(
    folder: Folder, name: str, english_sizes: Mapping[str, int], drop_unresolved: bool = False
) -> Built:
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
    seen = {split: len(_dropped(folder, split) | {e.id for e in data[split]}) for split in data}
    partial = {split: size for split, size in english_sizes.items() if seen.get(split, size) < size}
    datasets = _add(usable, folder, name, partial)
    return Built(datasets, write_own_tasks(name), [id_ for _, id_ in unresolved], partial)


def _dropped(folder: Folder, split: str) -> set[str]:
    """What a person or a rule has dropped was translated: without it a data set is still whole."""
    found = {id_ for (s, id_), review in folder.reviewed().items() if s == split and review.after is None}
    path = folder.beside("changes.jsonl")
    lines = [json.loads(line) for _, line in iter_lines(path)] if path.is_file() else []
    return found | {x["example"] for x in lines if x["column"] is None and x.get("split") == split}


def _add(
    data: dict[str, list[Example]], folder: Folder, name: str, partial: Mapping[str, int]
) -> list[store.Dataset]:
    with tempfile.TemporaryDirectory() as parent:
        # The folder's name becomes part of the data's provenance; one per split, for versions of their own.
        staging = {s: Path(parent) / s / (folder.path.resolve().parent.name or "translation") for s in data}
        for split, examples in data.items():
            if not examples:
                raise UserError(f"no {split} example is left")
            write_examples(staging[split] / split / f"{name}.jsonl", examples)
            read_examples(staging[split] / split / f"{name}.jsonl", split)  # both are valid, or none goes in
        versions = {split: f"partial {len(data[split])} of {size}" for split, size in partial.items()}
        return [d for split in data for d in store.add(staging[split], name, versions.get(split))]
