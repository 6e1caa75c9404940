"""Our tasks: where their documents come from, and their class: the harness's own, told what the model really does.

Way of a run: load_docs (examples become documents, docs.py) -> build_all_requests (the model is known from here on, its
tokens are counted) -> the model answers -> process_results (the document gets what its score depends on, so that logged
samples can be scored again) -> aggregation (aggregation.py).
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lm_eval.api import task as task_module
from lm_eval.api.task import ConfigurableTask

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Standouts
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness import aggregation
from lm_eval_stereoset.harness.aggregation import aggregations, harness_metrics, items_of
from lm_eval_stereoset.harness.answers import candidate_scores, count, own_count
from lm_eval_stereoset.harness.bends import asking_model, put_main_metrics_first, replaced
from lm_eval_stereoset.harness.docs import (
    FIRST_BENCHMARK,
    SHOWN_CONTEXT,
    benchmark_of,
    divisor_of,
    example_of_doc,
    requests_of_doc,
)
from lm_eval_stereoset.harness.documents import documents
from lm_eval_stereoset.harness.preflight import refuse_lost_start, refuse_unsuitable
from lm_eval_stereoset.scoring.describe import NO_NORMALISER, PLAIN, Description
from lm_eval_stereoset.scoring.questions import SUMMED

logger = logging.getLogger(__name__)


# What this process has loaded: the same dicts that go into the results file, filled as the run goes on.
loaded: list[dict[str, Any]] = []


def begin_run() -> None:
    """Forgets what earlier runs of this process have loaded and complained of."""
    loaded.clear()
    aggregation.forget_problems()


def load_docs(
    language: str,
    splits: Sequence[str],
    benchmark: str = FIRST_BENCHMARK,
    data: str | None = None,
    provenance: dict[str, Any] | None = None,
    orders: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """The task's `custom_dataset`. The harness passes the task's metadata, which holds --model_args too.

    `orders`: in how many orders the options are shown, where the benchmark asks in words; `more`: other metadata, among
    them the options of a benchmark whose examples are made.

    `provenance` is the dict of that name in the task's metadata: filling it here puts it into the results file. How
    many examples were used and how they were scored is added by the task, once the model is known.
    """
    from datasets import Dataset

    declared = benchmarks.find(benchmark)
    options = {
        name: more[name] for name in (declared.making.options if declared.making else {}) if name in more
    }
    named = None if data is None else str(data)  # the harness makes a number of the version 1.0
    about, docs = documents(declared, language, splits, named, orders, options)
    if provenance is not None:
        provenance.update(about)
    loaded.append(about)
    return {"test": Dataset.from_list(docs)}


class BenchmarkTask(ConfigurableTask):
    def __init__(self, config: dict[str, Any]) -> None:
        self.descriptions: dict[str, Description] = {}  # by split
        self.counts: dict[tuple[str, str], list[int]] = {}  # by split and example
        self.used: Counter[str] = Counter()  # examples of each split, on all processes together
        declared = config.get("dataset_kwargs") or {}
        self.benchmark = benchmark_of(declared)
        self.splits = tuple(declared.get("splits") or self.benchmark.pooled_splits)
        # The declaration says which metrics there are; a list in the YAML would repeat it.
        metrics = harness_metrics(self.benchmark, self.splits)
        higher_is_better = {
            name: None if one.stderr else one.metric.higher_is_better for name, one in metrics.items()
        }
        # `class` is how the YAML names this class; the harness's TaskConfig does not know it
        super().__init__(config={key: value for key, value in config.items() if key != "class"})
        self._metric_fn_list = dict.fromkeys(metrics)
        self._metric_fn_kwargs: dict[str, dict[str, Any]] = {name: {} for name in metrics}
        self._aggregation_list = aggregations(self.benchmark, self.splits, self._note_standouts)
        self._higher_is_better = higher_is_better
        put_main_metrics_first()

    def aggregation(self) -> dict[str, Callable[[Sequence[Any]], float]]:
        return self._aggregation_list

    def build_all_requests(
        self,
        *,
        limit: int | None = None,
        samples: list[int] | None = None,
        cache_requests: bool = False,
        rewrite_requests_cache: bool = False,
        **options: Any,
    ) -> None:
        if cache_requests:
            # The harness finds its stored requests by the task's name, whatever the data were, and unpickles them.
            logger.warning(
                "%s: --cache_requests is not used; %s's requests are built anew, which takes seconds",
                *(self.config.task, self.benchmark.title),
            )
        with replaced(task_module, "tqdm", partial(task_module.tqdm, disable=True)):  # it takes a second
            super().build_all_requests(limit=limit, samples=samples, **options)
        self._note_use(limit, samples)
        lm = asking_model()
        if lm is not None:
            self.answered_by(lm)

    def answered_by(self, lm: Any) -> None:
        """Takes from the model what its answers will mean; to be called by those who do not use `lm_eval.evaluate`."""
        refuse_unsuitable(lm)
        kinds = self._kinds()
        self._refuse_unsuitable_splits(lm, kinds)
        if hasattr(lm, "describe_kind"):  # scores documents in its own way and brings its counts
            described = {split: lm.describe_kind(kind) for split, kind in kinds.items()}
            self.descriptions = {split: self.benchmark.said(one) for split, one in described.items()}
        else:
            refuse_lost_start(lm, [str(instance.args[0]) for instance in self.instances])
            counts, unit = count(lm, self.instances)
            found: dict[tuple[str, str], list[int]] = defaultdict(list)
            for instance, n in zip(self.instances, counts, strict=True):
                found[instance.doc["split"], instance.doc["id"]].append(divisor_of(instance, n))
            self.counts = dict(found)
            units = {split: NO_NORMALISER if kind in SUMMED else unit for split, kind in kinds.items()}
            self.descriptions = {
                split: self.benchmark.said(Description(PLAIN[kind], units[split]))
                for split, kind in kinds.items()
            }
        self._describe()

    def _refuse_unsuitable_splits(self, lm: Any, kinds: dict[str, str]) -> None:
        for split, kind in kinds.items():
            family = lm.methods.get(kind) if hasattr(lm, "methods") else getattr(lm, "backend", "causal")
            if why := self.benchmark.unsuitable(split, str(family)):
                raise UserError(f"{self.config.task}: {why}")

    def _describe(self) -> None:
        """Writes how examples are scored into what the results file will hold."""
        for part in self._provenance():
            if part["split"] in self.descriptions:
                part.update(self.descriptions[part["split"]]._asdict())

    # A document whose candidates follow several contexts: the harness asks for one text before all choices, so it is
    # asked once for each context (0.4.13: build_all_requests hands what fewshot_context gives to construct_requests).

    def fewshot_context(self, doc: dict[str, Any], *args: Any, **options: Any) -> Any:
        contexts = dict.fromkeys(context for context, _ in requests_of_doc(doc))
        if len(contexts) == 1:
            return super().fewshot_context(doc, *args, **options)
        return {
            context: super(BenchmarkTask, self).fewshot_context(
                doc | {SHOWN_CONTEXT: context}, *args, **options
            )
            for context in contexts
        }

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **options: Any) -> Any:
        if not isinstance(ctx, dict):
            return super().construct_requests(doc, ctx, **options)
        requests = super().construct_requests(doc, next(iter(ctx.values())), **options)
        for request, (context, _) in zip(requests, requests_of_doc(doc), strict=True):
            request.arguments = (ctx[context], *request.arguments[1:])
        return requests

    def process_results(self, doc: dict[str, Any], results: Sequence[Sequence[Any]]) -> dict[str, Any]:
        own = [own_count(answer) for answer in results]
        counts = self.counts.get((doc["split"], doc["id"])) if None in own else own
        if counts is None:
            raise UserError(
                f"{self.config.task}: the number of scored tokens is not known, because the requests were not built by "
                "lm_eval.evaluate; call task.answered_by(model) after build_all_requests"
            )
        doc["counts"] = counts  # `doc` is what the harness logs afterwards
        doc.update(self.descriptions[doc["split"]]._asdict() if doc["split"] in self.descriptions else {})
        if "bypass" in self._metric_fn_list:  # --predict_only: answers are logged, nothing is computed
            return super().process_results(doc, results)
        example = example_of_doc(doc, f"document {doc.get('id')}")
        return items_of(self.benchmark, self.splits, example, candidate_scores(doc, results))

    def _note_use(self, limit: int | None, samples: list[int] | None) -> None:
        """Of two processes one may see a single split only; what is recorded must not depend on that."""
        splits = self.eval_docs["split"]
        chosen = samples or range(min(int(limit), len(splits)) if limit else len(splits))
        self.used = Counter(splits[i] for i in chosen)
        for part in self._provenance():
            part["used"] = self.used[part["split"]]

    def _note_standouts(self, standouts: Standouts) -> None:
        """Called once all answers are known, on the process that computes the metrics: the results file gets them."""
        provenance = (self.config.metadata or {}).get("provenance")
        if provenance is not None:
            provenance["standouts"] = standouts.to_dict()

    def _kinds(self) -> dict[str, str]:
        """{split: the kind of question asked in it}, of the splits that are used."""
        firsts = {split: next(doc for doc in self.eval_docs if doc["split"] == split) for split in self.used}
        return {split: example_of_doc(doc, split).question.kind for split, doc in firsts.items()}

    def _provenance(self) -> list[dict[str, Any]]:
        """What load_docs has written about each split, as the results file will hold it."""
        return ((self.config.metadata or {}).get("provenance") or {}).get("data") or []
