"""What `fuzz.py` spoils: valid files of every kind that users have, and the commands that read them."""

import csv
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzz_typing import enter, succeed

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Kind:
    """Valid files made once, which of them get spoilt, and the commands that read them."""

    make: Callable[[Path], None]
    spoilt: tuple[str, ...]
    commands: tuple[str, ...]
    outputs: tuple[str, ...] = ()  # files that a command is asked to bring up to date, if it ends well


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
    for name in ("p.json", "q.json"):
        (folder / name).write_text(json.dumps(content))


def make_results(folder: Path) -> None:
    """A real run of a tiny model: results and samples."""
    models = os.environ["FUZZ_MODELS"]
    succeed(
        f"stereoset run --model hf --model_args pretrained={models}/gpt2 --tasks stereoset_en --metadata data=sample "
        "--output_path results --log_samples",
        folder,
    )
    for file in list(folder.rglob("*.json*")):
        file.rename(folder / ("samples.jsonl" if file.name.startswith("samples") else "results_1.json"))


def make_sheets(folder: Path) -> None:
    sample_into(folder / "stereoset-it" / "raw", "it", "es")
    succeed("stereoset translate repair --to it --data sample", folder)
    succeed("stereoset translate review --to it --data sample --everything", folder)
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
        enter(PREDICT, folder)
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


def make_limits(folder: Path) -> None:
    make_predictions(folder)
    shutil.copy(folder / "p.json", folder / "base.json")
    limits = [
        {"metric": "ss", "within": 40, "languages": ["en"], "split": "overall", "certainty": "beyond doubt"},
        {"metric": "icat", "at_least": 0.5, "certainty": "at all"},
        {"metric": "lms", "at_most": 99, "group": "gender"},
        {"metric": "icat", "no_worse_than": "M:en=base.json", "by": 2},
    ]
    rows = [", ".join(f"{key}: {json.dumps(value)}" for key, value in limit.items()) for limit in limits]
    (folder / "gate.yaml").write_text("limits:\n" + "".join(f"  - {{{row}}}\n" for row in rows))


def make_card(folder: Path) -> None:
    make_predictions(folder)
    (folder / "README.md").write_text("---\nlicense: mit\ntags: [a, b]\n---\n# My model\n\nWords of mine.\n")
    succeed(PUBLISH, folder)


def make_gest(folder: Path) -> None:
    """A GEST of 48 sentences in two versions, Slovak translations, and our rules."""
    rows = [(f"I did the thing number {n}.", n % 16 + 1) for n in range(48)]
    for name, verb in (("gest.csv", "did"), ("gest_1.1.csv", "have done")):
        (folder / "clone").mkdir(exist_ok=True)
        with open(folder / "clone" / name, "w", newline="", encoding="utf-8") as handle:
            texts = [(text.replace("did", verb), number) for text, number in rows]
            csv.writer(handle).writerows([("sentence", "stereotype"), *texts])
    with open(folder / "sk.csv", "w", newline="", encoding="utf-8") as handle:
        slovak = [(text, f"Včera som {'urobila' if n < 8 else 'urobil'} vec číslo {n}.") for text, n in rows]
        csv.writer(handle).writerows([("from", "to"), *slovak])
    rules = ROOT / "lm_eval_stereoset" / "benchmarks" / "gest" / "mt" / "rules" / "sk.yaml"
    shutil.copy(rules, folder / "rules.yaml")


def make_cache(folder: Path) -> None:
    make_checkpoint("gpt2")(folder)
    succeed(CACHED, folder)


CACHED = (
    "stereoset run --model stereoset-hf --model_args pretrained=model --tasks stereoset_intra_en "
    "--metadata data=sample --limit 4 --use_cache cache"
)
PUBLISH = "stereoset publish M:en=p.json --data sample --partial --model-card README.md --eval-results ."
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
         "stereoset report M:en=p.json --data sample -o r.html",
         "stereoset compare M:en=p.json N:en=q.json --data sample -o difference.txt",
         "stereoset compare N:en=q.json M:en=p.json --data sample --json"),
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
    "limits": Kind(
        make_limits,
        ("gate.yaml", "gate.yaml", "base.json"),
        ("stereoset gate M:en=p.json --data sample --config gate.yaml --junit gate.xml",),
    ),
    "cards": Kind(
        make_card,
        ("README.md", "README.md", "p.json"),
        (PUBLISH,),
        ("README.md", ".eval_results/stereoset.yaml"),
    ),
    "translations": Kind(
        make_gest,
        ("sk.csv", "clone/gest.csv", "clone/gest_1.1.csv", "rules.yaml"),
        ("stereoset gest-mt score sk.csv --language sk --data clone --rules rules.yaml -o rates.json",),
    ),
    "caches": Kind(make_cache, ("cache_rank0.db",), (CACHED,), ("cache_rank0.db",)),
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
    "rules": 3,
    "limits": 3,
    "cards": 2,
    "translations": 3,
    "notes": 1,
    "settings": 1,
}
