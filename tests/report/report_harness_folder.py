"""A folder of results as the harness writes it."""

import json
from pathlib import Path

import numpy as np

from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.harness.docs import example_to_doc


class HarnessFolder:
    """Writes results and samples of the bundled sample data, in the harness's layout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.written = 0

    def write(
        self, model="org/model-a", language="en", splits=("intra", "inter"), seed=0, samples=True, limit=None,
        normaliser="tokens of x", version="sample 1.0", time=None, change=None,
        score=None, extra=None, source="hf", config=None, more=None,
    ) -> Path:  # fmt: skip
        from lm_eval_stereoset.harness import aggregation

        process = aggregation.process_results if len(splits) == 1 else aggregation.process_results_overall

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
                doc = example_to_doc(example, language) | {"counts": [2, 2, 2], "normaliser": normaliser}
                if change:
                    doc = change(doc)
                sums = score(doc) if score else rng.normal(-20, 4, size=3).tolist()
                answers = [[str(value), "False"] for value in sums]
                items.append(process(doc, [[float(value), False] for value in sums]))
                lines.append(json.dumps({"doc_id": len(lines), "doc": doc, "filtered_resps": answers}))
        names = aggregation.metric_names(splits)
        values = {
            f"{name},none": getattr(aggregation, name)([item[name] for item in items]) for name in names
        }
        results = {
            "results": {task: {"alias": task, **values}} | (extra or {}),
            "configs": {
                task: {"task": task, "metadata": {"provenance": {"data": data, "normaliser": normaliser}}}
            }
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
