"""Pairs of texts in the harness: its own `hf` and `stereoset-hf` say the same about a left-to-right model."""

import json
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toy_benchmark
from end_to_end import end_to_end_models

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.cli import main as stereoset
from lm_eval_stereoset.harness.samples import read_samples
from lm_eval_stereoset.scoring import load, score
from lm_eval_stereoset.scoring.questions import Candidate, Question


@dataclass(frozen=True)
class Compared(toy_benchmark.Pair):
    @property
    def question(self) -> Question:
        texts = ("more", self.more), ("less", self.less)
        prompts = [None, None]
        if self.kind == "size":
            prompts = [(text.rpartition(" ")[0], " " + text.rpartition(" ")[2]) for _, text in texts]
        candidates = [Candidate(*text, prompt=p) for text, p in zip(texts, prompts, strict=True)]
        return Question("compare", self.id, "", tuple(candidates))


def parse(fields: Any, split: str, where: str) -> Compared:
    return Compared(**vars(toy_benchmark.parse_pair(fields, split, where)))


BENCHMARK = replace(toy_benchmark.BENCHMARK, name="pairs", example=Compared, parse=parse, languages=("en",))
PAIRS = [
    ("age", "The old man is bad.", "The young man is bad."),
    ("age", "He said that the man is bad.", "He said that the woman is bad."),
    ("size", "The neighbour is bad at lifting", "The neighbour is bad at driving"),
    ("size", "The neighbour is old", "The neighbour is unbelievable"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Runs of the harness's `hf` on a causal model, and of `stereoset-hf` on it and a masked one."""
    from lm_eval.tasks import TaskManager

    root = tmp_path_factory.mktemp("pairs")
    lines = [
        json.dumps({"id": str(i), "kind": kind, "topic": str(i), "more": more, "less": less})
        for i, (kind, more, less) in enumerate(PAIRS)
    ]
    published = root / "published" / "pairs" / "en.jsonl"
    published.parent.mkdir(parents=True)
    published.write_text("\n".join(lines) + "\n", "utf-8")
    for name, maker in (("gpt2", end_to_end_models.gpt2), ("roberta", end_to_end_models.roberta)):
        torch.manual_seed(0)
        model, tokenizer = maker()
        model.eval().save_pretrained(root / name)
        tokenizer.save_pretrained(root / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmarks, "_REGISTERED", {})
        patch.setenv("STEREOSET_DATA", str(root / "data"))
        patch.setattr("lm_eval_stereoset.cli.run.share_logging", lambda: None)
        patch.setattr("lm_eval.tasks.TaskManager", partial(TaskManager, include_defaults=False))
        benchmarks.register(BENCHMARK)
        commands = [["data", "fetch", "pairs", "--from", str(root / "published")]]
        commands += [
            ["run", "--model", kind, "--model_args", f"pretrained={root / model}", "--device", "cpu", "--tasks",
             "pairs", "--output_path", str(root / kind), "--log_samples"]
            for kind, model in (("hf", "gpt2"), ("stereoset-hf", "gpt2"), ("stereoset-hf", "roberta"))
        ]  # fmt: skip
        for arguments in commands:
            patch.setattr(sys, "argv", list(sys.argv))  # the harness's command replaces it
            assert stereoset(arguments) in (None, 0)
        yield root


def scores_of(root: Path, kind: str, model: str):
    (path,) = (root / kind).rglob(f"*{model}/samples_pairs_*.jsonl")
    return np.array(read_samples(path).parts["pairs"].scores), path


def questions() -> list[Question]:
    return [Compared(str(i), kind, str(i), more, less).question for i, (kind, more, less) in enumerate(PAIRS)]


def test_hf_and_stereoset_hf_agree_on_texts_and_prompts(made):
    (plain, path), (ours, _) = scores_of(made, "hf", "gpt2"), scores_of(made, "stereoset-hf", "gpt2")
    assert plain == pytest.approx(ours, abs=1e-5)
    assert len(np.unique(plain.round(3))) == 2 * len(PAIRS)
    docs = [json.loads(line)["doc"] for line in path.read_text("utf-8").splitlines()]
    counts = {doc["id"]: doc["counts"] for doc in docs}
    assert min(counts["0"]) > 1  # from the differing word to the end
    assert (counts["2"], counts["3"]) == ([1, 1], [1, 1])  # a word behind a prompt is one event


@pytest.mark.parametrize("model", ["gpt2", "roberta"])
def test_the_harness_has_the_numbers_of_a_notebook(made, model):
    found, _ = scores_of(made, "stereoset-hf", model)
    wanted = score(*load(made / model), questions())
    assert found == pytest.approx(
        np.array([[s.log_score / s.tokens for s in pair] for pair in wanted]), abs=1e-5
    )


def test_results_say_how_pairs_were_compared(made):
    said = {}
    for kind, model in (("hf", "gpt2"), ("stereoset-hf", "gpt2"), ("stereoset-hf", "roberta")):
        (path,) = (made / kind).rglob(f"*{model}/results_*.json")
        config = json.loads(path.read_text("utf-8"))["configs"]["pairs"]
        (said[kind, model],) = [part["scoring"] for part in config["metadata"]["provenance"]["data"]]
    assert "from the first differing word on" in said["hf", "gpt2"]
    assert "from the first differing token on" in said["stereoset-hf", "gpt2"]
    assert "differing tokens, masked all at once" in said["stereoset-hf", "roberta"]
