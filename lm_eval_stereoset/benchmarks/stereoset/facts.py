"""What an example of StereoSet keeps in every language: its labels, its kind of bias, its English target term.

Swapped labels turn SS into 100 - SS without any error, so wherever examples are read that carry StereoSet's
ids, these facts are compared. The data itself does not come with the package; facts.bin holds checksums only,
one entry of 14 bytes for each of the 4,229 examples:

    6 bytes   of the example's id, which finds the entry
    4 bytes   of its candidates' ids and labels, in the order of the ids
    2 bytes   of its bias type
    2 bytes   of its English target term
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.example import LABELS, Example
from lm_eval_stereoset.errors import UserError

TABLE = Path(__file__).with_name("facts.bin")
ID_BYTES, ENTRY_BYTES = 6, 14


def _labels(example: Example) -> str:
    return " ".join(f"{c.id} {c.label}" for c in sorted(example.candidates, key=lambda c: c.id))


@dataclass(frozen=True)
class Fact:
    name: str  # for messages
    value: Callable[[Example], str]
    place: slice  # in an entry


FACTS = (
    Fact("labels", _labels, slice(6, 10)),
    Fact("bias_type", lambda example: example.bias_type, slice(10, 12)),
    Fact("target_original", lambda example: example.target_original, slice(12, 14)),
)


def entry_of(example: Example) -> bytes:
    """The 14 bytes that stand for an example; each fact's checksum is taken together with the id."""
    entry = _checksum(example.id)[:ID_BYTES]
    for fact in FACTS:
        entry += _checksum(example.id, fact.name, fact.value(example))[: fact.place.stop - fact.place.start]
    return entry


def _checksum(*texts: str) -> bytes:
    # A text from a file may hold anything that Python's strings can.
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).digest()


def table_of(examples: Iterable[Example]) -> bytes:
    """The content of facts.bin, from the English examples of both splits."""
    return b"".join(sorted(map(entry_of, examples)))


@lru_cache(maxsize=1)
def _entries() -> dict[bytes, bytes]:
    table = TABLE.read_bytes()
    entries = [table[i : i + ENTRY_BYTES] for i in range(0, len(table), ENTRY_BYTES)]
    return {entry[:ID_BYTES]: entry for entry in entries}


def is_stereoset(example: Example) -> bool:
    """Whether the example has the id of one of StereoSet's."""
    return _checksum(example.id)[:ID_BYTES] in _entries()


def differences(example: Example) -> list[str]:
    """The names of the facts that are not StereoSet's; none for an example with an id of its own."""
    theirs = _entries().get(_checksum(example.id)[:ID_BYTES])
    if theirs is None:
        return []
    ours = entry_of(example)
    return [fact.name for fact in FACTS if ours[fact.place] != theirs[fact.place]]


def differences_from(example: Example, english: Example) -> list[str]:
    """The same, compared with the English example that was translated."""
    return [
        fact.name
        for fact in FACTS
        if fact.value(example) != fact.value(replace(english, target_original=english.target))
    ]


def describe(example: Example, names: Sequence[str], english: Example | None = None) -> str:
    """What differs in one example, in words: '5f… is stereotype here and anti-stereotype in StereoSet'."""
    there = "in the English data" if english else "in StereoSet"
    if "labels" in names:
        right = {c.id: c.label for c in english.candidates} if english else _right_labels(example)
        for c in example.candidates:
            if c.label != right.get(c.id, c.label):
                return f"candidate {c.id} is {c.label} here and {right[c.id]} {there}"
        return f"its candidates have other ids than {there}"
    return f"its {names[0]} is {getattr(example, names[0])!r} here and another one {there}"


def _right_labels(example: Example) -> dict[str, str]:
    """The labels whose checksum is the one in the table, found by trying all six orders."""
    for labels in permutations(LABELS):
        candidates = tuple(replace(c, label=x) for c, x in zip(example.candidates, labels, strict=True))
        if "labels" not in differences(replace(example, candidates=candidates)):
            return {c.id: c.label for c in candidates}
    return {}


def complaint(examples: Iterable[Example]) -> str | None:
    """One sentence on all examples with StereoSet's ids but other labels, bias types or English targets."""
    found = [(example, names) for example in examples if (names := differences(example))]
    if not found:
        return None
    example, names = found[0]
    kinds = [fact.name for fact in FACTS if any(fact.name in names for _, names in found)]
    return (
        f"{len(found)} examples have StereoSet's ids but not its {', '.join(kinds)}, e.g. {example.id}: "
        f"{describe(example, names)}"
    )


def refuse_other_facts(examples: Iterable[Example], where: str) -> None:
    if text := complaint(examples):
        raise UserError(
            f"{where}: {text}; scores would be wrong: put StereoSet's back, or, if they are meant to differ, "
            "give these examples ids of their own"
        )
