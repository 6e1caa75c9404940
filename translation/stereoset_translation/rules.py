"""Repair rules as data: one YAML file per language in rules/, `generic.yaml` for all others.

A file with `include: generic` adds to the generic rules instead of replacing them: a step with the name of
a generic step adds its rules after that step's own, a rule with the name of one of these takes its place,
and a step of another name comes after the step that it follows in the file.

A file has named steps; a step has rules, applied in order to every example. Problems are counted after
each step. A rule has a `name`, optional limits and one action:

  splits: [intra]                 only there (default: both)
  columns: [target, context]      only these kinds of text (default: target, context, sentence, word)
  examples: [id, …]               only these
  when: {target: …, target_missing: true, blank_missing: true}   only examples for which all of it holds

  replace: {from: to, …}          literally, in this order
  regex: {pattern: to, …}         as Python's re.sub; at most a second per text
  keep: "A-Za-z "                 removes every other character (a character class)
  strip: punctuation              removes outer punctuation and white space
  set: text                       puts this text
  closest_word: {cutoff: 0.4, skip: [target, …], single_words_only: true}   a target missing in its
                                  context becomes the closest word of the context
  manual_fixes: [{file, split, columns: {of the sheet: of the example}, drop_if: {column, contains}}, …]
  rebuild_sentences: true         intra: context with BLANK replaced by each word
"""

from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from lm_eval_stereoset import plain_yaml
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_text
from stereoset_translation.columns import KINDS, names
from stereoset_translation.patterns import LONGEST, check_replacement, compiled, shortened

ACTIONS = (
    "replace", "regex", "keep", "strip", "set", "closest_word", "manual_fixes", "rebuild_sentences",
)  # fmt: skip
KEYS = ("language", "include", "steps")
GENERIC = "generic"
LIMITS = ("name", "splits", "columns", "examples", "when")
CONDITIONS = ("target", "target_missing", "blank_missing")


@dataclass(frozen=True)
class Rule:
    name: str
    action: str  # one of ACTIONS
    value: Any
    splits: tuple[str, ...] = SPLITS
    columns: tuple[str, ...] = KINDS
    examples: frozenset[str] | None = None
    when: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    name: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Rules:
    where: str
    steps: tuple[Step, ...]


def load(language: str, path: Path | str | None = None) -> Rules:
    """The rules of a language: the user's file, else the one that comes with us, else the generic ones."""
    if path is not None:
        return parse(read_text(path).removeprefix("\ufeff"), str(path))
    folder = resources.files("stereoset_translation") / "rules"
    file = folder / f"{language}.yaml"
    if not file.is_file():
        file = folder / f"{GENERIC}.yaml"
    return parse(file.read_text(encoding="utf-8"), f"rules/{file.name}")


def parse(text: str, where: str) -> Rules:
    content = plain_yaml.load(text, where)
    if not isinstance(content, dict) or not isinstance(content.get("steps"), list):
        raise UserError(f"{where}: needs a list called steps")
    _known(content, KEYS, where)
    steps = [_step(step, where) for step in content["steps"]]
    if "include" not in content:
        return Rules(where, tuple(steps))
    if content["include"] != GENERIC:
        raise UserError(f"{where}: include can only be {GENERIC}, not {shortened(str(content['include']))}")
    return Rules(f"{where} with rules/{GENERIC}.yaml", _merged(list(load(GENERIC).steps), steps, where))


def _merged(generic: list[Step], own: list[Step], where: str) -> tuple[Step, ...]:
    """The generic steps with a file's own among them, in the order of both."""
    place = 0
    for step in own:
        if step.name not in [s.name for s in generic]:
            generic.insert(place, step)
        else:
            at = next(i for i, s in enumerate(generic) if s.name == step.name)
            if at < place:
                raise UserError(
                    f"{where}: step {step.name!r} comes twice, or earlier in {GENERIC}.yaml than here"
                )
            replaced = {rule.name: rule for rule in step.rules}
            if len(replaced) < len(step.rules):
                raise UserError(f"{where}: two rules of step {step.name!r} have the same name")
            rules = [replaced.pop(rule.name, rule) for rule in generic[at].rules]
            generic[at] = Step(step.name, (*rules, *(r for r in step.rules if r.name in replaced)))
            place = at
        place += 1
    return tuple(generic)


def _step(content: Any, where: str) -> Step:
    if not isinstance(content, dict) or set(content) != {"name", "rules"}:
        raise UserError(f"{where}: each step needs a name and rules, and nothing else")
    if not isinstance(content["name"], str):
        raise UserError(f"{where}: the name of a step must be a text")
    if not isinstance(content["rules"], list):
        raise UserError(f"{where}: the rules of step {content['name']!r} are not a list")
    return Step(content["name"], tuple(_rule(rule, where) for rule in content["rules"]))


def _rule(content: Any, where: str) -> Rule:
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise UserError(f"{where}: every rule needs a name")
    where = f"{where}, rule {shortened(content['name'])}"
    actions = [key for key in content if key in ACTIONS]
    if len(actions) != 1:
        raise UserError(f"{where}: needs exactly one of {', '.join(ACTIONS)}")
    _known(content, (*LIMITS, *ACTIONS), where)
    when = content.get("when", {})
    if not isinstance(when, dict):
        raise UserError(f"{where}: when is not a table")
    _known(when, CONDITIONS, f"{where}, when")
    for key, value in when.items():
        if not isinstance(value, str if key == "target" else bool):
            raise UserError(f"{where}: {key} must be {'a text' if key == 'target' else 'true or false'}")
    if not _texts(content.get("examples", [])):
        raise UserError(f"{where}: examples must be a list of ids (in quotes where they look like numbers)")
    action = actions[0]
    _check_value(action, content[action], where)
    return Rule(
        content["name"],
        action,
        content[action],
        splits=_subset(content, "splits", SPLITS, where),
        columns=_subset(content, "columns", KINDS, where),
        examples=frozenset(content["examples"]) if "examples" in content else None,
        when=when,
    )


def _check_value(action: str, value: Any, where: str) -> None:
    texts = action in ("replace", "regex")
    if texts and not (
        isinstance(value, dict) and all(isinstance(t, str) for pair in value.items() for t in pair)
    ):
        raise UserError(f"{where}: {action} needs texts and what they become (put 'no', 'yes' in quotes)")
    if texts and "" in value:
        raise UserError(f"{where}: {action} of an empty text")
    written = [*value, *value.values()] if texts else [value]
    if long := [text for text in written if isinstance(text, str) and len(text) > LONGEST]:
        raise UserError(f"{where}: a text of {len(long[0]):,} characters; {LONGEST:,} are allowed")
    if action in ("keep", "set", "strip") and not isinstance(value, str):
        raise UserError(f"{where}: {action} needs a text")
    if action == "strip" and value != "punctuation":
        raise UserError(f"{where}: strip knows only 'punctuation'")
    if action == "closest_word":
        if not isinstance(value, dict):
            raise UserError(f"{where}: closest_word needs a cutoff")
        _known(value, ("cutoff", "skip", "single_words_only"), where)
        if not isinstance(value.get("cutoff"), (int, float)) or not 0 < value["cutoff"] <= 1:
            raise UserError(f"{where}: the cutoff must be a number above 0 and up to 1")
        if not _texts(value.get("skip", [])):
            raise UserError(f"{where}: skip must be a list of targets")
        if not isinstance(value.get("single_words_only", False), bool):
            raise UserError(f"{where}: single_words_only must be true or false")
    if action == "rebuild_sentences" and value is not True:
        raise UserError(f"{where}: rebuild_sentences can only be true; leave the rule out otherwise")
    for pattern in value if action == "regex" else [f"[^{value}]"] if action == "keep" else []:
        try:
            compiled(pattern)
        except ValueError as error:
            raise UserError(f"{where}: {shortened(pattern)} is not a regular expression ({error})") from error
    for pattern, after in value.items() if action == "regex" else ():
        try:
            check_replacement(pattern, after)
        except ValueError as error:
            raise UserError(
                f"{where}: {shortened(after)} does not go with {shortened(pattern)} ({error})"
            ) from error
    if action == "manual_fixes":
        for sheet in value if isinstance(value, list) else [None]:
            if not isinstance(sheet, dict) or not {"file", "split", "columns"} <= set(sheet):
                raise UserError(f"{where}: each sheet needs file, split and columns")
            _known(sheet, ("file", "split", "columns", "drop_if"), where)
            _check_sheet(sheet, where)


def _check_sheet(sheet: dict, where: str) -> None:
    if sheet["split"] not in SPLITS:
        raise UserError(f"{where}: the split of a sheet is one of {', '.join(SPLITS)}")
    ours = names(sheet["split"])
    if not isinstance(sheet["columns"], dict) or any(c not in ours for c in sheet["columns"].values()):
        raise UserError(
            f"{where}: columns of a sheet need the name there and the column here: {', '.join(ours)}"
        )
    drop = sheet.get("drop_if")
    if drop is not None and not (
        isinstance(drop, dict)
        and isinstance(drop.get("contains"), str)
        and drop.get("column") in sheet["columns"]
    ):
        raise UserError(f"{where}: drop_if needs contains, a text, and column, one of the sheet's columns")


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _known(content: dict, allowed: tuple[str, ...], where: str) -> None:
    if unknown := [key for key in content if key not in allowed]:
        raise UserError(f"{where}: unknown key {shortened(str(unknown[0]))}; there are {', '.join(allowed)}")


def _subset(content: dict, key: str, allowed: tuple[str, ...], where: str) -> tuple[str, ...]:
    value = content.get(key, list(allowed))
    if not isinstance(value, list) or not value or any(item not in allowed for item in value):
        raise UserError(f"{where}: {key} must be a list of some of {', '.join(allowed)}")
    return tuple(value)
