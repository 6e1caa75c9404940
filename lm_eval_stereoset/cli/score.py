"""stereoset score: SS, LMS and ICAT of a file of predictions, or of samples that the harness has logged.

stereoset score PREDICTIONS.json --language de --output scores.md
stereoset score results/model/samples_stereoset_de_*.jsonl
"""

import argparse
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.languages import LANGUAGES

logger = logging.getLogger(__name__)

OUTPUTS = (".json", ".csv", ".md")
MOST = 50.0  # per cent of ties


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
    if args.output:
        check_output(Path(args.output), args)

    from lm_eval_stereoset import tables
    from lm_eval_stereoset.benchmarks.evaluation import evaluate

    parts, about = read(args.predictions, args.language, args.data)
    table = evaluate(parts)
    warn_of_ties(table)
    try:
        if args.output:  # before printing: `| head` may end that early
            save(Path(args.output), table, about, args.predictions[0])
    finally:
        print(tables.to_text(table, [note_of(fields) for fields in about]))


def save(output: Path, table: dict, about: list[dict], predictions: str) -> None:
    """The table, and beside it a note of the data and, where the predictions say so, the model that it is from."""
    from lm_eval_stereoset import tables
    from lm_eval_stereoset.benchmarks.prediction_notes import read_note
    from lm_eval_stereoset.data.store import about_file
    from lm_eval_stereoset.files import atomic_write, write_json
    from lm_eval_stereoset.scoring.versions import versions

    if output.suffix == ".json":
        write_json(output, tables.to_json(table))
    else:
        notes = [note_of(fields) for fields in about]
        text = tables.to_csv(table) if output.suffix == ".csv" else tables.to_markdown(table, notes)
        with atomic_write(output) as handle:
            handle.write(text)
    origin = {key: value for key, value in read_note(predictions).items() if key in ("model", "identity")}
    note = {"language": about[0]["language"], "data": about, "packages": versions()}
    write_json(about_file(output), origin | note)


def check_output(output: Path, args: argparse.Namespace) -> None:
    """Neither the table nor the note beside it may take the place of something that is read or needed."""
    from lm_eval_stereoset.benchmarks.prediction_notes import note_file
    from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
    from lm_eval_stereoset.data.store import SAMPLE, about_file, data_folder, file_in
    from lm_eval_stereoset.files import read_json, refuse_overwriting

    folder = SAMPLE if args.data == "sample" else Path(args.data).expanduser() if args.data else data_folder()
    data = [file_in(folder, split, args.language) for split in SPLITS if args.language]
    given = list(map(Path, args.predictions))
    inputs = [*given, *map(note_file, given), *data, *map(about_file, data)]
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


def warn_of_ties(table: dict) -> None:
    """A model that gives every candidate the same score has SS 0 and LMS 0, which look like numbers."""
    for split, groups in table.items():
        ties = groups["overall"]["ties"]
        if ties > MOST:
            logger.warning(
                "%s: in %.0f %% of the examples stereotype and anti-stereotype have the very same score. "
                "SS, LMS and ICAT of such scores mean NOTHING; is the model or its tokenizer broken?",
                *(split, ties),
            )


def note_of(fields: dict) -> str:
    """One line below the table, of what `read` says about a split."""
    kind = "samples, " if "normaliser" in fields else ""
    origin = " ".join(fields[key] for key in ("data", "version") if key in fields)
    if "sha256" in fields:
        rest = f", sha256 {fields['sha256'][:12]}"
    else:
        rest = f", score: {fields['scoring']}, normaliser {fields['normaliser']}"
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
    from lm_eval_stereoset.benchmarks.prediction_notes import read_note, refuse_wrong_language, unlike_data

    note = read_note(files[0]) if Path(files[0]).is_file() else {}
    language = language or note.get("language")
    if language is None:
        raise UserError(
            f"{files[0]}: of which language are the predictions? add --language, such as --language de"
        )
    from lm_eval_stereoset.benchmarks.stereoset.data import load
    from lm_eval_stereoset.benchmarks.stereoset.predictions import match, read_predictions

    # Ids and labels are the same in all languages, so the scores would come out, under the wrong name.
    named = Path(files[0]).stem.rpartition("_")[2]
    if named in LANGUAGES and named != language:
        logger.warning("%s: its name says %s, --language says %s", files[0], named, language)
    refuse_wrong_language(files[0], note, language)
    parts, about = {}, []
    for split, predictions in read_predictions(files[0]).items():
        dataset = load(split, language, data)
        if unlike := unlike_data(note, split, dataset.provenance.sha256):
            logger.warning("%s: %s", files[0], unlike)
        parts[split] = match(dataset.examples, predictions, f"{files[0]}, {split}")
        about.append({"split": split, "language": language} | dataset.describe())
    return parts, about


def _read_samples(files: Sequence[str], language: str | None) -> tuple[dict, list[dict]]:
    from lm_eval_stereoset.harness.samples import read_samples

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
                | {"normaliser": samples.normalisers[split], "scoring": samples.scorings[split]}
                | {"examples": whole, "scored": len(scored.examples)}
            )
    return parts, about
