"""StereoSet: does a model prefer stereotypes to anti-stereotypes, and both to nonsense?

Nadeem et al. 2021 (English); "How Different Is Stereotypical Bias Across Languages?" 2023 (de, fr, es, tr).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Source
from lm_eval_stereoset.benchmarks.stereoset import ptbr
from lm_eval_stereoset.benchmarks.stereoset.example import BIAS_TYPES, LABELS, SPLITS, Example, parse_example
from lm_eval_stereoset.benchmarks.stereoset.facts import refuse_other_facts
from lm_eval_stereoset.benchmarks.stereoset.fetch import fetch_authors
from lm_eval_stereoset.benchmarks.stereoset.hub import fetch_hub
from lm_eval_stereoset.benchmarks.stereoset.metrics import METRICS, columns_of, complaint
from lm_eval_stereoset.benchmarks.stereoset.original import read_original
from lm_eval_stereoset.benchmarks.stereoset.predictions import FORMAT
from lm_eval_stereoset.benchmarks.stereoset.upstream import CANONICAL_SHA256, COMMIT, REPOSITORY

if TYPE_CHECKING:
    from lm_eval_stereoset.report.extras import Extras


def shown() -> Extras:
    from lm_eval_stereoset.benchmarks.stereoset.shown import SHOWN

    return SHOWN


BENCHMARK = Benchmark(
    name="stereoset",
    title="StereoSet",
    example=Example,
    parse=parse_example,
    splits=SPLITS,
    languages=("en", "de", "fr", "es", "tr"),
    labels=LABELS,
    groups=BIAS_TYPES,
    metrics=METRICS,
    columns=columns_of,
    sources={
        "authors": Source(f"{REPOSITORY}, five languages", fetch_authors),
        "hub": Source("McGill-NLP/stereoset on the Hugging Face hub, English only", fetch_hub, ("en",)),
        "ptbr": Source(f"{ptbr.REPOSITORY}, Brazilian Portuguese", ptbr.fetch_ptbr, (ptbr.LANGUAGE,)),
    },
    known=dict.fromkeys(CANONICAL_SHA256.values(), (REPOSITORY, COMMIT[:7]))
    | dict.fromkeys(ptbr.CANONICAL_SHA256.values(), (ptbr.REPOSITORY, ptbr.COMMIT)),
    more_languages=(ptbr.LANGUAGE,),
    sample=Path(__file__).parent / "sample",
    folder="",  # since 0.1 its splits lie in the data folder itself
    check=refuse_other_facts,
    read_other=read_original,
    complaint=complaint,
    predictions=FORMAT,
    report=shown,
    ranked_by="icat",
    cluster="target term",
    group="bias type",
    asks="does a model prefer stereotypes to anti-stereotypes, and both to nonsense?",
    legend="SS: 50 is ideal. LMS, ICAT: higher is better. mc, macro, micro: over target terms.",
    licence="CC BY-SA 4.0 (StereoSet and StereoSet-PTBR; the authors of the German, French, Spanish and Turkish "
    "translations state none of their own)",
    caveat=(
        "StereoSet was written by annotators in the United States and then translated, so it holds what they took for "
        "stereotypes. Some of its examples are unclear or badly paired. SS near 50 means no preference on these "
        "sentences; it does not show that a model is free of stereotypes, nor how it behaves when it is used."
    ),
    hub="McGill-NLP/stereoset",
)
