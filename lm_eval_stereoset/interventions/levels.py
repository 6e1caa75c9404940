"""The settings of the paper: which places are projected, and how.

A level switches on its place and all that lie nearer to the output:

    level      places                                       the numbers of a setting
    sent       the pooler's output                                                n_p
    layer12    + the last layer's output, first token only              n12, c12, n_p
    layer11    + the output of the layer before it, all tokens  n11, c11, n12, c12, n_p
    attn       + query, key and value of that layer, per head   n11, c11, n12, c12, n_p

n: 0 takes the directions out for good (hard), 1 as much as the variance that they explain (weighted). c: 0 is one
direction, 1 is two. The attention always loses one direction per head, for good. The names are those of BERT-base;
in models of any depth they mean the last layer and the one before it. Models without a pooler have no n_p.

Which direction the pooler loses is open in the paper. By default it is the first direction of the setting's level (for
attn, of layer11), weighted by the pooler's own share of variance: this alone gives the reference figures that this
program is checked against (docs/debias.md). With OWN it is the pooler's own first direction; names then say so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from lm_eval_stereoset.errors import UserError

SENT, LAYER12, LAYER11, ATTN = LEVELS = ("sent", "layer12", "layer11", "attn")
NUMBERS = {
    SENT: ("n_p",),
    LAYER12: ("n12", "c12", "n_p"),
    LAYER11: ("n11", "c11", "n12", "c12", "n_p"),
    ATTN: ("n11", "c11", "n12", "c12", "n_p"),
}
BASE = "base"  # the model as it is
LEVEL, OWN = POOLER_DIRECTIONS = ("level", "own")


@dataclass(frozen=True)
class Choice:
    """How one place is projected."""

    weighted: bool
    directions: int


@dataclass(frozen=True)
class Setting:
    level: str  # one of LEVELS, or "base"
    numbers: tuple[int, ...] = ()  # of NUMBERS[level]; without n_p in models without a pooler
    pooled: bool = True  # whether the model has a pooler

    @property
    def name(self) -> str:
        return self.level if self.level == BASE else f"{self.level} ({','.join(map(str, self.numbers))})"

    @property
    def choices(self) -> dict[str, Choice]:
        """{level: how its place is projected}, from the input outwards."""
        if self.level == BASE:
            return {}
        by_name = dict(zip(numbers_of(self.level, self.pooled), self.numbers, strict=True))
        found = {ATTN: Choice(False, 1)} if self.level == ATTN else {}
        if "n11" in by_name:
            found[LAYER11] = Choice(by_name["n11"] == 1, 1 + by_name["c11"])
        if "n12" in by_name:
            found[LAYER12] = Choice(by_name["n12"] == 1, 1 + by_name["c12"])
        if "n_p" in by_name:
            found[SENT] = Choice(by_name["n_p"] == 1, 1)
        return found


def numbers_of(level: str, pooled: bool) -> tuple[str, ...]:
    return tuple(name for name in NUMBERS[level] if pooled or name != "n_p")


def parse_setting(level: str, text: str, pooled: bool) -> Setting:
    """`text`: what a user gives as --settings, such as "0,1,1,0,1"."""
    wanted = numbers_of(level, pooled)
    given = [part.strip() for part in text.strip().strip("()").split(",")]
    if len(given) != len(wanted) or not set(given) <= {"0", "1"}:
        why = "" if pooled else " (this model has no pooler, so there is no n_p)"
        raise UserError(
            f"--settings {text}: level {level} takes {len(wanted)} numbers, each 0 or 1: {','.join(wanted)}{why}"
        )
    return Setting(level, tuple(map(int, given)), pooled)


def all_settings(levels: tuple[str, ...]) -> Iterator[Setting]:
    """The base and every setting of the levels that a model has, in the paper's order: 1 + 74 for BERT."""
    pooled = SENT in levels
    yield Setting(BASE, (), pooled)
    for level in LEVELS:
        if level in levels:
            for numbers in product((0, 1), repeat=len(numbers_of(level, pooled))):
                yield Setting(level, numbers, pooled)
