"""A folder of results of models that were asked in words, as the harness writes it."""

import json
from collections.abc import Callable
from pathlib import Path

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.harness import chat_docs
from lm_eval_stereoset.harness.aggregation import aggregations, items_of_row
from lm_eval_stereoset.harness.docs import example_of_doc
from lm_eval_stereoset.harness.documents import documents

Personality = Callable[[dict, tuple[int, int, int]], str]  # (document, order) -> answer


def letter(order, label: int) -> str:
    return f"({'abc'[order.index(label)]})"


def write_spoken(
    root: Path,
    personality: Personality,
    model: str = "org/model-a",
    language: str = "en",
    benchmark: str = "stereoset_chat",
    orders: int = 3,
    change: Callable[[list[dict]], None] = lambda data: None,
    config: dict | None = None,
    more: dict | None = None,
) -> Path:
    """`change`: what results say about the data."""
    folder = root / model.replace("/", "__")
    folder.mkdir(parents=True, exist_ok=True)
    declared = benchmarks.find(benchmark)
    splits, task = (
        declared.splits,
        declared.task_name(None if declared.pools else declared.splits[0], language),
    )
    about, docs = documents(declared, language, splits, "sample", orders)
    change(about["data"])
    lines, items = [], []
    for doc in docs:
        answers = [personality(doc, tuple(order)) for order in doc["orders"]]
        example = example_of_doc(doc, "written")
        found = chat_docs.said(declared, example, doc, answers, "written")
        items.append(items_of_row(declared, splits, example, found.tally.row))
        lines.append(json.dumps({"doc_id": len(lines), "doc": doc, "filtered_resps": answers}))
    values = {
        f"{name},none": aggregate([item[name] for item in items])
        for name, aggregate in aggregations(declared, splits).items()
    }
    time = f"2025-01-01T11-00-00.{len(list(folder.iterdir())):06}"
    results = {
        "results": {task: {"alias": task, **values}},
        "configs": {task: {"task": task, "metadata": {"provenance": about}}},
        "n-samples": {task: {"original": len(docs), "effective": len(docs)}},
        "config": config or {},
        "model_name": model,
        "model_source": "hf",
    } | (more or {})
    (folder / f"results_{time}.json").write_text(json.dumps(results))
    (folder / f"samples_{task}_{time}.jsonl").write_text("".join(line + "\n" for line in lines))
    return folder
