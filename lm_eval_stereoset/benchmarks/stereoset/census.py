"""What is odd about a data file: counted and listed, never changed, since numbers must stay comparable."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.example import BIAS_TYPES, Example, guess_split, parse_example
from lm_eval_stereoset.benchmarks.stereoset.facts import complaint, differences, is_stereoset
from lm_eval_stereoset.data.lines import Uniqueness, iter_lines
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import parse_json, sha256_of
from lm_eval_stereoset.scoring.questions import BLANK

# BLANK with a letter, digit or quotation mark on one of its sides is part of a longer word.
GLUED = re.compile(r"[^\W_][\"'’.!?,;:-]*BLANK|BLANK[\"'’.!?,;:]*[^\W_]")
QUOTED = re.compile(r'BLANK"\w')
NO_BREAK_SPACES = ("\u00a0", "\u202f")

# What is counted, in the order of the printout: examples, or, where it says so, candidates.
ODDITIES = {
    "two_blanks": "more than one BLANK in the context",
    "glued_blank": "BLANK is part of a longer word",
    "quoted_blank": "… joined to its ending by a quotation mark in place of an apostrophe",
    "sentence_differs": "a candidate sentence is not the context with BLANK filled in",
    "sentence_differs_beyond_case": "… by more than upper and lower case",
    "own_frame": "the sentences are not the context filled in, but share a frame of their own",
    "several_words": "candidate words of several words",
    "identical_candidates": "two candidates are identical: an unavoidable tie",
    "target_missing": "the target term does not occur in the context",
    "blank_in_sentence": "candidate sentences with a literal BLANK",
    "no_break_space": "a no-break space in the context",
    "outer_space": "white space before or after a text",
    "not_nfc": "text that is not in Unicode normal form NFC",
    "invisible": "a zero-width or control character in a text",
}


@dataclass
class Census:
    path: Path
    split: str
    sha256: str
    examples: int = 0
    bias_types: Counter = field(default_factory=Counter)
    targets: set[str] = field(default_factory=set)
    oddities: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in ODDITIES})
    errors: list[str] = field(default_factory=list)
    compared: int = 0  # examples with an id of StereoSet's, whose labels were compared with its own

    def to_dict(self) -> dict:
        return {
            "file": str(self.path),
            "split": self.split,
            "sha256": self.sha256,
            "examples": self.examples,
            "bias_types": {name: self.bias_types[name] for name in BIAS_TYPES},
            "targets": len(self.targets),
            "oddities": {name: len(ids) for name, ids in self.oddities.items()},
            "compared_with_stereoset": self.compared,
            "errors": self.errors,
        }


def take(path: Path | str) -> Census:
    """Reads a whole file, whatever is wrong in it: every bad line becomes an entry of `errors`."""
    path = Path(path)
    split = guess_split(path)
    census = Census(path, split, sha256_of(path))
    unique = Uniqueness()
    others = []  # examples with StereoSet's ids, but not its labels
    for number, line in iter_lines(path):
        where = f"{path}, line {number}"
        try:
            example = parse_example(parse_json(line, where), split, where)
            unique.check(example.ids, where)
        except UserError as error:
            census.errors.append(str(error))
            continue
        census.examples += 1
        census.bias_types[example.bias_type] += 1
        census.targets.add(example.target_original)
        census.compared += is_stereoset(example)
        others += [example] if differences(example) else []
        for name, id_ in oddities(example):
            census.oddities[name].append(id_)
    if text := complaint(others):
        census.errors.append(f"{path}: {text}")
    return census


def oddities(example: Example) -> list[tuple[str, str]]:
    """(name, id of the example or candidate) of everything odd about an example."""
    found = _oddities_of_texts(example)
    if example.candidates[0].word is not None:
        found |= _oddities_of_blank(example)
    odd = [(name, example.id) for name in ODDITIES if found.get(name)]
    odd += [("blank_in_sentence", c.id) for c in example.candidates if BLANK in c.sentence]
    odd += [("several_words", c.id) for c in example.candidates if c.word and len(c.word.split()) > 1]
    return odd


def _oddities_of_texts(example: Example) -> dict[str, bool]:
    texts = [example.target, example.target_original, example.context]
    texts += [text for c in example.candidates for text in (c.sentence, c.word) if text is not None]
    return {
        "target_missing": example.target.upper() not in example.context.upper(),
        "no_break_space": any(space in example.context for space in NO_BREAK_SPACES),
        "identical_candidates": len({c.word or c.sentence for c in example.candidates}) < 3,
        "outer_space": any(text != text.strip() for text in texts),
        "not_nfc": any(not unicodedata.is_normalized("NFC", text) for text in texts),
        "invisible": any(map(has_invisible, texts)),
    }


def has_invisible(text: str) -> bool:
    """Control and format characters; a few scripts need some of the latter, so they are only counted."""
    return not text.isprintable() and any(unicodedata.category(c) in ("Cc", "Cf") for c in text)


def _oddities_of_blank(example: Example) -> dict[str, bool]:
    pairs = [(example.context.replace(BLANK, c.word or ""), c.sentence) for c in example.candidates]
    return {
        "own_frame": example.frame is not None,
        "two_blanks": example.context.count(BLANK) > 1,
        "glued_blank": GLUED.search(example.context) is not None,
        "quoted_blank": QUOTED.search(example.context) is not None,
        "sentence_differs": any(a != b for a, b in pairs),
        "sentence_differs_beyond_case": any(a.lower() != b.lower() for a, b in pairs),
    }
