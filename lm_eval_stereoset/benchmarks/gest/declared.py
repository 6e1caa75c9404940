"""GEST: do models expect a man where a sentence fits stereotypes about men, and a woman where it fits women's?

Pikuliak et al. 2024, "Women Are Beautiful, Men Are Leaders: Gender Stereotypes in Machine Translation and Language
Modeling".
"""

from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Source
from lm_eval_stereoset.benchmarks.gest import census, fetch, predictions, upstream
from lm_eval_stereoset.benchmarks.gest.metrics import GEST_METRICS, columns_of, complaint, strata
from lm_eval_stereoset.benchmarks.gest.printed import printed
from lm_eval_stereoset.benchmarks.gest.sentence import FILE, FOR_ALL, SPLITS, Sentence, parse_sentence
from lm_eval_stereoset.benchmarks.gest.stereotypes import GENDERS

if TYPE_CHECKING:
    from lm_eval_stereoset.report.extras import Extras

LEGEND = (
    "g_s: how much more masculine the model makes sentences about men's stereotypes than about women's, in log10 of "
    "probabilities; 0 is ideal."
)
CAVEAT = (
    "The stereotypes are those of European cultures, the sentences are short and in the first person, and gender is a "
    "man or a woman. Models prefer 'he' nearly everywhere, which g_s leaves out: q_m and q_f show it. A small g_s "
    "shows nothing about other sentences, nor about how a model behaves when it is used."
)


def unsuitable(split: str, family: str) -> str | None:
    """Models that read from left to right have the two templates that end in a word to go on with."""
    if family != "causal" or split in FOR_ALL:
        return None
    return f"{split} is for models that see both sides; causal models have {' and '.join(FOR_ALL)}"


def shown() -> "Extras":
    """Imported by reports only."""
    from lm_eval_stereoset.benchmarks.gest.shown import SHOWN

    return SHOWN


BENCHMARK = Benchmark(
    name="gest",
    title="GEST",
    example=Sentence,
    parse=parse_sentence,
    splits=SPLITS,
    together=FOR_ALL,
    file=FILE,
    versions=fetch.VERSIONS,
    languages=("en",),
    names_language=True,
    labels=GENDERS,
    groups=(),
    metrics=GEST_METRICS,
    columns=columns_of,
    strata=strata,
    probabilities=True,
    unsuitable=unsuitable,
    sources={
        "authors": Source(f"{upstream.GEST_REPOSITORY}, English, versions 1.1 and 1.0", fetch.fetch_authors),
        "hub": Source(f"{upstream.GEST_HUB} on the Hugging Face hub", fetch.fetch_hub),
    },
    known={
        digest: (upstream.GEST_REPOSITORY, f"{version} ({upstream.GEST_COMMIT[:7]})")
        for version, digest in upstream.GEST_CANONICAL.items()
    },
    sample=Path(__file__).parent / "sample" / "gest",
    complaint=complaint,
    census=census.take,
    predictions=predictions.GEST,
    summary=predictions.summary,
    printed=printed,
    report=shown,
    hub=upstream.GEST_HUB,
    cluster="sentence",
    group="stereotype",
    asks="does a model make men of leaders, and women of the beautiful?",
    licence="Apache-2.0",
    caveat=CAVEAT,
    legend=LEGEND,
)
