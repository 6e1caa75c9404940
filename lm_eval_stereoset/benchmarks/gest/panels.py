"""The parts of the report that GEST, EuroGEST and translations share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.gest.figures import heat_of, means_of, ranks_of
from lm_eval_stereoset.benchmarks.gest.kinds import RANK, Kind
from lm_eval_stereoset.benchmarks.gest.stereotypes import ABOUT_WOMEN, NAMES
from lm_eval_stereoset.report.extras import Panel
from lm_eval_stereoset.report.study import Study

Counts = dict[str, list[list[int] | None]]  # by split: of each result, examples of each stereotype


def panels_of(kind: Kind, counts: Callable[[Study], Counts]) -> tuple[Panel, ...]:
    def facts(study: Study) -> dict[str, Any]:
        texts = {"women": kind.women, "men": kind.men, "rate": kind.rate, "middle": kind.middle}
        return {
            "one": kind.one,
            "rank": RANK,
            "names": NAMES,
            "women": ABOUT_WOMEN,
            "kind": texts | {"what": kind.what, "ranked": kind.ranked, "undefined": kind.undefined},
            "counts": counts(study),
        }

    return (
        Panel(
            name="by_stereotype",
            link="Stereotypes",
            title="By stereotype",
            script=Path(__file__).parent / "stereotypes.js",
            picture=heat_of(kind),
            facts=facts,
        ),
        Panel(
            name="means",
            link="Women and men",
            title="Stereotypes about women and about men",
            picture=means_of(kind),
            text=f"Left: the mean {kind.one} of the stereotypes about women and of those about men, with 95 % intervals; "
            "the dashed line is where neither gender is preferred. Right: men's against women's.",
        ),
        Panel(
            name="ranks",
            link="Ranks",
            title="Feminine ranks",
            picture=ranks_of(kind),
            text=f"The 16 stereotypes of each result in the order of their {kind.ranked}: rank 1 is made the least masculine. "
            "A box holds the middle half of all results, its line is their median, its whiskers reach to the ends.",
        ),
    )
