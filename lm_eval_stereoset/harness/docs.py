"""Examples as documents of the harness: what a task's YAML calls, in the order in which it is called.

load_docs      data to documents, with token counts and provenance
doc_to_text    what stands before the candidates
doc_to_choice  the three candidates
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.format import Example, split_of
from lm_eval_stereoset.harness.tokens import Request, count, warn_of_a_lost_head
from lm_eval_stereoset.scoring.text import with_final_dot
from lm_eval_stereoset.versions import versions

# What this process has loaded, for the closing lines of `stereoset run`.
loaded: list[dict[str, Any]] = []


def load_docs(
    language: str,
    splits: Sequence[str],
    data: str | None = None,
    provenance: dict[str, Any] | None = None,
    **model_args: Any,
) -> dict[str, Any]:
    """The task's `custom_dataset`. The harness passes the task's metadata, which holds --model_args too.

    `provenance` is the dict of that name in the task's metadata: filling it here puts it into the results file.
    """
    from datasets import Dataset

    found = [store.load(split, language, data) for split in splits]
    # Splits in turn, so that --limit keeps some of each.
    rounds = zip_longest(*(dataset.examples for dataset in found))
    docs = [example_to_doc(e, language) for examples in rounds for e in examples if e is not None]
    warn_of_a_lost_head(model_args)
    counts, normaliser = count([request for doc in docs for request in requests_of(doc)], model_args)
    origins = {
        d.split: {"data": f"{d.provenance.data} {d.provenance.version}", "of": len(d.examples)} for d in found
    }
    for i, doc in enumerate(docs):
        doc["counts"] = counts[3 * i : 3 * i + 3]
        doc["normaliser"] = normaliser
        doc.update(origins[doc["split"]])  # logged samples say by themselves which data they are part of
    about = {
        "data": [{"split": d.split, "language": d.language} | d.describe() for d in found],
        "scoring": "mean log-likelihood of a candidate",
        "normaliser": normaliser,
        "packages": versions(),
    }
    if provenance is not None:
        provenance.update(about)
    loaded.append(about)
    return {"test": Dataset.from_list(docs)}


def example_to_doc(example: Example, language: str) -> dict[str, Any]:
    doc = example.to_dict() | {"split": split_of(example), "language": language}
    for candidate in doc["candidates"]:
        candidate.setdefault("word", None)  # one table holds both splits
    return doc


def requests_of(doc: dict[str, Any]) -> list[Request]:
    """What the harness will ask the model: (context, continuation) of each candidate."""
    return [(doc_to_text(doc), choice) for choice in doc_to_choice(doc)]


def doc_to_text(doc: dict[str, Any]) -> str:
    """Nothing for intra; for inter the context, which gets a final dot if it has no end punctuation."""
    return "" if doc["split"] == "intra" else with_final_dot(doc["context"])


def doc_to_choice(doc: dict[str, Any]) -> list[str]:
    space = "" if doc["split"] == "intra" else " "
    return [space + candidate["sentence"] for candidate in doc["candidates"]]


def doc_to_target(doc: dict[str, Any]) -> int:
    """The stereotype's place. The harness wants a target; the metrics do not use it."""
    return [candidate["label"] for candidate in doc["candidates"]].index("stereotype")
