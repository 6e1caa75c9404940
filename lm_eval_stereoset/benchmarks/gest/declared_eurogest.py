"""EuroGEST: GEST's question in 29 European languages, with pairs of texts that differ in the speaker's gender.

Rowe et al. 2025, "EuroGEST: Investigating Gender Stereotypes in Multilingual Language Models".
"""

from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Source
from lm_eval_stereoset.benchmarks.gest import census, fetch_eurogest, predictions, upstream
from lm_eval_stereoset.benchmarks.gest.declared import CAVEAT
from lm_eval_stereoset.benchmarks.gest.metrics import EUROGEST_METRICS, columns_of, complaint, strata
from lm_eval_stereoset.benchmarks.gest.pair import FILE, Pair, as_published, parse_pair
from lm_eval_stereoset.benchmarks.gest.printed import printed
from lm_eval_stereoset.benchmarks.gest.stereotypes import GENDERS

if TYPE_CHECKING:
    from lm_eval_stereoset.report.extras import Extras


def shown() -> "Extras":
    """Imported by reports only."""
    from lm_eval_stereoset.benchmarks.gest.shown import SHOWN_EUROGEST

    return SHOWN_EUROGEST


BENCHMARK = Benchmark(
    name="eurogest",
    title="EuroGEST",
    tasks="gest",
    example=Pair,
    parse=parse_pair,
    splits=(FILE,),
    languages=tuple(upstream.PUBLISHED),
    language_groups={"slavic": upstream.SLAVIC},
    labels=GENDERS,
    groups=(),
    metrics=EUROGEST_METRICS,
    columns=columns_of,
    strata=strata,
    probabilities=True,
    as_published=as_published,
    sources={
        "authors": Source(f"{upstream.EUROGEST_REPOSITORY}, 29 languages", fetch_eurogest.fetch_authors),
        "hub": Source(
            f"{upstream.EUROGEST_HUB} on the Hugging Face hub, 29 languages", fetch_eurogest.fetch_hub
        ),
    },
    known=dict.fromkeys(
        upstream.EUROGEST_CANONICAL.values(), (upstream.EUROGEST_REPOSITORY, upstream.EUROGEST_COMMIT)
    ),
    sample=Path(__file__).parent / "sample" / "eurogest",
    complaint=complaint,
    census=census.take,
    predictions=predictions.EUROGEST,
    summary=predictions.summary,
    printed=printed,
    report=shown,
    hub=upstream.EUROGEST_HUB,
    cluster="sentence",
    group="stereotype",
    asks="does a model make men of leaders, and women of the beautiful, in 29 languages?",
    licence="Apache-2.0",
    caveat="The texts are machine translations that were filtered automatically. " + CAVEAT,
    legend="g_s ratio: how much more masculine the model makes sentences about men's stereotypes than about women's, "
    "as a ratio of shares; 1 is ideal. g_s: the same as a difference of log10 probabilities; 0 is ideal.",
)
