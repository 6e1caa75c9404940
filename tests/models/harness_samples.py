"""Requests as the harness makes them, and scores from what it logs."""

import json
from pathlib import Path

from lm_eval.api.instance import Instance

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.harness.docs import example_to_doc, requests_of_doc


def requests(examples, language="en") -> list[Instance]:
    docs = [example_to_doc(STEREOSET, e, language) for e in examples]
    return [
        Instance("loglikelihood", doc, pair, idx, ("stereoset", number, 1))
        for number, doc in enumerate(docs)
        for idx, pair in enumerate(requests_of_doc(doc))
    ]


def scores_of_samples(samples: list[dict]) -> dict[str, float]:
    """{candidate id: mean log score} from logged samples; files hold numbers as texts."""
    return {
        candidate["id"]: float(answer[0]) / int(answer[1])
        for sample in samples
        for candidate, answer in zip(sample["doc"]["candidates"], sample["filtered_resps"], strict=True)
    }


def written_samples(folder: Path) -> list[dict]:
    paths = sorted(folder.rglob("samples_*.jsonl"))
    return [
        json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").split("\n") if line
    ]
