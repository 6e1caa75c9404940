"""What each `stereoset translate` step does, told to the user; the work is in the modules."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from lm_eval_stereoset.data.format import SPLITS
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, write_json
from translation import checks, rules, steps
from translation.folder import Folder
from translation.source import by_id, load_english


def working_folder(args: argparse.Namespace) -> Path:
    return args.dir or Path(f"stereoset-{args.language}")


def input_folder(args: argparse.Namespace, *default: str) -> Folder:
    """The folder asked for, else the first default of the working folder that is there."""
    if args.input is not None:
        return Folder(args.input, args.language)
    candidates = [Folder(working_folder(args) / name, args.language) for name in default]
    for folder in candidates:
        if any(folder.file(split).is_file() for split in SPLITS):
            return folder
    raise UserError(
        f"nothing translated in {candidates[0].path}; give --input DIR, "
        f"or start with `stereoset translate run --to {args.language} --backend …`"
    )


def english_if_there(args: argparse.Namespace) -> dict:
    """English by split and id; without it the checks that compare with it are left out, and said so."""
    try:
        return by_id(load_english(args.data))
    except UserError as error:
        print(f"without the English text (left in English, number of BLANKs): {error}", file=sys.stderr)
        return {}


def repair(args: argparse.Namespace) -> None:
    from translation import repair as work

    source = input_folder(args, "raw")
    target = Folder(args.output or working_folder(args) / "repaired", args.language)
    if target.path.resolve() == source.path.resolve():
        raise UserError("--output is the --input folder; the translation as it came must stay: choose another")
    rules_ = rules.load(args.language, args.rules)
    result = work.repair(source.read(), rules_, args.manual_fixes)
    report = result.report()
    kept = target.write(result.data)
    with atomic_write(target.beside("changes.jsonl")) as handle:
        for change in result.changes:
            handle.write(json.dumps(asdict(change), ensure_ascii=False) + "\n")
        for example, rule in result.dropped:
            dropped = {"example": example, "column": None, "before": None, "after": None, "rule": rule}
            handle.write(json.dumps(dropped, ensure_ascii=False) + "\n")
    english = english_if_there(args) if args.data else {}
    steps.save(
        target.beside("steps.json"), [steps.count(name, data, english) for name, data in result.steps]
    )
    if args.report:
        write_json(args.report, report)
    print(f"{rules_.where}: {len(result.changes)} changes, {len(result.dropped)} examples dropped")
    width = max(len(str(row["step"])) for row in report)
    print("target not in context, intra/inter:")
    for row in report:
        print(f"  {row['step']:<{width}}  {row['intra']}/{row['inter']}")
    if kept:
        print(f"{kept} reviewed examples stay as the reviewers left them")
    print(f"written: {target.path} (changes: {target.beside('changes.jsonl').name})")


def check(args: argparse.Namespace) -> None:
    from translation import chart

    folder = input_folder(args, "repaired", "raw")
    english = english_if_there(args)
    data = folder.read()
    counted = steps.load(folder.beside("steps.json"))
    now = steps.count("now", data, english)
    counted = [*counted, now] if counted else [now]
    print(steps.kinds_table(counted))
    print()
    print(steps.targets_table(counted))
    picture = args.picture or folder.beside("problems.png")
    same = len(counted) > 1 and counted[-1].targets == counted[-2].targets
    chart.draw(counted[:-1] if same else counted, args.language, picture)
    if args.json:
        write_json(
            args.json,
            {split: checks.problems_of(examples, english.get(split, {})) for split, examples in data.items()},
        )
    print(f"\nchart: {picture}")
