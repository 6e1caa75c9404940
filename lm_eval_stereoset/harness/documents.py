"""All documents of a task, before a model is known: examples from the store, with the questions of tasks that ask in
words."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.data import store
from lm_eval_stereoset.harness import chat_docs
from lm_eval_stereoset.harness.docs import example_to_doc
from lm_eval_stereoset.scoring.identity import versions

Document = dict[str, Any]


def documents(
    benchmark: Benchmark,
    language: str,
    splits: Sequence[str],
    data: str | None,
    orders: Any = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], list[Document]]:
    """What results record about the data, and the documents. `orders`: of benchmarks that ask in words; `options`: of
    those whose examples are made."""
    asked = chat_docs.settings(benchmark, language, orders) if benchmark.words else None
    parts = [_examples(benchmark, split, language, data, options) for split in splits]
    # Splits in turn, so that --limit keeps some of each.
    rounds = zip_longest(*(examples for _, examples in parts))
    examples = [e for of_each_split in rounds for e in of_each_split if e is not None]
    docs = [example_to_doc(benchmark, e, language) for e in examples]
    origins = {
        about["split"]: {"data": f"{about['data']} {about['version']}", "of": about["examples"]}
        for about, _ in parts
    }
    for doc in docs:
        doc.update(origins[doc["split"]])  # logged samples say by themselves which data they are part of
    about = {"benchmark": benchmark.name, "data": [about for about, _ in parts], "packages": versions()}
    if asked:
        words, count = asked
        about["asked"] = chat_docs.described(words, count)
        for doc, example in zip(docs, examples, strict=True):
            doc.update(chat_docs.questions(benchmark, example, words, count))
    return about, docs


def _examples(
    benchmark: Benchmark, split: str, language: str, data: str | None, options: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[Any]]:
    """Of a benchmark that asks in words, those of another one's that can be asked about; the others are not counted."""
    if benchmark.words is None:
        found = store.load(benchmark, split, language, data, options)
        return found.describe(), list(found.examples)
    source = benchmarks.data_of(benchmark, language)
    found = store.load(source, split if split in source.splits else source.splits[0], language, data, options)
    asked = [benchmark.words.asked_about(example) for example in found.examples]
    examples = [example for example in asked if example is not None]
    return found.describe() | {"split": split, "examples": len(examples)}, examples
