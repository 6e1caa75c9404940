"""Fetching the word lists from their authors' repository, or from a local folder that holds word_lists/."""

import hashlib
from pathlib import Path

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.benchmarks.nli.words import KINDS, OCCUPATION, Word
from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.download import download
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_bytes, sha256_of

NAME = "sunipa/On-Measuring-and-Mitigating-Biased-Inferences-of-Word-Embeddings"
REPOSITORY = f"https://github.com/{NAME}"
COMMIT = "e39da89"
RAW_URL = f"https://raw.githubusercontent.com/{NAME}/{COMMIT}"
FOLDER = "word_lists"

# SHA-256 of each list at COMMIT, and of the file of words made from them.
LIST_SHA256 = {
    "nouns/people/occupations": "ee2d12e38219b797bdec5ebbe06f20c790e3cf6745630ab3dab20a3dd8a9b1f5",
    "nouns/people/person_hyponyms": "8a4b0cdeea618776fcb0a32deb75117163f05ffad9d8cf59ae4143d2c7af7e77",
    "nouns/objects/clothes": "aa98735ee588213a22bb6f1fcc221e5444acfc3e487ca2132e7747f4f32a2e97",
    "nouns/objects/farm_animals": "523bd8fd6f230d22efd2d5724ee13e6bfa97e0f3516c454b8bb0a3c27140764e",
    "nouns/objects/furniture": "9ce6233904dfbfb1ebf91b71882c2ed8b287da4f91220d4211e7e182df885344",
    "nouns/objects/household": "395c1891290031d1dbeddefc08f0a3b112bed1797dd1d209ff6118725759cb07",
    "nouns/objects/vehicles": "10a9f0e2948d89389b585d4a74ef164a74257429905397f47afa138509c0958b",
    "nouns/objects/food": "1e9f23e8c22fb4023cf3c74f12b26c4dbbf2a0078de297801091967dd2a6bb12",
    "verbs/commerce_verbs": "a21aa9b2830594fd7c49c5373d04f2b03a5906d2c03a7e57e036187398082a04",
    "verbs/interaction_verbs": "97a2d7b64f0c92221811228aa537eee655c98217124049c1593b037169298e34",
    "verbs/driving_verbs": "b8d7c28ba4d079de6746a2e909bb5583d218932a8240ef19136f5381aa22037a",
    "verbs/eating_verbs": "ca6c22b364b6ec16c6ac32f4b6ff01a1c8644718db95f593ea989d4ccdd47ee0",
}
CANONICAL_SHA256 = "a24a14de913da3740e436d345af91438596b7ba6b35f3c32a2206eae8fb8f64a"

OBJECTS = {
    "commerce": ("clothes", "farm_animals", "furniture", "household", "vehicles", "food"),
    "driving": ("vehicles",),
    "eating": ("food",),
}
PEOPLE = "nouns/people/person_hyponyms"
WITHOUT_ARTICLE = ("headphones", "breakfast", "dinner", "lunch")
SPELT_OUT = "AEFHILMNORSX"  # letters whose names begin with a vowel: an SUV


def fetch_lists(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """Puts the file of words into the data folder; one that is there and right already is kept."""
    if wanted.revision:
        raise UserError("--revision: the word lists are those of one pinned commit; leave it out")
    path = store.file_of(benchmark, "fairness", "en")
    if not wanted.force and path.is_file() and sha256_of(path) == CANONICAL_SHA256:
        return [path]
    contents = {name: _content(name, wanted.clone) for name in LIST_SHA256}
    changed = [n for n, content in contents.items() if hashlib.sha256(content).hexdigest() != LIST_SHA256[n]]
    if changed and not wanted.insist:
        raise UserError(
            f"{FOLDER}/{changed[0]}: its SHA-256 is not that of the published list; nothing was changed. If you mean "
            "to use this other version, add --insist (it is then marked as a changed version in all results)"
        )
    lists = {name: _lines(content, f"{FOLDER}/{name}") for name, content in contents.items()}
    digest = hashlib.sha256(b"\0".join(contents.values())).hexdigest()
    version = COMMIT if not changed else f"changed, lists sha256:{digest[:12]}"
    store.say_what_is_replaced(benchmark, path, REPOSITORY, version)
    return [store.save(benchmark, "fairness", "en", words_of(lists), REPOSITORY, version)]


def _content(name: str, clone: Path | None) -> bytes:
    if clone is None:
        return download(f"{RAW_URL}/{FOLDER}/{name}")
    folder = clone if clone.name == FOLDER and not (clone / FOLDER).is_dir() else clone / FOLDER
    if not (folder / name).is_file():
        raise UserError(
            f"--from {clone}: lacks the word list {FOLDER}/{name}; it takes a folder laid out like a clone of "
            f"{REPOSITORY}"
        )
    return read_bytes(folder / name)


def _lines(content: bytes, where: str) -> list[str]:
    try:
        lines = [line.strip() for line in content.decode("utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not a text in UTF-8 ({error})") from error
    return list(dict.fromkeys(line for line in lines if line))


def words_of(lists: dict[str, list[str]]) -> list[Word]:
    """Occupations, then of each kind its verbs and its objects with their articles."""
    words = [Word(OCCUPATION, text) for text in lists["nouns/people/occupations"]]
    for kind in KINDS:
        words += [Word(f"{kind} verb", text) for text in lists[f"verbs/{kind}_verbs"]]
        if kind == "interaction":
            objects = [f"the {person}" for person in lists[PEOPLE]]
        else:
            objects = [
                with_article(thing) for name in OBJECTS[kind] for thing in lists[f"nouns/objects/{name}"]
            ]
        words += [Word(f"{kind} object", text) for text in dict.fromkeys(objects)]
    return words


def with_article(thing: str) -> str:
    """a cabinet, an apple, an SUV, headphones, lunch."""
    if thing in WITHOUT_ARTICLE:
        return thing
    vowel = thing[0] in SPELT_OUT if thing.isupper() else thing[0].lower() in "aeiou"
    return f"{'an' if vowel else 'a'} {thing}"
