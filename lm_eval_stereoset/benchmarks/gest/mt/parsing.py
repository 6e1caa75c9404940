"""Verdicts from a dependency parser: what says I, and which verbs and adjectives are said of it.

stanza reads the sentence; a word counts if it shows a gender in the singular (verb, participle, adjective) and is the
speaker's, because it

    is in the first person itself              bych … (a finite form with Person=1)
    has an auxiliary or copula that is         nemohl <-aux- jsem       silný <-cop- som     był <-aux:clitic- em
    has a pronoun of that kind as its subject  сказал <-nsubj- я
    is the predicate of a word that is         cítím -xcomp-> silný
    goes on from one without another subject   vařil <-conj- uklízel
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_stereoset.benchmarks.gest.mt.engine import Evidence, Verdict, verdict_of
from lm_eval_stereoset.benchmarks.gest.mt.rules import FEMININE, MASCULINE
from lm_eval_stereoset.benchmarks.gest.mt.words import outside_quotes
from lm_eval_stereoset.errors import UserError, missing_package

PROCESSORS = "tokenize,mwt,pos,lemma,depparse"
BATCH = 64  # sentences that go to the parser at once; has no influence on the verdicts
GENDERS = {"Masc": MASCULINE, "Fem": FEMININE}
SHOWING = {"VERB", "AUX", "ADJ", "DET"}
AUXILIARIES = ("aux", "cop")  # and their subtypes: aux:pass, aux:clitic
PREDICATES = ("xcomp", "advcl:pred", "acl:pred", "obl:pred")


@dataclass(frozen=True)
class Node:
    """A word of a parsed sentence."""

    id: int
    text: str
    upos: str
    head: int
    relation: str
    features: dict[str, str]

    @property
    def first_person(self) -> bool:
        return self.features.get("Person") == "1" and self.features.get("Number", "Sing") == "Sing"

    @property
    def gender(self) -> str | None:
        singular = self.features.get("Number", "Sing") == "Sing"
        return GENDERS.get(self.features.get("Gender", "")) if singular and self.upos in SHOWING else None

    def stands_as(self, *relations: str) -> bool:
        return self.relation in relations or self.relation.split(":")[0] in relations


class ByParser:
    """Verdicts of a stanza pipeline, or of anything with its `bulk_process` and `describe_model`."""

    def __init__(self, pipeline: Any, letters: dict[str, str] | None = None, name: str = "stanza"):
        self.pipeline, self.name = pipeline, name
        self.letters = {key: value for low, up in _both_cases(letters or {}) for key, value in (low, up)}

    def decide(self, sentences: Sequence[str]) -> list[Verdict]:
        from tqdm import tqdm

        verdicts: list[Verdict] = []
        with tqdm(total=len(sentences), desc="parsing", unit="sentence", disable=None) as bar:
            for start in range(0, len(sentences), BATCH):
                batch = sentences[start : start + BATCH]
                documents = self.pipeline.bulk_process([self._readable(text) for text in batch])
                verdicts += [verdict(text, doc) for text, doc in zip(batch, documents, strict=True)]
                bar.update(len(batch))
        return verdicts

    def describe(self) -> dict[str, str]:
        return {"method": "parser", "parser": self.name}

    def _readable(self, text: str) -> str:
        """Outside quotes, and in the script that the parser was trained on."""
        return "".join(self.letters.get(letter, letter) for letter in outside_quotes(text).replace("|", ","))


def _both_cases(letters: dict[str, str]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    for key, value in letters.items():
        yield (key, value), (key.upper(), value.capitalize())


def verdict(text: str, document: Any) -> Verdict:
    """Of a parsed document, whose sentences have words with id, text, upos, head, deprel and feats."""
    evidence, place = [], 0
    for sentence in document.sentences:
        nodes = {word.id: _node(word) for word in sentence.words}
        for node in nodes.values():
            place += 1
            if node.gender and (why := _speakers(node, nodes)):
                evidence.append(Evidence(node.text.lower(), place, node.gender, why))
    return verdict_of(text, evidence)


def _node(word: Any) -> Node:
    pairs = (feature.partition("=") for feature in (word.feats or "").split("|") if feature)
    features = {name: value for name, _, value in pairs}
    return Node(word.id, word.text, word.upos or "", word.head or 0, word.deprel or "", features)


def _speakers(node: Node, nodes: dict[int, Node], depth: int = 0) -> str | None:
    """Why a word is said of the speaker, or None. `depth` ends the walk should a parse go in circles."""
    children = [other for other in nodes.values() if other.head == node.id]
    if node.first_person:
        return "first person"
    if any(child.first_person and child.stands_as(*AUXILIARIES) for child in children):
        return "auxiliary or copula in the first person"
    subjects = [child for child in children if child.stands_as("nsubj", "csubj")]
    if subjects:
        return "the subject is I" if any(subject.first_person for subject in subjects) else None
    head = nodes.get(node.head)
    if head is None or depth > len(nodes):
        return None
    # jsem byl: 'byl' is itself an auxiliary or copula of the word that 'jsem' hangs on
    if node.stands_as(*AUXILIARIES) and _speakers(head, nodes, depth + 1):
        return "auxiliary or copula of a word about the speaker"
    if node.stands_as(*PREDICATES) and _speakers(head, nodes, depth + 1):
        return "predicate of a word about the speaker"
    if node.stands_as("conj") and _speakers(head, nodes, depth + 1):
        return "goes on from a word about the speaker"
    return None


def load_stanza(code: str, letters: dict[str, str]) -> ByParser:
    try:
        import stanza
    except ImportError as error:
        raise missing_package("stanza", "--parser stanza") from error
    logging.getLogger("stanza").setLevel(logging.ERROR)
    try:
        pipeline = stanza.Pipeline(code, processors=PROCESSORS, download_method=None, verbose=False)
    except FileNotFoundError as error:  # no models, or some of them
        raise UserError(
            f"--parser stanza: its models of {code!r} are not here; fetch them with: "
            f"python -c \"import stanza; stanza.download('{code}', processors='{PROCESSORS}')\""
        ) from error
    return ByParser(pipeline, letters, f"stanza {stanza.__version__}")
