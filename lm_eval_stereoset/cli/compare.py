"""stereoset compare BASE NEW [MORE…]: is the difference real? Paired, on the same examples."""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lm_eval_stereoset.decisions.comparing import Compared
    from lm_eval_stereoset.decisions.pairing import Pair
    from lm_eval_stereoset.report.model_run import Run

EPILOG = """\
BASE and NEW can be folders of the harness (run with --log_samples), prediction files, or JSON from `stereoset score`
(which has no single answers, so that differences come without intervals and tests). To give a name and a language:
NAME=PATH or NAME:LANGUAGE=PATH. Each of them must hold one model.

Every new model is compared with the base in each language and split that both have. p is a permutation test that swaps
all answers about a cluster (StereoSet: a target term); Holm corrects it for the comparisons of one metric and split.
"detectable" is the smallest true difference that the test would have found in 80 of 100 cases.

examples:
  stereoset compare results/base results/tuned
  stereoset compare base=base.json tuned=tuned.json --markdown -o difference.md
"""


def make_parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="stereoset compare",
        description="Paired differences between a base model and others, with intervals and tests.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("base", metavar="BASE", help="what the others are compared with")
    p.add_argument("new", nargs="+", metavar="NEW", help="one or more others")
    p.add_argument("--benchmark", "-b", metavar="NAME", help="only this one")
    p.add_argument("--data", metavar="NAME|DIR", help="data of prediction files, or 'sample'")
    p.add_argument(
        "--other-data",
        action="store_true",
        help="compare results of different data, on the examples with equal ids",
    )
    p.add_argument(
        "--other-method", action="store_true", help="compare results that were scored in different ways"
    )
    how = p.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="as JSON")
    how.add_argument("--markdown", action="store_true", help="as Markdown")
    p.add_argument("-o", "--output", metavar="FILE", help="into a file instead of the terminal")
    return p


def main(argv: Sequence[str]) -> int:
    args = make_parser().parse_args(argv)

    from tqdm import tqdm

    from lm_eval_stereoset.decisions import comparing
    from lm_eval_stereoset.errors import UserError
    from lm_eval_stereoset.files import atomic_write, refuse_overwriting
    from lm_eval_stereoset.report import inputs

    logging.getLogger("lm_eval_stereoset.benchmarks.evaluation").setLevel(logging.ERROR)
    given = [args.base, *args.new]
    if args.output:
        refuse_overwriting(args.output, inputs.files_read(given, args.data), "-o")
    sides = [one_model(text, args.data, args.benchmark) for text in given]
    comparing.name_apart(given, sides)
    pairs, lonely = comparing.all_pairs(sides[0], sides[1:])
    refuse_unlike(pairs, {"data": args.other_data, "method": args.other_method})
    found = comparing.compare_sides(
        pairs, lambda jobs: tqdm(jobs, desc="comparing", leave=False, disable=None)
    )
    if not found:
        raise UserError(f"nothing to compare: {'; '.join(lonely) or 'no results'}")
    text = render(found, args)
    if args.output:
        with atomic_write(args.output) as handle:
            handle.write(text + "\n")
        print(f"wrote {args.output}")
    else:
        print(text)
    for line in dict.fromkeys([*lonely, *notes(pairs)]):
        print(f"note: {line}", file=sys.stderr)
    return 0


def one_model(argument: str, data: str | None, benchmark: str | None) -> list["Run"]:
    """The runs of an argument, which must be of a single model."""
    from lm_eval_stereoset import benchmarks
    from lm_eval_stereoset.errors import UserError
    from lm_eval_stereoset.report import inputs

    runs = inputs.load([argument], data)
    for run in runs:
        if run.benchmark.name not in benchmarks.names():
            raise UserError(
                f"{argument}: holds numbers of {run.benchmark.title} but no answers that could be compared one by one; "
                "`stereoset report` shows them side by side"
            )
    if benchmark:
        from lm_eval_stereoset.benchmarks import find

        runs = [run for run in runs if run.benchmark is find(benchmark)]
        if not runs:
            raise UserError(f"{argument}: no results of {find(benchmark).title}")
    models = dict.fromkeys(run.model for run in runs)
    if len(models) > 1:
        raise UserError(
            f"{argument}: holds several models ({', '.join(models)}); name the folder or file of one"
        )
    return runs


def refuse_unlike(pairs: Sequence["Pair"], allowed: dict[str, bool]) -> None:
    from lm_eval_stereoset.errors import UserError

    for pair in pairs:
        for objection in pair.objections():
            if not allowed[objection.kind]:
                raise UserError(
                    f"{pair.label}: {pair.base.model} and {pair.new.model} do not belong together, other "
                    f"{objection.kind}: {objection.text}; to compare them nevertheless: --other-{objection.kind}"
                )


def notes(pairs: Sequence["Pair"]) -> list[str]:
    from lm_eval_stereoset.decisions.pairing import partial

    found = []
    for pair in pairs:
        found += [f"compared although of other {one.kind}: {one.text}" for one in pair.objections()]
        found += pair.unknowns()
        for run in (pair.base, pair.new):
            found += [f"{run.label}: {run.caution}"] if run.caution else []
            if any(about.get("data") == "sample" for about in run.data.values()):
                found.append(f"on the bundled sample, not on {run.benchmark.title}")
            for split in run.table:
                why = partial(run, split)
                if why and why.startswith("only"):
                    found.append(f"{run.label}, {split}: {why}")
    return found


def render(found: Sequence["Compared"], args: argparse.Namespace) -> str:
    from lm_eval_stereoset.decisions import comparing

    if args.json:
        return json.dumps([one.to_dict() for one in found], ensure_ascii=False, indent=2)
    return comparing.to_markdown(found) if args.markdown else comparing.to_text(found)
