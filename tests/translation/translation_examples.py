"""A small English data set for tests: 16 examples of each split, with repeated targets."""

from stereoset_translation.columns import rebuilt
from stereoset_translation.plan import make

from lm_eval_stereoset.benchmarks.stereoset.example import LABELS, Candidate, Example

NOUNS = ("gardener", "sailor", "baker", "teacher", "miner", "painter", "pilot", "tailor")
PLACES = ("in town", "by the river")


def intra(number: int, context: str, target: str, words: tuple[str, str, str]) -> Example:
    candidates = [
        Candidate(f"a{number}-{k}", label, "-", word)
        for k, (label, word) in enumerate(zip(LABELS, words, strict=True))
    ]
    return rebuilt(Example(f"a{number}", target, target, "profession", context, tuple(candidates)))


def inter(number: int, context: str, target: str, sentences: tuple[str, str, str]) -> Example:
    candidates = [
        Candidate(f"e{number}-{k}", label, sentence)
        for k, (label, sentence) in enumerate(zip(LABELS, sentences, strict=True))
    ]
    return Example(f"e{number}", target, target, "profession", context, tuple(candidates))


def english_examples() -> dict[str, list[Example]]:
    pairs = list(enumerate((noun, place) for place in PLACES for noun in NOUNS))
    return {
        "intra": [
            intra(
                i, f"The {noun} we met {place} was BLANK, number {i}.", noun,
                (f"calm{i}", f"wild{i}", f"lamp{i}"),
            )
            for i, (noun, place) in pairs
        ],
        "inter": [
            inter(
                i, f"Our {noun} lives {place}.", noun,
                (f"Quiet days {i}.", f"Loud days {i}.", f"Soup {i} boils."),
            )
            for i, (noun, place) in pairs
        ],
    }  # fmt: skip


def unique_strings() -> list[str]:
    """What a run sends, in the order in which it sends."""
    return make(english_examples()).unique
