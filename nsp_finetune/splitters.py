"""Texts into sentences: which splitter, for which language. A splitter is chosen by name, and results say which it was.

punkt            NLTK's, trained for 19 languages; the default
punkt:portuguese NLTK's for another language than the text's, where that is near enough (Galician, say)
sentencex        Wikimedia's rules and abbreviations for some 300 languages
rules            ends at . ! ? … and their like in other scripts; knows no abbreviations; needs no data
"""

import importlib.metadata
import re
from collections.abc import Callable, Mapping, Sequence

from lm_eval_stereoset.errors import UserError, missing_package

Splitter = Callable[[str], list[str]]  # one line of text into its sentences

# What NLTK's punkt_tab has, by ISO 639-1.
PUNKT = {
    "cs": "czech", "da": "danish", "nl": "dutch", "en": "english", "et": "estonian", "fi": "finnish", "fr": "french",
    "de": "german", "el": "greek", "it": "italian", "ml": "malayalam", "nb": "norwegian", "no": "norwegian",
    "pl": "polish", "pt": "portuguese", "ru": "russian", "sl": "slovene", "es": "spanish", "sv": "swedish",
    "tr": "turkish",
}  # fmt: skip
DEFAULT = "punkt"
NAMES = ("punkt", "punkt:NAME", "sentencex", "rules")

# After an end mark, perhaps a closing quote or bracket, and white space; scripts without spaces need none.
_END = re.compile(
    r"""(?<=[.!?…।॥؟۔።])[)\]"'”’»]{0,3}\s+"""
    r"""|(?<=[。！？｡])[」』”’）]{0,3}(?![。！？｡])"""
)


def chosen(given: Sequence[str], languages: Sequence[str]) -> dict[str, str]:
    """{language: splitter} from --splitter, which is a name for all of them, or LANGUAGE=NAME."""
    named = dict(one.split("=", 1) for one in given if "=" in one)
    common = [one for one in given if "=" not in one]
    if len(common) > 1:
        raise UserError(f"--splitter {' '.join(common)}: give one for all languages, or LANGUAGE=NAME")
    if unknown := [language for language in named if language not in languages]:
        raise UserError(f"--splitter {unknown[0]}=…: {unknown[0]} is not among the languages of the corpora")
    found = {language: named.get(language, common[0] if common else DEFAULT) for language in languages}
    for language, name in found.items():
        check(name, language)
    return found


def check(name: str, language: str) -> None:
    kind, colon, model = name.partition(":")
    if name not in ("punkt", "sentencex", "rules") and not (kind == "punkt" and colon):
        raise UserError(f"--splitter {name} is not known; choose one of {', '.join(NAMES)}")
    if colon and model not in PUNKT.values():
        raise UserError(
            f"--splitter {name}: punkt has no {model!r}, only {', '.join(dict.fromkeys(PUNKT.values()))}"
        )
    if name == "punkt" and language not in PUNKT:
        raise UserError(
            f"language {language!r}: NLTK's punkt cannot split it into sentences, only {', '.join(PUNKT)}; name "
            "another splitter: --splitter sentencex (most languages), rules, or punkt:NAME of a similar language"
        )


def load(language: str, name: str = DEFAULT) -> Splitter:
    check(name, language)
    if name == "rules":
        return by_rules
    if name == "sentencex":
        return _sentencex(language)
    return _punkt(name.partition(":")[2] or PUNKT[language])


def describe(language: str, name: str) -> str:
    """For the statistics and the model's card, with the version of what has split."""
    if name == "rules":
        return "rules (end marks)"
    if name == "sentencex":
        return f"sentencex {importlib.metadata.version('sentencex')}"
    return f"NLTK {importlib.metadata.version('nltk')} punkt, {name.partition(':')[2] or PUNKT[language]}"


def not_default(splitters: Mapping[str, str]) -> dict[str, str]:
    """What a folder of pairs must remember; those of earlier versions were all split by the default."""
    return {language: name for language, name in splitters.items() if name != DEFAULT}


def by_rules(line: str) -> list[str]:
    ends = [match.end() for match in _END.finditer(line)]
    parts = [line[start:end] for start, end in zip([0, *ends], [*ends, len(line)], strict=True)]
    return [part for part in parts if part]


def _sentencex(language: str) -> Splitter:
    try:
        from sentencex import segment
    except ImportError as error:
        raise missing_package("sentencex", "splitting texts into sentences", extra="nsp") from error
    return lambda line: list(segment(language, line))


def _punkt(model: str) -> Splitter:
    """Its data is fetched if it is not there."""
    try:
        import nltk
        from nltk.tokenize.punkt import PunktTokenizer
    except ImportError as error:
        raise missing_package("nltk", "splitting texts into sentences", extra="nsp") from error
    try:
        return PunktTokenizer(model).tokenize
    except LookupError:
        nltk.download("punkt_tab", quiet=True)
    try:
        return PunktTokenizer(model).tokenize
    except LookupError as error:
        raise UserError(
            f"NLTK's sentence splitter for {model.capitalize()} is not installed and could not be fetched; where there "
            "is a network run `python -m nltk.downloader punkt_tab`, copy the folder nltk_data here and set NLTK_DATA "
            "to it; or name another splitter: --splitter sentencex, or rules"
        ) from error
