"""stereoset score: SS, LMS and ICAT of a file of predictions, or of samples that the harness has logged.

stereoset score PREDICTIONS.json --language de --output scores.md
stereoset score results/model/samples_stereoset_de_*.jsonl
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.languages import LANGUAGES

logger = logging.getLogger(__name__)

OUTPUTS = (".json", ".csv", ".md")


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="stereoset score",
        description="SS, LMS and ICAT of a file of predictions, or of samples that the harness has logged.",
    )
    parser.add_argument(
        "predictions", nargs="+", metavar="FILE",
        help="predictions in the published format (JSON), or samples of --log_samples (JSONL; one or both splits)",
    )  # fmt: skip
    parser.add_argument(
        "--language", "-l", metavar="CODE", help="of the predictions; samples know it themselves"
    )
    parser.add_argument("--data", metavar="DATA", help="'sample', or a folder in the canonical layout")
    parser.add_argument("--output", "-o", metavar="FILE", help="write the table: .json, .csv or .md")
    args = parser.parse_args(argv)
    if args.output and Path(args.output).suffix not in OUTPUTS:
        raise UserError(f"--output {args.output}: the ending must be one of {', '.join(OUTPUTS)}")

    from lm_eval_stereoset import tables
    from lm_eval_stereoset.evaluation import evaluate
    from lm_eval_stereoset.files import atomic_write, write_json

    parts, about = read(args.predictions, args.language, args.data)
    table = evaluate(parts)
    print(tables.to_text(table, about))
    if args.output:
        suffix = Path(args.output).suffix
        if suffix == ".json":
            write_json(args.output, tables.to_json(table))
        else:
            with atomic_write(args.output) as handle:
                handle.write(tables.to_csv(table) if suffix == ".csv" else tables.to_markdown(table, about))


def read(files: Sequence[str], language: str | None, data: str | None) -> tuple[dict, list[str]]:
    """Scored examples per split, and lines that say which data and normaliser they are from."""
    samples = [file for file in files if file.endswith(".jsonl")]
    if samples and len(samples) < len(files):
        raise UserError("give either one prediction file (.json) or samples (.jsonl), not both")
    if samples:
        return _read_samples(samples, language)
    if len(files) > 1:
        raise UserError("give one prediction file at a time; for several models there is `stereoset report`")
    if language is None:
        raise UserError(
            f"{files[0]}: of which language are the predictions? add --language, such as --language de"
        )
    from lm_eval_stereoset.data.store import load
    from lm_eval_stereoset.predictions import match, read_predictions

    # Ids and labels are the same in all languages, so the scores would come out, under the wrong name.
    named = Path(files[0]).stem.rpartition("_")[2]
    if named in LANGUAGES and named != language:
        logger.warning("%s: its name says %s, --language says %s", files[0], named, language)
    parts, about = {}, []
    for split, predictions in read_predictions(files[0]).items():
        dataset = load(split, language, data)
        parts[split] = match(dataset.examples, predictions, f"{files[0]}, {split}")
        origin = dataset.provenance
        about.append(f"{split}/{language}: data {origin.data} {origin.version}, sha256 {origin.sha256[:12]}")
    return parts, about


def _read_samples(files: Sequence[str], language: str | None) -> tuple[dict, list[str]]:
    from lm_eval_stereoset.predictions import read_samples

    read = {file: read_samples(file) for file in files}
    found = {samples.language for samples in read.values()}
    if len(found) > 1:
        raise UserError(
            f"the samples are of several languages: {', '.join(sorted(found))}; give one at a time"
        )
    if language and language not in found:
        raise UserError(f"the samples are of language {found.pop()}, --language says {language}")
    parts, about = {}, []
    for file, samples in read.items():
        for split, scored in samples.parts.items():
            if split in parts:
                raise UserError(f"{file}: a second file with {split} samples; give one of each split")
            parts[split] = scored
            about.append(
                f"{split}/{samples.language}: samples, data {', '.join(samples.data)}, "
                f"normaliser {', '.join(samples.normalisers)}"
            )
    return parts, about
