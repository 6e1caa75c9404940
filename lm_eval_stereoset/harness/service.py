"""Requests that a service never answers: marked as failed, one by one, where the harness would end the whole run.

Seen in lm-eval 0.4.13 (models/api_models.py): `generate_until` calls `model_call`, or `amodel_call` with num_concurrent
above 1, up to max_retries times, and raises what the last call raised: one request of ten thousand that times out costs
all the others. What it answers to JSON without an answer in it is an empty text, or no text at all, which moves every
later answer by one place. So these methods are replaced on this one object: the last failure of a request becomes
the mark of failures.py, which is no answer to any metric and is not kept in the cache, so the next run asks again.

A service that answers none of the first requests will not answer the others: nothing more is sent, and the run ends
with the reason. (Raising it where it is noticed would only make the client ask again.)
"""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

from lm_eval_stereoset.chat.failures import failure
from lm_eval_stereoset.errors import UserError

logger = logging.getLogger(__name__)

GIVE_UP_AFTER = 12  # requests, with none answered
HOPELESS = (
    400,
    401,
    402,
    403,
    404,
    405,
    422,
)  # asking again does not help: the key, the name of the model, a setting
STOPS = ("stop", "stop_sequences")
GONE = "failed"  # in place of the harness's outputs, which are dicts


class Service:
    """What one object of the harness has asked and got."""

    def __init__(self, lm: Any) -> None:
        self.lm = lm
        self.call, self.acall, self.parse = lm.model_call, lm.amodel_call, lm.parse_generations
        self.generate, self.payload = lm.generate_until, lm._create_payload
        self.attempts: Counter[str] = Counter()
        self.answered = self.failed = 0
        self.given_up = ""  # why nothing more is asked

    def generate_until(self, requests: list[Any], **options: Any) -> list[str]:
        answers = self.generate(requests, **options)
        if self.given_up:
            raise UserError(self.given_up)
        return answers

    def create_payload(self, messages: Any, **options: Any) -> dict[str, Any]:
        """Without an empty list of stop sequences, to which `transformers serve` (5.23) answers 500."""
        payload = self.payload(messages, **options)
        return {key: value for key, value in payload.items() if key not in STOPS or value}

    def model_call(self, messages: Sequence[Any], *, generate: bool = True, **options: Any) -> Any:
        if self.given_up and generate:
            return {GONE: failure(self.given_up)}
        try:
            outputs = self.call(messages, generate=generate, **options)
            if generate:
                self._texts(outputs, len(messages))
        except Exception as error:
            if not generate or not self._is_last(messages):
                raise
            return {GONE: self._failure(error)}
        self.answered += 1
        return outputs

    async def amodel_call(self, session: Any, sem: Any, messages: Sequence[Any], **options: Any) -> Any:
        if self.given_up and options.get("generate", True):
            return [failure(self.given_up)] * len(messages)
        try:
            answers = await self.acall(session, sem, messages, **options)
            if len(answers) != len(messages):
                raise ValueError(f"{len(answers)} answers to {len(messages)} questions")
        except Exception as error:
            if not options.get("generate", True) or not self._is_last(messages):
                raise
            return [self._failure(error)] * len(messages)
        self.answered += 1
        return answers

    def parse_generations(self, outputs: Any, **options: Any) -> list[str]:
        contexts = options.get("contexts")
        if isinstance(outputs, dict) and GONE in outputs:
            return [outputs[GONE]] * len(contexts or [None])
        return self._texts(outputs, None if contexts is None else len(contexts))

    def _texts(self, outputs: Any, wanted: int | None) -> list[str]:
        """What the service said; an output without an answer is as good as no output, and is asked for again."""
        for output in outputs if isinstance(outputs, list) else [outputs]:
            if not isinstance(output, dict) or not (output.get("choices") or output.get("content")):
                raise ValueError(f"no answer in what the service sent: {_shown(output)}")
        texts = [_plain(text) for text in self.parse(outputs)]
        if wanted is not None and len(texts) != wanted:
            raise ValueError(f"{len(texts)} answers to {wanted} questions: {_shown(outputs)}")
        return texts

    def _is_last(self, messages: Sequence[Any]) -> bool:
        key = json.dumps(messages, ensure_ascii=True, default=str)
        self.attempts[key] += 1
        if self.attempts[key] < self.lm.max_retries:
            return False
        del self.attempts[key]
        return True

    def _failure(self, error: Exception) -> str:
        reason = f"{type(error).__name__}: {error}"
        self.failed += 1
        status = getattr(getattr(error, "response", None), "status_code", getattr(error, "status", None))
        if not self.given_up and not self.answered and (status in HOPELESS or self.failed >= GIVE_UP_AFTER):
            self.given_up = (
                f"the service {self.lm.base_url} answered none of the first {self.failed} request(s): {reason[:300]}; "
                "nothing more was asked"
            )
        logger.warning("a request was never answered and counts as failed (%s)", reason[:200])
        return failure(reason)


def tell_failures(lm: Any) -> None:
    """From here on this model of the harness marks what a service never answers; other models stay as they are."""
    from lm_eval.models.api_models import TemplateAPI

    if not isinstance(lm, TemplateAPI) or "parse_generations" in vars(lm):
        return
    watched = Service(lm)
    lm.model_call, lm.amodel_call = watched.model_call, watched.amodel_call
    lm.parse_generations, lm.generate_until = watched.parse_generations, watched.generate_until
    lm._create_payload = watched.create_payload


def _shown(output: Any) -> str:
    return json.dumps(output, default=str)[:200]


def _plain(text: Any) -> Any:
    """An answer as one text that can be saved: some services send a list of parts, some half a surrogate pair."""
    if isinstance(text, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in text]
        text = "".join(part for part in parts if isinstance(part, str))
    if text is None:
        return text
    if not isinstance(text, str):
        raise ValueError(f"an answer that is not text: {_shown(text)}")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
