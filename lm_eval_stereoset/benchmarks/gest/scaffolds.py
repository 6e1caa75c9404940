"""How a neutral sentence becomes a pair: in quotation marks, before "he said" and "she said" in its language.

    Ich bin ein Führungstyp.  ->  „Ich bin ein Führungstyp“, sagte er   and   „Ich bin ein Führungstyp“, sagte sie

Where pronouns show no gender it is "the man said" and "the woman said". The authors' configuration counts Italian among
the languages whose pronouns do, but both its pronoun scaffolds are "disse", so their program compares a text with
itself. Here the nouns are taken wherever the two pronoun scaffolds are equal.

The words are the authors' own; they are fetched with the data and kept beside it, in scaffolds.json.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lm_eval_stereoset.errors import UserError

PHRASES = {"P": ("he said", "she said"), "N": ("the man said", "the woman said")}
_OUTER_PUNCTUATION = re.compile(r"^[^\w\s]+|[^\w\s]+\Z")


@dataclass(frozen=True)
class Scaffold:
    """Of one language."""

    quotes: tuple[str, str]  # what comes before and after the sentence, a comma included
    pronouns: tuple[str, str]  # "he said", "she said"
    nouns: tuple[str, str]  # "the man said", "the woman said"
    published: str  # the condition that the authors' program uses: P or N

    @property
    def condition(self) -> str:
        return "N" if self.pronouns[0] == self.pronouns[1] else self.published

    def pair(self, neutral: str, condition: str) -> tuple[str, str]:
        text = _OUTER_PUNCTUATION.sub("", neutral.strip())
        masculine, feminine = self.pronouns if condition == "P" else self.nouns
        quoted = self.quotes[0] + text + self.quotes[1]
        return f"{quoted} {masculine}", f"{quoted} {feminine}"


def read(files: Mapping[str, Any], name: str, where: str) -> Scaffold:
    """Of the language of that English name, from the authors' three configuration files, decoded."""
    quotes, phrases, types = files["punc_map"], files["prompt_scaffolds"], files["language_test_configs"]
    try:
        texts = {phrase: phrases[phrase][name] for pair in PHRASES.values() for phrase in pair}
        before, after = quotes[name]
        gendered = name in types["language_types"]["gendered_pronouns"]
        if not gendered and name not in types["language_types"]["no_gendered_pronouns"]:
            raise KeyError("language_types")
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{where}: no scaffolds for {name} ({error}); its neutral sentences need them"
        ) from error
    if not all(isinstance(text, str) for text in (*texts.values(), before, after)):
        raise UserError(f"{where}: the scaffolds of {name} must be texts")
    he, she, man, woman = (text for pair in PHRASES.values() for text in (texts[phrase] for phrase in pair))
    return Scaffold((before, after), (he, she), (man, woman), "P" if gendered else "N")


def to_json(scaffolds: Mapping[str, Scaffold]) -> dict[str, Any]:
    """As kept beside the data."""
    return {code: asdict(scaffold) for code, scaffold in scaffolds.items()}
