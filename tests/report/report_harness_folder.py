"""A folder of results as the harness writes it."""

import json
from pathlib import Path

import numpy as np

from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.harness.aggregation import aggregations, items_of
from lm_eval_stereoset.harness.answers import candidate_scores
from lm_eval_stereoset.harness.docs import example_of_doc, example_to_doc


class HarnessFolder:
    """Writes results and samples of the bundled sample data, in the harness's layout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.written = 0

    def write(
        self, model="org/model-a", language="en", splits=("intra", "inter"), seed=0, samples=True, limit=None,
        normaliser="tokens of x", version="sample 1.0", time=None, change=None,
        score=None, extra=None, source="hf", config=None, more=None, as_in_0_1=False,
    ) -> Path:  # fmt: skip
        """`as_in_0_1`: nothing in the files names the benchmark."""
        self.written += 1
        time = time or f"2025-01-01T10-00-{self.written:02}.000001"
        folder = self.root / model.replace("/", "__")
        folder.mkdir(parents=True, exist_ok=True)
        task = f"stereoset_{language}" if len(splits) > 1 else f"stereoset_{splits[0]}_{language}"
        rng = np.random.default_rng(seed)
        data, lines, items = [], [], []
        for split in splits:
            examples = load(split, language, "sample").examples
            data.append({"split": split, "language": language, "data": "sample", "source": "here",
                         "version": version, "sha256": f"{split}-{version}", "examples": len(examples)})  # fmt: skip
            for example in examples[:limit]:
                doc = example_to_doc(BENCHMARK, example, language) | {
                    "counts": [2, 2, 2],
                    "normaliser": normaliser,
                }
                if as_in_0_1:
                    del doc["benchmark"]
                if change:
                    doc = change(doc)
                sums = score(doc) if score else rng.normal(-20, 4, size=3).tolist()
                answers = [[str(value), "False"] for value in sums]
                scores = candidate_scores(doc, [[float(value), False] for value in sums])
                items.append(items_of(BENCHMARK, splits, example_of_doc(doc, "written"), scores))
                lines.append(json.dumps({"doc_id": len(lines), "doc": doc, "filtered_resps": answers}))
        values = {
            f"{name},none": aggregate([item[name] for item in items])
            for name, aggregate in aggregations(BENCHMARK, splits).items()
        }
        provenance = {"data": data, "normaliser": normaliser}
        if not as_in_0_1:
            provenance["benchmark"] = BENCHMARK.name
        results = {
            "results": {task: {"alias": task, **values}} | (extra or {}),
            "configs": {task: {"task": task, "metadata": {"provenance": provenance}}}
            | {name: {} for name in extra or {}},
            "n-samples": {task: {"original": sum(d["examples"] for d in data), "effective": len(lines)}},
            "config": {"limit": limit} | (config or {}),
            "model_name": model,
            "model_source": source,
        } | (more or {})
        (folder / f"results_{time}.json").write_text(json.dumps(results))
        if samples:
            (folder / f"samples_{task}_{time}.jsonl").write_text("".join(line + "\n" for line in lines))
        return folder
