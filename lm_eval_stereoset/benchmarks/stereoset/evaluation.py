"""From scored examples to the numbers of the paper's tables, with intervals.

evaluate({"intra": Scored, "inter": Scored}) gives {split: {group: {metric: value}}}: splits intra, inter and
overall (both pooled), groups overall and the four bias types.
"""

import logging

import numpy as np

from lm_eval_stereoset.benchmarks.stereoset.metrics import STATISTICS, draw, outcomes, summarise
from lm_eval_stereoset.data.format import BIAS_TYPES
from lm_eval_stereoset.predictions import Scored
from lm_eval_stereoset.stats.bootstrap import p_value_against

logger = logging.getLogger(__name__)

GROUPS = ("overall", *BIAS_TYPES)
INTERVALS = tuple(STATISTICS)

Table = dict[str, dict[str, dict[str, float]]]  # {split: {group: {metric: value}}}


def evaluate(parts: dict[str, Scored]) -> Table:
    table = {split: evaluate_groups(scored) for split, scored in parts.items()}
    if len(parts) > 1:
        table["overall"] = evaluate_groups(pool(parts))
    return table


def pool(parts: dict[str, Scored]) -> Scored:
    """'Overall' pools the examples of the splits, then computes; it is not a mean of two ICATs."""
    return Scored(
        [e for scored in parts.values() for e in scored.examples],
        np.concatenate([scored.scores for scored in parts.values()]),
    )


def evaluate_groups(scored: Scored) -> dict[str, dict[str, float]]:
    bias_types = scored.bias_types
    groups = {"overall": np.ones(len(scored.examples), dtype=bool)}
    groups |= {bias_type: bias_types == bias_type for bias_type in BIAS_TYPES}
    return {group: _evaluate_subset(scored, chosen, group) for group, chosen in groups.items()}


def _evaluate_subset(scored: Scored, chosen: np.ndarray, group: str) -> dict[str, float]:
    results = outcomes(scored.scores[chosen])
    targets = scored.targets[chosen]
    values = summarise(results, targets)
    draws = draw(results, targets)
    if draws.clusters < 2:
        logger.warning(
            "%s: %d examples of %d target terms; what needs more is NaN", group, len(results), draws.clusters
        )
    for metric in INTERVALS:
        values[f"{metric}_stderr"] = draws.standard_error(metric)
        values[f"{metric}_low"], values[f"{metric}_high"] = draws.interval(metric)
    values["ss_p50"] = p_value_against(50, values["ss"], values["ss_stderr"], draws.clusters)
    return values
