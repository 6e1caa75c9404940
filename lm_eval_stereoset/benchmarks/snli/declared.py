"""SNLI accuracy: does a model still do natural language inference? A fair model that has lost its skill is no use.

Bowman et al. 2015, "A large annotated corpus for learning natural language inference".
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Making, Metric, Source
from lm_eval_stereoset.benchmarks.nli.answers import answers_of, said, shares
from lm_eval_stereoset.benchmarks.snli.example import LABELS, SPLITS, Pair, make_pairs, parse_pair
from lm_eval_stereoset.benchmarks.snli.fetch import fetch_snli
from lm_eval_stereoset.benchmarks.snli.rows import REPOSITORY, parse_row
from lm_eval_stereoset.stats.statistic import Statistic, of_totals


def columns_of(examples: Sequence[Any], scores: np.ndarray) -> np.ndarray:
    """(pairs, 2): whether the most probable answer is the gold label, and the probability of the gold label."""
    p = shares(scores)
    gold = np.array([LABELS.index(example.label) for example in examples], dtype=int)
    return np.column_stack([answers_of(p) == gold, p[np.arange(len(p)), gold]]).astype(float)


METRICS = (
    Metric(
        "accuracy", "accuracy", "", 1, Statistic(of_totals(lambda n, right, _: right / n), low=0, high=1), main=True,
        by_group=True,
    ),
    Metric(
        "p_gold", "p(gold)", "", None, Statistic(of_totals(lambda n, _, p: p / n), low=0, high=1), uncertain=True,
    ),
)  # fmt: skip

BENCHMARK = Benchmark(
    name="snli",
    title="SNLI",
    task="snli_accuracy",
    example=Pair,
    parse=parse_pair,
    splits=SPLITS,
    languages=("en",),
    labels=LABELS,
    groups=LABELS,
    metrics=METRICS,
    columns=columns_of,
    probabilities=True,
    making=Making(parse_row, make_pairs),
    sources={"hub": Source(f"{REPOSITORY} on the hub, English", fetch_snli)},
    sample=Path(__file__).parent / "sample",
    said=said,
    cluster="premise",
    group="gold label",
    asks="how well does a model do natural language inference?",
    licence="CC BY-SA 4.0",
    caveat="Beside NLI fairness, it shows whether a change of the model has cost it its skill.",
    hub=REPOSITORY,
    legend="accuracy: share of pairs whose most probable answer is the gold label; 1 is best.",
)
