"""Examples as documents of the harness, and documents as examples again; what any model is asked about one.

A task's YAML calls doc_to_text (what comes before the candidates), doc_to_choice (the candidates), doc_to_target.
"""

from dataclasses import fields
from functools import lru_cache
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark, Example
from lm_eval_stereoset.scoring.questions import Request, is_event, requests_of

SHOWN_CONTEXT = "shown_context"  # of a document whose candidates follow several: the one that is asked for
FIRST_BENCHMARK = "stereoset"  # whose documents do not name it in files written by 0.1


def example_to_doc(benchmark: Benchmark, example: Example, language: str) -> dict[str, Any]:
    return example.to_dict() | {"benchmark": benchmark.name, "split": example.split, "language": language}


def is_ours(doc: Any) -> bool:
    """Whether a document is one of a benchmark's; the harness hands documents of other tasks to models, too."""
    if not isinstance(doc, dict) or not isinstance(doc.get("split"), str):
        return False
    return doc.get("benchmark", FIRST_BENCHMARK) in benchmarks.names() and "language" in doc


def benchmark_of(doc: dict[str, Any]) -> Benchmark:
    return benchmarks.find(doc.get("benchmark", FIRST_BENCHMARK))


def example_of_doc(doc: dict[str, Any], where: str) -> Any:
    """The example in a document, validated like a line of a data file."""
    benchmark = benchmark_of(doc)
    fields = {key: _without_null(doc[key]) for key in _fields_of(benchmark.example) if key in doc}
    return benchmark.parse(fields, doc["split"], where)


@lru_cache
def _fields_of(example: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(example))


def _without_null(value: Any) -> Any:
    """The harness's table of documents gives all of them the same fields; those that one has not are null."""
    if isinstance(value, dict):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    return [_without_null(item) for item in value] if isinstance(value, list) else value


def doc_to_text(doc: dict[str, Any]) -> str:
    """Nothing where whole sentences are compared; else the context, which ends as a sentence."""
    return doc[SHOWN_CONTEXT] if SHOWN_CONTEXT in doc else requests_of_doc(doc)[0][0]


def doc_to_choice(doc: dict[str, Any]) -> list[str]:
    return [continuation for _, continuation in requests_of_doc(doc)]


def doc_to_target(doc: dict[str, Any]) -> int:
    """The place of the first label, such as the stereotype. The harness wants a target; the metrics do not use it."""
    labels = example_of_doc(doc, f"document {doc.get('id')}").labels
    return labels.index(benchmark_of(doc).labels[0])


def requests_of_doc(doc: dict[str, Any]) -> list[Request]:
    return requests_of(example_of_doc(doc, f"document {doc.get('id')}").question)


def divisor_of(request: Any, tokens: int) -> int:
    """What an answer of so many tokens is divided by: their number, or 1 where the probability of a whole word is asked
    for."""
    question = example_of_doc(request.doc, f"document {request.doc.get('id')}").question
    return 1 if is_event(question, question.candidates[request.idx]) else tokens
