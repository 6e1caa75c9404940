"""stereoset publish RESULTS…: into a model card, the hub's evaluation results, or a paper. Uploads only with --push."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lm_eval_stereoset.report.model_run import Run

EPILOG = """\
RESULTS are given as for `stereoset report`, of one model. Without any of the options the section is printed.

examples:
  stereoset publish results/my-model --model-card README.md
  stereoset publish results/my-model --model-card README.md --eval-results . --push me/my-model
"""
FOLDER = ".eval_results"


def make_parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="stereoset publish",
        description="One model's results where readers look for them. Nothing is uploaded unless --push is given.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("results", nargs="+", metavar="RESULTS", help="what is published, see below")
    p.add_argument(
        "--model-card", metavar="README.md",
        help="write or update a marked section and the model-index of this card; the rest stays as it is",
    )  # fmt: skip
    p.add_argument(
        "--eval-results",
        metavar="DIR",
        help=f"write the hub's {FOLDER}/*.yaml below this folder, or into it if it is called {FOLDER}",
    )
    p.add_argument("--latex", action="store_true", help="print tables for a paper (all models in RESULTS)")
    p.add_argument("--name", help="the model's name in the card's metadata (default: as in the results)")
    p.add_argument(
        "--partial", action="store_true", help="publish results of a part of the data or of the sample, too"
    )
    p.add_argument(
        "--push", metavar="REPO", help="upload what was written to this model on the hub, with your login"
    )
    p.add_argument("--data", metavar="NAME|DIR", help="data of prediction files, or 'sample'")
    return p


def main(argv: Sequence[str]) -> int:
    args = make_parser().parse_args(argv)

    from lm_eval_stereoset.decisions import publishing
    from lm_eval_stereoset.report import inputs

    logging.getLogger("lm_eval_stereoset.benchmarks.evaluation").setLevel(logging.ERROR)
    check(args)
    runs = inputs.load(args.results, args.data)
    if args.latex:
        print(latex(runs))
        if not (args.model_card or args.eval_results):
            return 0
    remarks = remarks_on(runs, args.partial)
    name = args.name or name_of(runs)
    files: list[Output] = []  # all are made before the first is written
    if args.model_card:
        files.append(card(Path(args.model_card), runs, name, remarks))
    if args.eval_results:
        files += entries(Path(args.eval_results), runs)
    for file in files:
        file.write()
    if not files:
        print(publishing.section(runs, remarks))
    if args.push:
        push(args.push, {file.place: file.text.encode("utf-8") for file in files})
    return 0


@dataclass(frozen=True)
class Output:
    """A file that is to be written."""

    path: Path
    place: str  # in the repository on the hub
    text: str
    before: str | None = None

    def write(self) -> None:
        from lm_eval_stereoset.files import atomic_write

        if self.text == self.before:
            print(f"{self.path}: nothing has changed")
            return
        with atomic_write(self.path) as handle:
            handle.write(self.text)
        print(f"wrote {self.path}")


def check(args: argparse.Namespace) -> None:
    """Before anything is read: what is asked for makes sense, and no output takes the place of an input."""
    from lm_eval_stereoset.errors import UserError
    from lm_eval_stereoset.files import refuse_overwriting
    from lm_eval_stereoset.report import inputs

    if args.push and not (args.model_card or args.eval_results):
        raise UserError("--push: nothing to upload; add --model-card README.md, --eval-results DIR or both")
    if args.model_card:
        if os.path.isdir(args.model_card):
            raise UserError(
                f"--model-card {args.model_card}: is a folder; name the file, such as README.md in it"
            )
        refuse_overwriting(args.model_card, inputs.files_read(args.results, args.data), "--model-card")
    if args.eval_results and os.path.exists(args.eval_results) and not os.path.isdir(args.eval_results):
        raise UserError(f"--eval-results {args.eval_results}: is a file; name a folder")


def name_of(runs: Sequence["Run"]) -> str:
    from lm_eval_stereoset.errors import UserError

    models = list(dict.fromkeys(run.model for run in runs))
    if len(models) > 1:
        raise UserError(
            f"the results are of several models ({', '.join(models)}); a card is about one: name its files"
        )
    return models[0]


def remarks_on(runs: Sequence["Run"], partial: bool) -> list[str]:
    from lm_eval_stereoset.decisions.publishing import unpublishable
    from lm_eval_stereoset.errors import UserError

    found = [why for run in runs if (why := unpublishable(run))]
    if found and not partial:
        raise UserError(
            f"{found[0]}; readers would take it for a whole result. --partial publishes it and says so"
        )
    cautions = [caution for run in runs if (caution := run.caution)]
    return [*(f"NOT comparable with other results: {why}." for why in found), *cautions]


def card(path: Path, runs: Sequence["Run"], name: str, remarks: Sequence[str]) -> Output:
    from lm_eval_stereoset.decisions.publishing import updated_card
    from lm_eval_stereoset.files import read_text

    before = read_text(path) if path.exists() else ""
    return Output(path, "README.md", updated_card(before, str(path), runs, name, remarks), before)


def entries(folder: Path, runs: Sequence["Run"]) -> list[Output]:
    import yaml

    from lm_eval_stereoset.decisions.publishing import eval_entries
    from lm_eval_stereoset.errors import UserError

    folder = folder if folder.name == FOLDER else folder / FOLDER
    found = eval_entries(runs)
    if not found:
        titles = ", ".join(dict.fromkeys(run.benchmark.title for run in runs))
        raise UserError(f"--eval-results: {titles} has no data set on the hub that results could refer to")
    return [
        Output(folder / name, f"{FOLDER}/{name}", yaml.safe_dump(entry, sort_keys=False, allow_unicode=True))
        for name, entry in found.items()
    ]


def latex(runs: Sequence["Run"]) -> str:
    from lm_eval_stereoset.report import study, tables

    found = []
    for one in study.build(runs):
        for layout in tables.layouts_of(one.benchmark):
            if any(layout.split in run.table for run in one.runs):
                found.append(tables.RENDERERS["tex"](tables.grid_of(one, layout, intervals=True)))
    return "\n".join(found)


def push(repository: str, written: dict[str, bytes]) -> None:
    """One commit with the user's own login, which huggingface_hub keeps (`hf auth login`)."""
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    from lm_eval_stereoset.errors import UserError

    operations = [
        CommitOperationAdd(path_in_repo=path, path_or_fileobj=content) for path, content in written.items()
    ]
    try:
        done = HfApi().create_commit(repository, operations, commit_message="Stereotype measurements")
    except (HfHubHTTPError, HFValidationError, LocalTokenNotFoundError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"--push {repository}: nothing was uploaded: {reason}; the files are written; `hf auth login` logs you in"
        ) from error
    print(f"uploaded {len(written)} file(s) to {repository}: {done.commit_url}", file=sys.stderr)
