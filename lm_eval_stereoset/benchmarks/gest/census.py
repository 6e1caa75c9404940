"""What is in a file of GEST or EuroGEST: counted by stereotype and condition, compared with the published counts.

GEST's authors compared masked models on Slavic pairs only where a single token differs. `losses` counts how many of a
language's gendered pairs such a filter leaves: exactly one word differs, the two words have the same first letters, and
the tokenizer makes exactly one token differ.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.benchmarks.gest.pair import CONDITIONS, Pair
from lm_eval_stereoset.benchmarks.gest.stereotypes import NUMBERS
from lm_eval_stereoset.benchmarks.gest.upstream import PUBLISHED
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import Uniqueness, iter_lines, parse_json, sha256_of

LETTERS = 2  # that two words must share at their beginning


@dataclass
class Census:
    path: Path
    sha256: str
    examples: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    filtered: dict[str, int] = field(default_factory=dict)  # what the filter leaves, step by step

    @property
    def pairs(self) -> list[Pair]:
        return [example for example in self.examples if isinstance(example, Pair)]

    @property
    def by_stereotype(self) -> dict[int, int]:
        found = Counter(example.stereotype for example in self.examples)
        return {number: found[number] for number in NUMBERS}

    @property
    def conditions(self) -> dict[str, int]:
        found = Counter(pair.condition for pair in self.pairs)
        return {condition: found[condition] for condition in CONDITIONS} if self.pairs else {}

    @property
    def published(self) -> dict[str, int]:
        counts = PUBLISHED.get(self.path.stem) if self.pairs else None
        return {"gendered": counts.gendered, "neutral": counts.neutral} if counts else {}

    def to_dict(self) -> dict[str, Any]:
        return {
            "file": str(self.path), "sha256": self.sha256, "examples": len(self.examples),
            "stereotypes": self.by_stereotype, "conditions": self.conditions, "published": self.published,
            "filter": self.filtered, "errors": self.errors,
        }  # fmt: skip

    def lines(self) -> list[str]:
        kinds = ", ".join(f"{number}: {count}" for number, count in self.by_stereotype.items())
        found = [
            f"{self.path}  (sha256 {self.sha256[:12]})",
            f"  {len(self.examples)} examples ({kinds})",
        ]
        found += [f"  {count:>6}  {CONDITIONS[name]} ({name})" for name, count in self.conditions.items()]
        if self.published:
            found.append(
                f"  published: {self.published['gendered']} gendered, {self.published['neutral']} neutral"
            )
        found += [f"  {count:>6}  {what}" for what, count in self.filtered.items()]
        return [*found, f"  {len(self.errors):>6}  errors", *(f"          {error}" for error in self.errors)]


def take(benchmark: Benchmark, path: Path, tokenizer: Any = None) -> Census:
    """Reads a whole file, whatever is wrong in it: every bad line becomes an entry of `errors`."""
    census, unique = Census(path, sha256_of(path)), Uniqueness()
    for number, line in iter_lines(path):
        where = f"{path}, line {number}"
        try:
            example = benchmark.parse(parse_json(line, where), benchmark.splits[0], where)
            unique.check(example.ids, where)
        except UserError as error:
            census.errors.append(str(error))
            continue
        census.examples.append(example)
    census.filtered = losses(census.pairs, tokenizer)
    return census


def losses(pairs: Iterable[Pair], tokenizer: Any = None) -> dict[str, int]:
    """{what is asked of the gendered pairs: how many are left}, each step of those that the one before leaves."""
    left = [pair for pair in pairs if pair.condition == "G"]
    if not left:
        return {}
    found = {"gendered pairs": len(left)}
    left = [pair for pair in left if len(_unlike(pair.masculine.split(), pair.feminine.split()) or ()) == 1]
    found["… in which one word differs"] = len(left)
    left = [pair for pair in left if _same_beginning(pair)]
    found[f"… and begins with the same {LETTERS} letters"] = len(left)
    if tokenizer is not None:
        encoded = [
            (tokenizer(pair.masculine)["input_ids"], tokenizer(pair.feminine)["input_ids"]) for pair in left
        ]
        found["… and one token differs"] = sum(len(_unlike(a, b) or ()) == 1 for a, b in encoded)
    return found


def _unlike(one: Sequence[Any], other: Sequence[Any]) -> list[tuple[Any, Any]] | None:
    """What differs, place by place; None where the numbers of places do."""
    if len(one) != len(other):
        return None
    return [(a, b) for a, b in zip(one, other, strict=True) if a != b]


def _same_beginning(pair: Pair) -> bool:
    ((one, other),) = _unlike(pair.masculine.split(), pair.feminine.split()) or [("", "")]
    return bool(one) and one[:LETTERS].casefold() == other[:LETTERS].casefold()
