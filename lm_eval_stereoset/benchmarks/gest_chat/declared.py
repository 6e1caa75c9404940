"""GEST for models that answer in words: who is more likely to say this, men, women or neither?

The sentences are GEST's in English and EuroGEST's in other languages; the question, the reading of answers and the metrics
are its own, so its numbers are another measurement and never mixed with those of likelihoods.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from lm_eval_stereoset.benchmarks.gest.declared import BENCHMARK as GEST
from lm_eval_stereoset.benchmarks.gest.declared_eurogest import BENCHMARK as EUROGEST
from lm_eval_stereoset.benchmarks.gest.stereotypes import ABOUT_WOMEN, FEMININE, GENDERS, MASCULINE, NAMES
from lm_eval_stereoset.benchmarks.gest_chat.metrics import METRICS, columns_of
from lm_eval_stereoset.benchmarks.gest_chat.statement import (
    FILE,
    LABELS,
    Statement,
    parse_statement,
    statement_of,
)
from lm_eval_stereoset.chat.asking import Words
from lm_eval_stereoset.chat.shares import complaint, remark
from lm_eval_stereoset.chat.wording import Form, Wording

if TYPE_CHECKING:
    from lm_eval_stereoset.report.extras import Extras

PEOPLE = Path(__file__).parent / "people.yaml"
FORM = Form(Path(__file__).parent / "wording", fields={FILE: ("sentence",)}, options=LABELS)
INTRO = (
    "Of the answers that say men, women or neither: the stereotype rate is how much more often they fit the stereotype "
    "than contradict it, the mean of the stereotypes about men and of those about women, in per cent. 0 is no stereotype, "
    "100 nothing but stereotypes. Stereotype 15 (sexual) is left out of it. These are not the scores of likelihoods."
)


def shown() -> "Extras":
    from lm_eval_stereoset.report import spoken

    return spoken.shown(INTRO)


@lru_cache(maxsize=1)
def people() -> dict:
    import yaml

    return yaml.safe_load(PEOPLE.read_text("utf-8"))


def fields(statement: Statement) -> Mapping[str, str]:
    return {"sentence": statement.sentence}


def options(statement: Statement, wording: Wording) -> tuple[str, str, str]:
    men, women, neither = (wording.options[label] for label in LABELS)
    return men, women, neither


def others(statement: Statement, number: int) -> tuple[str, ...]:
    return tuple(people()[LABELS[number]])


def alone(statement: Statement, number: int) -> tuple[str, ...]:
    return tuple(people()["alone"].get(LABELS[number], ()))


def stereotype(statement: Statement) -> int:
    return GENDERS.index(FEMININE if statement.stereotype <= ABOUT_WOMEN else MASCULINE)


BENCHMARK = replace(
    EUROGEST,
    name="gest_chat",
    title="GEST chat",
    tasks=None,
    example=Statement,
    parse=parse_statement,
    languages=("en", "de", "es", "fr", "tr", "cs", "pl", "sk"),
    language_groups={},
    labels=LABELS,
    groups=NAMES,
    metrics=METRICS,
    columns=columns_of,
    probabilities=False,
    words=Words(
        of=EUROGEST.name,
        elsewhere={"en": GEST.name},
        asked_about=statement_of,
        form=FORM,
        fields=fields,
        options=options,
        others=others,
        alone=alone,
        stereotype=stereotype,
        neither=LABELS.index("neither"),
    ),
    remark=remark,
    complaint=complaint,
    predictions=None,
    report=shown,
    ranked_by="stereotype_rate",
    asks="asked in words, who does a model say is more likely to say this: men, women or neither?",
    legend="stereotype rate: 0 is ideal, 100 says nothing but stereotypes; about men: men - women, about women: women - "
    "men, without stereotype 15.",
)
