"""stereoset translate plan|run|repair|check|review|apply|build|all …

A new language in one line:  stereoset translate all --to it --backend hf --model Helsinki-NLP/opus-mt-en-it
Each step can be run alone, and again; docs/translation.md goes through them.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.errors import UserError
from stereoset_translation import backends
from stereoset_translation.backends import amount, count

STEPS = {
    "plan": "what would be translated: strings, characters, cost, time",
    "run": "translate; every answer is kept at once, so it goes on where it stopped",
    "repair": "apply the language's rules; every change is recorded",
    "check": "count all known problems per step and target term; draw the chart",
    "review": "write what needs a person into a spreadsheet",
    "apply": "read a reviewed spreadsheet back",
    "build": "make the data set and its tasks",
    "all": "plan, run, repair and check, and say what is left for a person",
}


def main(argv: Sequence[str] | None = None) -> int | None:
    args = make_parser().parse_args(argv)
    from stereoset_translation import commands

    return commands.run(args)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stereoset translate", description="Bring StereoSet into a new language, step by step."
    )
    steps = parser.add_subparsers(dest="command", required=True, metavar="STEP")
    made = {name: steps.add_parser(name, help=text, description=text) for name, text in STEPS.items()}
    for name, step in made.items():
        _common(step)
        if name in ("plan", "run", "review", "all"):
            _translator(step, part_of_data=name != "review")
    _repair_options(made["repair"])
    _repair_options(made["all"], folders=False)
    _check_options(made["check"])
    _review_options(made["review"])
    _apply_options(made["apply"])
    _build_options(made["build"])
    return parser


def _common(step: argparse.ArgumentParser) -> None:
    step.add_argument(
        "--to", "--language", dest="language", required=True, metavar="CODE", help="the new language, e.g. it"
    )
    step.add_argument("--dir", type=Path, help="the working folder (default: stereoset-CODE)")
    step.add_argument(
        "--data", metavar="DIR", help="folder with <split>/en.jsonl, or 'sample' (default: StereoSet itself)"
    )


def _translator(step: argparse.ArgumentParser, part_of_data: bool) -> None:
    group = step.add_argument_group("translator")
    group.add_argument("--backend", choices=backends.names(), help="which translator")
    if part_of_data:
        group.add_argument("--split", choices=SPLITS, help="only this one (default: both)")
        group.add_argument("--limit", type=count, metavar="N", help="only the first N examples of each split")
    group.add_argument("--price", type=amount, metavar="X", help="price per million characters")
    group.add_argument("--max-cost", type=amount, metavar="X", help="stop before anything that may cost more")
    group.add_argument(
        "--memory", type=Path, metavar="FILE", help="the translation memory (default: memory.sqlite in --dir)"
    )
    group.add_argument("--source-code", metavar="CODE", help="the translator's own code for English")
    group.add_argument("--target-code", metavar="CODE", help="its own code for the new language (zho_Hant)")
    group.add_argument("--concurrency", type=count, metavar="N", help="requests under way at once")
    for name in backends.names():
        backends.module(name).add_options(step.add_argument_group(f"--backend {name}"))


def _repair_options(step: argparse.ArgumentParser, folders: bool = True) -> None:
    if folders:
        step.add_argument("--input", type=Path, metavar="DIR", help="<split>/CODE.jsonl as translated")
        step.add_argument("--output", type=Path, metavar="DIR", help="where the repaired examples go")
        step.add_argument("--report", type=Path, metavar="FILE", help="problem counts after each step, JSON")
        step.add_argument("--manual-fixes", type=Path, metavar="DIR", help="sheets that the rules file names")
    step.add_argument("--rules", type=Path, metavar="FILE", help="your own rules (YAML)")


def _check_options(step: argparse.ArgumentParser) -> None:
    step.add_argument("--input", type=Path, metavar="DIR", help="default: repaired in --dir, else raw")
    step.add_argument(
        "--picture", type=Path, metavar="FILE", help="default: CODE.problems.png beside the data"
    )
    step.add_argument("--json", type=Path, metavar="FILE", help="every example's problems")


def _review_options(step: argparse.ArgumentParser) -> None:
    step.add_argument("--input", type=Path, metavar="DIR", help="default: repaired in --dir")
    step.add_argument("--output", type=Path, metavar="FILE", help=".xlsx or .csv (default: both, in --dir)")
    step.add_argument("--everything", action="store_true", help="all examples, not only those with problems")
    step.add_argument("--again", action="store_true", help="also examples that have a verdict already")
    step.add_argument("--rows", type=count, metavar="N", help="at most N rows")
    step.add_argument(
        "--round-trip",
        action="store_true",
        help="translate back with --backend and put the worst (lowest chrF) first",
    )


def _apply_options(step: argparse.ArgumentParser) -> None:
    step.add_argument("sheet", type=Path, help="the reviewed .xlsx or .csv")
    step.add_argument("--input", type=Path, metavar="DIR", help="default: repaired in --dir")
    step.add_argument("--by", required=True, metavar="NAME", help="who reviewed; kept with every change")
    step.add_argument("--replace", action="store_true", help="let it replace another reviewer's verdict")


def _build_options(step: argparse.ArgumentParser) -> None:
    step.add_argument("--input", type=Path, metavar="DIR", help="default: repaired in --dir")
    step.add_argument("--as", dest="name", metavar="CODE", help="add it under another code, e.g. de_mine")
    step.add_argument("--drop-unresolved", action="store_true", help="leave out what may never get into data")
    step.add_argument("--replace", action="store_true", help="in place of data from elsewhere that is there")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"stereoset translate: {error}")
