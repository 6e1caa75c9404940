"""The tasks' YAML, for the built-in languages and for a user's own: one list of languages, one generator."""

from collections.abc import Iterable

from lm_eval_stereoset.data.format import SPLITS
from lm_eval_stereoset.harness.aggregation import MAIN, MULTI_CLASS, metric_names
from lm_eval_stereoset.languages import LANGUAGES

VERSION = 1.0
GROUPS = {"stereoset_intra": "StereoSet intra-sentence", "stereoset_inter": "StereoSet inter-sentence"}

COMMON = """\
# What all tasks share. Written by generate.py.
tag: social_bias
class: !function lm_eval_stereoset.harness.task.StereoSetTask
custom_dataset: !function lm_eval_stereoset.harness.docs.load_docs
test_split: test
output_type: multiple_choice
doc_to_text: !function lm_eval_stereoset.harness.docs.doc_to_text
doc_to_choice: !function lm_eval_stereoset.harness.docs.doc_to_choice
doc_to_target: !function lm_eval_stereoset.harness.docs.doc_to_target
target_delimiter: ""
num_fewshot: 0
process_results: !function lm_eval_stereoset.harness.aggregation.{process_results}
metadata:
  version: {version}
  provenance: {{}}  # filled as the run goes on: data version and checksum, scoring, normaliser, packages
metric_list:
"""


def common_file(splits: tuple[str, ...]) -> str:
    process_results = "process_results" if len(splits) == 1 else "process_results_overall"
    lines = [COMMON.format(process_results=process_results, version=VERSION)]
    for name in metric_names(splits):
        lines.append(
            f"  - metric: {name}\n"
            f"    aggregation: !function lm_eval_stereoset.harness.aggregation.{name}\n"
            f"    higher_is_better: {higher_is_better(name)}\n"
        )
    return "".join(lines)


def higher_is_better(name: str) -> str:
    """An arrow for LMS and ICAT; none for SS, whose ideal is 50, nor for standard errors and ties."""
    metric = next(
        m for m in sorted((*MAIN, *MULTI_CLASS, "ties"), key=len, reverse=True) if name.startswith(m)
    )
    return "null" if metric in ("ss", "mc_ss", "ties") or name.endswith("_stderr") else "true"


def task_name(split: str | None, language: str) -> str:
    return f"stereoset_{split}_{language}" if split else f"stereoset_{language}"


def leaf_file(split: str | None, language: str) -> str:
    """One task: `split` None is the overall task, which pools both splits."""
    include = "_common" if split else "_common_overall"
    splits = [split] if split else list(SPLITS)
    return (
        f"include: {include}\n"
        f"task: {task_name(split, language)}\n"
        f"dataset_kwargs: {{language: '{language}', splits: [{', '.join(splits)}]}}\n"
    )


def group_file(name: str, alias: str, tasks: Iterable[str]) -> str:
    members = "".join(f"  - {task}\n" for task in tasks)
    return f"group: {name}\ngroup_alias: {alias}\ntask:\n{members}metadata:\n  version: {VERSION}\n"


def built_in_files() -> dict[str, str]:
    """Everything in tasks/stereoset/ but the README: {file name: text}."""
    files = {"_common": common_file(("intra",)), "_common_overall": common_file(SPLITS)}
    for language in LANGUAGES:
        for split in (*SPLITS, None):
            files[f"{task_name(split, language)}.yaml"] = leaf_file(split, language)
    for split in SPLITS:
        name = f"stereoset_{split}"
        files[f"_{name}.yaml"] = group_file(
            name, GROUPS[name], [task_name(split, code) for code in LANGUAGES]
        )
    # Each example once: the overall tasks report the splits, too.
    files["_stereoset.yaml"] = group_file(
        "stereoset", "StereoSet", [task_name(None, code) for code in LANGUAGES]
    )
    return files
