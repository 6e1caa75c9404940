"""Examples as documents of the harness: what a task's YAML calls, in the order in which it is called.

load_docs      data to documents, with their provenance
doc_to_text    what stands before the candidates
doc_to_choice  the three candidates
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from lm_eval_stereoset.data import store
from lm_eval_stereoset.data.format import Example, split_of
from lm_eval_stereoset.harness import closing
from lm_eval_stereoset.scoring.text import with_final_dot
from lm_eval_stereoset.versions import versions

Request = tuple[str, str]  # context, continuation


def load_docs(
    language: str,
    splits: Sequence[str],
    data: str | None = None,
    provenance: dict[str, Any] | None = None,
    **_: Any,
) -> dict[str, Any]:
    """The task's `custom_dataset`. The harness passes the task's metadata, which holds --model_args too.

    `provenance` is the dict of that name in the task's metadata: filling it here puts it into the results file. How
    many examples were used and how they were scored is added by the task (task.py), once the model is known.
    """
    from datasets import Dataset

    found = [store.load(split, language, data) for split in splits]
    # Splits in turn, so that --limit keeps some of each.
    rounds = zip_longest(*(dataset.examples for dataset in found))
    docs = [example_to_doc(e, language) for examples in rounds for e in examples if e is not None]
    origins = {
        d.split: {"data": f"{d.provenance.data} {d.provenance.version}", "of": len(d.examples)} for d in found
    }
    for doc in docs:
        doc.update(origins[doc["split"]])  # logged samples say by themselves which data they are part of
    about = {
        "data": [{"split": d.split, "language": d.language} | d.describe() for d in found],
        "packages": versions(),
    }
    if provenance is not None:
        provenance.update(about)
    closing.loaded.append(about)
    return {"test": Dataset.from_list(docs)}


def example_to_doc(example: Example, language: str) -> dict[str, Any]:
    doc = example.to_dict() | {"split": split_of(example), "language": language}
    for candidate in doc["candidates"]:
        candidate.setdefault("word", None)  # one table holds both splits
    return doc


def requests_of(doc: dict[str, Any]) -> list[Request]:
    """What the harness asks the model if no flag adds to it: (context, continuation) of each candidate."""
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
