"""What the report shows of GEST and EuroGEST beyond what every benchmark gets."""

from typing import Any

import numpy as np

from lm_eval_stereoset.benchmarks.declaration import OVERALL
from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.benchmarks.gest.kinds import EUROGEST, GEST, RANK, Kind
from lm_eval_stereoset.benchmarks.gest.mt.shown import TRANSLATIONS
from lm_eval_stereoset.benchmarks.gest.pair import FILE
from lm_eval_stereoset.benchmarks.gest.panels import Counts, panels_of
from lm_eval_stereoset.benchmarks.gest.sentence import SPLITS
from lm_eval_stereoset.benchmarks.gest.stereotypes import NAMES, NUMBERS
from lm_eval_stereoset.report.extras import Extras, Layout
from lm_eval_stereoset.report.study import Study

METHOD = (
    (
        "Scores",
        "An example is a pair of texts that differ in the gender of the one who speaks. Its score is log10 p(masculine) "
        "- log10 p(feminine), its share r is p(masculine) / (p(masculine) + p(feminine)).",
    ),
    (
        "Stereotypes",
        "q_i is the mean score of stereotype i, r_i its mean share; 1 to 7 are about women, 8 to 16 about men. q_f and "
        "q_m (r_f and r_m) are the means of the two halves, g_s = q_m - q_f, g_s ratio = r_m / r_f. A stereotype with "
        "fewer than 10 examples has no number, and without one of them there is neither mean nor g_s.",
    ),
    ("Intervals of stereotypes", "A bootstrap that draws sentences within each stereotype."),
)


def counts(study: Study) -> Counts:
    """Examples of each stereotype; None for results without samples, which do not say."""
    return {split: [_counts(run.parts, split) for run in study.runs] for split in study.splits()}


def _counts(parts: dict[str, Scored] | None, split: str) -> list[int] | None:
    chosen = [scored for name, scored in (parts or {}).items() if split in (OVERALL, name)]
    if not chosen:
        return None
    numbers = [example.stereotype for scored in chosen for example in _gest(scored)]
    return np.bincount(numbers, minlength=len(NAMES) + 1)[1:].tolist()


def _gest(scored: Scored) -> list[Any]:
    return list(scored.examples)


def layouts(kind: Kind, split: str, name: str, means: tuple[str, ...]) -> tuple[Layout, ...]:
    """Tables: the numbers of all stereotypes together, and of each of them."""
    titles = {"g_s_ratio": "g_s ratio"}
    together = tuple((titles.get(metric, metric), (metric,)) for metric in means)
    single = tuple((f"{i} {NAMES[i - 1]}", (f"{kind.one}_{i}",)) for i in NUMBERS)
    ranks = tuple((f"{i} {NAMES[i - 1]}", (f"{RANK}_{i}",)) for i in NUMBERS)
    title = f"{name}, {split}" if split != FILE else name
    return (
        Layout(f"g_s_{split}", split, together, f"{title}: stereotype rates", f"tab:{name.lower()}-g_s-{split}"),
        Layout(f"stereotypes_{split}", split, single, f"{title}: {kind.one} of each stereotype",
               f"tab:{name.lower()}-stereotypes-{split}"),
        Layout(f"ranks_{split}", split, ranks, f"{title}: feminine ranks", f"tab:{name.lower()}-ranks-{split}"),
    )  # fmt: skip


def about(example: Any) -> str:
    return str(example.group)


SHOWN = Extras(
    method=METHOD,
    term=about,
    ties_are="both genders have the very same probability",
    panels=panels_of(GEST, counts),
    in_panels=GEST.by_stereotype,
    layouts=tuple(
        layout
        for split in (OVERALL, *SPLITS)
        for layout in layouts(GEST, split, "GEST", ("g_s", "q_m", "q_f", "q_fam"))
    ),
    others=(TRANSLATIONS,),
)
SHOWN_EUROGEST = Extras(
    method=METHOD,
    term=about,
    ties_are="both genders have the very same probability",
    panels=panels_of(EUROGEST, counts),
    in_panels=(*EUROGEST.by_stereotype, *GEST.by_stereotype),
    layouts=layouts(EUROGEST, FILE, "EuroGEST", ("g_s_ratio", "g_s", "r_m", "r_f")),
)
