"""How fast and in how much memory models are scored, beside other ways to do it. Random weights at real sizes.

    python performance/scoring.py                                     # all six models, 120 examples each
    python performance/scoring.py --models gpt2 --examples 300 --languages en de
    python performance/scoring.py --scaling --models gpt2             # 500, 2,000 and all examples

(a) ours, (b) the harness's own `hf` (causal models), (c) the plain published method: every unmasking step of every
candidate, all positions, full softmax, batches of 16 as they come, padded to their longest (T5: greedy generation of
two tokens), (d) the time that the matrix products of (a) take at this machine's measured peak. Sides alternate, the
best of --repeats counts; (a) and (b) run at their best batch size. Tokenizers and data come from the folder
STEREOSET_SHARED. Rows are merged into performance/results/scoring.json, and scoring.md is made from it.
"""

import argparse
import ctypes
import gc
import json
import logging
import math
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scoring_sides import SIZES, build, examples_of, harness, ours, plain

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "performance" / "results" / "scoring.json"
OURS_TOKENS, HARNESS_SIZES = (512, 1024, 2048), (4, 16, 64)  # batches to choose the best of


# Measuring


def peak_gflops() -> float:
    """The fastest float32 matrix product of the shapes that models of this size use, by either library of torch."""
    from lm_eval_stereoset.scoring.cpu_linear import fast_linear

    best = 0.0
    with torch.inference_mode():
        for m, k, n in ((512, 768, 3072), (2048, 768, 3072), (2048, 3072, 768), (1024, 768, 768)):
            x, weight = torch.randn(m, k), torch.randn(n, k)
            for _ in range(6):
                for way in (nullcontext(), fast_linear(x.device)):
                    with way:
                        start = time.perf_counter()
                        torch.nn.functional.linear(x, weight)
                        best = max(best, 2 * m * k * n / (time.perf_counter() - start) / 1e9)
    return best


def measured(run: Callable[[], list[float]]) -> tuple[float, float, list[float]]:
    """Seconds, peak memory beyond what was there before (MiB), and the result."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # starts a new peak
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, (_memory("VmHWM") - before) / 1024, result


def _memory(key: str) -> int:
    """KiB, from Linux's account of this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key))


def matrix_flops(run: Callable[[], list[float]]) -> float:
    from torch.utils.flop_counter import FlopCounterMode

    def linear(x, weight, *_, **__) -> int:
        return 2 * math.prod(x) * weight[0]

    def attention(query, key, *_, **__) -> int:
        return 4 * math.prod(query) * key[-2]

    products = {
        torch.ops.mkldnn._linear_pointwise: linear,
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: attention,
    }
    with FlopCounterMode(display=False, custom_mapping=products) as counter:
        run()
    return float(counter.get_total_flops())


def best_of(make: Callable[[int], Callable], settings: tuple[int, ...]) -> int:
    """The setting that scores a few examples fastest, each tried twice."""
    times = {value: min(measured(make(value))[0] for _ in range(2)) for value in settings}
    return min(times, key=times.__getitem__)


def compare(name: str, split: str, language: str, count: int, repeats: int) -> dict[str, Any]:
    size = SIZES[name]
    model, tokenizer = build(size)
    examples = examples_of(split, language, count)
    few = examples[:: max(1, len(examples) // 40)]
    tokens = best_of(lambda t: ours(model, tokenizer, few, size.family, split, t), OURS_TOKENS)
    sides = {"a": ours(model, tokenizer, examples, size.family, split, tokens)}
    row: dict[str, Any] = {"model": name, "split": split, "language": language, "examples": len(examples)}
    row |= {"note": size.note, "batch_tokens": tokens}
    if size.family == "causal":
        row["harness_batch"] = best_of(lambda n: harness(model, tokenizer, few, split, n), HARNESS_SIZES)
        sides["b"] = harness(model, tokenizer, examples, split, row["harness_batch"])
    else:
        sides["c"] = plain(model, tokenizer, examples, size.family, split)
    seconds, memory, results = {s: [] for s in sides}, {s: [] for s in sides}, {}
    peaks = [peak_gflops()]
    for _ in range(repeats):
        for side, run in sides.items():
            took, held, results[side] = measured(run)
            seconds[side].append(took)
            memory[side].append(held)
        peaks.append(peak_gflops())
    for side in sides:
        row[f"{side}_s_per_1000"] = 1000 * min(seconds[side]) / len(examples)
        row[f"{side}_peak_mib"] = min(memory[side])
    other = "b" if "b" in sides else "c"
    row["speedup"] = min(seconds[other]) / min(seconds["a"])
    row["peak_gflops"] = max(peaks)
    row["d_s_per_1000"] = 1000 * matrix_flops(sides["a"]) / (1e9 * max(peaks)) / len(examples)
    row["of_peak"] = row["d_s_per_1000"] / row["a_s_per_1000"]
    same = (
        results["a"] if other == "b" else ours(model, tokenizer, examples, size.family, split, tokens, True)()
    )
    difference = np.abs(np.array(same) / np.array(results[other]) - 1)  # (c) is what exact=True reproduces
    row["median_difference"], row["largest_difference"] = (
        float(np.median(difference)),
        float(difference.max()),
    )
    return row


def scaling(name: str, split: str, language: str) -> dict[str, Any]:
    size = SIZES[name]
    model, tokenizer = build(size)
    everything = examples_of(split, language, None)
    row: dict[str, Any] = {"model": name, "split": split, "language": language, "points": []}
    ours(model, tokenizer, everything[:50], size.family, split, None)()
    for count in (500, 2000, len(everything)):
        run = ours(model, tokenizer, examples_of(split, language, count), size.family, split, None)
        took, held = (min(column) for column in zip(*(measured(run)[:2] for _ in range(2)), strict=True))
        row["points"].append(
            {"examples": count, "seconds": took, "s_per_1000": 1000 * took / count, "mib": held}
        )
    return row


# The tables

COLUMNS = (
    ("model", "model"),
    ("split", "split"),
    ("language", "data"),
    ("examples", "examples"),
    ("a_s_per_1000", "(a) ours s"),
    ("b_s_per_1000", "(b) hf s"),
    ("c_s_per_1000", "(c) plain s"),
    ("d_s_per_1000", "(d) peak s"),
    ("speedup", "(b or c) / (a)"),
    ("of_peak", "(d) / (a)"),
    ("a_peak_mib", "(a) MiB"),
    ("b_peak_mib", "(b) MiB"),
    ("c_peak_mib", "(c) MiB"),
    ("batch_tokens", "(a) tokens"),
    ("harness_batch", "(b) batch"),
)


def markdown(results: dict[str, Any]) -> str:
    lines = [
        "# Speed and memory of scoring",
        "",
        "Random weights at real sizes, float32, "
        f"{results['threads']} CPU threads; times in seconds per 1,000 examples (three candidates each), "
        "memory beyond the loaded model. Made by `python performance/scoring.py`, which says what (a) to (d) are.",
        "",
        "| " + " | ".join(title for _, title in COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
    ]
    for row in results["comparison"].values():
        lines.append("| " + " | ".join(_cell(key, row.get(key)) for key, _ in COLUMNS) + " |")
    lines += [
        "",
        "Cost against the number of examples:",
        "",
        "| model | split | data | examples | seconds | s per 1,000 | MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in results["scaling"].values():
        for p in row["points"]:
            lines.append(
                f"| {row['model']} | {row['split']} | {row['language']} | {p['examples']} | {p['seconds']:.1f} | "
                f"{p['s_per_1000']:.1f} | {p['mib']:.0f} |"
            )
    notes = {row["model"]: row["note"] for row in results["comparison"].values() if row["note"]}
    lines += ["", *(f"- {name}: {note}." for name, note in notes.items())]
    return "\n".join(lines) + "\n"


def _cell(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key == "of_peak":
        return f"{100 * value:.0f} %"
    if key == "speedup":
        return f"{value:.2f}"
    if key.endswith("mib"):
        return f"{value:.0f}"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=SIZES, default=list(SIZES), metavar="NAME")
    parser.add_argument("--splits", nargs="+", choices=("intra", "inter"), default=["intra", "inter"])
    parser.add_argument("--languages", nargs="+", default=["en"])
    parser.add_argument("--examples", type=int, default=120)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scaling", action="store_true", help="500, 2,000 and all examples, ours only")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    from lm_eval_stereoset.files import atomic_write, read_json, write_json

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    results = read_json(options.output) if options.output.exists() else {"comparison": {}, "scaling": {}}
    results |= {"threads": torch.get_num_threads(), "torch": torch.__version__}
    for name in options.models:
        for split in options.splits:
            if split == "inter" and SIZES[name].family == "masked":
                continue  # next-sentence heads: one pass a candidate, nothing to compare
            for language in options.languages:
                if options.scaling:
                    kind, row = "scaling", scaling(name, split, language)
                else:
                    kind = "comparison"
                    row = compare(name, split, language, options.examples, options.repeats)
                results[kind][f"{name} {split} {language}"] = row
                print(json.dumps(row), flush=True)
                write_json(options.output, results)
    with atomic_write(options.output.with_suffix(".md")) as handle:
        handle.write(markdown(results))
    print(markdown(results))


if __name__ == "__main__":
    main()
