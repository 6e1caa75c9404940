"""Problem counts after every repair step: of every kind, and of missing targets per target term."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, Example
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, write_json
from stereoset_translation.checks import KINDS, problems_of
from stereoset_translation.columns import target_missing

Data = Mapping[str, list[Example]]
English = Mapping[str, Mapping[str, Example]]  # by split and id


@dataclass(frozen=True)
class StepCounts:
    step: str
    examples: dict[str, int]  # by split
    kinds: dict[str, dict[str, int]]  # by split and kind of problem
    targets: dict[str, dict[str, int]]  # by split and English target term: targets not in their context
    beside_english: dict[str, int] = field(default_factory=dict)  # by split: examples with their English


def count(step: str, data: Data, english: English) -> StepCounts:
    kinds, targets, compared = {}, {}, {}
    for split, examples in data.items():
        found = problems_of(examples, english.get(split, {}))
        counts = Counter(kind for kinds_ in found.values() for kind in kinds_)
        kinds[split] = {kind: counts[kind] for kind in KINDS if counts[kind]}
        missing = Counter(e.target_original for e in examples if target_missing(e))
        targets[split] = dict(sorted(missing.items(), key=lambda item: (-item[1], item[0])))
        compared[split] = sum(example.id in english.get(split, {}) for example in examples)
    sizes = {split: len(examples) for split, examples in data.items()}
    return StepCounts(step, sizes, kinds, targets, compared)


def save(path: Path, steps: list[StepCounts]) -> None:
    write_json(path, [asdict(step) for step in steps])


def load(path: Path) -> list[StepCounts]:
    if not path.is_file():
        return []
    content = read_json(path)
    if not isinstance(content, list) or not all(map(_is_step, content)):
        raise UserError(f"{path}: not a file of step counts; run `stereoset translate repair` again")
    return [StepCounts(**step) for step in content]


def _is_step(fields: Any) -> bool:
    if not isinstance(fields, dict):
        return False
    needed = {"step", "examples", "kinds", "targets"}
    return (
        needed <= set(fields) <= needed | {"beside_english"}
        and isinstance(fields["step"], str)
        and all(_are_counts(fields.get(key, {})) for key in ("examples", "beside_english"))
        and all(
            isinstance(fields[key], dict) and all(map(_are_counts, fields[key].values()))
            for key in ("kinds", "targets")
        )
        and set(fields["kinds"]) == set(fields["targets"]) <= set(SPLITS)
    )


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(type(count) is int and count >= 0 for count in value.values())


def kinds_table(steps: list[StepCounts]) -> str:
    """One row a kind of problem, one column a step, intra/inter in each cell."""
    kinds = [k for k in KINDS if any(k in step.kinds.get(s, {}) for step in steps for s in SPLITS)]
    rows = [
        [KINDS[kind].meaning, *(_cell(_looked_for(step, kind), kind) for step in steps)] for kind in kinds
    ]
    table = _table(["examples (intra/inter) in which", *(step.step for step in steps)], rows)
    if any(len(_looked_for(step, kind)) < len(step.kinds) for step in steps for kind in kinds):
        table += "\n- not looked for: the English text was not there"
    return table


def _looked_for(step: StepCounts, kind: str) -> Mapping[str, Mapping[str, int]]:
    """The counts of the splits in which the kind could be seen: without English 0 would be a lie."""
    if not KINDS[kind].needs_english:
        return step.kinds
    return {split: counts for split, counts in step.kinds.items() if step.beside_english.get(split)}


def targets_table(steps: list[StepCounts]) -> str:
    """One row a target term that was ever missing in its context, the worst first."""
    total: Counter[str] = Counter()
    for split in SPLITS:
        total.update(steps[0].targets.get(split, {}))
        for step in steps:
            total.update(dict.fromkeys(step.targets.get(split, {}), 0))
    terms = sorted(total, key=lambda term: (-total[term], term))
    rows = [[term, *(_cell(step.targets, term) for step in steps)] for term in terms]
    return _table(["target not in context", *(step.step for step in steps)], rows)


def _cell(counts: Mapping[str, Mapping[str, int]], key: str) -> str:
    return "/".join(str(counts[split].get(key, 0)) if split in counts else "-" for split in SPLITS)


def _table(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, ["-" * w for w in widths], *rows]:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
