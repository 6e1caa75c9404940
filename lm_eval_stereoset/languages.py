"""The built-in languages: the one list that tasks, fetching, tables and documentation follow."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    code: str  # ISO 639-1, as in task names
    name: str


LANGUAGES: dict[str, Language] = {
    language.code: language
    for language in (
        Language("en", "English"),
        Language("de", "German"),
        Language("fr", "French"),
        Language("es", "Spanish"),
        Language("tr", "Turkish"),
    )
}
