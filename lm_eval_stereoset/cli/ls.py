"""stereoset ls: benchmarks, languages, tasks, and which data is here.

stereoset ls                      everything
stereoset ls stereoset -l de      one benchmark, one language
stereoset ls --names              task names only, one per line, for scripts
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.errors import UserError


@dataclass(frozen=True)
class LanguageRow:
    """A language of a benchmark, as it is here."""

    code: str
    name: str
    built_in: bool
    tasks: list[str]
    examples: dict[str, int]  # of each split whose file is in the data folder
    sample: bool  # whether the bundled sample has it


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stereoset ls",
        description="Lists benchmarks, their languages and tasks, and which data is in the data folder.",
    )
    parser.add_argument("benchmark", nargs="*", metavar="BENCHMARK", help="only these (default: all)")
    parser.add_argument(
        "--language", "-l", action="append", metavar="CODE", help="only this one (repeatable)"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--names", action="store_true", help="the names of tasks and groups, one per line")
    shown.add_argument("--json", action="store_true", help="as JSON")
    return parser


def main(argv: Sequence[str]) -> int:
    args = make_parser().parse_args(argv)
    from lm_eval_stereoset import benchmarks
    from lm_eval_stereoset.data.store import data_folder
    from lm_eval_stereoset.harness.yaml_tasks import group_names

    chosen = [benchmarks.find(name) for name in args.benchmark or benchmarks.names()]
    found = {benchmark.name: rows_of(benchmark, args.language) for benchmark in chosen}
    if args.language:
        refuse_unknown(args.language, chosen, found)
    groups = {b.name: [] if args.language else group_names(b) for b in chosen}
    if args.names:
        lines = [task for rows in found.values() for row in rows for task in row.tasks]
        print("\n".join([*lines, *(group for names in groups.values() for group in names)]))
    elif args.json:
        print(json.dumps(to_json(chosen, found, groups, data_folder()), indent=2, ensure_ascii=False))
    else:
        blocks = ["\n".join(lines_of(b, found[b.name], groups[b.name])) for b in chosen if found[b.name]]
        print("\n\n".join([*blocks, f"data folder: {data_folder()}"]))
    return 0


def refuse_unknown(
    asked: Sequence[str], chosen: Sequence[Benchmark], found: dict[str, list[LanguageRow]]
) -> None:
    there = {row.code for rows in found.values() for row in rows}
    if missing := [code for code in asked if code not in there]:
        known = dict.fromkeys(row.code for benchmark in chosen for row in rows_of(benchmark))
        raise UserError(f"--language {', '.join(missing)} is not known; choose from {', '.join(known)}")


def rows_of(benchmark: Benchmark, only: Sequence[str] | None = None) -> list[LanguageRow]:
    from lm_eval_stereoset.benchmarks import data_of
    from lm_eval_stereoset.cli.overview import language_of_task
    from lm_eval_stereoset.data.store import file_of, languages_in
    from lm_eval_stereoset.harness.yaml_tasks import own_languages, own_task_names, task_names
    from lm_eval_stereoset.languages import LANGUAGES

    tasks: dict[str, list[str]] = {code: [] for code in benchmark.built_in}
    for task in task_names(benchmark):
        if (code := language_of_task(benchmark, task)) is not None:
            tasks[code].append(task)
    tasks |= {code: own_task_names(benchmark, code) for code in own_languages(benchmark)}
    rows = []
    for code, names in tasks.items():
        if only and code not in only:
            continue
        source = data_of(benchmark, code)
        files = {source.file_of(split): file_of(source, split, code) for split in source.splits}
        examples = {split: lines_in(path) for split, path in files.items() if path.is_file()}
        name = LANGUAGES[code].name if code in LANGUAGES else ""
        in_sample = source.sample is not None and code in languages_in(source, source.sample)
        rows.append(LanguageRow(code, name, code in benchmark.built_in, names, examples, in_sample))
    return rows


def lines_in(path: Path) -> int:
    """Counted, not validated: `stereoset data list` reads every example."""
    with open(path, "rb") as handle:
        return sum(1 for line in handle if line.strip())


def lines_of(benchmark: Benchmark, rows: Sequence[LanguageRow], groups: Sequence[str]) -> list[str]:
    from lm_eval_stereoset.benchmarks import data_of
    from lm_eval_stereoset.cli.overview import heading, measured, table

    cells = [(f"{row.code} {row.name}".rstrip(), here_text(row), ", ".join(row.tasks)) for row in rows]
    lines = [heading(benchmark), *table([("language", "data here", "tasks"), *cells])]
    notes = [("groups", ", ".join(groups))] if groups else []
    notes.append(("measured", ", ".join(measured(benchmark))))
    if samples := [row.code for row in rows if row.sample]:
        notes.append(("sample", f"{', '.join(samples)} (--metadata data=sample)"))
    if missing := [row.code for row in rows if row.built_in and not row.examples]:
        sources = dict.fromkeys(data_of(benchmark, code).name for code in missing)
        notes.append(
            ("fetch", f"stereoset data fetch {' or '.join(sources)}; a task fetches what it needs by itself")
        )
    return [*lines, "", *table(notes)]


def here_text(row: LanguageRow) -> str:
    counts = ", ".join(f"{split} {count}" for split, count in row.examples.items())
    return (counts or "not fetched") + ("" if row.built_in else " (own)")


def to_json(
    chosen: Sequence[Benchmark],
    found: dict[str, list[LanguageRow]],
    groups: dict[str, list[str]],
    folder: Path,
) -> dict:
    return {
        "data folder": str(folder),
        "benchmarks": [
            {"name": b.name, "title": b.title, "asks": b.asks, "groups": groups[b.name]}
            | {"languages": [asdict(row) for row in found[b.name]]}
            for b in chosen
        ],
    }
