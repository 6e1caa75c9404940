"""stereoset gate RESULTS… --config gate.yaml: do the results meet the limits? Exit code 0, 1 or 2 says so."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lm_eval_stereoset.decisions.limits import Limit
    from lm_eval_stereoset.report.model_run import Run

EPILOG = """\
RESULTS are given as for `stereoset report`: folders of the harness, prediction files, JSON from `stereoset score`,
NAME=PATH or NAME:LANGUAGE=PATH.

gate.yaml:
  limits:
    - {metric: ss, within: 5, languages: [en, de], split: overall, certainty: beyond doubt}
    - {metric: icat, at_least: 65, certainty: at all}
    - {metric: icat, no_worse_than: base_predictions.json, by: 2}

the same as flags:
  --limit "ss within 5 of 50 languages=en,de"  --limit "icat at least 65 certainty='at all'"
  --limit "icat no worse than base_predictions.json by more than 2"

certainty: beyond doubt  fails only if the 95 % interval lies wholly outside (the default)
           at all        the number itself decides
           proven        passes only if the interval lies wholly inside

A metric, language or model that is missing, partial data and NaN never pass.
exit code: 0 all passed, 1 something failed, 2 nothing failed but something could not be judged
"""

SUMMARY = "GITHUB_STEP_SUMMARY"


def make_parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="stereoset gate",
        description="Results against limits, for a build that should fail when a model got more biased.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("results", nargs="+", metavar="RESULTS", help="what is judged, see below")
    p.add_argument("--config", metavar="FILE", help="the limits (YAML)")
    p.add_argument(
        "--limit", action="append", default=[], metavar="LIMIT", help="one more limit (repeatable)"
    )
    p.add_argument("--data", metavar="NAME|DIR", help="data of prediction files, or 'sample'")
    p.add_argument("--json", action="store_true", help="print JSON instead of the table")
    p.add_argument("--junit", metavar="FILE.xml", help="also write JUnit XML, which build servers show")
    p.add_argument(
        "--github",
        action="store_true",
        help="also print annotations, and write the step summary of a GitHub workflow",
    )
    return p


def main(argv: Sequence[str]) -> int:
    args = make_parser().parse_args(argv)

    from tqdm import tqdm

    from lm_eval_stereoset.decisions import judging, showing
    from lm_eval_stereoset.files import atomic_write
    from lm_eval_stereoset.report import inputs

    logging.getLogger("lm_eval_stereoset.benchmarks.evaluation").setLevel(logging.ERROR)
    limits = limits_of(args)
    check_outputs(args, limits)
    runs = inputs.load(
        args.results, args.data, lambda items: tqdm(items, desc="reading", leave=False, disable=None)
    )
    load_base = lru_cache(lambda base: tuple(inputs.load([base], args.data)))
    judgements = judging.judge(limits, runs, load_base)
    code, notes = judging.exit_code(judgements), notes_on(runs)
    if args.junit:
        with atomic_write(args.junit, "wb") as handle:
            handle.write(showing.to_junit(judgements))
    if args.github:
        write_step_summary(showing.to_markdown(judgements, notes))
    if args.json:
        print(json.dumps(showing.to_json(judgements, code, notes), ensure_ascii=False, indent=2))
    else:
        print(showing.to_text(judgements))
        print("".join(f"note: {note}\n" for note in notes), end="", file=sys.stderr)
    if args.github:  # it reads annotations from both outputs; JSON must stay alone on its own
        print("\n".join(showing.to_annotations(judgements)), file=sys.stderr if args.json else sys.stdout)
    return code


def limits_of(args: argparse.Namespace) -> list["Limit"]:
    from lm_eval_stereoset.decisions.limits import FLAG_FORMS, parse_flag, read_config
    from lm_eval_stereoset.errors import UserError

    limits = (read_config(args.config) if args.config else []) + [parse_flag(text) for text in args.limit]
    if not limits:
        raise UserError(f"no limits: give --config FILE, or --limit with {FLAG_FORMS}")
    return limits


def check_outputs(args: argparse.Namespace, limits: Sequence["Limit"]) -> None:
    from lm_eval_stereoset.files import refuse_overwriting
    from lm_eval_stereoset.report import inputs

    outputs = {"--junit": args.junit, f"--github: {SUMMARY}": step_summary(args)}
    bases = [limit.no_worse_than for limit in limits if limit.no_worse_than]
    read = inputs.files_read([*args.results, *bases], args.data) if any(outputs.values()) else []
    for flag, output in outputs.items():
        if output:
            refuse_overwriting(output, [*read, *([args.config] if args.config else [])], flag)


def step_summary(args: argparse.Namespace) -> str | None:
    """The file of a GitHub workflow's step summary, which must take what is added to it."""
    from lm_eval_stereoset.errors import UserError
    from lm_eval_stereoset.files import refuse_special

    path = os.environ.get(SUMMARY) if args.github else None
    if not path:
        return None
    refuse_special(Path(path))
    try:
        with open(path, "a", encoding="utf-8"):
            return path
    except OSError as error:
        raise UserError(f"--github: {SUMMARY}={path}: cannot be written ({error.strerror})") from error


def notes_on(runs: Sequence["Run"]) -> list[str]:
    """What a reader should know although it decides nothing."""
    cautions = [caution for run in runs if (caution := run.caution)]
    return cautions + [
        f"{run.label}: on the bundled sample, not on {run.benchmark.title}"
        for run in runs
        if any(about.get("data") == "sample" for about in run.data.values())
    ]


def write_step_summary(text: str) -> None:
    path = os.environ.get(SUMMARY)
    if not path:
        print(f"note: no step summary was written: {SUMMARY} is not set", file=sys.stderr)
        return
    with open(path, "a", encoding="utf-8") as handle:  # steps of a job share the file, each adds to it
        handle.write(text)
