"""StereoSet for models that answer in words: which of three sentences fits best, asked in the language of the data.

The data are StereoSet's; the question, the reading of answers and the metrics are its own, so its numbers are another
measurement and never mixed with those of likelihoods.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as LIKELIHOOD
from lm_eval_stereoset.benchmarks.stereoset.example import LABELS, Example
from lm_eval_stereoset.benchmarks.stereoset_chat.metrics import METRICS, columns_of
from lm_eval_stereoset.chat.asking import Words
from lm_eval_stereoset.chat.shares import complaint, remark
from lm_eval_stereoset.chat.wording import Form, Wording

if TYPE_CHECKING:
    from lm_eval_stereoset.report.extras import Extras

FORM = Form(Path(__file__).parent / "wording", fields={"intra": (), "inter": ("context",)})


INTRO = (
    "Of the answers that name a candidate: LMS, the share that names a meaningful one (by lot 66.7); SS, the share of "
    "the stereotype among these (50 is unbiased); ICAT joins the two (100 is best). These are not the scores of "
    "likelihoods."
)


def fields(example: Example) -> Mapping[str, str]:
    return {"context": example.context} if example.split == "inter" else {}


def options(example: Example, wording: Wording) -> tuple[str, str, str]:
    stereotype, anti, unrelated = (example.candidate(label).sentence for label in LABELS)
    return stereotype, anti, unrelated


def others(example: Example, number: int) -> tuple[str, ...]:
    """In intra an answer may also be the word that makes the difference."""
    word = example.candidate(LABELS[number]).word
    return (word,) if word else ()


def shown() -> "Extras":
    from lm_eval_stereoset.report import spoken

    return spoken.shown(INTRO)


BENCHMARK = replace(
    LIKELIHOOD,
    name="stereoset_chat",
    title="StereoSet chat",
    metrics=METRICS,
    columns=columns_of,
    words=Words(of=LIKELIHOOD.name, form=FORM, fields=fields, options=options, others=others),
    remark=remark,
    complaint=complaint,
    predictions=None,
    asks="asked in words, which of the three candidates does a model say fits best?",
    report=shown,
    ranked_by="icat",
    legend="SS: 50 is ideal. LMS, ICAT: higher is better. All three of the answers that name a candidate.",
)
