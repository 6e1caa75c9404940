"""How fast pairs of texts are compared (GEST, EuroGEST), beside other ways to do it. Random weights at real sizes.

    python performance/gest.py                          # both comparisons, some minutes on an idle machine
    python performance/gest.py --only bert-base --sentences 100

bert-base   GEST's English sentences in four templates. The other side is the published method: one text at a time, its
            differing tokens masked, a softmax over all positions and the whole vocabulary, so two passes per template.
gpt2        EuroGEST's German pairs. The other side is the harness's own `hf` with the requests that it gets from our
            tasks, at the fastest of several batch sizes.

The two sides alternate in blocks of sentences, which both get, so that a machine that is busy with something else slows
both down alike. Every block gives a ratio; the median counts, and the quartiles are shown. Times of the processor count
what this process used, whoever else was there. Sentences, texts and tokenizers come from the folder STEREOSET_SHARED.
Rows are merged into performance/results/gest.json, and gest.md is made from it.
"""

import argparse
import csv
import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scoring_sides import SHARED, SIZES, build

from lm_eval_stereoset.files import atomic_write
from lm_eval_stereoset.scoring import Settings, method_for
from lm_eval_stereoset.scoring.questions import Candidate, Question, requests_of

RESULTS = Path(__file__).resolve().parent / "results" / "gest.json"
TEMPLATES = (
    ('He said: "{}"', 'She said: "{}"'),
    ('The man said: "{}"', 'The woman said: "{}"'),
    ('"{}", he said.', '"{}", she said.'),
    ('"{}", the man said.', '"{}", the woman said.'),
)
HARNESS_SIZES = (4, 16, 64)
OURS_TOKENS = 512  # the default on a CPU

Side = Callable[[Sequence[Question]], list[float]]  # two log-probabilities per pair


# What is compared


def compared(number: str, a: str, b: str) -> Question:
    return Question("compare", number, "", (Candidate(f"{number}m", a), Candidate(f"{number}f", b)))


def english(count: int) -> list[list[Question]]:
    """Four pairs per sentence; every n-th sentence, so that all lengths are among them."""
    path = SHARED / "upstream" / "gest" / "data" / "gest.csv"
    with path.open(encoding="utf-8", newline="") as file:
        sentences = [row["sentence"] for row in csv.DictReader(file)]
    chosen = np.linspace(0, len(sentences) - 1, count).astype(int)
    return [
        [
            compared(f"{i}.{t}", a.format(sentences[i]), b.format(sentences[i]))
            for t, (a, b) in enumerate(TEMPLATES)
        ]
        for i in chosen.tolist()
    ]


def german(count: int) -> list[list[Question]]:
    path = SHARED / "golden" / "scores" / "tiny-gpt2__eurogest__de.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    chosen = np.linspace(0, len(rows) - 1, count).astype(int)
    return [[compared(str(i), rows[i]["masculine"], rows[i]["feminine"])] for i in chosen.tolist()]


# The sides


def ours(model: Any, tokenizer: Any, family: str, tokens: int) -> Side:
    function = method_for(family, "compare")

    def run(questions: Sequence[Question]) -> list[float]:
        scores = function(model, tokenizer, questions, Settings(batch_tokens=tokens))
        return [one.log_score / one.tokens for pair in scores for one in pair]

    return run


def published(model: Any, tokenizer: Any) -> Side:
    """As the spec of GEST says it, one text after the other."""

    def run(questions: Sequence[Question]) -> list[float]:
        found = []
        for question in questions:
            texts = [tokenizer(c.sentence, return_tensors="pt")["input_ids"] for c in question.candidates]
            differ = (texts[0] != texts[1])[0].nonzero()[:, 0]
            for ids in texts:
                masked = ids.clone()
                masked[0, differ] = tokenizer.mask_token_id
                with torch.no_grad():
                    probabilities = model(input_ids=masked).logits.softmax(dim=-1)
                found.append(float(probabilities[0, differ, ids[0, differ]].log().mean()))
        return found

    return run


def harness(model: Any, tokenizer: Any, size: int) -> Side:
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    lm = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=size, device="cpu")

    def run(questions: Sequence[Question]) -> list[float]:
        pairs = [request for question in questions for request in requests_of(question)]
        requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
        return [value for value, _ in lm.loglikelihood(requests, disable_tqdm=True)]

    return run


# Measuring


def timed(run: Side, questions: Sequence[Question]) -> tuple[float, float, list[float]]:
    """Seconds by the clock, seconds of the processor, and what came out."""
    wall, used = time.perf_counter(), time.process_time()
    found = run(questions)
    return time.perf_counter() - wall, time.process_time() - used, found


def fastest(make: Callable[[int], Side], values: tuple[int, ...], questions: Sequence[Question]) -> int:
    """The setting that needs the least time of the processor for a few questions."""
    used = {value: timed(make(value), questions)[1] for value in values}
    return min(values, key=used.__getitem__)


def alternate(blocks: Sequence[Sequence[Question]], a: Side, b: Side, step: int = 1) -> dict[str, Any]:
    """Both sides on every block, by turns, the one that begins changing from block to block; times per question.

    `step`: (b) gets every so many questions only, where (a) needs large blocks: it tries the model out in every call.
    """
    seconds: dict[str, list[np.ndarray]] = {"a": [], "b": []}
    logs: dict[str, list[float]] = {"a": [], "b": []}
    for number, block in enumerate(blocks):
        sides = [("a", a, block), ("b", b, block[::step])]
        for name, side, questions in sides if number % 2 else sides[::-1]:
            wall, used, found = timed(side, questions)
            seconds[name].append(np.array([wall, used]) / len(questions))
            logs[name] += found
        ratio = seconds["b"][-1] / seconds["a"][-1]
        print(f"block {number + 1} of {len(blocks)}: {ratio.round(1).tolist()}", file=sys.stderr, flush=True)
    ratios = np.array(seconds["b"]) / np.array(seconds["a"])
    low, middle, high = np.percentile(ratios, (25, 50, 75), axis=0).tolist()
    per_1000 = {name: 1000 * float(np.mean(times, axis=0)[1]) for name, times in seconds.items()}
    return {
        "blocks": len(blocks),
        "pairs": sum(map(len, blocks)),
        "ratio": {"median": middle[0], "quartiles": [low[0], high[0]]},
        "ratio_of_processor": {"median": middle[1], "quartiles": [low[1], high[1]]},
        "ours_s_per_1000": per_1000["a"],
        "theirs_s_per_1000": per_1000["b"],
        "logs": logs,
    }


def in_blocks(groups: Sequence[Sequence[Question]], size: int) -> list[list[Question]]:
    """Neighbours by length in one block: of some thousand pairs, every batch holds such ones."""
    by_length = sorted(groups, key=lambda group: len(group[0].candidates[0].sentence))
    return [
        [question for group in by_length[start : start + size] for question in group]
        for start in range(0, len(groups), size)
    ]


def few_of(blocks: Sequence[Sequence[Question]], count: int = 8) -> list[Question]:
    """From the middle, for choosing a batch size."""
    return list(blocks[len(blocks) // 2])[:count]


def bert(sentences: int, block: int) -> dict[str, Any]:
    model, tokenizer = build(SIZES["bert-base"])
    blocks = in_blocks(english(sentences), block)
    row = alternate(blocks, ours(model, tokenizer, "masked", OURS_TOKENS), published(model, tokenizer))
    logs = row.pop("logs")
    largest = float(np.abs(np.array(logs["a"]) - np.array(logs["b"])).max() / math.log(10))
    return {
        "batch_tokens": OURS_TOKENS,
        "compared_with": "the published method",
        "largest_difference": largest,
    } | row


def gpt2(pairs: int, block: int) -> dict[str, Any]:
    model, tokenizer = build(SIZES["gpt2"])
    blocks = in_blocks(german(pairs), block)
    size = fastest(lambda n: harness(model, tokenizer, n), HARNESS_SIZES, few_of(blocks))
    row = alternate(blocks, ours(model, tokenizer, "causal", OURS_TOKENS), harness(model, tokenizer, size), 5)
    row.pop("logs")  # not of the same tokens everywhere
    return {
        "batch_tokens": OURS_TOKENS,
        "harness_batch": size,
        "compared_with": f"`hf`, batches of {size}",
    } | row


def table(rows: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| model | data | compared with | ours, s per 1,000 pairs | theirs | ratio by the clock | of processor time | load |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        spread, used = (
            "{median:.1f} ({0:.1f} to {1:.1f})".format(*row[key]["quartiles"], median=row[key]["median"])
            for key in ("ratio", "ratio_of_processor")
        )
        lines.append(
            f"| {name} | {row['data']}, {row['pairs']} pairs | {row['compared_with']} | {row['ours_s_per_1000']:.1f} | "
            f"{row['theirs_s_per_1000']:.1f} | {spread} | {used} | {row['load']:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("bert-base", "gpt2"))
    parser.add_argument("--sentences", type=int, default=80, help="of English (four pairs each)")
    parser.add_argument("--pairs", type=int, default=640, help="of German")
    args = parser.parse_args()
    logging.getLogger("lm_eval").setLevel(logging.ERROR)  # of models that are given as objects
    about = {"threads": torch.get_num_threads(), "torch": torch.__version__, "load": os.getloadavg()[0]}
    found = {}
    if args.only in (None, "bert-base"):
        found["bert-base"] = {"data": "GEST, four templates"} | about | bert(args.sentences, 10)
    if args.only in (None, "gpt2"):
        found["gpt2"] = {"data": "EuroGEST, German"} | about | gpt2(args.pairs, 160)
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    rows = dict(sorted((rows | found).items()))
    texts = {
        RESULTS: json.dumps(rows, indent=1) + "\n",
        RESULTS.with_suffix(".md"): PAGE.format(table=table(rows)),
    }
    for path, text in texts.items():
        with atomic_write(path) as file:
            file.write(text)
    print(table(rows))


PAGE = """# Pairs of texts: time beside other ways to compare them

Made by `python performance/gest.py`, which says what each side does; random weights at real sizes. The ratio is the
median of blocks in which the two sides take turns, with its quartiles in brackets; seconds are those of the processor.
`load` is how many other processes wanted the machine's processors meanwhile.

{table}
"""


if __name__ == "__main__":
    main()
