"""A report of 6 models in 5 languages, all examples: seconds, memory and size of the page.

python performance/report.py [--keep DIR] [--models 6] [--json FILE]

Needs the real data in the data folder (`stereoset data fetch`). Writes result folders as the harness does, with every
field of its samples, and made-up scores; then runs the command in a process of its own. Prints a table, then JSON.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, Example
from lm_eval_stereoset.data import store
from lm_eval_stereoset.harness.aggregation import contributions, harness_metrics
from lm_eval_stereoset.harness.docs import doc_to_choice, doc_to_text, example_to_doc

TIME = "2025-01-01T00-00-00.000000"


def sample(example: Example, doc: dict, number: int, scores: np.ndarray, names: list[str]) -> str:
    """One line as `--log_samples` writes it, with its arguments, hashes and metrics."""
    text, choices = doc_to_text(doc), doc_to_choice(doc)
    logged = [[str(score), "False"] for score in scores]
    line = {
        "doc_id": number, "doc": doc, "target": "0",
        "arguments": {f"gen_args_{i}": {"arg_0": text, "arg_1": choice} for i, choice in enumerate(choices)},
        "resps": [[answer] for answer in logged], "filtered_resps": logged, "filter": "none", "metrics": names,
        "doc_hash": "0" * 64, "prompt_hash": "0" * 64, "target_hash": "0" * 64,
    }  # fmt: skip
    means = [score / count for score, count in zip(scores, doc["counts"], strict=True)]
    return json.dumps(line | contributions(STEREOSET, SPLITS, example, means), ensure_ascii=False)


def write_run(root: Path, model: str, language: str, seed: int) -> int:
    """A model leans to the stereotype by its own measure, more about some targets than about others."""
    rng = np.random.default_rng(seed)
    folder = root / model
    folder.mkdir(parents=True, exist_ok=True)
    task, names = f"stereoset_{language}", list(harness_metrics(STEREOSET, SPLITS))
    lean = {}
    lines, data = [], []
    for split in SPLITS:
        dataset = store.load(STEREOSET, split, language)
        data.append({"split": split, "language": language} | dataset.describe())
        for example in dataset.examples:
            doc = example_to_doc(STEREOSET, example, language) | {
                "counts": [9, 9, 9],
                "normaliser": f"tokens of {model}",
            }
            bias = lean.setdefault(example.target_original, rng.normal(0.15 * (seed % 5), 0.5))
            shift = {"stereotype": bias, "anti-stereotype": 0.0, "unrelated": -2.5}
            scores = -40 + 3 * rng.normal(size=3) + [3 * shift[c["label"]] for c in doc["candidates"]]
            lines.append(sample(example, doc, len(lines), scores, names))
    results = {
        "results": {task: {"alias": task}},
        "configs": {task: {"metadata": {"provenance": {"data": data, "normaliser": f"tokens of {model}"}}}},
        "n-samples": {task: {"original": len(lines), "effective": len(lines)}},
        "model_name": model, "model_source": "hf",
    }  # fmt: skip
    # A folder of the harness has one results file a run; the language makes the time different.
    stamp = TIME.replace("00.000000", f"{list(STEREOSET.languages).index(language):02}.000000")
    (folder / f"results_{stamp}.json").write_text(json.dumps(results))
    path = folder / f"samples_{task}_{stamp}.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path.stat().st_size


def timed(arguments: list[str]) -> tuple[float, float]:
    """Seconds, and the largest memory of any child so far in MB."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "lm_eval_stereoset", "report", *arguments], check=True)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=6)
    parser.add_argument("--keep", metavar="DIR", help="write results and report there and keep them")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    root = Path(args.keep or tempfile.mkdtemp(prefix="stereoset-benchmark-"))
    try:
        size = sum(
            write_run(root / "results", f"model-{m}", language, seed=10 * m + i)
            for m in range(args.models)
            for i, language in enumerate(STEREOSET.languages)
        )
        page = root / "report.html"
        seconds, memory = timed([str(root / "results"), "-o", str(page)])
        page_size = page.stat().st_size / 1e6
        extras = ["--tables", str(root / "tables"), "--figures", str(root / "figures")]
        everything, _ = timed([str(root / "results"), "-o", str(page), *extras])
        result = {
            "models": args.models, "languages": len(STEREOSET.languages), "samples_mb": round(size / 1e6),
            "page_seconds": round(seconds, 1), "with_tables_and_figures_seconds": round(everything, 1),
            "peak_memory_mb": round(memory), "page_mb": round(page_size, 2),
        }  # fmt: skip
        print("\n".join(f"{key:34}{value:>10}" for key, value in result.items()))
        print(json.dumps(result))
        if args.json:
            Path(args.json).write_text(json.dumps(result) + "\n")
    finally:
        if not args.keep:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
