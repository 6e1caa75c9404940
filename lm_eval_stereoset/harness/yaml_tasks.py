"""The tasks' YAML, for the built-in languages of every benchmark and for a user's own: one generator."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.chat.asking import MAX_TOKENS
from lm_eval_stereoset.data.store import file_of, languages_in
from lm_eval_stereoset.harness.paths import own_task_folder

VERSION = 1.0
CHAT_TAG = "social_bias_chat"  # of all tasks that ask in words
COMMON_FILES = {
    False: "_common",
    True: "_common_chat",
}  # of tasks that ask in words, in the same folder for own data

TAG = "social_bias"  # the harness's own, for tasks like ours
WITH_TAG = {
    "_with_tag": f"""\
# In lm_eval's own folder this file is called _common, and _common _untagged: hatch_build.py. Written by tasks/generate.py.
include: _untagged
tag: {TAG}
"""
}
COMMON = f"""\
# What all tasks share. The benchmark's declaration says which metrics there are. Written by tasks/generate.py.
class: !function lm_eval_stereoset.harness.task.BenchmarkTask
custom_dataset: !function lm_eval_stereoset.harness.task.load_docs
test_split: test
output_type: multiple_choice
doc_to_text: !function lm_eval_stereoset.harness.docs.doc_to_text
doc_to_choice: !function lm_eval_stereoset.harness.docs.doc_to_choice
doc_to_target: !function lm_eval_stereoset.harness.docs.doc_to_target
target_delimiter: ""
num_fewshot: 0
metadata:
  version: {VERSION}
  provenance: {{}}  # filled as the run goes on: data version and checksum, scoring, normaliser, packages
"""
COMMON_CHAT = f"""\
# What all tasks share that ask in words. Written by tasks/generate.py.
tag: {CHAT_TAG}
class: !function lm_eval_stereoset.harness.chat_task.ChatTask
custom_dataset: !function lm_eval_stereoset.harness.task.load_docs
test_split: test
output_type: generate_until
doc_to_text: !function lm_eval_stereoset.harness.chat_docs.doc_to_text
doc_to_target: !function lm_eval_stereoset.harness.chat_docs.doc_to_target
generation_kwargs:
  until: []  # a thought may hold any text; the model's own end is enough
  max_gen_toks: {MAX_TOKENS}
  do_sample: false
num_fewshot: 0
metadata:
  version: {VERSION}
  provenance: {{}}  # filled as the run goes on: data version and checksum, wording, orders, packages
"""


def common_file(benchmark: Benchmark) -> tuple[str, str]:
    """(name, text) of what the benchmark's tasks include."""
    asks = benchmark.words is not None
    return COMMON_FILES[asks], COMMON_CHAT if asks else COMMON


def leaf_file(benchmark: Benchmark, split: str | None, language: str) -> str:
    """One task: `split` None is the overall task, which pools all splits."""
    splits = [split] if split else list(benchmark.pooled_splits)
    return (
        f"include: {common_file(benchmark)[0]}\n"
        f"task: {benchmark.task_name(split, language)}\n"
        f"dataset_kwargs: {{benchmark: {benchmark.name}, language: '{language}', splits: [{', '.join(splits)}]}}\n"
    )


def group_file(name: str, alias: str, tasks: Iterable[str]) -> str:
    members = "".join(f"  - {task}\n" for task in tasks)
    return f"group: {name}\ngroup_alias: {alias}\ntask:\n{members}metadata:\n  version: {VERSION}\n"


def with_pooled(benchmark: Benchmark, splits: Sequence[str]) -> list[str | None]:
    """The tasks of a language: one per split, and one for all of them pooled if there are several."""
    return [*splits, None] if benchmark.pools and len(splits) == len(benchmark.splits) else [*splits]


def task_files(benchmark: Benchmark) -> dict[str, str]:
    """Everything in tasks/NAME/ but the README: {file name: text}."""
    files = dict([common_file(benchmark)]) | ({} if benchmark.words else WITH_TAG)
    for language in benchmark.built_in:
        for split in with_pooled(benchmark, benchmark.splits):
            files[f"{benchmark.task_name(split, language)}.yaml"] = leaf_file(benchmark, split, language)
    for name, (alias, members) in groups_of(benchmark).items():
        files[f"_{name}.yaml"] = group_file(name, alias, members)
    return files


def groups_of(benchmark: Benchmark) -> dict[str, tuple[str, list[str]]]:
    """{group: (its title, its tasks)}: one per split if there are several, and one of everything."""
    found: dict[str, tuple[str, list[str]]] = {}
    several = len(benchmark.splits) > 1 and not benchmark.together
    for split in benchmark.splits if several else ():
        members = [benchmark.task_name(split, code) for code in benchmark.languages]
        found[f"{benchmark.name}_{split}"] = (f"{benchmark.title} {split}", members)
    # Each example once: the overall tasks report the splits, too.
    chosen = (None,) if benchmark.pools else benchmark.splits
    members = [benchmark.task_name(split, code) for split in chosen for code in benchmark.languages]
    found[benchmark.name] = (benchmark.title, members)
    for group, languages in benchmark.language_groups.items():
        members = [benchmark.task_name(split, code) for split in chosen for code in languages]
        found[f"{benchmark.name}_{group}"] = (f"{benchmark.title} {group}", members)
    # A benchmark in one language has a task of that name, unless its tasks name the language.
    return {name: one for name, one in found.items() if len(one[1]) > 1 or benchmark.names_language}


def task_names(benchmark: Benchmark) -> list[str]:
    """The built-in tasks, languages in the order of the declaration."""
    names = [name.removesuffix(".yaml") for name in task_files(benchmark) if not name.startswith("_")]
    return sorted(names, key=lambda name: (_language_number(benchmark, name), len(name), names.index(name)))


def _language_number(benchmark: Benchmark, task: str) -> int:
    ends = (i for i, code in enumerate(benchmark.built_in) if task.endswith(f"_{code}"))
    return next(ends, len(benchmark.built_in))


def group_names(benchmark: Benchmark) -> list[str]:
    return sorted(groups_of(benchmark), key=len)


def tagged(index: Mapping[str, Any]) -> set[str]:
    """Those tasks of ours in the harness's index that belong to its tag TAG; functions are not resolved in it yet."""
    ours = COMMON.partition("class: !function ")[2].splitlines()[0]
    return {name for name, entry in index.items() if str((entry.cfg or {}).get("class")).endswith(ours)}


def own_task_files(benchmark: Benchmark, language: str, splits: Sequence[str]) -> dict[Path, bytes]:
    """The files of an added language, which `stereoset data add` puts in place together with the data."""
    files: dict[str, str] = {}
    for one in (benchmark, *benchmarks.in_words(benchmark)):
        files |= dict([common_file(one)])
        for split in with_pooled(one, splits):
            files[f"{one.task_name(split, language)}.yaml"] = leaf_file(one, split, language)
    return {own_task_folder(benchmark) / name: text.encode("utf-8") for name, text in files.items()}


def own_languages(benchmark: Benchmark) -> list[str]:
    return [code for code in languages_in(benchmark) if code not in benchmark.built_in]


def own_task_names(benchmark: Benchmark, language: str) -> list[str]:
    """The tasks of a language that is in the data folder."""
    there = [split for split in benchmark.splits if file_of(benchmark, split, language).is_file()]
    return [benchmark.task_name(split, language) for split in with_pooled(benchmark, there)]


def all_own_files() -> dict[Path, bytes]:
    """The task files of all languages that were added, and of all benchmarks of other packages."""
    files: dict[Path, bytes] = {}
    for benchmark in benchmarks.of_other_packages():
        folder = own_task_folder(benchmark)
        files |= {folder / name: text.encode("utf-8") for name, text in task_files(benchmark).items()}
    for benchmark in benchmarks.with_own_data():
        for language in own_languages(benchmark):
            splits = [s for s in benchmark.splits if file_of(benchmark, s, language).is_file()]
            files |= own_task_files(benchmark, language, splits)
    return files
