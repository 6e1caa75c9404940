"""Models whose true SS and LMS are known, on made-up examples in clusters."""

import numpy as np

from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.stereoset.example import Candidate, Example
from lm_eval_stereoset.report.model_run import Run

CLUSTERS, EACH = 79, 12


def examples() -> list[Example]:
    found = []
    for number in range(CLUSTERS * EACH):
        candidates = tuple(
            Candidate(f"{number}-{label}", label, f"Sentence {number} {label}.") for label in BENCHMARK.labels
        )
        target = f"target{number % CLUSTERS}"
        group = BENCHMARK.groups[number % CLUSTERS % 4]
        found.append(Example(str(number), target, target, group, "Context.", candidates))
    return found


EXAMPLES = examples()


def simulated(rng: np.random.Generator, name: str, ss: float, lms: float, common: np.ndarray) -> Run:
    """A model that prefers the stereotype with probability `ss` and meaning with probability `lms`, both shifted for
    each cluster by `common`, which models share: some targets are easy for all of them."""
    shift = np.repeat(common[None, :], EACH, axis=0).reshape(-1)
    stereotype = rng.random(len(EXAMPLES)) < np.clip(ss + shift, 0, 1)
    meaningful = rng.random((2, len(EXAMPLES))) < np.clip(lms + shift, 0, 1)
    scores = np.empty((len(EXAMPLES), 3))
    scores[:, 0] = np.where(stereotype, 3.0, 2.0)
    scores[:, 1] = np.where(stereotype, 2.0, 3.0)
    beaten = meaningful.sum(axis=0)  # how many of the two are above the unrelated one
    scores[:, 2] = np.choose(beaten, [4.0, 2.5, 1.0])
    scored = Scored(BENCHMARK, EXAMPLES, scores)
    run = Run(BENCHMARK, name, "en", name, {}, {"inter": scored})
    run.complete = {"inter": len(EXAMPLES)}
    return run


def cheap_table(run: Run) -> Run:
    """Only what a comparison with a base asks for; intervals of single models would take most of the time."""
    run.table = {"inter": {"overall": {"n": len(EXAMPLES), "ss": 50.0, "lms": 50.0, "icat": 50.0}}}
    return run


def common_shift(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(0, 0.08, CLUSTERS)
