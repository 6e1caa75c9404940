"""GEST's sentences with the stereotype of each, in all versions of its texts: what translations are joined to."""

from dataclasses import dataclass

from lm_eval_stereoset.benchmarks.gest.data import load_sentences
from lm_eval_stereoset.benchmarks.gest.upstream import VERSIONS
from lm_eval_stereoset.errors import UserError


@dataclass(frozen=True)
class Row:
    """A row of gest.csv. A corrected text and the one before it are the same sentence."""

    id: str
    stereotype: int
    texts: tuple[str, ...]  # the newest first


@dataclass(frozen=True)
class English:
    rows: tuple[Row, ...]
    data: tuple[dict, ...]  # provenance of each version, for results to record

    @property
    def texts(self) -> list[str]:
        """What is translated: the newest text of each row, the same text once."""
        return list(dict.fromkeys(row.texts[0] for row in self.rows))


def read_english(data: str | None = None) -> English:
    """Both versions; with `data` only that one: a version, 'sample', or a folder of the user's."""
    datasets = [load_sentences(version) for version in ((data,) if data else VERSIONS)]
    newest = datasets[0].examples
    rows = []
    for number, first in enumerate(newest):
        same = [dataset.examples[number] for dataset in datasets if number < len(dataset.examples)]
        if len(same) < len(datasets) or any((s.id, s.stereotype) != (first.id, first.stereotype) for s in same):
            raise UserError(
                f"the versions {', '.join(VERSIONS)} of GEST differ in more than texts (id {first.id}); restore them "
                "with `stereoset data fetch gest --force`, or choose one with --data"
            )
        rows.append(Row(first.id, first.stereotype, tuple(dict.fromkeys(s.sentence for s in same))))
    return English(tuple(rows), tuple(dataset.describe() for dataset in datasets))
