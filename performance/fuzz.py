"""Thousands of spoilt files, typed into the commands that read them.

    python performance/fuzz.py --cases 5000 [--seed 1] [--only sheets] [--keep DIR]

Each case takes valid files (data, predictions, samples, results, review sheets, rules, limits, model cards,
translations, settings, checkpoints, caches, notes of an interrupted run), spoils one of them, and runs a command on
it in a process of its own. What must hold every time: exit code 0, 1 or 2, no traceback, an end within the time limit,
no code run from a file, every input unchanged.
Prints a table and JSON; the files of a case that broke a rule are kept in DIR for a closer look.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "translation"), str(ROOT / "tests" / "end_to_end")]
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "ACCELERATE_USE_CPU": "true"}
os.environ |= {"OMP_NUM_THREADS": "1"}

from fuzz_kinds import KINDS, SHARE  # noqa: E402
from fuzz_spoiling import spoil_file  # noqa: E402
from fuzz_typing import broken_rule, checksums, run, succeed  # noqa: E402


def import_everything() -> None:
    """Once, before the first fork, so that a case costs milliseconds."""
    import importlib
    import pkgutil

    import stereoset_translation

    import lm_eval_stereoset
    import nsp_finetune

    for package in (lm_eval_stereoset, stereoset_translation, nsp_finetune):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in ("transformers", "lm_eval.evaluator", "lm_eval.models.huggingface", "openpyxl", "pandas"):
        importlib.import_module(name)
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer  # noqa: F401


def make_models(folder: Path) -> None:
    """In a child, so that this process stays without threads."""
    shared = Path(os.environ.get("STEREOSET_SHARED", ROOT.parent / "shared"))
    os.environ["NLTK_DATA"] = str(shared / "nltk_data")
    if os.fork() == 0:
        from end_to_end_models import make_all, write_corpus

        make_all(folder)
        write_corpus(folder / "corpus.jsonl")
        os._exit(0)
    os.wait()
    commands = (
        "nsp_finetune prepare --corpus en=corpus.jsonl --output pairs --held-out 0.1 --workers 1",
        "nsp_finetune train --base gpt2 --pairs pairs --output nsp-decoder --max-examples 16 --batch-size 8 "
        "--accumulation 1 --eval-examples 8 --test-examples 8 --tracker none",
    )
    for command in commands:
        succeed(command, folder)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(KINDS), action="append")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=60, help="after which a command counts as hanging")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop after so many, with the table"
    )
    args = parser.parse_args()
    import_everything()
    base = Path(tempfile.mkdtemp(prefix="fuzz-"))
    (base / "models").mkdir()
    os.environ["FUZZ_MODELS"] = str(base / "models")
    make_models(base / "models")
    names = args.only or list(KINDS)
    for name in names:
        (base / name).mkdir()
        KINDS[name].make(base / name)
        try_unspoilt(base, name)
    generator = random.Random(args.seed)
    weights = [SHARE.get(name, 1.5) for name in names]
    counts: dict[str, Counter] = {name: Counter() for name in names}
    started = time.monotonic()
    for number in range(args.cases):
        (name,) = generator.choices(names, weights)
        one_case(base, name, random.Random(f"{args.seed} {number}"), number, counts[name], args)
        if number % 250 == 249:
            print(f"{number + 1} cases, {time.monotonic() - started:.0f} s", file=sys.stderr)
        if time.monotonic() - started > 60 * args.minutes:
            break
    shutil.rmtree(base)
    return show(counts, args.json)


def try_unspoilt(base: Path, name: str) -> None:
    """Every command must succeed on its files as they are, or spoiling them would show nothing."""
    for command in KINDS[name].commands:
        work = base / "case" / "here"
        shutil.rmtree(work.parent, ignore_errors=True)
        shutil.copytree(base / name, work)
        succeed(command, work)


def one_case(
    base: Path,
    name: str,
    generator: random.Random,
    number: int,
    count: Counter,
    args: argparse.Namespace,
) -> None:
    work = base / "case" / "here"
    shutil.rmtree(work.parent, ignore_errors=True)
    shutil.copytree(base / name, work)
    kind = KINDS[name]
    file = generator.choice(kind.spoilt)
    others = {Path(other).name for other in kind.spoilt} - {Path(file).name}
    matching = [c for c in kind.commands if Path(file).name in c or not any(name in c for name in others)]
    command = generator.choice(matching or kind.commands)  # a file that another one names
    how = spoil_file(work / file, generator, work)
    before = checksums(work)
    code, text = run(command, work, args.seconds)
    may_change = kind.outputs if code == 0 or Path(file).suffix == ".db" else ()
    rule = broken_rule(code, text, {n: d for n, d in before.items() if n not in may_change}, work)
    count[rule or f"exit {code}"] += 1
    if rule:
        kept = args.keep / f"{name.replace(' ', '_')}-{number}"
        shutil.copytree(work, kept, dirs_exist_ok=True)
        (kept / "case.txt").write_text(
            f"{rule}\n{command}\n{file}: {how}\nexit {code}\n{text}", encoding="utf-8"
        )
        print(f"case {number}, {name}: {rule} ({file}: {how})", file=sys.stderr)


def show(counts: dict[str, Counter], output: Path | None) -> int:
    columns = [
        "exit 0",
        "exit 1",
        "exit 2",
        "traceback",
        "hang",
        "execution",
        "input changed",
        "not one line",
    ]
    print(f"{'kind':<24}{'cases':>7}" + "".join(f"{column:>15}" for column in columns))
    rows = counts | {"all": sum(counts.values(), Counter())}
    for name, count in rows.items():
        print(f"{name:<24}{count.total():>7}" + "".join(f"{count[column]:>15}" for column in columns))
    text = json.dumps({name: dict(count) for name, count in rows.items()}, indent=2)
    print(text)
    if output:
        output.write_text(text + "\n")
    return int(any(rows["all"][column] for column in columns[3:]))


if __name__ == "__main__":
    sys.exit(main())
