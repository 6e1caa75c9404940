"""The rules of a language as data: rules/<language>.yaml, or a user's file. docs/gest_mt.md explains the keys."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.gest.mt.words import WordClass, word_class
from lm_eval_stereoset.errors import UserError, short
from lm_eval_stereoset.files import read_text

FOLDER = Path(__file__).parent / "rules"
NOTHING = WordClass()
MASCULINE, FEMININE, UNDECIDED = GENDERS = ("masculine", "feminine", "undecided")

# Where a rule looks for a form, seen from a word of its class `beside`.
NEAREST = "nearest"  # the nearest one of the segment
CLAUSE = "clause"  # the nearest one of the clause
AFTER, BEFORE = "after", "before"  # the first one of the clause in that direction
CONTINUED = "continued"  # in a segment without such a word, when an earlier segment has one
OPENING = "opening"  # at the beginning of the sentence
ITSELF = "itself"  # anywhere: the form alone says that it is the speaker's
PLACES = (NEAREST, CLAUSE, AFTER, BEFORE, CONTINUED, OPENING, ITSELF)
ALONE = (OPENING, ITSELF)  # need no word beside


@dataclass(frozen=True)
class Form:
    """Words that show the gender of whoever they are said of."""

    masculine: WordClass
    feminine: WordClass

    def gender(self, word: str) -> str | None:
        if word in self.masculine:
            return MASCULINE
        return FEMININE if word in self.feminine else None


@dataclass(frozen=True)
class Rule:
    name: str
    rank: int  # what rules of a lower rank find goes before all that higher ones find
    form: Form
    where: str  # one of PLACES
    beside: WordClass = NOTHING  # the word that makes the form the speaker's
    without: WordClass = NOTHING  # a segment with one of these is about somebody else
    stop: WordClass = NOTHING  # the search ends at such a word
    skip: WordClass | None = None  # if given, nothing else may stand before the form (`opening`, `continued`)
    not_before: WordClass = NOTHING  # the form does not count if such a word follows it
    not_after: WordClass = NOTHING  # … or stands right before it
    within: int = 30  # so many words away at most


@dataclass(frozen=True)
class Language:
    code: str
    name: str
    letters: Mapping[str, str]  # letters of a second script or spelling, in that of the rules
    breaks: WordClass
    coordinators: WordClass
    rules: tuple[Rule, ...]  # in the order of their ranks
    marks: WordClass = NOTHING  # words that most texts have some of, and other languages' texts have not
    origin: str = ""  # the file, and what it holds
    sha256: str = ""


KEYS = {"name", "like", "letters", "classes", "forms", "rules"}
CLASS_KEYS = ("beside", "without", "stop", "skip", "not_before", "not_after")
RULE_KEYS = {"name", "rank", "form", "where", "within", *CLASS_KEYS}


def languages() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@lru_cache
def load(code: str, path: Path | None = None) -> Language:
    """The rules that come with us, or those of the user's file."""
    if path is None and code not in languages():
        raise UserError(
            f"--language {code!r}: there are rules for {', '.join(languages())}; --rules takes your own"
        )
    where = str(path) if path else f"{code}.yaml"
    fields = _fields(path or FOLDER / f"{code}.yaml")
    digest = hashlib.sha256(json.dumps(fields, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
    return replace(parse(fields, code, where), origin=where, sha256=digest)


def _fields(path: Path) -> dict[str, Any]:
    """A file's content. With `like: hr` it is added to that of our hr.yaml, class by class."""
    from lm_eval_stereoset import plain_yaml

    fields = plain_yaml.load(read_text(path), str(path))
    _known(fields, KEYS, str(path))
    if other := fields.pop("like", None):
        if other not in languages():
            raise UserError(f"{path}: like: {short(other)}: there are rules for {', '.join(languages())}")
        name = fields.get("name", "")
        fields = _added(_fields(FOLDER / f"{other}.yaml"), fields) | {"name": name}
    return fields


def _added(base: Any, more: Any) -> Any:
    if isinstance(base, dict) and isinstance(more, dict):
        return base | {key: _added(base[key], value) if key in base else value for key, value in more.items()}
    if isinstance(base, str) and isinstance(more, str):
        return f"{base} {more}"
    return more


def parse(fields: dict[str, Any], code: str, where: str) -> Language:
    name, letters = fields.get("name", code), fields.get("letters", {})
    if not (isinstance(letters, dict) and all(isinstance(v, str) and _letter(k) for k, v in letters.items())):
        raise UserError(
            f"{where}: letters must be a table of single letters; put y, n and the like in quotes"
        )
    classes = {n: _class(e, f"{where}: class {n!r}") for n, e in _table(fields, "classes", where).items()}
    forms = {n: _form(e, f"{where}: form {n!r}") for n, e in _table(fields, "forms", where).items()}
    given = fields.get("rules")
    if not isinstance(given, list) or not given:
        raise UserError(f"{where}: rules must be a list of at least one rule")
    rules = [_rule(rule, classes, forms, f"{where}: rule {n}") for n, rule in enumerate(given, 1)]
    return Language(
        code, str(name), letters, classes.get("breaks", NOTHING), classes.get("coordinators", NOTHING),
        tuple(sorted(rules, key=lambda rule: rule.rank)), classes.get("marks", NOTHING),
    )  # fmt: skip


def _letter(key: Any) -> bool:
    return isinstance(key, str) and len(key) == 1


def _rule(given: Any, classes: dict[str, WordClass], forms: dict[str, Form], where: str) -> Rule:
    _known(given, RULE_KEYS, where)
    if missing := [key for key in ("name", "rank", "form", "where") if key not in given]:
        raise UserError(f"{where}: needs {', '.join(missing)}")
    where = f"{where} ({short(given['name'])})"
    if given["where"] not in PLACES:
        raise UserError(f"{where}: where is {short(given['where'])}, must be one of {', '.join(PLACES)}")
    for key in ("rank", "within"):
        if key in given and (type(given[key]) is not int or not 0 < given[key] <= 100):
            raise UserError(f"{where}: {key} is {short(given[key])}, must be a number from 1 to 100")
    if given["form"] not in forms:
        raise UserError(f"{where}: no form {short(given['form'])}; there are {', '.join(forms)}")
    if given["where"] not in ALONE and "beside" not in given:
        raise UserError(f"{where}: needs beside, the class of the words that make the form the speaker's")
    named = {key: _named(given[key], classes, where) for key in CLASS_KEYS if key in given}
    return Rule(**(given | named | {"name": str(given["name"]), "form": forms[given["form"]]}))


def _named(names: Any, classes: dict[str, WordClass], where: str) -> WordClass:
    """One class, or several: `stop: present others`."""
    found = NOTHING
    for name in str(names).split():
        if name not in classes:
            raise UserError(f"{where}: no class {name!r}; there are {', '.join(classes)}")
        found |= classes[name]
    return found


def _form(given: Any, where: str) -> Form:
    _known(given, set(GENDERS[:2]), where)
    return Form(*(_class(given.get(gender), f"{where}, {gender}") for gender in GENDERS[:2]))


def _class(given: Any, where: str) -> WordClass:
    """`dal -al`, or with exceptions `{of: -al, except: sál}`."""
    if not isinstance(given, dict):
        return word_class(_list(given, where))
    _known(given, {"of", "except"}, where)
    return word_class(_list(given.get("of"), where), _list(given.get("except", ""), where))


def _list(given: Any, where: str) -> list[str]:
    """Words with blanks between them, or a list of such texts."""
    texts = given if isinstance(given, list) else [given]
    if not all(isinstance(text, str) for text in texts):
        raise UserError(
            f"{where}: must be words with blanks between them; put a single yes, no or on in quotes"
        )
    return [word for text in texts for word in text.split()]


def _table(fields: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    if not isinstance(fields.get(key), dict):
        raise UserError(f"{where}: {key} must be a table of names")
    return fields[key]


def _known(given: Any, keys: set[str], where: str) -> None:
    if not isinstance(given, dict):
        raise UserError(f"{where}: must be a table with some of the keys {', '.join(sorted(keys))}")
    if unknown := [key for key in given if key not in keys]:
        raise UserError(f"{where}: unknown key {short(unknown[0])}; there are {', '.join(sorted(keys))}")
