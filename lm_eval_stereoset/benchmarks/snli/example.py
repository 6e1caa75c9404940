"""One pair of SNLI with its gold label."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Made
from lm_eval_stereoset.benchmarks.nli.answers import ANSWERS, candidates
from lm_eval_stereoset.benchmarks.snli.rows import Row, labelled
from lm_eval_stereoset.data.fields import object_of, only, text_of
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import Question

SPLITS = ("test",)
LABELS = ANSWERS


@dataclass(frozen=True, slots=True)
class Pair:
    id: str
    premise: str
    hypothesis: str
    label: str  # the gold label: one of LABELS
    split: str = "test"

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.id,)

    @property
    def group(self) -> str:
        return self.label

    @property
    def cluster(self) -> str:
        """Most premises have three hypotheses or more."""
        return self.premise

    @property
    def labels(self) -> tuple[str, ...]:
        return LABELS

    @property
    def question(self) -> Question:
        return Question("judge", self.id, self.premise, tuple(candidates(self.premise, self.hypothesis)))

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "split"}


def parse_pair(fields: Any, split: str, where: str) -> Pair:
    """A document of the harness."""
    keys = ("id", "premise", "hypothesis", "label")
    texts = {key: text_of(object_of(fields, where), key, where) for key in keys}
    only(fields, {*keys, "split"}, where)
    if texts["label"] not in LABELS:
        raise UserError(f"{where}: label {texts['label']!r} is not one of {', '.join(LABELS)}")
    return Pair(split=split, **texts)


def make_pairs(rows: Sequence[Row], split: str, options: Mapping[str, int], where: str) -> Made:
    """The rows that have a gold label; how many have none is recorded with the data."""
    found = labelled(rows, where)
    seen: Counter[str] = Counter()
    pairs = []
    for row in found:
        seen[row.id] += 1
        id_ = row.id if seen[row.id] == 1 else f"{row.id} ({seen[row.id]})"
        pairs.append(Pair(id_, row.premise, row.hypothesis, str(row.label), split))
    return Made(pairs, {"rows": len(rows), "left_out": len(rows) - len(found)})
