"""stereoset score: the metrics of a file of predictions, or of samples that the harness has logged.

stereoset score PREDICTIONS.json --language de --output scores.md
stereoset score results/model/samples_stereoset_de_*.jsonl
"""

import argparse
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.languages import LANGUAGES

if TYPE_CHECKING:
    from lm_eval_stereoset.benchmarks.declaration import Benchmark
    from lm_eval_stereoset.benchmarks.evaluation import Scored, Table

logger = logging.getLogger(__name__)

OUTPUTS = (".json", ".csv", ".md")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stereoset score",
        description="The metrics of a file of predictions, or of samples that the harness has logged, with intervals.",
    )
    parser.add_argument(
        "predictions", nargs="+", metavar="FILE",
        help="of `stereoset predict` or in a published format (JSON), or samples of --log_samples (JSONL; one or more "
        "splits)",
    )  # fmt: skip
    parser.add_argument(
        "--benchmark", "-b", metavar="NAME", help="of the predictions; only to make sure of it"
    )
    parser.add_argument(
        "--language", "-l", metavar="CODE", help="of published predictions; other files know it themselves"
    )
    parser.add_argument("--data", metavar="DATA", help="'sample', or a folder in the canonical layout")
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
        notes = [note_of(fields) for fields in scored.about]
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


@dataclass(frozen=True)
class ScoredFile:
    """What was read, whatever kind of file it was in."""

    benchmark: "Benchmark"
    language: str
    parts: dict[str, "Scored"]
    about: list[dict[str, Any]]  # of each split: which data and normaliser it is from
    origin: dict[str, Any]  # model and identity, where the file says so


def save(output: Path, table: "Table", scored: ScoredFile) -> None:
    """The table, and beside it a note of the data and, where the predictions say so, the model that it is from."""
    from lm_eval_stereoset.cli import score_tables
    from lm_eval_stereoset.data.store import about_file
    from lm_eval_stereoset.files import atomic_write, write_json
    from lm_eval_stereoset.scoring.identity import versions

    if output.suffix == ".json":
        write_json(output, score_tables.to_json(table))
    else:
        notes = [note_of(fields) for fields in scored.about]
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


def note_of(fields: dict[str, Any]) -> str:
    """One line below the table about a split."""
    kind = "" if "sha256" in fields else "samples, "
    origin = " ".join(fields[key] for key in ("data", "version") if key in fields)
    rest = f", sha256 {fields['sha256'][:12]}" if "sha256" in fields else ""
    if "scoring" in fields:
        rest += f", score: {fields['scoring']}, normaliser {fields['normaliser']}"
    scored, whole = fields.get("scored"), fields["examples"]
    partial = f", only {scored} of {whole} examples" if scored and whole and scored < whole else ""
    return f"{fields['split']}/{fields['language']}: {kind}data {origin}{rest}{partial}"


def is_samples(files: Sequence[str]) -> bool:
    samples = [file for file in files if file.endswith(".jsonl")]
    if samples and len(samples) < len(files):
        raise UserError("give either one prediction file (.json) or samples (.jsonl), not both")
    return bool(samples)


def read_prediction_file(args: argparse.Namespace) -> ScoredFile:
    from lm_eval_stereoset.benchmarks import prediction_files

    if len(args.predictions) > 1:
        raise UserError("give one prediction file at a time; for several models there is `stereoset report`")
    (file,) = args.predictions
    found = prediction_files.read(file, args.language, args.data)
    # Ids and labels are the same in all languages, so the scores would come out, under the wrong name.
    named = Path(file).stem.rpartition("_")[2]
    if not found.head and named in LANGUAGES and named != found.language:
        logger.warning("%s: its name says %s, --language says %s", file, named, found.language)
    about = []
    for split, part in found.parts.items():
        dataset = found.data[split]
        if unlike := prediction_files.unlike_data(found.head, split, dataset.provenance.sha256):
            logger.warning("%s: %s", file, unlike)
        if len(part.examples) < found.of[split]:
            warn_of_part(file, split, len(part.examples), found.of[split])
        about.append(
            dataset.describe()
            | {"scored": len(part.examples)}
            | prediction_files.scoring_of(found.head, split)
        )
    origin: dict[str, Any] = {key: found.head[key] for key in ("model", "identity") if key in found.head}
    return ScoredFile(found.benchmark, found.language, found.parts, about, origin)


def warn_of_part(file: str, split: str, scored: int, whole: int) -> None:
    logger.warning(
        "%s: %s covers only %d of %d examples (--limit?): no number to compare with others",
        *(file, split, scored, whole),
    )


def read_samples_files(args: argparse.Namespace) -> ScoredFile:
    from lm_eval_stereoset.harness.samples import read_samples

    read = {file: read_samples(file) for file in args.predictions}
    found = {samples.language for samples in read.values()}
    if len(found) > 1:
        raise UserError(
            f"the samples are of several languages: {', '.join(sorted(found))}; give one at a time"
        )
    language = found.pop()
    if args.language and args.language != language:
        raise UserError(f"the samples are of language {language}, --language says {args.language}")
    named = {samples.benchmark.name: samples.benchmark for samples in read.values()}
    if len(named) > 1:
        raise UserError(f"the samples are of several benchmarks: {', '.join(named)}; give one at a time")
    parts, about = {}, []
    for file, samples in read.items():
        for split, scored in samples.parts.items():
            if split in parts:
                raise UserError(f"{file}: a second file with {split} samples; give one of each split")
            parts[split] = scored
            whole = samples.of.get(split)  # None in older files, which do not say
            if whole is not None and len(scored.examples) < whole:
                warn_of_part(file, split, len(scored.examples), whole)
            about.append(
                {"split": split, "language": language, "data": ", ".join(samples.data)}
                | {"normaliser": samples.normalisers[split], "scoring": samples.scorings[split]}
                | {"examples": whole, "scored": len(scored.examples)}
            )
    (benchmark,) = named.values()
    in_order = {split: parts[split] for split in benchmark.splits if split in parts}
    return ScoredFile(benchmark, language, in_order, about, {})
