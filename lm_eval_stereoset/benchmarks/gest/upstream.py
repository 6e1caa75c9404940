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
    "bg": "0d8f372b17b73f841762ab9a7a97d0f27bc2bd54aefb2290d0f17faed6f3842a",
    "ca": "82268d87a40fcc770ad7d08b7899e4487b18cbb5e4be8301244a2883cfdab7be",
    "cs": "0ca1ecdff2c4f99e6ad06ea3866824942d4d7f3379631bf7fd2133c375b389de",
    "da": "3569ac66a7f7a305fa7d3e80e5b544b411cc388644e73ec5a4a0d72175e6551f",
    "de": "97f0e02897bc2e90c78dc2ecb4ead510dcfac1a50c9768435420c3d425852845",
    "el": "9e6926a11534bca9e8ba73ed9d09451651eb3fea565887d38f63dc40fece3d2a",
    "es": "fb6feb152f9d623acae04e9302e22fde8a7bf594165cb41dd1d83345d13cd2ea",
    "et": "8ecff3661370298142280c780f7a3a7251125a62d1866976bc44fe8a07d66405",
    "fi": "6127e15d3da6895881612ece5fc6b3428f33cdd5100bc22476ef5ae52ee33e54",
    "fr": "e0b727f97b00d01fe5d5ea0b89e3142b6eeb6592e613705ec5f5cdc462568890",
    "ga": "73e72ff599605648025226aed836d5c495bf8333578644ef1ee045244482b30e",
    "gl": "f930fc9412cf01e3271cfbb1af63200aea239791a2a127e6fdc37626f8242644",
    "hr": "184d51efd655099a4f6e2526c7b472a308214c1da70470cdf54a01101c19e347",
    "hu": "cdd233fe9109d80ac79424d41b31b2b9ee8ca39ffc5b3b206eba01e66e89226e",
    "it": "3f9774e4813f96b45bb092571e4520b95c5956be6111816c61c6d932edecc5d3",
    "lt": "e9b3d01a5872fe830988485885536acfb2dc5faffe3a67c598a087b84a004f13",
    "lv": "e8165145ec52a3975b2ca55f7788e3510345d35b261f4bdab5eee76fc29e71e4",
    "mt": "d2e6067eeab1209ed4fd4a635dc995bc02f8efb0d7b30333969e584eec976b79",
    "nl": "0e8d9cbb5aa918adc79e19665f9a2cbf6d4e8680f22ed2e8b651c8344c0f42c2",
    "no": "6350c450b0c4425a6b86ab422164223347f8a1d10e6da2683dcf0e7ad06f82f2",
    "pl": "1afefbcbc9f0c60f0ff217400b6efe45e4b3ce7e4b625542572e2a3fb2ebc6c2",
    "pt": "5da37a7c8543bf304b25c024bf15bb29fdd35a26780f1d0c1b95cd833a798e66",
    "ro": "9d1732fc409f03700d57b0e0e0e52f48d503a3cff99ffd27c502763805a9478c",
    "ru": "318492dc8d01b378a3db6d872d1f5f98f6f67932cbcc1e3f2205cb81f6c569f7",
    "sk": "b31179346593655eb906160eb536a2feea7b2bd48ac370607a95715286e3145b",
    "sl": "054334e2f641e510ae0eaf7ab061b81cf948b3a7a9f3f06c390c8f3a66823909",
    "sv": "fa865adac4822dbef4a564f90c5280e92070848c7aad0cbf015b3d3f861a5b39",
    "tr": "ccc77e2900321e51214431234f5bbb4f96c63d0314fcd865164b7b9c171bafc3",
    "uk": "ca90f74df8ab005f406ddef9301b515d4750cf7dfd3f5d0727f0c642f3ab0d99",
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
