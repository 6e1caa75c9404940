"""What the authors of GEST and EuroGEST have published: where, at which commit, with which checksums and counts."""

from typing import NamedTuple

GEST_REPOSITORY = "https://github.com/kinit-sk/gest"
GEST_COMMIT = "7dd908cae11720ee5d95e43a4ab94fb410c8b790"
GEST_RAW = f"https://raw.githubusercontent.com/kinit-sk/gest/{GEST_COMMIT}"
GEST_HUB = "kinit/gest"
GEST_FILES = {"1.1": "data/gest_1.1.csv", "1.0": "data/gest.csv"}  # by version, the default first

EUROGEST_REPOSITORY = "https://github.com/JacquelineRowe/EuroGEST"
EUROGEST_COMMIT = "1f9a3c4"  # of the data
SCAFFOLDS_COMMIT = "b543592"  # of the scaffolds and quotation marks
EUROGEST_RAW = "https://raw.githubusercontent.com/JacquelineRowe/EuroGEST"
EUROGEST_HUB = "utter-project/EuroGEST"
SENSITIVE = "data/all_gender_sensitive.csv"
INSENSITIVE = "data/all_gender_insensitive.csv"
CONFIGS = "evaluate_models/configs"
SCAFFOLD_FILES = tuple(
    f"{CONFIGS}/{name}.json" for name in ("punc_map", "prompt_scaffolds", "language_test_configs")
)

# SHA-256 of the files at these commits.
SHA256 = {
    "data/gest.csv": "7e306adaa2913b660c6ddccddb26703a1de8c880cb0597ad27db4bca75380eea",
    "data/gest_1.1.csv": "51d14d5dc648d5be867d40bd312c016471c485827f6c28488c7234b9d30fcd9c",
    "data/all_gender_insensitive.csv": "e6f7b9a5c2f954c21ac34fce824d55d190fa6ceac69c809455e0d0f2905aa8b4",
    "data/all_gender_sensitive.csv": "d9e442f10c37f83e59cde71231f5349f5df72313bbc0450bf98a0bbda21dd9d0",
    f"{CONFIGS}/language_test_configs.json": "d64e47a726befe3f63a80adcfa058597e5d1961a025a600913e65462e883410f",
    f"{CONFIGS}/prompt_scaffolds.json": "e6f22133fca8dd2266200774bb63777d94f4327ac1c55d43ce7a852a7102c238",
    f"{CONFIGS}/punc_map.json": "3bc2b99107a8113a03eb53355b9a3bd5061b7965a2f7c0038c19a168d09b3769",
}
# SHA-256 of the files in our format that are made from them, by version or language.
GEST_CANONICAL = {
    "1.1": "128553b717620a83b732d2852e931871f7bdfb34058ba776f18d60885efb6456",
    "1.0": "aa3731c2108d87c0fdb7a9b738e5767f802c49f6c2c75c08f1e52b189cd457bb",
}
EUROGEST_CANONICAL = {
    "1.1": "128553b717620a83b732d2852e931871f7bdfb34058ba776f18d60885efb6456",
    "1.0": "aa3731c2108d87c0fdb7a9b738e5767f802c49f6c2c75c08f1e52b189cd457bb",
}


class Counts(NamedTuple):
    """Of one language of EuroGEST, as published."""

    name: str  # in the authors' files
    gendered: int  # pairs of texts
    neutral: int


PUBLISHED: dict[str, Counts] = {
    "bg": Counts("Bulgarian", 778, 1884),
    "ca": Counts("Catalan", 190, 1766),
    "cs": Counts("Czech", 1570, 238),
    "da": Counts("Danish", 0, 3281),
    "de": Counts("German", 82, 2747),
    "el": Counts("Greek", 388, 2184),
    "es": Counts("Spanish", 468, 2397),
    "et": Counts("Estonian", 0, 3133),
    "fi": Counts("Finnish", 0, 3257),
    "fr": Counts("French", 552, 2255),
    "ga": Counts("Irish", 0, 1638),
    "gl": Counts("Galician", 137, 1495),
    "hr": Counts("Croatian", 1468, 329),
    "hu": Counts("Hungarian", 0, 3154),
    "it": Counts("Italian", 571, 2011),
    "lt": Counts("Lithuanian", 431, 1836),
    "lv": Counts("Latvian", 433, 1864),
    "mt": Counts("Maltese", 68, 1053),
    "nl": Counts("Dutch", 0, 3294),
    "no": Counts("Norwegian", 0, 3299),
    "pl": Counts("Polish", 1368, 379),
    "pt": Counts("Portuguese", 436, 2228),
    "ro": Counts("Romanian", 199, 2663),
    "ru": Counts("Russian", 1352, 598),
    "sk": Counts("Slovak", 1556, 182),
    "sl": Counts("Slovenian", 1485, 189),
    "sv": Counts("Swedish", 0, 3361),
    "tr": Counts("Turkish", 0, 3322),
    "uk": Counts("Ukrainian", 1006, 460),
}
SLAVIC = ("bg", "hr", "cs", "pl", "sk", "sl", "ru", "uk")
