"""Articles about one topic each: something to learn for a tiny model."""

import json
import random
from pathlib import Path

TOPICS = {
    "sea": "ship harbour wave sailor anchor captain storm island",
    "kitchen": "soup onion pepper oven cook plate bread spoon",
    "garden": "flower spade seed hedge lawn rose bee soil",
    "music": "violin melody choir drum singer chord concert flute",
}
FRAME = "the {} and the {} saw a {}"


def write_corpus(path: Path, articles: int, sentences: int = 6, seed: int = 0) -> Path:
    """Articles about one topic each: whether two sentences belong together can be told from their words."""
    generator = random.Random(seed)
    topics = [words.split() for words in TOPICS.values()]
    with open(path, "w", encoding="utf-8") as out:
        for number in range(articles):
            words = topics[number % len(topics)]
            text = [FRAME.format(*generator.sample(words, 3)).capitalize() + "." for _ in range(sentences)]
            out.write(json.dumps({"id": f"article {number}", "text": " ".join(text)}) + "\n")
    return path
