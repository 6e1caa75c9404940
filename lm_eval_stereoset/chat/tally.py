"""What the answers about one example add up to: numbers that are added up again by cluster, and that every metric is a
function of.

An example is asked in several orders, so each number is a count of answers, from 0 to the number of orders:

    chosen      per label: how often this option was the answer, wherever it stood
    neither … failed                          the answers that name no option
    places      per place: how often the option that stood there was the answer
    agreeing    of the `pairs` of readable answers, how many name the same option
    stable      per label: 1 if every order was answered by this option, which takes two orders at least
    cut_off     how many of the unreadable answers break off
    heard       1 if any answer names an option; `preferring`: one of the first two, which metrics compare
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from itertools import combinations

from lm_eval_stereoset.chat.orders import Order
from lm_eval_stereoset.chat.reading import CHOSEN, CUT_OFF, FAILED, NEITHER, REFUSED, UNREADABLE, Reading

OTHERS = (NEITHER, REFUSED, UNREADABLE, FAILED)


@dataclass(frozen=True, slots=True)
class Tally:
    chosen_0: float
    chosen_1: float
    chosen_2: float
    neither: float
    refused: float
    unreadable: float
    failed: float
    place_a: float
    place_b: float
    place_c: float
    agreeing: float
    pairs: float
    stable_0: float
    stable_1: float
    stable_2: float
    heard: float
    preferring: float
    cut_off: float

    @property
    def row(self) -> list[float]:
        return list(astuple(self))


NAMES = tuple(field.name for field in fields(Tally))
COLUMN = {name: number for number, name in enumerate(NAMES)}


def label_of(reading: Reading, order: Order, neither: int | None = None) -> int | None:
    """Which option was chosen, by its label. `neither`: the option that "none of them" amounts to, if there is one."""
    if reading.kind == CHOSEN and reading.place is not None:
        return order[reading.place]
    return neither if reading.kind == NEITHER else None


def tally(readings: Sequence[Reading], orders: Sequence[Order], neither: int | None = None) -> Tally:
    labels = [label_of(reading, order, neither) for reading, order in zip(readings, orders, strict=True)]
    said = [label for label in labels if label is not None]
    places = [r.place for r in readings if r.kind == CHOSEN]
    kinds = [r.kind for r, label in zip(readings, labels, strict=True) if label is None]
    pairs = list(combinations(said, 2))
    stable = len(orders) > 1 and len(said) == len(orders) and len(set(said)) == 1
    return Tally(  # type: ignore[misc, call-arg]  # of mypy, each star is any number
        *(float(said.count(label)) for label in range(3)),
        *(float(kinds.count(kind)) for kind in OTHERS),
        *(float(places.count(place)) for place in range(3)),
        float(sum(one == two for one, two in pairs)),
        float(len(pairs)),
        *(float(stable and said[0] == label) for label in range(3)),
        heard=float(bool(said)),
        preferring=float(0 in said or 1 in said),
        cut_off=float(sum(r.kind == UNREADABLE and r.why == CUT_OFF for r in readings)),
    )
