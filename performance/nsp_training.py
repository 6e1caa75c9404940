"""Training throughput: batches of similar length against plain shuffled ones, in one run on the same pairs.

python performance/nsp_training.py --pairs PAIRS --tokenizer MODEL_DIR [--json FILE]

A GPT-2 of the given size with random weights (its speed is that of trained ones); blocks of optimiser steps of
the two kinds take turns, so that neither has the machine to itself.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path


def random_gpt2(tokenizer_folder: str, hidden: int, layers: int, folder: Path) -> None:
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=256, n_embd=hidden, n_layer=layers, n_head=hidden // 64
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="pairs a second, grouped by length and not")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--tokenizer", required=True, help="a model folder, for its tokenizer")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--accumulation", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10, help="of a block")
    parser.add_argument("--blocks", type=int, default=5, help="of each kind")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("ACCELERATE_USE_CPU", "true")

    from tqdm import tqdm

    from nsp_finetune.settings import TrainSettings
    from nsp_finetune.train import Run

    with tempfile.TemporaryDirectory() as temporary:
        random_gpt2(arguments.tokenizer, arguments.hidden, arguments.layers, Path(temporary) / "base")
        pairs_a_step = arguments.batch_size * arguments.accumulation
        runs = {}
        for name, grouped in (("grouped", True), ("shuffled", False)):
            settings = TrainSettings(
                base=f"{temporary}/base",
                batch_size=arguments.batch_size,
                accumulation=arguments.accumulation,
                group_by_length=grouped,
                max_examples=pairs_a_step * 50 * (1 + arguments.steps * arguments.blocks // 50),
                eval_examples=8,
                test_examples=8,
                tracker="none",
            )
            run = Run(settings, arguments.pairs, Path(temporary) / name, resume=False)
            run.bar = tqdm(disable=True)
            runs[name] = (run, run.epoch())
        rows = {name: {"pairs": 0, "tokens": 0, "padded_tokens": 0, "seconds": 0.0} for name in runs}
        for block in range(-1, arguments.blocks):  # one block to warm up
            for name, (run, steps) in runs.items():
                for _ in range(arguments.steps):
                    begin = time.perf_counter()
                    step, batches = next(steps)
                    run.optimise(step, batches)
                    seconds = time.perf_counter() - begin
                    if block >= 0:
                        row = rows[name]
                        row["seconds"] += seconds
                        for _, _, batch in batches:
                            row["pairs"] += len(batch["input_ids"])
                            row["tokens"] += int(batch["attention_mask"].sum())
                            row["padded_tokens"] += batch["input_ids"].numel()
    print(f"{'batches':>9} {'pairs/s':>8} {'tokens/s':>9} {'padding':>8}")
    for name, row in rows.items():
        row["pairs_per_second"] = row["pairs"] / row["seconds"]
        row["tokens_per_second"] = row["tokens"] / row["seconds"]
        padding = 1 - row["tokens"] / row["padded_tokens"]
        print(
            f"{name:>9} {row['pairs_per_second']:8.1f} {row['tokens_per_second']:9.0f} {100 * padding:7.1f}%"
        )
    # tokens, not pairs: the two kinds do not meet the long pairs at the same time
    gain = rows["grouped"]["tokens_per_second"] / rows["shuffled"]["tokens_per_second"]
    print(f"grouped by length: {gain:.2f} x")
    if arguments.json:
        arguments.json.write_text(json.dumps({**rows, "gain": gain}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
