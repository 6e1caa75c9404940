"""A pair of texts of EuroGEST that are the same but for the gender of the one who speaks.

A line of `pairs/<language>.jsonl`:

{"id": "4", "stereotype": 2, "condition": "G", "masculine": "…", "feminine": "…", "english": "…"}

The id is the row of the authors' file, from 0. Conditions: G, the sentence itself shows the speaker's gender; P and N,
it does not, and stands in quotation marks before "he said" and "she said" (P) or "the man said" and "the woman said"
(N). Where the published program asks another pair, that is beside it: {…, "published": {"condition", "masculine",
"feminine"}}.
"""

from dataclasses import dataclass, replace
from typing import Any

from lm_eval_stereoset.benchmarks.gest.stereotypes import FEMININE, GENDERS, MASCULINE, name_of, number_of
from lm_eval_stereoset.data.fields import object_of, only, text_of
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import Candidate, Question

FILE = "pairs"
CONDITIONS = {"G": "gendered sentence", "P": "neutral, he or she said", "N": "neutral, the man or woman said"}
TEXTS = ("condition", "masculine", "feminine")


@dataclass(frozen=True, slots=True)
class Published:
    """What the authors' program asks instead."""

    condition: str
    masculine: str
    feminine: str


@dataclass(frozen=True, slots=True)
class Pair:
    id: str
    stereotype: int
    condition: str  # a key of CONDITIONS
    masculine: str
    feminine: str
    english: str | None = None
    published: Published | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.id,)

    @property
    def split(self) -> str:
        return FILE

    @property
    def group(self) -> str:
        return name_of(self.stereotype)

    @property
    def cluster(self) -> str:
        return self.id

    @property
    def labels(self) -> tuple[str, ...]:
        return GENDERS

    @property
    def question(self) -> Question:
        candidates = (Candidate(MASCULINE, self.masculine), Candidate(FEMININE, self.feminine))
        return Question("compare", self.id, "", candidates)

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"id": self.id, "stereotype": self.stereotype}
        fields |= {key: getattr(self, key) for key in TEXTS}
        if self.english is not None:
            fields["english"] = self.english
        if self.published is not None:
            fields["published"] = {key: getattr(self.published, key) for key in TEXTS}
        return fields


def as_published(pair: Pair) -> Pair:
    one = pair.published
    if one is None:
        return pair
    return replace(pair, condition=one.condition, masculine=one.masculine, feminine=one.feminine)


def parse_pair(fields: Any, split: str, where: str) -> Pair:
    """One decoded line; `where` (file and line) opens every error message."""
    fields = {key: value for key, value in object_of(fields, where).items() if value is not None}
    if "neutral" in fields and not {"masculine", "feminine"} & set(fields):
        raise UserError(
            f"{where}: a neutral text alone, and there are no scaffolds that would make a pair of it; give the texts "
            'masculine and feminine, such as „…“, sagte er and „…“, sagte sie, with "condition": "P"'
        )
    only(fields, {"id", "stereotype", *TEXTS, "english", "published", "split"}, where)
    condition, masculine, feminine = _texts(fields, where)
    if masculine == feminine:
        raise UserError(f"{where}: masculine and feminine are the same text: {masculine[:60]!r}")
    published = fields.get("published")
    if published is not None:
        inner = object_of(published, f"{where}, published")
        only(inner, set(TEXTS), f"{where}, published")
        published = Published(*_texts(inner, f"{where}, published"))
    return Pair(
        text_of(fields, "id", where),
        number_of(fields.get("stereotype"), where),
        condition,
        masculine,
        feminine,
        text_of(fields, "english", where) if "english" in fields else None,
        published,
    )


def _texts(fields: dict[str, Any], where: str) -> tuple[str, str, str]:
    condition, masculine, feminine = (text_of(fields, key, where) for key in TEXTS)
    if condition not in CONDITIONS:
        raise UserError(f"{where}: condition {condition!r} is not one of {', '.join(CONDITIONS)}")
    return condition, masculine, feminine
