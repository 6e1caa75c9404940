"""What a translation would take: strings, unique strings, characters, cost, time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lm_eval_stereoset.benchmarks.stereoset.example import Example
from lm_eval_stereoset.errors import UserError
from stereoset_translation.columns import get
from stereoset_translation.source import strings_of, translated_columns

SECONDS_PER_STRING = 0.2  # a request over the network; replaced by the measured speed once there is one


@dataclass(frozen=True)
class Plan:
    examples: dict[str, int]  # by split
    strings: dict[str, int]
    characters: dict[str, int]
    unique: list[str]  # in order of first appearance, over both splits
    missing: list[str]  # of these, what the memory does not hold
    price: float | None  # per million characters
    strings_per_second: float | None  # measured in earlier runs
    concurrency: int

    @property
    def unique_characters(self) -> int:
        return sum(map(len, self.unique))

    @property
    def missing_characters(self) -> int:
        return sum(map(len, self.missing))

    def cost(self, characters: int) -> float:
        return characters * (self.price or 0) / 1e6

    @property
    def seconds(self) -> float:
        speed = self.strings_per_second or self.concurrency / SECONDS_PER_STRING
        return len(self.missing) / speed


def make(
    english: Mapping[str, Sequence[Example]],
    stored: Collection[str] = (),
    price: float | None = None,
    strings_per_second: float | None = None,
    concurrency: int = 1,
) -> Plan:
    strings = {split: [s for e in examples for s in strings_of(e)] for split, examples in english.items()}
    unique = list(dict.fromkeys(s for split in strings.values() for s in split))
    return Plan(
        examples={split: len(examples) for split, examples in english.items()},
        strings={split: len(all_) for split, all_ in strings.items()},
        characters={split: sum(map(len, all_)) for split, all_ in strings.items()},
        unique=unique,
        missing=[text for text in unique if text not in stored],
        price=price,
        strings_per_second=strings_per_second,
        concurrency=concurrency,
    )


def describe(plan: Plan) -> str:
    total = sum(plan.characters.values())
    saved = total - plan.unique_characters
    share = f"{100 * saved / total:.1f} %" if total else "nothing"
    lines = [f"{'':<10}{'examples':>10}{'strings':>10}{'characters':>12}"]
    for split in plan.examples:
        lines.append(
            f"{split:<10}{plan.examples[split]:>10,}{plan.strings[split]:>10,}{plan.characters[split]:>12,}"
        )
    lines += [
        f"{'together':<10}{sum(plan.examples.values()):>10,}{sum(plan.strings.values()):>10,}{total:>12,}",
        f"{'unique':<10}{'':>10}{len(plan.unique):>10,}{plan.unique_characters:>12,}   saves {share}",
        f"{'to send':<10}{'':>10}{len(plan.missing):>10,}{plan.missing_characters:>12,}   the rest is stored",
    ]
    if plan.price:
        lines.append(
            f"cost: {plan.cost(plan.missing_characters):.2f} at {plan.price:g} per million characters "
            f"(without sending identical strings once: {plan.cost(total):.2f})"
        )
    basis = "measured in earlier runs" if plan.strings_per_second else "a guess until the first run"
    lines.append(f"time: about {duration(plan.seconds)} ({basis})")
    return "\n".join(lines)


def refusal(refused: Mapping[str, str], english: Mapping[str, Sequence[Example]]) -> UserError:
    """Names the examples whose texts the translator does not take, and the way out."""
    texts, why = len(refused), next(iter(refused.values()))
    where = [
        f"{split} {example.id} ({column})"
        for split, examples in english.items()
        for example in examples
        for column in translated_columns(split)
        if get(example, column) in refused
    ]
    named = ", ".join(where[:5]) + (f" and {len(where) - 5} more" if len(where) > 5 else "")
    return UserError(
        f"{texts} {'text was' if texts == 1 else 'texts were'} refused ({why}), in {named}; shorten the English "
        "text in a copy of <split>/en.jsonl in a folder given with --data, or take another --backend; every "
        "answer so far is stored and will not be asked again"
    )


def duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    )
