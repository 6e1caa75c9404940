"""Which model is asking for requests.

A task is told neither the model nor its settings (lm-eval 0.4.13: `evaluate(lm, …)` calls
`task.build_all_requests(rank=lm.rank, …)`), yet the count of scored tokens, the record of what was computed and
the refusal of unsuitable models all depend on it. So the model is read from the harness's own frame. A test fails
when a new version calls it otherwise; the tasks then refuse to run rather than guess.
"""

import sys
from types import FrameType
from typing import Any

CALLER = ("lm_eval.evaluator", "evaluate")


def asking_model() -> Any | None:
    """The model that `evaluate` is running, without the cache around it; None if it is not `evaluate` that asks."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) == CALLER:
            return without_cache(frame.f_locals.get("lm"))
        frame = frame.f_back
    return None


def without_cache(lm: Any) -> Any:
    # not from lm_eval.api.model, where `stereoset run` puts a function in the place of the class
    from lm_eval_stereoset.harness.identified import CachingLM

    return lm.lm if isinstance(lm, CachingLM) else lm
