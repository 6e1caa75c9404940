"""stereoset data: fetch, list, check and add data sets."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_stereoset.errors import UserError

if TYPE_CHECKING:
    from lm_eval_stereoset.benchmarks.declaration import Benchmark
    from lm_eval_stereoset.benchmarks.stereoset.census import Census


def main(argv: Sequence[str]) -> int | None:
    args = make_parser().parse_args(argv)
    return args.command(args)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stereoset data", description=__doc__.partition(": ")[2])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    sub = commands.add_parser("fetch", help="put a benchmark's data into the data folder")
    _add_benchmark(sub)
    sub.add_argument("--language", "-l", action="append", metavar="CODE", help="only this one (repeatable)")
    sub.add_argument("--split", action="append", help="only this one (repeatable)")
    sub.add_argument(
        "--from", dest="clone", metavar="DIR", help="take it from a local clone, without a network"
    )
    sub.add_argument(
        "--source", metavar="NAME", help="where from, if there are several places: authors (default) or hub"
    )
    sub.add_argument("--revision", help="with --source hub: a revision of that data set")
    sub.add_argument("--force", action="store_true", help="again, even if it is there")
    sub.add_argument(
        "--insist", action="store_true", help="take files whose checksum is not the published one"
    )
    sub.set_defaults(command=fetch)

    sub = commands.add_parser("list", help="what is in the data folder: counts, version, checksum")
    sub.add_argument("--json", action="store_true", help="as JSON")
    sub.set_defaults(command=list_data)

    sub = commands.add_parser("check", help="validate files and count what is odd about them")
    sub.add_argument("files", nargs="+", metavar="FILE", help="in the canonical format")
    sub.add_argument("--list", action="store_true", help="name the examples, too")
    sub.add_argument("--benchmark", "-b", default="stereoset", metavar="NAME", help="default: stereoset")
    sub.add_argument(
        "--tokenizer",
        metavar="NAME",
        help="EuroGEST: count the pairs in which this one makes a single token differ",
    )
    sub.add_argument("--json", action="store_true", help="as JSON")
    sub.set_defaults(command=check)

    sub = commands.add_parser("add", help="make a task of your own data")
    sub.add_argument("--benchmark", "-b", default="stereoset", metavar="NAME", help="default: stereoset")
    sub.add_argument(
        "folder",
        metavar="DIR|FILE",
        help="with intra/CODE.jsonl, inter/CODE.jsonl or both; or a file in the layout of the original StereoSet",
    )
    sub.add_argument("--language", "-l", required=True, metavar="CODE", help="such as it")
    sub.add_argument("--name", help="a second data set of the language: its tasks end in _CODE_NAME")
    sub.add_argument("--version", help="what results call this version of the data (default: its checksum)")
    sub.add_argument("--replace", action="store_true", help="in place of data from elsewhere that is there")
    sub.set_defaults(command=add)
    return parser


def _add_benchmark(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "benchmark", nargs="?", default="stereoset", metavar="BENCHMARK", help="default: stereoset"
    )


def fetch(args: argparse.Namespace) -> None:
    from lm_eval_stereoset.benchmarks.declaration import Fetch
    from lm_eval_stereoset.data.store import folder_of

    benchmark, named = benchmark_or_source(args.benchmark)
    clone = Path(args.clone) if args.clone else None
    if clone is not None and not (clone.is_dir() or (clone.is_file() and benchmark.making)):
        raise UserError(f"--from {clone}: no such folder")
    splits = _known("--split", args.split, benchmark.splits)
    asked = args.source or named
    if named and args.source not in (None, named):
        raise UserError(f"{named} is a source itself; leave out --source {args.source}")
    if asked is None and args.language:  # the usual source of the first language
        asked = next(iter(benchmark.sources_of(args.language[0])), None)
    (source,) = _known("--source", [asked] if asked else None, tuple(benchmark.sources))[:1]
    languages = _known(
        "--language", args.language, benchmark.sources[source].languages or benchmark.languages
    )
    wanted = Fetch(languages, splits, clone, source, args.revision, args.force, args.insist)
    paths = benchmark.sources[source].fetch(benchmark, wanted)
    print(f"{len(paths)} files in {folder_of(benchmark)}; `stereoset data list` shows them")


def benchmark_or_source(name: str) -> tuple["Benchmark", str | None]:
    """`stereoset data fetch ptbr` names a source; the benchmark that it belongs to follows from that."""
    from lm_eval_stereoset.benchmarks import names, registered

    for benchmark in registered():
        source = benchmark.sources.get(name)
        if name not in names() and source is not None and source.languages:
            return benchmark, name
    return with_data(name), None


def with_data(name: str) -> "Benchmark":
    from lm_eval_stereoset.benchmarks import find

    benchmark = find(name)
    if benchmark.words is not None:
        raise UserError(
            f"{name} asks about the data of {benchmark.data_name}; say {benchmark.data_name} instead"
        )
    return benchmark


def _known(flag: str, asked: list[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """What was asked for, or all that there is."""
    if unknown := [name for name in asked or () if name not in known]:
        raise UserError(f"{flag} {', '.join(unknown)} is not known; choose from {', '.join(known)}")
    return tuple(asked or known)


def list_data(args: argparse.Namespace) -> int:
    """All files that can be read are listed; damaged ones are named after them, and make the exit code 2."""
    from lm_eval_stereoset.benchmarks import with_own_data
    from lm_eval_stereoset.data import store

    found, damaged = [], []
    for benchmark in with_own_data():
        for language in store.languages_in(benchmark):
            for split in benchmark.stored_splits:
                if store.file_of(benchmark, split, language).is_file():
                    try:
                        found.append(store.load(benchmark, split, language))
                    except UserError as error:
                        damaged.append(str(error))
    if args.json:
        rows = [{"benchmark": d.benchmark.name, "file": str(d.path)} | d.describe() for d in found]
        print(json.dumps(rows, indent=2))
    else:
        print_data(store.data_folder(), found, len(damaged))
    for message in damaged:
        print(f"stereoset data: {message}", file=sys.stderr)
    return 2 if damaged else 0


def print_data(folder: Path, found: Sequence, damaged: int) -> None:
    print(f"Data folder: {folder}")
    if not found:
        if not damaged:
            print("It is empty; `stereoset data fetch` fills it, and a task fetches what it needs by itself.")
        return
    header = f"{'benchmark':<10} {'split':<9} {'lang':<6} {'examples':>8} {'clusters':>8}  "
    print(f"{header}{'version':<20} {'sha256':<12}  source")
    for d in found:
        clusters = len({e.cluster for e in d.examples})
        about = d.provenance
        print(
            f"{d.benchmark.name:<10} {d.benchmark.file_of(d.split):<9} {d.language:<6} {len(d.examples):>8} "
            f"{clusters:>8}  "
            f"{about.version:<20} {about.sha256[:12]:<12}  {about.source}"
        )


def check(args: argparse.Namespace) -> int:
    from lm_eval_stereoset.benchmarks.stereoset.census import take

    benchmark = with_data(args.benchmark)
    if benchmark.census:
        return check_by_benchmark(benchmark, args)
    if benchmark.name != "stereoset" or args.tokenizer:
        raise UserError(
            f"--benchmark {benchmark.name}: its files cannot be checked beyond `stereoset data list`"
        )
    taken = [take(path) for path in args.files]
    if args.json:
        print(json.dumps([census.to_dict() for census in taken], indent=2))
    else:
        for census in taken:
            print_census(census, args.list)
    return 1 if any(census.errors for census in taken) else 0


def check_by_benchmark(benchmark: "Benchmark", args: argparse.Namespace) -> int:
    tokenizer = None
    if args.tokenizer:
        from transformers import AutoTokenizer

        from lm_eval_stereoset.scoring.checkpoint import one_line

        tokenizer = one_line(args.tokenizer, lambda: AutoTokenizer.from_pretrained(args.tokenizer))
    assert benchmark.census is not None
    taken = [benchmark.census(benchmark, Path(file), tokenizer) for file in args.files]
    if args.json:
        print(json.dumps([one.to_dict() for one in taken], indent=2))
    else:
        print("\n".join(line for one in taken for line in one.lines()))
    return 1 if any(one.errors for one in taken) else 0


def print_census(census: "Census", names: bool) -> None:
    from lm_eval_stereoset.benchmarks.stereoset.census import ODDITIES
    from lm_eval_stereoset.benchmarks.stereoset.example import BIAS_TYPES

    types = ", ".join(f"{name} {census.bias_types[name]}" for name in BIAS_TYPES)
    print(f"{census.path}  ({census.split}, sha256 {census.sha256[:12]})")
    print(f"  {census.examples} examples ({types}), {len(census.targets)} target terms")
    for name, ids in census.oddities.items():
        print(f"  {len(ids):>6}  {ODDITIES[name]}")
        if names:
            print("".join(f"            {id_}\n" for id_ in ids), end="")
    print(
        f"  {census.compared:>6}  examples with an id of StereoSet's: labels, bias types and English targets compared"
        + ("" if census.compared == census.examples else "; the others cannot be compared")
    )
    print(f"  {len(census.errors):>6}  errors")
    for error in census.errors:
        print(f"          {error}")


def add(args: argparse.Namespace) -> None:
    from lm_eval_stereoset.benchmarks import in_words
    from lm_eval_stereoset.data.adding import add as add_data
    from lm_eval_stereoset.harness.yaml_tasks import own_task_files, own_task_names

    benchmark = with_data(args.benchmark)
    language = f"{args.language}_{args.name}" if args.name else args.language
    if args.name is not None and not re.fullmatch("[a-z0-9]+", args.name):
        raise UserError(
            f"--name {args.name}: give small letters and digits, such as mine; task names end in it"
        )
    added = add_data(benchmark, Path(args.folder), language, args.version, args.replace, own_task_files)
    tasks = own_task_names(benchmark, language)
    in_chat = [task for one in in_words(benchmark) for task in own_task_names(one, language)]
    for d in added:
        print(f"{d.split}/{d.language}: {len(d.examples)} examples, version {d.provenance.version}")
    kept = [s for s in benchmark.splits if s not in {d.split for d in added}]
    if kept and len(tasks) > len(added):
        print(f"{kept[0]}/{language}: still the data added before; {tasks[-1]} pools it with the new")
    print(f"tasks: {', '.join([*tasks, *in_chat])}; try")
    print(f"  stereoset run --model hf --model_args pretrained=MODEL --tasks {tasks[-1]}")
