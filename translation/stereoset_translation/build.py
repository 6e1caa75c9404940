"""The last step: strict examples and their tasks, by the same route as `stereoset data add`."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import Example, parse_example
from lm_eval_stereoset.data import adding, store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import encoded, iter_lines, parse_json
from stereoset_translation.checks import KINDS, NEVER, problems
from stereoset_translation.folder import Folder


@dataclass(frozen=True)
class Built:
    datasets: list[store.Dataset]
    tasks: list[str]
    left_out: list[str]  # ids
    partial: dict[str, int]  # splits that are not all of the English data, and how large that is


def build(
    folder: Folder,
    name: str,
    english_sizes: Mapping[str, int],
    drop_unresolved: bool = False,
    replace: bool = False,
) -> Built:
    """Adds the data set and its tasks; an example that may never get into data stops it or is left out."""
    with folder.alone():  # what is checked is what goes in
        return _build(folder, name, english_sizes, drop_unresolved, replace)


def _build(
    folder: Folder, name: str, english_sizes: Mapping[str, int], drop_unresolved: bool, replace: bool
) -> Built:
    from lm_eval_stereoset.harness.yaml_tasks import own_task_names

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
    datasets = _add(usable, folder, name, partial, replace)
    return Built(datasets, own_task_names(STEREOSET, name), [id_ for _, id_ in unresolved], partial)


def _dropped(folder: Folder, split: str) -> set[str]:
    """What a person or a rule has dropped was translated: without it a data set is still whole."""
    found = {id_ for (s, id_), review in folder.reviewed().items() if s == split and review.after is None}
    path = folder.beside("changes.jsonl")
    for number, line in iter_lines(path) if path.is_file() else ():
        change = parse_json(line, f"{path}, line {number}")
        if not isinstance(change, dict) or not isinstance(change.get("example"), str):
            raise UserError(f"{path}, line {number}: not a change; run `stereoset translate repair` again")
        if change.get("column") is None and change.get("split") == split:
            found.add(change["example"])
    return found


def _add(
    data: dict[str, list[Example]], folder: Folder, name: str, partial: Mapping[str, int], replace: bool
) -> list[store.Dataset]:
    """Into the data folder, as `stereoset data add` does it: both splits are valid, or none goes in."""
    from lm_eval_stereoset.harness.yaml_tasks import own_task_files

    adding.refuse_language(STEREOSET, name, folder.path)
    place = folder.path.resolve()
    source = f"translated in {place.parent.name or 'a folder'}"
    origins = {}
    for split, examples in data.items():
        if not examples:
            raise UserError(f"no {split} example is left")
        for example in examples:
            parse_example(example.to_dict(), split, f"{folder.file(split)}, example {example.id}")
        version = f"sha256:{hashlib.sha256(encoded(examples)).hexdigest()[:12]}"
        if split in partial:
            version = f"partial {len(examples)} of {partial[split]}"
        origins[split] = store.Origin(source, version, f"translate build {place}")
    return adding.take_in(STEREOSET, name, data, origins, replace, own_task_files)
