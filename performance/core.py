"""Times of what every user waits for: help, loading, bootstrap, replay.

python performance/core.py [--json FILE]

Needs the real data in the data folder for the lines that say so (`stereoset data fetch`); prints a table, then JSON.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lm_eval_stereoset.benchmarks.evaluation import Scored, evaluate
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.metrics import columns_of
from lm_eval_stereoset.data import store
from lm_eval_stereoset.harness.task import load_docs
from lm_eval_stereoset.stats import bootstrap
from lm_eval_stereoset.stats.bootstrap import cluster_sums


def drawn(targets, columns):
    return bootstrap.draw(cluster_sums(targets, *columns.T), STEREOSET.statistics)


def best_of(function: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs: the machine's noise only ever adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def command(*arguments: str) -> Callable[[], object]:
    return lambda: subprocess.run(
        [sys.executable, "-m", "lm_eval_stereoset", *arguments], check=True, capture_output=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    columns = columns_of([], rng.random((4229, 3)))
    targets = rng.integers(0, 79, 4229).astype(str)
    seconds = {
        "stereoset --help": best_of(command("--help")),
        "stereoset data --help": best_of(command("data", "--help")),
        "stereoset run --help": best_of(command("run", "--help")),
        "bootstrap, 2,000 draws, 4,229 examples": best_of(lambda: drawn(targets, columns)),
    }
    folder = store.data_folder()
    if store.file_in(folder, "intra", "de").is_file() and store.file_in(folder, "inter", "de").is_file():
        parts = {}
        for split in ("intra", "inter"):
            examples = store.load(STEREOSET, split, "de").examples
            parts[split] = Scored(STEREOSET, examples, rng.random((len(examples), 3)))
        seconds |= {
            "read and validate intra/de (2,103 examples)": best_of(
                lambda: store.load(STEREOSET, "intra", "de")
            ),
            "task data of stereoset_de (4,226), bytes": best_of(lambda: load_docs("de", ["intra", "inter"])),
            "whole table with intervals (15 groups)": best_of(lambda: evaluate(parts)),
        }
    else:
        print(f"no German data in {folder}: those lines are left out", file=sys.stderr)
    for name, value in seconds.items():
        print(f"{name:<50} {1000 * value:8.1f} ms")
    text = json.dumps({name: round(value, 4) for name, value in seconds.items()}, indent=2)
    print(text)
    if args.json:
        args.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
