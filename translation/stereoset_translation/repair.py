"""Applies a language's repair rules to translated examples and records every change."""

import difflib
import string
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, Example
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.questions import BLANK
from stereoset_translation.columns import Change, get, names, put, rebuilt, target_missing
from stereoset_translation.folder import Folder, json_bytes, lines_bytes
from stereoset_translation.patterns import bounded, substitute
from stereoset_translation.reviews import BY_HAND, with_review
from stereoset_translation.rules import Rule, Rules
from stereoset_translation.sheet import fault, read_csv

Data = dict[str, list[Example]]
RAW = "raw"


@dataclass
class Repaired:
    data: Data
    steps: list[tuple[str, Data]]  # the data as it was after each step, raw first
    changes: list[Change] = field(default_factory=list)
    dropped: list[tuple[str, str, str]] = field(default_factory=list)  # split, example id, rule

    def report(self) -> list[dict[str, str | int]]:
        """Problem counts after each step; a split that is not there has no problems to count: 0."""
        return [
            {"step": name} | {split: sum(map(target_missing, data.get(split, []))) for split in SPLITS}
            for name, data in self.steps
        ]


def repair(data: Data, rules: Rules, manual_fixes: Path | None = None) -> Repaired:
    if manual_fixes is not None and not any(
        rule.action == "manual_fixes" for step in rules.steps for rule in step.rules
    ):
        raise UserError(
            f"{rules.where} has no rule manual_fixes that explains the sheets in {manual_fixes}; "
            "review sheets made by `stereoset translate review` are read with `stereoset translate apply`"
        )
    result = Repaired(dict(data), [(RAW, dict(data))])
    for step in rules.steps:
        for rule in step.rules:
            if rule.action == "manual_fixes":
                if manual_fixes is not None:
                    _apply_sheets(result, rule, manual_fixes)
                continue
            for split in rule.splits:
                if split in result.data:
                    result.data[split] = [_apply(rule, e, split, result.changes) for e in result.data[split]]
        result.steps.append((step.name, dict(result.data)))
    return result


def save(result: Repaired, source: Folder, target: Folder) -> tuple[int, int]:
    """Writes the data and the record of what the rules did; a person's review wins over any rule.

    Returns how many examples stay as a person left them, and how many of these are dropped.
    """
    with target.alone():
        return _save(result, source, target)


def _save(result: Repaired, source: Folder, target: Folder) -> tuple[int, int]:
    target.notice_edits()
    reviewed = target.reviewed()
    wanted = {key for key, review in reviewed.items() if review.after is not None}
    for split, raw in result.steps[0][1].items():  # a rule may not drop what a person has corrected
        by_id = {e.id: e for e in result.data[split]}
        result.data[split] = [by_id.get(e.id, e) for e in raw if e.id in by_id or (split, e.id) in wanted]
    result.dropped = [d for d in result.dropped if d[:2] not in wanted]
    result.dropped += [
        (split, id_, f"{BY_HAND}: {source.file(split)}")
        for (split, id_), review in source.reviewed().items()
        if review.after is None and split in result.data
    ]
    overruled = {
        (split, e.id)
        for split, examples in result.data.items()
        for e in examples
        if with_review(e, reviewed.get((split, e.id))) != e
    }
    result.changes = [change for change in result.changes if (change.split, change.example) not in overruled]
    nothing = dict.fromkeys(("column", "before", "after"))
    dropped = [
        {"example": id_} | nothing | {"rule": rule, "split": split} for split, id_, rule in result.dropped
    ]
    beside = {
        "english.json": json_bytes(source.english_sizes()),
        "changes.jsonl": lines_bytes([*map(asdict, result.changes), *dropped]),
    }
    kept = target.write(result.data, beside=beside)
    return kept, sum(reviewed[key].after is None for key in overruled)


def _apply(rule: Rule, example: Example, split: str, changes: list[Change]) -> Example:
    if not _concerns(rule, example):
        return example
    if rule.action == "rebuild_sentences":
        return _changed(example, rebuilt(example), rule.name, split, changes)
    if rule.action == "closest_word":
        return _changed(example, _with_closest_word(example, rule), rule.name, split, changes)
    act = _text_action(rule)
    after = example
    for column in names(split, rule.columns):
        try:
            after = put(after, column, act(get(after, column)))
        except UserError as error:
            raise UserError(f"rule {rule.name!r}, {split} example {example.id}, {column}: {error}") from error
    return _changed(example, after, rule.name, split, changes)


def _concerns(rule: Rule, example: Example) -> bool:
    if rule.examples is not None and example.id not in rule.examples:
        return False
    holds = {
        "target": lambda value: example.target == value,
        "target_missing": lambda value: target_missing(example) == value,
        "blank_missing": lambda value: (BLANK not in example.context) == value,
    }
    return all(holds[key](value) for key, value in rule.when.items())


def _text_action(rule: Rule) -> Callable[[str], str]:
    value = rule.value
    if rule.action == "replace":
        return lambda text: _in_order(text, value.items(), lambda t, a, b: bounded(t, t.replace(a, b)))
    if rule.action == "regex":
        return lambda text: _in_order(text, value.items(), lambda t, a, b: substitute(a, b, t))
    if rule.action == "keep":
        return lambda text: substitute(f"[^{value}]", "", text)
    if rule.action == "strip":
        return strip_punctuation
    return lambda text: value  # set


def _in_order(text: str, pairs: Iterable[tuple[str, str]], replace: Callable[[str, str, str], str]) -> str:
    for before, after in pairs:
        text = replace(text, before, after)
    return text


def strip_punctuation(text: str) -> str:
    """Without outer punctuation and white space in any script; never down to nothing."""
    outer = "".join({c for c in text if unicodedata.category(c)[0] in "PZ"}) + string.whitespace
    return text.strip(outer) or text


def _with_closest_word(example: Example, rule: Rule) -> Example:
    """A target was translated without its sentence; take the form that the sentence uses."""
    if not target_missing(example) or example.target in rule.value.get("skip", []):
        return example
    # A target of several words rarely comes near a single one; where it does (Kap Verde, Kapverdische)
    # German takes it. Other languages leave that to a person.
    if rule.value.get("single_words_only") and len(example.target.split()) > 1:
        return example
    words = [word for word in example.context.split() if BLANK not in word]  # the gap is no word
    matches = difflib.get_close_matches(example.target, words, 1, rule.value["cutoff"])
    if not matches or not matches[0].strip(string.punctuation):
        return example
    return put(example, "target", matches[0].strip(string.punctuation))


def _changed(before: Example, after: Example, rule: str, split: str, changes: list[Change]) -> Example:
    for column in names(split) if after is not before else ():
        if get(before, column) != get(after, column):
            changes.append(Change(before.id, column, get(before, column), get(after, column), rule, split))
    return after


def _apply_sheets(result: Repaired, rule: Rule, folder: Path) -> None:
    """Corrections from sheets: a row names its example by id; an empty cell changes nothing."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of manual fixes")
    for sheet in rule.value:
        split = sheet["split"]
        if split not in result.data:
            continue
        examples = {example.id: example for example in result.data[split]}
        for number, row in _rows(folder / sheet["file"], ["id", *sheet["columns"]]):
            where = f"{folder / sheet['file']}, row {number}"
            example = examples.get(row["id"])
            if example is None:
                raise UserError(f"{where}: no {split} example has the id {row['id']!r}")
            _same_candidates(row, example, where)
            after = example
            for theirs, ours in sheet["columns"].items():
                if row[theirs].strip():
                    after = put(after, ours, row[theirs])
            drop = sheet.get("drop_if")
            if drop and drop["contains"] in row[drop["column"]]:
                result.dropped.append((split, example.id, f"{rule.name}: {sheet['file']}"))
                del examples[example.id]
                continue
            name = f"{rule.name}: {sheet['file']}"
            examples[example.id] = _changed(example, after, name, split, result.changes)
        result.data[split] = [examples[e.id] for e in result.data[split] if e.id in examples]


def _rows(path: Path, needed: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    if not path.exists():
        raise UserError(f"{path}: no such sheet of manual fixes")
    numbered = read_csv(path)
    head = numbered[0][1] if numbered else []
    if missing := [column for column in needed if column not in head]:
        raise UserError(f"{path}: has no column {missing[0]!r}")
    if twice := [column for column in needed if head.count(column) > 1]:
        raise UserError(f"{path}: has the column {twice[0]!r} twice")
    rows = []
    for number, cells in numbered[1:]:
        row = dict(zip(head, [*cells, *[""] * (len(head) - len(cells))], strict=False))
        for column in needed:
            if row[column].strip() and (what := fault(row[column].strip())):
                raise UserError(f"{path}, row {number}: {column} {what}")
        rows += [(number, row)] if any(cells) else []
    return rows


def _same_candidates(row: dict[str, str], example: Example, where: str) -> None:
    for k, candidate in enumerate(example.candidates, start=1):
        if row.get(f"c{k}_id") not in (None, "", candidate.id):
            raise UserError(f"{where}: c{k}_id is {row[f'c{k}_id']!r}, but the data has {candidate.id!r}")
