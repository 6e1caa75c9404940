"""What each `stereoset translate` step does and tells the user; the work itself is in the modules."""

import argparse
import re
import sys
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.benchmarks.stereoset.facts import is_stereoset
from lm_eval_stereoset.data.adding import LANGUAGE_CODE
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import write_json
from stereoset_translation import backends, checks, rules, steps
from stereoset_translation import plan as planning
from stereoset_translation.backends import Backend
from stereoset_translation.folder import Folder, json_bytes
from stereoset_translation.inputs import english_if_there, input_folder, refuse_outputs, working_folder
from stereoset_translation.lenient import read_translated
from stereoset_translation.memory import Memory
from stereoset_translation.run import too_long, translate
from stereoset_translation.source import (
    SOURCE_LANGUAGE,
    assemble,
    load_english,
    words_that_differ,
)


def run(args: argparse.Namespace) -> int | None:
    # Found out now and not by `build`, when the translation has been paid for.
    if not re.fullmatch(LANGUAGE_CODE, args.language):
        raise UserError(
            f"--to {args.language!r}: give a code such as it or pt_br (small letters, digits, _); "
            "--target-code names the translator's own, e.g. --to pt_br --target-code pt-BR"
        )
    return COMMANDS[args.command](args)


def do_repair(args: argparse.Namespace) -> None:
    from stereoset_translation.repair import repair, save

    source = input_folder(args, "raw")
    target = Folder(args.output or working_folder(args) / "repaired", args.language)
    if target.path.resolve() == source.path.resolve():
        raise UserError(
            "--output is the --input folder; the translation as it came must stay: choose another"
        )
    refuse_outputs(args, source, report=args.report)
    refuse_outputs(args, target, report=args.report)
    rules_ = rules.load(args.language, args.rules)
    if source.has_record():
        source.notice_edits(adopt=True)
    source_data = source.read()
    result = repair(source_data, rules_, args.manual_fixes)
    report = result.report()
    kept, gone = save(result, source, target)
    english = english_if_there(args, source_data, fetch=False)
    steps.save(target.beside("steps.json"), [steps.count(name, data, english) for name, data in result.steps])
    if args.report:
        write_json(args.report, report)
    print(f"{rules_.where}: {len(result.changes)} changes, {len(result.dropped)} examples dropped")
    width = max(len(str(row["step"])) for row in report)
    print("target not in context, intra/inter:")
    for row in report:
        print(f"  {row['step']:<{width}}  {row['intra']}/{row['inter']}")
    if kept:
        print(f"{kept} reviewed examples stay as the reviewers left them ({gone} of them dropped)")
    print(f"written: {target.path} (changes: {target.beside('changes.jsonl').name})")


def do_check(args: argparse.Namespace) -> None:
    from stereoset_translation import chart

    folder = input_folder(args, "repaired", "raw")
    picture = args.picture or folder.beside("problems.png")
    refuse_outputs(args, folder, picture=picture, json=args.json)
    chart.refuse_format(picture)
    if folder.has_record():
        folder.notice_edits(adopt=True)
    data = folder.read()
    english = english_if_there(args, data)
    counted = steps.load(folder.beside("steps.json"))
    now = steps.count("now", data, english)
    counted = [*counted, now] if counted else [now]
    same = len(counted) > 1 and counted[-1].targets == counted[-2].targets
    chart.draw(counted[:-1] if same else counted, args.language, picture)
    if args.json:
        write_json(
            args.json,
            {split: checks.problems_of(examples, english.get(split, {})) for split, examples in data.items()},
        )
    print(steps.kinds_table(counted))
    print(f"\n{steps.targets_table(counted)}\n\nchart: {picture}")


def do_plan(args: argparse.Namespace) -> None:
    if not args.backend:
        args.backend = "aws"  # the one that costs
    english, backend = _open(args)
    # A plan reads the memory if there is one, and makes none.
    memory = _memory(args, backend, *_codes(args)) if _memory_file(args).is_file() else None
    _plan(args, english, backend, memory)


def do_run(args: argparse.Namespace) -> None:
    _run(args)


def do_all(args: argparse.Namespace) -> None:
    """Steps 1 to 4, then what is left for a person."""
    _run(args)
    args.input = args.output = args.report = args.manual_fixes = args.picture = args.json = None
    print("\nrepair")
    do_repair(args)
    print("\ncheck")
    do_check(args)
    folder = input_folder(args, "repaired")
    from stereoset_translation import review

    left = review.items(folder, english_if_there(args, folder.read()))
    same = (f" --dir {args.dir}" if args.dir else "") + (f" --data {args.data}" if args.data else "")
    print(
        f"\nleft for a person: {len(left)} examples; write them into a spreadsheet with\n"
        f"  stereoset translate review --to {args.language}{same}\n"
        f"  stereoset translate apply SHEET --to {args.language}{same} --by NAME\n"
        f"and make the tasks with\n  stereoset translate build --to {args.language}{same}"
    )


def _open(args: argparse.Namespace) -> tuple[dict, Backend]:
    """English examples and the translator, not yet connected."""
    if not args.backend:
        raise UserError(f"which translator? --backend {' or '.join(backends.names())}")
    if args.language == SOURCE_LANGUAGE:
        raise UserError("StereoSet is English; --to another language")
    english = load_english(args.data, [args.split] if args.split else SPLITS)
    args.english_sizes = {split: len(examples) for split, examples in english.items()}
    if args.limit:
        english = {split: examples[: args.limit] for split, examples in english.items()}
    return english, backends.module(args.backend).create(args, *_codes(args))


def _codes(args: argparse.Namespace) -> tuple[str, str]:
    """From which language into which, as the translator calls them."""
    return args.source_code or SOURCE_LANGUAGE, args.target_code or args.language


def _memory_file(args: argparse.Namespace) -> Path:
    return args.memory or working_folder(args) / "memory.sqlite"


def _memory(args: argparse.Namespace, backend: Backend, source: str, target: str) -> Memory:
    return Memory(_memory_file(args), backend.identity, source, target)


def _plan(args: argparse.Namespace, english: dict, backend: Backend, memory: Memory | None) -> planning.Plan:
    stored = memory.get(planning.make(english).unique) if memory else {}
    speed = memory.strings_per_second() if memory else None
    made = planning.make(english, stored, backend.price, speed, backend.concurrency)
    print(planning.describe(made))
    if odd := words_that_differ(english.get("intra", [])):
        print(f"{len(odd)} intra examples have a word that is not the one in its sentence, e.g. {odd[0]}")
    if refused := too_long(made.missing, backend):
        raise planning.refusal(refused, english)
    _within(args, made.cost(made.missing_characters))
    return made


def _run(args: argparse.Namespace) -> None:
    english, backend = _open(args)
    memory = _memory(args, backend, *_codes(args))
    folder = Folder(working_folder(args) / "raw", args.language)
    _keep_whole(folder, english)
    made = _plan(args, english, backend, memory)
    try:
        answers, outcome = translate(made.unique, backend, memory)
    finally:
        memory.close()
    print(f"{outcome.asked} strings translated, {len(made.unique) - len(made.missing)} were stored already")
    if outcome.refused:
        raise planning.refusal(outcome.refused, english)
    sizes = json_bytes(folder.english_sizes() | args.english_sizes)
    kept = folder.write(
        {s: [assemble(e, answers) for e in examples] for s, examples in english.items()},
        beside={"english.json": sizes},
    )
    if outcome.lost_blank:
        print(
            f"BLANK was lost in {len(outcome.lost_blank)} texts; repair tries to restore it, review has the rest"
        )
    if kept:
        print(f"{kept} examples stay as they were edited in {folder.path}")
    print(f"written: {folder.path}")


def _keep_whole(folder: Folder, english: dict) -> None:
    """A trial with --limit must not cut a finished translation down."""
    folder.finish()
    for split, examples in english.items():
        path = folder.file(split)
        there = len(read_translated(path, split)) if path.is_file() else 0
        if there > len(examples):
            raise UserError(
                f"{path} has {there} examples, this run would leave {len(examples)}; "
                "leave out --limit, or choose another --dir for a trial"
            )


def do_review(args: argparse.Namespace) -> None:
    from stereoset_translation import recorded, review

    folder = input_folder(args, "repaired")
    folder.notice_edits(adopt=True)
    paths = [args.output] if args.output else _sheets(working_folder(args))
    for path in paths:
        refuse_outputs(args, folder, output=path)
        recorded.refuse_to_lose(path, folder)
    english = english_if_there(args, folder.read())
    rows = review.items(folder, english, args.everything, args.again)
    if args.round_trip:
        rows = _ranked(args, rows, english)
    rows = rows[: args.rows]
    for path in paths:
        review.write(path, args.language, rows, english)
    print(f"{len(rows)} examples for a person: {', '.join(map(str, paths))}")


def _sheets(folder: Path) -> list[Path]:
    """Both kinds, or the one that can be written."""
    from stereoset_translation.sheet_xlsx import needs_openpyxl

    try:
        import openpyxl  # noqa: F401
    except ImportError:
        print(f"only review.csv is written: {needs_openpyxl()}", file=sys.stderr)
        return [folder / "review.csv"]
    return [folder / "review.xlsx", folder / "review.csv"]


def _ranked(args: argparse.Namespace, rows: list, english: dict) -> list:
    from stereoset_translation.roundtrip import ranked, texts_of

    if not args.backend:
        raise UserError(f"--round-trip needs --backend {' or '.join(backends.names())}")
    source, target = _codes(args)
    back = backends.module(args.backend).create(args, target, source)
    memory = _memory(args, back, target, source)
    texts = texts_of(rows)
    stored = memory.get(texts)
    characters = sum(len(text) for text in texts if text not in stored)
    cost = characters * (back.price or 0) / 1e6
    print(f"round trip: {characters:,} characters to send back" + (f", cost {cost:.2f}" if cost else ""))
    _within(args, cost)
    return ranked(rows, english, back, memory)


def _within(args: argparse.Namespace, cost: float) -> None:
    if args.max_cost is not None and cost > args.max_cost:
        raise UserError(f"it would cost {cost:.2f}, more than --max-cost {args.max_cost:g}; nothing was sent")


def do_apply(args: argparse.Namespace) -> None:
    from stereoset_translation import verdicts

    folder = input_folder(args, "repaired")
    if not args.by.strip():
        raise UserError("--by is empty: whose verdicts are these?")
    english = english_if_there(args, folder.read())
    applied = verdicts.apply(args.sheet, folder, args.by.strip(), english, args.replace)
    counts = {v: sum(r.verdict == v for r in applied.verdicts) for v in ("ok", "corrected", "drop")}
    print(
        f"{len(applied.verdicts)} verdicts of {args.by} in {applied.rows} rows: "
        + ", ".join(f"{n} {v}" for v, n in counts.items())
    )
    if applied.left_open:
        print(f"{len(applied.left_open)} rows without a verdict: unsure or a comment, which is kept")
    reviewed = folder.reviewed()
    if stands := [found for r in applied.left_open if (found := reviewed.get((r.split, r.example)))]:
        print(
            f"{len(stands)} of them have an earlier verdict, which stands, e.g. {stands[0].example}: "
            f"{stands[0].verdict} ({stands[0].by}); give another verdict to change it"
        )
    if applied.verdicts or applied.left_open:
        print(f"kept in {folder.beside('reviews.jsonl')}")


def do_build(args: argparse.Namespace) -> None:
    from stereoset_translation.build import build

    name = args.name or args.language
    folder = input_folder(args, "repaired")
    built = build(folder, name, _english_sizes(args, folder), args.drop_unresolved, args.replace)
    for dataset in built.datasets:
        print(f"{dataset.split}/{name}: {len(dataset.examples)} examples, {dataset.path}")
        if (split := dataset.split) in built.partial:
            print(
                f"warning: {split}/{name} is partial: {len(dataset.examples)} of {built.partial[split]} English "
                f"examples; its results carry the data version {dataset.provenance.version!r}. For the whole: "
                f"`stereoset translate all` without --limit, then build again",
                file=sys.stderr,
            )
    if built.left_out:
        print(f"left out: {len(built.left_out)} examples without BLANK or with an empty text")
    print(
        f"tasks: {', '.join(built.tasks)}; try\n"
        f"  stereoset run --model hf --model_args pretrained=MODEL --tasks {built.tasks[-1]}"
    )


def _english_sizes(args: argparse.Namespace, folder: Folder) -> dict[str, int]:
    """How many English examples there are, by split: as `run` noted it, else from the data itself."""
    data = folder.read()
    noted = folder.english_sizes()
    english = english_if_there(args, data, fetch=False)  # compares the labels, too
    own = [e for examples in data.values() for e in examples if not is_stereoset(e)]
    if own and not english:
        print(f"{len(own)} examples: labels not compared with the English data (--data names it)")
    if set(data) <= set(noted):
        return noted
    known = {
        split: len(english[split])
        for split, examples in data.items()
        if split in english and all(e.id in english[split] for e in examples)
    }
    if unknown := [split for split in data if split not in known | noted]:
        print(
            f"{', '.join(unknown)}: not compared with the English data (--data names it), so nobody has "
            "checked that no example is missing"
        )
    return known | noted


COMMANDS = {
    "plan": do_plan, "run": do_run, "repair": do_repair, "check": do_check, "review": do_review,
    "apply": do_apply, "build": do_build, "all": do_all,
}  # fmt: skip
