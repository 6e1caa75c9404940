"""What a sweep over all settings costs, in evaluations of the same data by the plain way.

    python performance/debias_sweep.py [--triples N] [--plain N] [--json FILE]

A model of BERT-base's size with random weights; gender-swapped StereoSet from STEREOSET_SHARED, or the data folder. The
sweep gives the base and 74 settings from one tree; the plain way applies one setting after the other and scores the data
anew, of which a sample is timed: settings spread over all levels, before and after the sweep, so that a busy machine hits
both. CPU seconds count, wall-clock seconds are shown beside them. The scores of both must agree.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scoring_sides import SHARED, SIZES, tokenizer_of

RESULTS = Path(__file__).resolve().parent / "results" / "debias_sweep.json"


def timed(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU seconds, wall-clock seconds, result."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def examples_of(split: str) -> list[Any]:
    from lm_eval_stereoset.benchmarks import find
    from lm_eval_stereoset.benchmarks.genderswap.fetch import triples_of
    from lm_eval_stereoset.data import store

    path = SHARED / "upstream" / "GenderSwappedStereoSet" / "data" / f"{split}.csv"
    if path.is_file():
        return triples_of(path.read_bytes(), split, str(path))
    return store.load(find("genderswap"), split, "en").examples


def bert_base() -> tuple[Any, Any]:
    from transformers import BertConfig, BertForPreTraining

    torch.manual_seed(0)
    config = BertConfig(vocab_size=28996, initializer_range=0.05)  # larger than usual: answers that differ
    return BertForPreTraining(config).eval(), tokenizer_of(SIZES["bert-base"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--triples", type=int, help="of dev's 234, spread over it; default: all")
    parser.add_argument("--plain", type=int, default=6, help="settings that are timed in the plain way")
    parser.add_argument("--pairs", type=int, default=746, help="pairs that the directions are fitted on")
    parser.add_argument("--json", type=Path, default=RESULTS)
    args = parser.parse_args()

    from lm_eval_stereoset.benchmarks import find
    from lm_eval_stereoset.interventions.sweep import scores, subject
    from lm_eval_stereoset.scoring import method_for
    from lm_eval_stereoset.scoring.questions import Settings

    model, tokenizer = bert_base()
    dev = examples_of("dev")
    count = args.triples or len(dev)
    questions = [dev[i].question for i in np.linspace(0, len(dev) - 1, count).astype(int)]
    pairs = find("genderswap").pairs(examples_of("test"))[: args.pairs]
    fit_cpu, fit_wall, made = timed(lambda: subject(model, tokenizer, {"follow": "nsp"}, pairs))
    function = method_for("nsp", "follow")

    def plain(name: str) -> list[Any]:
        with made.settings[name].applied(model):
            return function(model, tokenizer, questions, Settings())

    names = made.names
    sample = [names[i] for i in np.linspace(0, len(names) - 1, args.plain).astype(int)]
    plain(names[0])  # warms up
    runs = {name: timed(lambda name=name: plain(name)) for name in sample[::2]}
    at_once = 32  # triples in a part, as `stereoset debias sweep` takes them

    def sweep() -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {name: [] for name in names}
        for start in range(0, len(questions), at_once):
            for name, rows in scores(made, questions[start : start + at_once], Settings()).items():
                found[name] += rows
        return found

    cpu, wall, swept = timed(sweep)
    runs |= {name: timed(lambda name=name: plain(name)) for name in sample[1::2]}
    worst = max(
        abs(one.log_score - other.log_score)
        for name, (_, _, rows) in runs.items()
        for row, found in zip(rows, swept[name], strict=True)
        for one, other in zip(row, found, strict=True)
    )
    one_cpu, one_wall = (float(np.mean([run[i] for run in runs.values()])) for i in (0, 1))
    result = {
        "triples": count, "of": len(dev), "settings": len(names), "plain_settings_timed": sample,
        "plain_cpu_seconds": one_cpu, "plain_wall_seconds": one_wall,
        "sweep_cpu_seconds": cpu, "sweep_wall_seconds": wall, "fit_cpu_seconds": fit_cpu, "fit_wall_seconds": fit_wall,
        "pairs": len(pairs), "sweep_in_plain_evaluations": cpu / one_cpu, "layers_in_the_tree": 21 / 12,
        "largest_difference_of_log_scores": worst, "threads": torch.get_num_threads(), "torch": torch.__version__,
    }  # fmt: skip
    print(f"{count} of {len(dev)} triples, {len(names)} settings, {torch.get_num_threads()} threads")
    print(f"{'':<34} {'CPU s':>8} {'wall s':>8}  in plain evaluations")
    rows = (
        ("fit, once", fit_cpu, fit_wall),
        (f"plain, mean of {len(runs)} settings", one_cpu, one_wall),
        (f"plain, all {len(names)} (extrapolated)", one_cpu * len(names), one_wall * len(names)),
        (f"sweep of all {len(names)}", cpu, wall),
    )
    for name, seconds, clock in rows:
        print(f"{name:<34} {seconds:8.1f} {clock:8.1f}  {seconds / one_cpu:8.2f}")
    print(f"largest difference of a log-probability: {worst:.1e}")
    args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
