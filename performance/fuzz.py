"""Thousands of spoilt files, typed into the commands that read them.

    python performance/fuzz.py --cases 5000 [--seed 1] [--only sheets] [--keep DIR]

Each case takes valid files (data, predictions, samples, results, review sheets, rules, settings, checkpoints, notes of
an interrupted run), spoils one of them, and runs a command on it in a process of its own. What must hold every time:
exit code 0, 1 or 2, no traceback, an end within the time limit, no code run from a file, every input unchanged.
Prints a table and JSON; the files of a case that broke a rule are kept in DIR for a closer look.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "translation"), str(ROOT / "tests" / "end_to_end")]
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "ACCELERATE_USE_CPU": "true"}
os.environ |= {"OMP_NUM_THREADS": "1"}

from fuzz_spoiling import spoil_file  # noqa: E402

SECONDS = 60


@dataclass(frozen=True)
class Kind:
    """Valid files made once, which of them get spoilt, and the commands that read them."""

    make: Callable[[Path], None]
    spoilt: tuple[str, ...]
    commands: tuple[str, ...]


def sample_into(folder: Path, language: str, source: str) -> None:
    from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
    from lm_eval_stereoset.data.store import file_in

    for split in ("intra", "inter"):
        file_in(folder, split, language).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file_in(BENCHMARK.sample, split, source), file_in(folder, split, language))


def make_data(folder: Path) -> None:
    sample_into(folder / "own", "xx", "de")


def make_predictions(folder: Path) -> None:
    from lm_eval_stereoset.benchmarks.stereoset.data import load

    generator = random.Random(0)
    content = {}
    for key, split in (("intrasentence", "intra"), ("intersentence", "inter")):
        candidates = [c for e in load(split, "en", "sample").examples for c in e.candidates]
        content[key] = [{"id": c.id, "score": generator.random()} for c in candidates]
    (folder / "p.json").write_text(json.dumps(content))


def make_results(folder: Path) -> None:
    """A real run of a tiny model: results and samples."""
    models = os.environ["FUZZ_MODELS"]
    run(
        f"stereoset run --model hf --model_args pretrained={models}/gpt2 --tasks stereoset_en --metadata data=sample "
        "--output_path results --log_samples",
        folder,
    )
    for file in list(folder.rglob("*.json*")):
        file.rename(folder / ("samples.jsonl" if file.name.startswith("samples") else "results_1.json"))


def make_sheets(folder: Path) -> None:
    sample_into(folder / "stereoset-it" / "raw", "it", "es")
    run("stereoset translate repair --to it --data sample", folder)
    run("stereoset translate review --to it --data sample --everything", folder)
    for ending in ("csv", "xlsx"):
        shutil.move(folder / "stereoset-it" / f"review.{ending}", folder / f"review.{ending}")


def make_rules(folder: Path) -> None:
    sample_into(folder / "in", "it", "es")
    shutil.copy(
        ROOT / "translation" / "stereoset_translation" / "rules" / "generic.yaml", folder / "rules.yaml"
    )


def make_checkpoint(kind: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        shutil.copytree(Path(os.environ["FUZZ_MODELS"]) / kind, folder / "model")
        sample_into(folder / "own", "xx", "de")
        for split in ("intra", "inter"):  # a few examples are enough to see what a checkpoint gives
            file = folder / "own" / split / "xx.jsonl"
            file.write_text("".join(file.read_text().splitlines(keepends=True)[:4]))

    return make


def make_notes(folder: Path) -> None:
    """What an interrupted `predict` has left: the identity of the run, then scores."""
    make_checkpoint("gpt2")(folder)
    if os.fork() == 0:  # killed at the last moment, before the notes become the file
        from lm_eval_stereoset.benchmarks import prediction_files

        prediction_files.write = lambda *_: os._exit(0)
        enter(PREDICT, folder, {})
    os.wait()
    assert (folder / "p.json.part").is_file(), (folder.parent / "err").read_text()


def make_settings(folder: Path) -> None:
    shutil.copytree(Path(os.environ["FUZZ_MODELS"]) / "pairs", folder / "pairs")
    shutil.copytree(Path(os.environ["FUZZ_MODELS"]) / "gpt2", folder / "model")
    settings = {
        "batch_size": 8,
        "accumulation": 1,
        "max_examples": 16,
        "eval_examples": 8,
        "test_examples": 8,
    }
    lines = [f"{name}: {value}\n" for name, value in (settings | {"tracker": "none"}).items()]
    (folder / "own.yaml").write_text("".join(lines))


PREDICT = "stereoset predict model --language xx --data own -o p.json --quiet"
WEIGHTS = (
    "model/config.json",
    "model/model.safetensors",
    "model/tokenizer.json",
    "model/tokenizer_config.json",
)
KINDS = {
    "data": Kind(
        make_data,
        ("own/intra/xx.jsonl", "own/inter/xx.jsonl"),
        ("stereoset data check own/intra/xx.jsonl own/inter/xx.jsonl", "stereoset data add own --language xx"),
    ),
    "predictions": Kind(
        make_predictions,
        ("p.json",),
        ("stereoset score p.json -l en --data sample -o scores.csv",
         "stereoset report M:en=p.json --data sample -o r.html"),
    ),
    "samples": Kind(
        make_results,
        ("samples.jsonl",),
        ("stereoset score samples.jsonl", "stereoset report . -o r.html"),
    ),
    "results": Kind(make_results, ("results_1.json",), ("stereoset report . -o r.html",)),
    "sheets": Kind(
        make_sheets,
        ("review.csv", "review.xlsx"),
        ("stereoset translate apply review.csv --to it --data sample --by Ada",
         "stereoset translate apply review.xlsx --to it --data sample --by Ada"),
    ),
    "rules": Kind(
        make_rules,
        ("rules.yaml", "in/intra/it.jsonl"),
        ("stereoset translate repair --to it --input in --output fixed --rules rules.yaml --data sample",),
    ),
    "notes": Kind(make_notes, ("p.json.part",), (PREDICT,)),
    "settings": Kind(
        make_settings,
        ("own.yaml", "pairs/statistics.json"),
        ("nsp_finetune train --preset own.yaml --base model --pairs pairs --output m",),
    ),
} | {
    f"checkpoint {kind}": Kind(make_checkpoint(kind), WEIGHTS, (PREDICT + more,))
    for kind, more in (("bert", ""), ("gpt2", ""), ("t5", ""), ("nsp-decoder", " --split inter"))
}  # fmt: skip
SHARE = {
    "data": 5,
    "predictions": 5,
    "samples": 4,
    "results": 4,
    "sheets": 5,
    "rules": 4,
    "notes": 1,
    "settings": 1,
}


def enter(command: str, folder: Path, more: dict[str, str]) -> None:
    """In the child: becomes the command. Never returns."""
    os.setpgid(0, 0)
    os.chdir(folder)
    os.environ.update({"STEREOSET_DATA": str(folder / "data"), **more})
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    program, *arguments = command.split()
    code = 70
    try:
        if program == "stereoset":
            from lm_eval_stereoset.cli import main

            code = main(arguments)
        else:
            from lm_eval_stereoset.cli import guarded
            from nsp_finetune.cli import main as train

            code = guarded("nsp_finetune", lambda: train(arguments))
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


def run(command: str, folder: Path, more: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit code and output; 124 for a command that did not end in time."""
    child = os.fork()
    if child == 0:
        enter(command, folder, more or {})
    end = time.monotonic() + SECONDS
    while not (done := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 124, ""
        time.sleep(0.002)
    texts = [(folder.parent / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err")]
    return os.waitstatus_to_exitcode(done[1]), "".join(texts)


def checksums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(".part") and "stereoset-it" not in path.parts
    }


def broken_rule(code: int, text: str, before: dict[str, str], folder: Path) -> str | None:
    if code == 124:
        return "hang"
    if "Traceback (most recent" in text or code not in (0, 1, 2):
        return "traceback"
    if (folder / "executed").exists():
        return "execution"
    after = checksums(folder)
    if any(after.get(name) != digest for name, digest in before.items()):
        return "input changed"
    lines = [line for line in text.splitlines() if line.startswith(("stereoset ", "nsp_finetune: "))]
    if code == 2 and len(lines) != 1 and "usage:" not in text:
        return "not one line"
    return None


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
        code, text = run(command, folder)
        assert code == 0, text


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(KINDS), action="append")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--json", type=Path)
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
        one_case(base, name, random.Random(f"{args.seed} {number}"), number, counts[name], args.keep)
        if number % 250 == 249:
            print(f"{number + 1} cases, {time.monotonic() - started:.0f} s", file=sys.stderr)
    shutil.rmtree(base)
    return show(counts, args.json)


def try_unspoilt(base: Path, name: str) -> None:
    """Every command must succeed on its files as they are, or spoiling them would show nothing."""
    for command in KINDS[name].commands:
        work = base / "case" / "here"
        shutil.rmtree(work.parent, ignore_errors=True)
        shutil.copytree(base / name, work)
        code, text = run(command, work)
        assert code == 0, f"{name}: {command}\n{text}"


def one_case(
    base: Path, name: str, generator: random.Random, number: int, count: Counter, keep: Path
) -> None:
    work = base / "case" / "here"
    shutil.rmtree(work.parent, ignore_errors=True)
    shutil.copytree(base / name, work)
    kind = KINDS[name]
    file = generator.choice(kind.spoilt)
    matching = [command for command in kind.commands if Path(file).name in command] or list(kind.commands)
    command = generator.choice(matching)
    how = spoil_file(work / file, generator, work)
    before = checksums(work)
    code, text = run(command, work)
    rule = broken_rule(code, text, before, work)
    count[rule or f"exit {code}"] += 1
    if rule:
        kept = keep / f"{name.replace(' ', '_')}-{number}"
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
