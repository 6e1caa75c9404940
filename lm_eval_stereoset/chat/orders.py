"""In which orders an example's options are shown: a function of the example's id and a fixed seed, and of nothing else.

A model that likes the first option whatever it says would look biased, or unbiased, by chance. So each example is asked
several times, and every option stands equally often in every place:

    orders=3   (default) an order and its two rotations:   0 1 2    1 2 0    2 0 1
    orders=6   all six orders
    orders=1   the first of them: a third of the price, and no way to tell a preference from a habit

Those of 1 are the first of those of 3, and these the first of those of 6, so answers in a cache serve all of them.
"""

import hashlib
from itertools import permutations

from lm_eval_stereoset.errors import UserError

SEED = 20240917  # another one would be another experiment, so it is no setting
COUNTS = (1, 3, 6)
DEFAULT = 3

Order = tuple[int, int, int]  # order[place] is the option that stands there

_ALL = tuple(permutations(range(3)))


def orders_of(id_: str, count: int = DEFAULT) -> tuple[Order, ...]:
    """The first `count` orders of an example; option numbers are those of the benchmark, not of the data file."""
    digest = hashlib.sha256(f"{SEED}:{id_}".encode("utf-8", "surrogatepass")).digest()
    first = _ALL[int.from_bytes(digest[:8], "big") % len(_ALL)]
    mirrored = (first[1], first[0], first[2])
    return (*_rotations(first), *_rotations(mirrored))[:count]


def _rotations(order: tuple[int, ...]) -> tuple[Order, ...]:
    a, b, c = order
    return (a, b, c), (b, c, a), (c, a, b)


def checked_count(value: object) -> int:
    """The setting `orders`, as --metadata gives it."""
    text = str(value).strip()
    if isinstance(value, bool) or text not in map(str, COUNTS):
        raise UserError(f"orders={text[:40]}: an example can be asked in 1, 3 or 6 orders")
    return int(text)
