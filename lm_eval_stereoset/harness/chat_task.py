"""Tasks that ask in words: several questions about each example, whose answers are texts.

Way of a run: fewshot_context (one per order) -> construct_requests -> the model answers -> process_results (the
document gets the readings) -> aggregation, as for all tasks.
"""

import logging
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from lm_eval.api.instance import Instance

from lm_eval_stereoset.harness import chat_docs, service
from lm_eval_stereoset.harness.aggregation import items_of_row
from lm_eval_stereoset.harness.docs import example_of_doc
from lm_eval_stereoset.harness.preflight import refuse_without_words
from lm_eval_stereoset.harness.task import BenchmarkTask
from lm_eval_stereoset.scoring.describe import NO_NORMALISER, Description

USUAL = ("max_gen_toks", "do_sample", "until")  # of every task's own settings

logger = logging.getLogger(__name__)


def spoken(settings: Mapping[str, Any]) -> str:
    """How answers are made, in words: results that differ in it are of different methods."""
    rest = {key: value for key, value in settings.items() if key not in USUAL and value not in (None, [])}
    length = f"at most {settings.get('max_gen_toks')} tokens"
    return ", ".join([length, *(f"{key}={value}" for key, value in sorted(rest.items()))])


class ChatTask(BenchmarkTask):
    def build_all_requests(self, **options: Any) -> None:
        self.with_template = bool(options.get("apply_chat_template"))
        super().build_all_requests(**options)

    def fewshot_context(self, doc: dict[str, Any], *args: Any, **options: Any) -> list[Any]:
        """One context per order, each with the chat template and system instruction, if there are some."""
        asked = range(len(doc["prompts"]))
        return [
            super(BenchmarkTask, self).fewshot_context(doc | {chat_docs.ASKED: i}, *args, **options)
            for i in asked
        ]

    def construct_requests(self, doc: dict[str, Any], ctx: Sequence[Any], **options: Any) -> list[Instance]:
        options = {key: value for key, value in options.items() if key == "metadata"}
        return [
            Instance("generate_until", doc, (context, deepcopy(self.config.generation_kwargs)), i, **options)
            for i, context in enumerate(ctx)
        ]

    def answered_by(self, lm: Any) -> None:
        refuse_without_words(lm, self.with_template)
        service.tell_failures(lm)
        about = (self.config.metadata or {}).get("provenance", {}).get("asked", {})
        wording = about.get("wording", {})
        scoring = f"answers in words to {about.get('orders')} orders of the candidates"
        if not self.with_template:
            scoring += ", without a chat template"
        scoring += f", {spoken(self.config.generation_kwargs or {})}"
        wording_name = f"{wording.get('language')} {wording.get('version')}"
        description = Description(f"{scoring}, asked with wording {wording_name}", NO_NORMALISER)
        self.descriptions = dict.fromkeys(self.used, description)
        self._describe()

    def process_results(self, doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        where = f"document {doc.get('id')}"
        example = example_of_doc(doc, where)
        found = chat_docs.said(self.benchmark, example, doc, list(results), where)
        labels = [None if n is None else self.benchmark.labels[n] for n in found.labels]
        doc["readings"] = [
            {"kind": reading.kind, "label": label, "why": reading.why}
            for reading, label in zip(found.readings, labels, strict=True)
        ]
        doc.update(self.descriptions[doc["split"]]._asdict() if doc["split"] in self.descriptions else {})
        if "bypass" in self._metric_fn_list:  # --predict_only: answers are logged, nothing is computed
            return {"bypass": None}
        return items_of_row(self.benchmark, self.splits, example, found.tally.row)
