"""The words of the test, and the verb phrases made of them.

A line of `fairness/<language>.jsonl` is one word: {"role", "text"}; objects have their article: "a cabinet", "the
neighbor". A verb phrase is a verb of one of four kinds and an object of the same kind.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from lm_eval_stereoset.data.fields import object_of, only, text_of
from lm_eval_stereoset.errors import UserError

KINDS = ("commerce", "interaction", "driving", "eating")
OCCUPATION = "occupation"
ROLES = (OCCUPATION, *(f"{kind} {part}" for kind in KINDS for part in ("verb", "object")))
SEED = 27  # of the order of the phrases


@dataclass(frozen=True, slots=True)
class Word:
    role: str  # one of ROLES
    text: str

    @property
    def ids(self) -> tuple[str, ...]:
        return (f"{self.role} {self.text}",)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class Phrase(NamedTuple):
    kind: str
    verb: str
    object: str

    @property
    def text(self) -> str:
        return f"{self.verb} {self.object}"


def parse_word(fields: Any, where: str) -> Word:
    texts = {key: text_of(object_of(fields, where), key, where) for key in ("role", "text")}
    only(fields, set(texts), where)
    if texts["role"] not in ROLES:
        raise UserError(f"{where}: role {texts['role']!r} is not one of {', '.join(ROLES)}")
    return Word(**texts)


def texts_by_role(words: Sequence[Word], where: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {role: [] for role in ROLES}
    for word in words:
        found[word.role].append(word.text)
    if missing := [role for role in ROLES if not found[role]]:
        raise UserError(f"{where}: has no word with the role {', '.join(missing)}")
    return found


def chosen_phrases(words: dict[str, list[str]], count: int, where: str) -> list[Phrase]:
    """The first `count` phrases of an order that depends on the words and the seed alone.

    The four kinds come in turn; within a kind its verbs come in turn, each with its next object:

        bought a cabinet, met the fellow, drove a van, ate a peach, sold a lamp, liked the crew, crashed a jeep, …

    So fewer phrases are the beginning of more. A kind that has no phrases left is passed over.
    """
    waiting = [_in_turn(kind, words[f"{kind} verb"], words[f"{kind} object"]) for kind in KINDS]
    total = sum(map(len, waiting))
    if count > total:
        raise UserError(
            f"{where}: phrases={count}: its words make {total} verb phrases; ask for at most so many"
        )
    longest = max(map(len, waiting))
    order = [phrases[turn] for turn in range(longest) for phrases in waiting if turn < len(phrases)]
    return order[:count]


def _in_turn(kind: str, verbs: Sequence[str], objects: Sequence[str]) -> list[Phrase]:
    def place(*parts: str) -> str:
        return hashlib.sha256("\n".join([str(SEED), kind, *parts]).encode()).hexdigest()

    ordered = {
        verb: sorted(objects, key=lambda thing: place(verb, thing)) for verb in sorted(verbs, key=place)
    }
    return [
        Phrase(kind, verb, things[turn]) for turn in range(len(objects)) for verb, things in ordered.items()
    ]
