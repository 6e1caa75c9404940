"""How well a translation survives the way back: chrF between the English and its round trip."""

from collections.abc import Sequence
from dataclasses import replace

from lm_eval_stereoset.errors import UserError, missing_package
from stereoset_translation.backends import Backend
from stereoset_translation.columns import get
from stereoset_translation.memory import Memory
from stereoset_translation.review import Item
from stereoset_translation.run import translate
from stereoset_translation.steps import English


def compared_columns(split: str) -> list[str]:
    """Whole sentences only: single words have too little context to come back the same."""
    return ["context"] if split == "intra" else ["context", "c1_sentence", "c2_sentence", "c3_sentence"]


def texts_of(items: Sequence[Item]) -> list[str]:
    """What goes back to the translator; an empty text does not."""
    texts = [get(item.example, column) for item in items for column in compared_columns(item.split)]
    return list(dict.fromkeys(text for text in texts if text.strip()))


def ranked(items: Sequence[Item], english: English, backend: Backend, memory: Memory) -> list[Item]:
    """The items with the score of their worst sentence, lowest first."""
    for item in items:
        if item.example.id not in english.get(item.split, {}):
            raise UserError(
                f"--round-trip: no English {item.split} example {item.example.id} to compare with"
            )
    try:
        from sacrebleu.metrics import CHRF
    except ImportError as error:
        raise missing_package("sacrebleu", "--round-trip", "translate") from error
    back, _ = translate(texts_of(items), backend, memory)
    metric = CHRF()

    def score(item: Item) -> float:
        source = english[item.split][item.example.id]
        return min(
            metric.sentence_score(back.get(get(item.example, c), ""), [get(source, c)]).score
            for c in compared_columns(item.split)
        )

    return sorted((replace(item, score=score(item)) for item in items), key=lambda item: item.score or 0.0)
