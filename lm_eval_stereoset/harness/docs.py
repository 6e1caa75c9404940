"""Examples as documents of the harness: what a task's YAML calls, in the order in which it is called.

load_docs      data to documents, with their provenance
doc_to_text    what comes before the candidates
doc_to_choice  the candidates
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark, Example
from lm_eval_stereoset.data import store
from lm_eval_stereoset.harness import chat_docs, closing
from lm_eval_stereoset.scoring.questions import requests_of
from lm_eval_stereoset.scoring.versions import versions

SHOWN_CONTEXT = "shown_context"  # of a document whose candidates follow several: the one that is asked for
FIRST_BENCHMARK = "stereoset"  # whose documents do not name it in files written by 0.1


def load_docs(
    language: str,
    splits: Sequence[str],
    benchmark: str = FIRST_BENCHMARK,
    data: str | None = None,
    provenance: dict[str, Any] | None = None,
    orders: Any = None,
    **_: Any,
) -> dict[str, Any]:
    """The task's `custom_dataset`. The harness passes the task's metadata, which holds --model_args too.

    `orders`: in how many orders the options are shown, where the benchmark asks in words.

    `provenance` is the dict of that name in the task's metadata: filling it here puts it into the results file. How
    many examples were used and how they were scored is added by the task (task.py), once the model is known.
    """
    from datasets import Dataset

    declared = benchmarks.find(benchmark)
    found = [store.load(declared, split, language, data) for split in splits]
    # Splits in turn, so that --limit keeps some of each.
    rounds = zip_longest(*(dataset.examples for dataset in found))
    examples = [e for of_each_split in rounds for e in of_each_split if e is not None]
    docs = [example_to_doc(declared, e, language) for e in examples]
    origins = {
        d.split: {"data": f"{d.provenance.data} {d.provenance.version}", "of": len(d.examples)} for d in found
    }
    for doc in docs:
        doc.update(origins[doc["split"]])  # logged samples say by themselves which data they are part of
    about = {"benchmark": benchmark, "data": [d.describe() for d in found], "packages": versions()}
    if declared.words:
        words, count = chat_docs.settings(declared, language, orders)
        about["asked"] = chat_docs.described(words, count)
        for doc, example in zip(docs, examples, strict=True):
            doc.update(chat_docs.questions(declared, example, words, count))
    if provenance is not None:
        provenance.update(about)
    closing.loaded.append(about)
    return {"test": Dataset.from_list(docs)}


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
    fields = {key: _without_null(doc[key]) for key in benchmark.keys if key in doc}
    return benchmark.parse(fields, doc["split"], where)


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


def requests_of_doc(doc: dict[str, Any]) -> list[tuple[str, str]]:
    return requests_of(example_of_doc(doc, f"document {doc.get('id')}").question)
