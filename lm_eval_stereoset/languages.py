"""Names of the built-in languages, in the order of tables; a benchmark says itself which of them it has."""

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
        Language("bg", "Bulgarian"),
        Language("ca", "Catalan"),
        Language("cs", "Czech"),
        Language("da", "Danish"),
        Language("el", "Greek"),
        Language("et", "Estonian"),
        Language("fi", "Finnish"),
        Language("ga", "Irish"),
        Language("gl", "Galician"),
        Language("hr", "Croatian"),
        Language("hu", "Hungarian"),
        Language("it", "Italian"),
        Language("lt", "Lithuanian"),
        Language("lv", "Latvian"),
        Language("mt", "Maltese"),
        Language("nl", "Dutch"),
        Language("no", "Norwegian"),
        Language("pl", "Polish"),
        Language("pt", "Portuguese"),
        Language("ro", "Romanian"),
        Language("ru", "Russian"),
        Language("sk", "Slovak"),
        Language("sl", "Slovenian"),
        Language("sv", "Swedish"),
        Language("uk", "Ukrainian"),
    )
}
