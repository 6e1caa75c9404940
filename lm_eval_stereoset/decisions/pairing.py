"""Which results of a base and of a new model belong together, and why others do not."""

from collections.abc import Sequence
from dataclasses import dataclass

from lm_eval_stereoset.benchmarks.declaration import OVERALL
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.scoring.describe import unit_of

DATA, METHOD = "data", "method"


@dataclass(frozen=True)
class Objection:
    """Why two results must not be compared unless the user says so."""

    kind: str  # DATA or METHOD
    text: str


@dataclass(frozen=True)
class Pair:
    """The same benchmark and language on both sides."""

    base: Run
    new: Run

    @property
    def label(self) -> str:
        return f"{self.new.benchmark.title}, {self.new.language}"

    def objections(self) -> list[Objection]:
        return [*self._other_data(), *self._other_method()]

    def _other_data(self) -> list[Objection]:
        found = [
            Objection(DATA, f"{run.label}: {text}")
            for run in (self.base, self.new)
            for text in run.unlike_data
        ]
        for split in self.new.benchmark.splits:
            one, two = (run.data.get(split, {}) for run in (self.base, self.new))
            digests = one.get("sha256"), two.get("sha256")
            both_known = all(digests)
            if (both_known and digests[0] != digests[1]) or (
                not both_known and {one.get("data"), two.get("data")} > {"sample"} and one and two
            ):
                found.append(Objection(DATA, f"{split}: {_data(one)} and {_data(two)}"))
        return found

    def _other_method(self) -> list[Objection]:
        """What is not recorded on one of the sides cannot be compared; `unknowns` says so."""
        ways = (
            ("they compare", self.base.quantities, self.new.quantities),
            ("normalised by", _units(self.base), _units(self.new)),
            ("scored as", self.base.scorers, self.new.scorers),
        )
        found = []
        for what, base, new in ways:
            common = [split for split in base if split in new]
            if not common and base and new:  # one side says it once for all splits
                common = [OVERALL]
            for split in common:
                one, two = self.base.said_of(split, base), self.new.said_of(split, new)
                if one and two and one != two:
                    found.append(Objection(METHOD, f"{what} {one!r} and {two!r}"))
        return list(dict.fromkeys(found))

    def unknowns(self) -> list[str]:
        """What must be taken on trust."""
        found = []
        for run in (self.base, self.new):
            if not (run.quantities or run.scorers):
                found.append(f"{run.source} does not say how it was scored")
            if not any("sha256" in about for about in run.data.values()):
                found.append(f"{run.source} does not say which data it is from")
        return found


def _units(run: Run) -> dict[str, str]:
    return {split: unit_of(normaliser) for split, normaliser in run.normalisers.items()}


def _data(about: dict) -> str:
    name = " ".join(str(about[key]) for key in ("data", "version") if about.get(key)) or "unknown data"
    return f"{name} (sha256 {about['sha256'][:12]})" if about.get("sha256") else name


def pair_up(base: Sequence[Run], new: Sequence[Run]) -> tuple[list[Pair], list[str]]:
    """Pairs in the order of the new side, and a line for everything that only one side has."""
    there = {(run.benchmark.name, run.language): run for run in base}
    pairs = [Pair(there[key], run) for run in new if (key := (run.benchmark.name, run.language)) in there]
    paired = {(pair.new.benchmark.name, pair.new.language) for pair in pairs}
    lonely = [
        f"{run.benchmark.title} in {run.language}: only {side} has it ({run.source})"
        for side, runs in (("the base", base), ("the new side", new))
        for run in runs
        if (run.benchmark.name, run.language) not in paired
    ]
    return pairs, lonely + [text for pair in pairs for text in _lonely_splits(pair)]


def _lonely_splits(pair: Pair) -> list[str]:
    found = []
    for split in pair.new.benchmark.views:
        have = [
            side for side, run in (("the base", pair.base), ("the new side", pair.new)) if split in run.table
        ]
        if len(have) == 1 and split != OVERALL:
            found.append(f"{pair.label}, {split}: only {have[0]} has it")
    return found


def partial(run: Run, split: str) -> str | None:
    """Why a number does not rest on the whole data, in words; None if it does."""
    splits = run.benchmark.pooled_splits if split == OVERALL else (split,)
    n = run.overall(split, "n")
    if all(one in run.complete for one in splits):
        whole = sum(run.complete[one] for one in splits)
    elif split in run.complete:
        whole = run.complete[split]
    else:
        return "the file does not say how many examples its data have"
    return f"only {n:,.0f} of {whole:,} examples (--limit?)" if not n >= whole else None
