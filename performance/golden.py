"""The golden scores under `stereoset predict` as a user types it: seven tiny checkpoints, batch sizes 1 and 32.

python performance/golden.py --golden ../shared/golden --clone ../shared/upstream/stereotypes-multi

Prints for each checkpoint and split the worst relative difference to the golden score, and how many of the
comparisons between two candidates of an example (which is all that SS, LMS and ICAT look at) come out the same.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CHECKPOINTS = {
    "tiny-bert": {"intra": "BertLM", "inter": "BertNextSentence"},
    "tiny-gpt2": {"intra": "GPT2LM", "inter": "GPT2LM_d"},
    "tiny-t5": {"intra": "T5LM", "inter": "T5LM"},
    "tiny-mt5": {"intra": "mT5LM", "inter": "mT5LM"},
    "tiny-gpt2-nsp": {"inter": "ModelNSP"},
    "tiny-t5-nsp": {"inter": "ModelNSP"},
    "tiny-mt5-nsp": {"inter": "ModelNSP"},
}


def type_command(module: str, *arguments: object) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{module} {' '.join(map(str, arguments))}\n{done.stderr[-2000:]}")


def compare(predictions: Path, golden: Path, split: str) -> tuple[int, float, int, int]:
    """Candidates, worst relative difference, comparisons that agree, comparisons."""
    entries = json.loads(predictions.read_text(encoding="utf-8"))[f"{split}sentence"]
    expected = json.loads(golden.read_text(encoding="utf-8"))
    found = np.array([entry["score"] for entry in entries]).reshape(-1, 3)
    wanted = np.array([expected[entry["id"]] for entry in entries]).reshape(-1, 3)
    assert found.size == len(expected)
    pairs = ((0, 1), (0, 2), (1, 2))
    same = sum(
        int((np.sign(found[:, i] - found[:, j]) == np.sign(wanted[:, i] - wanted[:, j])).sum())
        for i, j in pairs
    )
    return found.size, float((np.abs(found - wanted) / wanted).max()), same, 3 * len(found)


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--golden", type=Path, required=True, help="folder with models/ and scores/")
    parse.add_argument("--clone", type=Path, required=True, help="a clone of the authors' data")
    parse.add_argument("--sizes", type=int, nargs="+", default=[1, 32])
    options = parse.parse_args()
    print("| checkpoint | split | batch size | candidates | worst relative difference | same comparisons |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["STEREOSET_DATA"] = f"{temporary}/data"
        type_command("lm_eval_stereoset", "data", "fetch", "--from", options.clone)
        for name, variants in CHECKPOINTS.items():
            folder = options.golden / "models" / name
            if name.endswith("-nsp"):
                output = Path(temporary) / name
                type_command(
                    "nsp_finetune", "convert", folder / "nsp_model.pth", "--base", folder, "--output", output
                )
                folder = output
            for size in options.sizes:
                out = (
                    Path(temporary) / f"{name}-{size}.json"
                )  # of its own: finished predictions are not made again
                split = "both" if len(variants) == 2 else "inter"
                flags = ("--language", "en", "--split", split, "--exact", "--batch-size", size, "--quiet")
                type_command("lm_eval_stereoset", "predict", folder, *flags, "-o", out)
                for split, variant in variants.items():
                    golden = options.golden / "scores" / f"{name}__{split}sentence__{variant}__en.json"
                    n, worst, same, of = compare(out, golden, split)
                    print(f"| {name} | {split} | {size} | {n} | {worst:.1e} | {same} of {of} |", flush=True)


if __name__ == "__main__":
    main()
