"""What the steps of `stereoset translate` read: the working folder, the English data beside it; and that no
output is one of these files."""

import argparse
import sys
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.benchmarks.stereoset.facts import describe, differences_from
from lm_eval_stereoset.data.store import data_folder, file_in
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import refuse_overwriting
from stereoset_translation.folder import Folder
from stereoset_translation.source import SOURCE_LANGUAGE, by_id, load_english


def working_folder(args: argparse.Namespace) -> Path:
    return args.dir or Path(f"stereoset-{args.language}")


def input_folder(args: argparse.Namespace, *default: str) -> Folder:
    """The folder asked for, else the first default of the working folder that is there."""
    if args.input is not None:
        return Folder(args.input, args.language)
    candidates = [Folder(working_folder(args) / name, args.language) for name in default]
    for folder in candidates:
        folder.finish()
        if any(folder.file(split).is_file() for split in SPLITS):
            return folder
    raise UserError(
        f"nothing translated in {candidates[0].path}; give --input DIR, "
        f"or start with `stereoset translate run --to {args.language} --backend …`"
    )


def english_if_there(args: argparse.Namespace, translated: dict, fetch: bool = True) -> dict:
    """English by split and id; without it the checks that compare with it are left out, and said so."""
    if args.data:  # what the user names must be there
        english = by_id(load_english(args.data, translated))
    else:
        local = all(file_in(data_folder(), split, SOURCE_LANGUAGE).is_file() for split in translated)
        if not (fetch or local):
            return {}
        try:
            english = by_id(load_english(None, translated))
        except UserError as error:
            print(f"without the English text (left in English, number of BLANKs): {error}", file=sys.stderr)
            return {}
    _refuse_other_labels(translated, english)
    alone = sum(e.id not in english[split] for split, examples in translated.items() for e in examples)
    if alone:
        print(
            f"{alone} examples have no English text in {args.data or 'StereoSet'}, so they are not compared "
            "with it; --data names the English data that was translated",
            file=sys.stderr,
        )
    return english


def _refuse_other_labels(translated: dict, english: dict) -> None:
    """Labels, bias types and English targets belong to the example in every language."""
    for split, examples in translated.items():
        pairs = [(e, english[split][e.id]) for e in examples if e.id in english[split]]
        wrong = [(e, source, names) for e, source in pairs if (names := differences_from(e, source))]
        if wrong:
            example, source, names = wrong[0]
            raise UserError(
                f"{len(wrong)} {split} examples differ from the English data in more than their texts, e.g. "
                f"{example.id}: {describe(example, names, source)}; scores would be wrong: put it right in the "
                "translated files, or name the English data that was translated with --data"
            )


def refuse_outputs(args: argparse.Namespace, folder: Folder, **outputs: Path | None) -> None:
    """Before anything is read or computed: no output may be a file that the commands here live on."""
    english = [file_in(Path(args.data), s, SOURCE_LANGUAGE) for s in SPLITS] if args.data else []
    raw = Folder(working_folder(args) / "raw", args.language)
    inputs = [*folder.files(), *raw.files(), working_folder(args) / "memory.sqlite", *english]
    inputs += [
        file_in(data_folder(), s, language) for s in SPLITS for language in (SOURCE_LANGUAGE, args.language)
    ]
    if rules_ := getattr(args, "rules", None):
        inputs.append(rules_)
    given = {flag: path for flag, path in outputs.items() if path is not None}
    for flag, path in given.items():
        refuse_overwriting(path, inputs, f"--{flag}")
        inputs.append(path)
