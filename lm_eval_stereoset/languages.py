"""The built-in languages: the one list that tasks, fetching, tables and documentation follow."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    code: str  # ISO 639-1, as in task names
    name: str
    punkt: str  # NLTK's name of its sentence splitter
    wikipedia: str  # config of the hub data set wikimedia/wikipedia


LANGUAGES: dict[str, Language] = {
    language.code: language
    for language in (
        Language("en", "English", "english", "20231101.en"),
        Language("de", "German", "german", "20231101.de"),
        Language("fr", "French", "french", "20231101.fr"),
        Language("es", "Spanish", "spanish", "20231101.es"),
        Language("tr", "Turkish", "turkish", "20231101.tr"),
    )
}
