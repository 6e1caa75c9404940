"""stereoset score: the metrics of a file of predictions, or of samples that the harness has logged.

stereoset score PREDICTIONS.json --language de --output scores.md
stereoset score results/model/samples_stereoset_de_*.jsonl
stereoset score bert-base-uncased_template-*.txt --benchmark gest --data-version 1.0 --output bert.json
"""

import argparse
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.cli.score_inputs import (
    ScoredFile,
    is_samples,
    read_prediction_file,
    read_samples_files,
)
from lm_eval_stereoset.errors import UserError

if TYPE_CHECKING:
    from lm_eval_stereoset.benchmarks.evaluation import Table

logger = logging.getLogger(__name__)

OUTPUTS = (".json", ".csv", ".md")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stereoset score",
        description="The metrics of a file of predictions, or of samples that the harness has logged, with intervals.",
    )
    parser.add_argument(
        "predictions", nargs="+", metavar="FILE",
        help="of `stereoset predict` or in a published format (JSON; GEST's lists of numbers in TXT), or samples of "
        "--log_samples (JSONL; one or more splits)",
    )  # fmt: skip
    parser.add_argument(
        "--benchmark", "-b", metavar="NAME", help="of the predictions; only to make sure of it"
    )
    parser.add_argument(
        "--language", "-l", metavar="CODE", help="of published predictions; other files know it themselves"
    )
    parser.add_argument("--data", metavar="DATA", help="'sample', or a folder in the canonical layout")
    parser.add_argument(
        "--data-version", metavar="V",
        help="of the published data, where there are several: GEST 1.1 (default) or 1.0",
    )  # fmt: skip
    parser.add_argument(
        "--template", type=int, choices=range(4), metavar="N",
        help="GEST: only this template; also which one a file of bare numbers is of, if its name does not say so",
    )  # fmt: skip
    parser.add_argument("--output", "-o", metavar="FILE", help="write the table: .json, .csv or .md")
    return parser


def main(argv: Sequence[str]) -> None:
    args = make_parser().parse_args(argv)
    if args.output and Path(args.output).suffix not in OUTPUTS:
        raise UserError(f"--output {args.output}: the ending must be one of {', '.join(OUTPUTS)}")
    if args.output:
        check_output(Path(args.output), args)

    from lm_eval_stereoset.benchmarks.evaluation import evaluate
    from lm_eval_stereoset.cli import score_tables

    if args.data and args.data_version:
        raise UserError("--data and --data-version do not go together; leave one of them out")
    read = read_samples_files if is_samples(args.predictions) else read_prediction_file
    scored = read(args)
    if args.benchmark and args.benchmark != scored.benchmark.name:
        raise UserError(
            f"{args.predictions[0]}: is of {scored.benchmark.name}, --benchmark says {args.benchmark}"
        )
    warn_if_useless(scored)
    with few_examples_said_once():
        table = evaluate(scored.parts)
    try:
        if args.output:  # before printing: `| head` may end that early
            save(Path(args.output), table, scored)
    finally:
        notes = [scoring_note(fields) for fields in scored.about]
        print(score_tables.to_text(scored.benchmark, table, notes))
        for line in standouts_of(scored):
            print(line)


def standouts_of(scored: "ScoredFile") -> list[str]:
    """Of each split, the clusters that stand out, for benchmarks that declare them."""
    from lm_eval_stereoset.harness.closing_standouts import titled

    standing_out = scored.benchmark.standouts
    if standing_out is None:
        return []
    lines = []
    for split, part in scored.parts.items():
        found = standing_out(part.clusters.tolist(), part.columns)
        lines += ["", *titled(f"{split}: {found.title}", found.header, found.rows)]
    return lines


def save(output: Path, table: "Table", scored: ScoredFile) -> None:
    """The table, and beside it a note of the data and, where the predictions say so, the model that it is from."""
    from lm_eval_stereoset.cli import score_tables
    from lm_eval_stereoset.data.store import about_file
    from lm_eval_stereoset.files import atomic_write, write_json
    from lm_eval_stereoset.scoring.identity import versions

    if output.suffix == ".json":
        write_json(output, summary_of(table, scored) | score_tables.to_json(table))
    else:
        notes = [scoring_note(fields) for fields in scored.about]
        markdown = score_tables.to_markdown
        text = (
            score_tables.to_csv(table)
            if output.suffix == ".csv"
            else markdown(scored.benchmark, table, notes)
        )
        with atomic_write(output) as handle:
            handle.write(text)
    note = {"benchmark": scored.benchmark.name, "language": scored.language, "data": scored.about}
    write_json(about_file(output), scored.origin | note | {"packages": versions()})


def summary_of(table: "Table", scored: ScoredFile) -> dict[str, Any]:
    """The benchmark's own form of the numbers, of all splits that were given, pooled."""
    from lm_eval_stereoset.benchmarks.declaration import OVERALL
    from lm_eval_stereoset.benchmarks.evaluation import evaluate_groups, pool

    summary, parts = scored.benchmark.summary, scored.parts
    if summary is None:
        return {}
    if len(parts) == 1:
        (split,) = parts
    elif set(parts) == set(scored.benchmark.pooled_splits):
        split = OVERALL
    else:
        return {"splits": [*parts], **summary(evaluate_groups(pool(parts))[OVERALL])}
    return {"splits": [*parts], **summary(table[split][OVERALL])}


def check_output(output: Path, args: argparse.Namespace) -> None:
    """Neither the table nor the note beside it may take the place of something that is read or needed."""
    from lm_eval_stereoset.data.store import about_file, data_folder
    from lm_eval_stereoset.files import read_json, refuse_overwriting

    folder = Path(args.data).expanduser() if args.data and args.data != "sample" else data_folder()
    data = [path for path in folder.rglob("*.json*") if path.is_file()] if folder.is_dir() else []
    inputs = [*map(Path, args.predictions), *data]
    note = about_file(output)
    refuse_overwriting(output, inputs, "--output")
    refuse_overwriting(note, inputs, f"--output {output}: its note")
    if os.path.exists(note):
        before = read_json(note)
        if not isinstance(before, dict) or not {"language", "data", "packages"} <= set(before):
            raise UserError(
                f"--output {output}: its note {note} would overwrite a file that is not from `stereoset score`; "
                "name another file"
            )


@contextmanager
def few_examples_said_once() -> Iterator[None]:
    """One line for all the groups in which too few examples leave something undefined."""
    groups: dict[str, None] = {}

    def keep(record: logging.LogRecord) -> bool:
        if "what needs more is NaN" not in record.getMessage():
            return True
        groups[str(record.args[0] if isinstance(record.args, tuple) else "?")] = None
        return False

    evaluation = logging.getLogger("lm_eval_stereoset.benchmarks.evaluation")
    evaluation.addFilter(keep)
    try:
        yield
    finally:
        evaluation.removeFilter(keep)
        if groups:
            logger.warning(
                "NaN, because there are too few examples or clusters of them: %s", ", ".join(groups)
            )


def warn_if_useless(scored: ScoredFile) -> None:
    """A model that gives every candidate the same score has SS 0 and LMS 0, which look like numbers."""
    for split, part in scored.parts.items():
        if complaint := scored.benchmark.complaint(part.columns):
            logger.warning("%s: %s. Such scores mean NOTHING", split, complaint)


def scoring_note(fields: dict[str, Any]) -> str:
    """One line below the table about a split."""
    kind = "" if "sha256" in fields else "samples, "
    origin = " ".join(fields[key] for key in ("data", "version") if key in fields)
    rest = f", sha256 {fields['sha256'][:12]}" if "sha256" in fields else ""
    if "scoring" in fields:
        rest += f", score: {fields['scoring']}, normaliser {fields['normaliser']}"
    scored, whole = fields.get("scored"), fields["examples"]
    partial = f", only {scored} of {whole} examples" if scored and whole and scored < whole else ""
    return f"{fields['split']}/{fields['language']}: {kind}data {origin}{rest}{partial}"
