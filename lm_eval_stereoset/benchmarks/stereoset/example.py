"""An example of StereoSet: a context and three candidates, one of each label.

A line of `<split>/<language>.jsonl` (docs/data.md describes the fields):

{"id", "target", "target_original", "bias_type", "context",
 "candidates": [{"id", "label", "sentence", "word"} x 3]}      ("word" in intra only)

Intra: the context has a BLANK that the candidates' words fill. Inter: the candidates' sentences follow the context.
In some translations the sentences are not the context with a word filled in, but another sentence around their words.
Such an intra example has a "frame", too: what its three sentences share, with BLANK where they differ. Masked models
are asked about that; all others read the sentences.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_stereoset.data.fields import object_of, only, text_of
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import iter_lines, parse_json, read_lines
from lm_eval_stereoset.scoring import questions
from lm_eval_stereoset.scoring.questions import BLANK, Question

SPLITS = ("intra", "inter")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
BIAS_TYPES = ("gender", "profession", "race", "religion")
TEXTS = ("id", "target", "target_original", "bias_type", "context")
KIND = {"intra": "fill", "inter": "follow"}  # what a model is asked


@dataclass(frozen=True, slots=True)
class Candidate:
    id: str
    label: str  # one of LABELS
    sentence: str
    word: str | None = None  # what fills BLANK; intra only


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    target: str  # the term in the example's language
    target_original: str  # the English term: the class of the multi-class scores
    bias_type: str  # one of BIAS_TYPES
    context: str
    candidates: tuple[Candidate, ...]  # three in file order, one of each label
    frame: str | None = None  # intra: what the sentences share, where they are not the context filled in

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.id, *(c.id for c in self.candidates))

    @property
    def split(self) -> str:
        return "inter" if self.candidates[0].word is None else "intra"

    @property
    def group(self) -> str:
        return self.bias_type

    @property
    def cluster(self) -> str:
        return self.target_original

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(c.label for c in self.candidates)

    @property
    def question(self) -> Question:
        candidates = tuple(questions.Candidate(c.id, c.sentence, c.word) for c in self.candidates)
        return Question(KIND[self.split], self.id, self.frame or self.context, candidates)

    def candidate(self, label: str) -> Candidate:
        return next(c for c in self.candidates if c.label == label)

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {key: getattr(self, key) for key in TEXTS}
        fields |= {} if self.frame is None else {"frame": self.frame}
        fields["candidates"] = [
            {"id": c.id, "label": c.label, "sentence": c.sentence}
            | ({} if c.word is None else {"word": c.word})
            for c in self.candidates
        ]
        return fields


def parse_example(fields: Any, split: str, where: str) -> Example:
    """One decoded line to an Example; `where` (file and line) opens every error message."""
    fields = object_of(fields, where)
    texts = {key: text_of(fields, key, where) for key in TEXTS}
    only(fields, {*TEXTS, "frame", "candidates"}, where)
    if texts["bias_type"] not in BIAS_TYPES:
        raise UserError(f"{where}: bias_type {texts['bias_type']!r} is not one of {', '.join(BIAS_TYPES)}")
    if split == "intra" and BLANK not in texts["context"]:
        raise UserError(f"{where}: context has no {BLANK}: {texts['context']!r}")
    candidates = fields.get("candidates")
    if not isinstance(candidates, list) or len(candidates) != 3:
        raise UserError(f"{where}: candidates must be a list of three")
    first, second, third = (_parse_candidate(c, split, where) for c in candidates)
    labels = [first.label, second.label, third.label]
    if sorted(labels) != sorted(LABELS):
        raise UserError(
            f"{where}: needs exactly one candidate of each label ({', '.join(LABELS)}), found {', '.join(labels)}"
        )
    frame = None if fields.get("frame") is None else text_of(fields, "frame", where)
    if frame is not None:
        _refuse_other_frame(frame, split, (first, second, third), where)
    return Example(candidates=(first, second, third), frame=frame, **texts)


def _refuse_other_frame(frame: str, split: str, candidates: tuple[Candidate, ...], where: str) -> None:
    """A frame with a candidate's word in it is the candidate's sentence; that is what it is for."""
    if split != "intra":
        raise UserError(f"{where}: only intra examples can have a frame")
    if frame.count(BLANK) != 1:
        raise UserError(f"{where}: the frame needs one {BLANK}: {frame!r}")
    for candidate in candidates:
        if frame.replace(BLANK, candidate.word or "") != candidate.sentence:
            raise UserError(
                f"{where}: the frame with {candidate.word!r} is not the sentence of candidate {candidate.id}"
            )


def _parse_candidate(fields: Any, split: str, where: str) -> Candidate:
    if not isinstance(fields, dict):
        raise UserError(f"{where}: a candidate must be a JSON object")
    keys = ("id", "label", "sentence", "word") if split == "intra" else ("id", "label", "sentence")
    texts = {key: text_of(fields, key, f"{where}, a candidate") for key in keys}
    only(fields, set(keys), f"{where}, a candidate")
    if texts["label"] not in LABELS:
        raise UserError(
            f"{where}: label {texts['label']!r} of candidate {texts['id']} is not one of {', '.join(LABELS)}"
        )
    return Candidate(**texts)


def read_examples(path: Path | str, split: str | None = None) -> list[Example]:
    """All examples of a file of StereoSet's; `split` None: as its lines look."""
    path = Path(path)
    split = split or guess_split(path)
    return read_lines(path, lambda fields, where: parse_example(fields, split, where))


def guess_split(path: Path) -> str:
    """The split of a file, from the first line that looks like an example: intra candidates have words."""
    lines = [line for _, line in iter_lines(path)]
    if not lines:
        raise UserError(f"{path}: no examples")
    for line in lines:
        try:
            candidates = parse_json(line, str(path))["candidates"]
            return "intra" if any("word" in c for c in candidates) else "inter"
        except (UserError, KeyError, TypeError):
            continue  # whoever reads the file names this line
    return path.parent.name if path.parent.name in SPLITS else "inter"
