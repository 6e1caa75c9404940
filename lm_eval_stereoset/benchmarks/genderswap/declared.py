"""Gender-swapped StereoSet: does what a model says change when women become men, and men women?

Dawkins et al. 2024, "Projective Methods for Mitigating Gender Bias in Pre-trained Language Models".
"""

from pathlib import Path

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Source
from lm_eval_stereoset.benchmarks.genderswap.example import (
    GENDERS,
    LABELS,
    SPLITS,
    Triple,
    context_pairs,
    parse_triple,
)
from lm_eval_stereoset.benchmarks.genderswap.fetch import CANONICAL_SHA256, COMMIT, REPOSITORY, fetch_authors
from lm_eval_stereoset.benchmarks.genderswap.metrics import METRICS, columns_of, complaint
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.describe import NO_NORMALISER, Description, is_difference

VARIANT = (
    "language-model variant of S and D: probabilities are exponentials of mean log-probabilities per token"
)


def said(description: Description) -> Description:
    """S and D are defined for probabilities that one sentence follows another; what takes their place has a name."""
    if is_difference(description.scoring):
        raise UserError("gender-swapped StereoSet compares probabilities, not their ratios; use case c or d")
    if description.normaliser == NO_NORMALISER:
        return description
    return description._replace(scoring=f"{description.scoring} ({VARIANT})")


BENCHMARK = Benchmark(
    name="genderswap",
    title="Gender-swapped StereoSet",
    example=Triple,
    parse=parse_triple,
    splits=SPLITS,
    languages=("en",),
    labels=LABELS,
    groups=GENDERS,
    metrics=METRICS,
    columns=columns_of,
    sources={"authors": Source(f"{REPOSITORY}, English", fetch_authors)},
    known=dict.fromkeys(CANONICAL_SHA256.values(), (REPOSITORY, COMMIT[:7])),
    sample=Path(__file__).parent / "sample",
    complaint=complaint,
    pairs=context_pairs,
    probabilities=True,
    pooled=False,
    said=said,
    ranked_by="strength",
    cluster="triple",
    group="gender of the original",
    asks="does what a model says change when women become men, and men women?",
    licence="CC BY-SA 4.0 (derived from StereoSet)",
    caveat=(
        "The triples are StereoSet's about gender, written in the United States, with the genders swapped; some twins "
        "are imperfect. S and D look at the largest 10 % of the differences, which chance alone puts above 0. Small "
        "values show nothing about other sentences, nor about how a model behaves when it is used."
    ),
    legend="S, D: means of the largest 10 % of changes by swapping the genders, 0 is ideal. "
    "SS: 50 is ideal, before and after the swap.",
)
