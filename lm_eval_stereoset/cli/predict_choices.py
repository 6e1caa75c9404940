"""What `stereoset predict` asks: which splits, or templates, of which version of the data, as far as the model can."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lm_eval_stereoset.errors import UserError

if TYPE_CHECKING:
    from lm_eval_stereoset.benchmarks.declaration import Benchmark
    from lm_eval_stereoset.data.store import Dataset

TEMPLATES = ("0", "1", "2", "3")


def choose_version(args: argparse.Namespace, benchmark: "Benchmark") -> None:
    if args.data_version is None:
        return
    if args.data_version not in benchmark.versions:
        known = (
            f"its versions are {', '.join(benchmark.versions)}" if benchmark.versions else "it has only one"
        )
        raise UserError(f"--data-version {args.data_version}: {benchmark.title} has no such data; {known}")
    if args.data:
        raise UserError("--data and --data-version do not go together; leave one of them out")


def split_of_template(args: argparse.Namespace, benchmark: "Benchmark") -> str | None:
    """The templates are the splits of the benchmark that has some."""
    if args.template is None:
        return args.split
    if f"template_{TEMPLATES[0]}" not in benchmark.splits:
        raise UserError(f"--template {args.template}: {benchmark.title} has no templates; leave it out")
    if args.split:
        raise UserError("--split and --template are the same here; leave one of them out")
    return None if args.template == "all" else f"template_{args.template}"


def as_published(benchmark: "Benchmark", dataset: "Dataset") -> "Dataset":
    """What the authors' program asks, where that is something else."""
    return replace(dataset, examples=[benchmark.as_published(example) for example in dataset.examples])


def options_in(given: Sequence[str]) -> dict[str, int]:
    """NAME=N, several times or with commas between them."""
    found = {}
    for text in (part for one in given for part in one.split(",")):
        name, _, value = text.partition("=")
        if not name or not value.isascii() or not value.isdigit():
            raise UserError(f"--metadata {text}: give NAME=N, such as phrases=33")
        found[name] = int(value)
    return found


def chosen_splits(asked: str | None, splits: tuple[str, ...]) -> tuple[str, ...]:
    if asked in (None, "both", "all"):
        return splits
    if asked not in splits:
        raise UserError(f"--split {asked}: choose one of {', '.join(splits)}, both")
    return (asked,)


def only_language(languages: tuple[str, ...]) -> str:
    if len(languages) > 1:
        raise UserError(f"--language is needed: {', '.join(languages)}, or one you have added")
    return languages[0]


def kind_of(dataset: "Dataset") -> str:
    return dataset.examples[0].question.kind


def takeable(
    benchmark: "Benchmark", data: Mapping[str, "Dataset"], methods: Mapping[str, str], asked: str | None
) -> dict[str, "Dataset"]:
    """The data of the splits that the model can take; a split that was asked for by name is never left out."""
    refused = {
        split: why
        for split, dataset in data.items()
        if (family := methods.get(kind_of(dataset))) and (why := benchmark.unsuitable(split, family))
    }
    if refused:
        if len(refused) == len(data):
            raise UserError(f"{next(iter(refused.values()))}; choose one of these, or another model")
        print("".join(f"{split}: left out: {why}\n" for split, why in refused.items()), end="")
        return {split: dataset for split, dataset in data.items() if split not in refused}
    can = [split for split, dataset in data.items() if kind_of(dataset) in methods]
    left_out = [split for split in data if split not in can]
    if left_out and (asked or not can):
        way_out = f"give --split {can[0]}" if can else "choose another model or split"
        raise UserError(
            f"--split {asked or left_out[0]}: this model cannot take the {left_out[0]} split, {why_not(methods)}; "
            f"{way_out}"
        )
    for split in left_out:
        print(f"{split}: left out, {why_not(methods)}")
    return {split: data[split] for split in can}


def why_not(methods: Mapping[str, str]) -> str:
    """What a model that cannot take a split can be asked instead."""
    from lm_eval_stereoset.scoring import ASKED

    if list(methods) == ["follow"]:
        return "it has a next-sentence head only"
    return f"it can be asked only {' or '.join(ASKED[kind] for kind in methods)}"
