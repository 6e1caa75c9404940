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
    if args.output and Path(args.output).resolve() in [Path(file).resolve() for file in args.predictions]:
        raise UserError(f"--output {args.output}: is what the scores are made of; name another file")

    from lm_eval_stereoset import tables
    from lm_eval_stereoset.data.store import about_file
    from lm_eval_stereoset.evaluation import evaluate
    from lm_eval_stereoset.files import atomic_write, write_json
    from lm_eval_stereoset.versions import versions

    parts, about = read(args.predictions, args.language, args.data)
    table = evaluate(parts)
    notes = [note_of(fields) for fields in about]
    print(tables.to_text(table, notes))
    if not args.output:
        return
    output = Path(args.output)
    if output.suffix == ".json":
        write_json(output, tables.to_json(table))
    else:
        with atomic_write(output) as handle:
            handle.write(
                tables.to_csv(table) if output.suffix == ".csv" else tables.to_markdown(table, notes)
            )
    write_json(about_file(output), {"language": about[0]["language"], "data": about, "packages": versions()})


def note_of(fields: dict) -> str:
    """One line below the table, of what `read` says about a split."""
    kind = "samples, " if "normaliser" in fields else ""
    origin = " ".join(fields[key] for key in ("data", "version") if key in fields)
    rest = (
        f", sha256 {fields['sha256'][:12]}" if "sha256" in fields else f", normaliser {fields['normaliser']}"
    )
    scored, whole = fields.get("scored"), fields["examples"]
    partial = f", only {scored} of {whole} examples" if scored and whole and scored < whole else ""
    return f"{fields['split']}/{fields['language']}: {kind}data {origin}{rest}{partial}"


def read(files: Sequence[str], language: str | None, data: str | None) -> tuple[dict, list[dict]]:
    """Scored examples per split, and for each split which data and normaliser they are from."""
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
        about.append({"split": split, "language": language} | dataset.describe())
    return parts, about


def _read_samples(files: Sequence[str], language: str | None) -> tuple[dict, list[dict]]:
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
            whole = samples.of.get(split)  # None in older files, which do not say
            if whole is not None and len(scored.examples) < whole:
                logger.warning(
                    "%s: %s covers only %d of %d examples (--limit?): no number to compare with others",
                    *(file, split, len(scored.examples), whole),
                )
            about.append(
                {"split": split, "language": samples.language, "data": ", ".join(samples.data)}
                | {"normaliser": ", ".join(samples.normalisers)}
                | {"examples": whole, "scored": len(scored.examples)}
            )
    return parts, about
