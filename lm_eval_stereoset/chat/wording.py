"""The question in words: a YAML file per language, so that a native speaker can correct it without reading code.

language: en
version: 1                    # raised with every change, since other words are another measurement
questions:                    # one per split of the benchmark
  inter: |
    Text: {context}
    (a) {a}
    …
options:                      # only where the options are fixed, such as "women"
  feminine: women

{a}, {b}, {c} are the options in the order in which they are shown; other fields are the benchmark's.
"""

import hashlib
import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import decoded, read_bytes

logger = logging.getLogger(__name__)

FALLBACK = "en"
LETTERS = ("a", "b", "c")
KEYS = {"language", "version", "questions", "options"}
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Wording:
    """The words of one benchmark in one language."""

    language: str
    version: int
    sha256: str
    questions: Mapping[str, str]  # by split
    options: Mapping[str, str] = field(default_factory=dict)

    def ask(self, split: str, fields: Mapping[str, str]) -> str:
        """Texts from data are put in as they are, whatever braces they hold."""
        return _FIELD.sub(lambda found: fields[found[1]], self.questions[split]).strip()

    def describe(self) -> dict[str, Any]:
        """As results record it."""
        return {"language": self.language, "version": self.version, "sha256": self.sha256}

    @property
    def name(self) -> str:
        return f"{self.language} {self.version}"


@dataclass(frozen=True)
class Form:
    """What a benchmark's wording files must have."""

    folder: Path  # the built-in files
    fields: Mapping[str, Collection[str]]  # by split: the fields besides a, b, c that the question must hold
    options: Collection[str] = ()


def languages_of(form: Form) -> list[str]:
    return sorted(path.stem for path in form.folder.glob("*.yaml"))


def find(form: Form, language: str, own: Path | None = None) -> Wording:
    """The built-in words; else the user's own, in `own`/LANGUAGE.yaml; else the English ones, with a notice."""
    for folder in (form.folder, own):
        path = folder / f"{language}.yaml" if folder else None
        if path and path.is_file():
            return read(form, path, language)
    where = f"; to change that, write {own / f'{language}.yaml'}" if own else ""
    logger.warning(
        "%s: there are no words to ask in, so the question is in English, the sentences are in %s%s",
        *(language, language, where),
    )
    return read(form, form.folder / f"{FALLBACK}.yaml", FALLBACK)


def read(form: Form, path: Path, language: str) -> Wording:
    """A file with everything that the form asks for, and nothing else."""
    from lm_eval_stereoset import plain_yaml

    content = read_bytes(path)
    fields = plain_yaml.load(decoded(content, path), str(path))
    if not isinstance(fields, dict) or not set(fields) <= KEYS:
        raise UserError(f"{path}: expected the keys {', '.join(sorted(KEYS))} and no other")
    if fields.get("language") != language:
        raise UserError(f"{path}: its language is {fields.get('language')!r}, should be {language!r}")
    version = fields.get("version")
    if type(version) is not int or version < 1:
        raise UserError(f"{path}: version must be a whole number of at least 1, is {version!r}")
    questions = _texts(fields.get("questions"), form.fields, f"{path}: questions")
    options = _texts(fields.get("options"), form.options, f"{path}: options")
    for split, text in questions.items():
        _check_fields(text, {*LETTERS, *form.fields[split]}, f"{path}: the question of {split}")
    if len(set(options.values())) != len(options):
        raise UserError(f"{path}: two options are the same")
    return Wording(language, version, hashlib.sha256(content).hexdigest(), questions, options)


def _texts(found: Any, wanted: Collection[str], where: str) -> dict[str, str]:
    """{name: text} with exactly the wanted names."""
    found = {} if found is None else found
    if not isinstance(found, dict) or set(found) != set(wanted):
        raise UserError(f"{where} must have exactly {', '.join(wanted) or 'nothing'}")
    if not all(isinstance(text, str) and text.strip() for text in found.values()):
        raise UserError(f"{where}: each must be a text")
    return dict(found)


def _check_fields(text: str, wanted: set[str], where: str) -> None:
    """Each field once: an option that is shown twice, or not at all, is no question."""
    found = sorted(_FIELD.findall(text))
    if found != sorted(wanted):
        raise UserError(
            f"{where} must hold each of {', '.join('{' + name + '}' for name in sorted(wanted))} once, and no other "
            f"field; it holds {', '.join('{' + name + '}' for name in found) or 'none'}"
        )
