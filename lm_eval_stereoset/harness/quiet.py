"""What the harness logs before it starts, cut to what a user can act on; LMEVAL_LOG_LEVEL=DEBUG shows all of it.

Seen in lm-eval 0.4.13, for five languages: some fifty lines before the first score. tests/harness/test_quiet.py counts
them, and so notices a message that is worded differently in another version.
"""

import logging
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from lm_eval_stereoset.harness.bending import replaced

logger = logging.getLogger(__name__)

# (logger, part of the message): left out.
UNNEEDED = (
    ("lm_eval.tasks._index", "Task 'social_bias' from None"),  # our tag, which other tasks have, too
    ("lm_eval._cli.run", "Including path"),
    ("lm_eval.evaluator", "Setting random seed"),
    ("lm_eval.evaluator_utils", ""),  # the tasks once more, one line each, with their files
    ("lm_eval.models.huggingface", "Model parallel was set to False"),
    ("lm_eval.api.task", "Custom kwargs can be passed"),
    ("lm_eval.api.task", "Building contexts for"),
)
SAMPLE = ("lm_eval_stereoset.data.store", "using the bundled sample")
UNDEFINED = ("lm_eval_stereoset.harness.aggregation", "are undefined (NaN) with")


class Once(logging.Filter):
    """Drops what one handler has shown before in the same words."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: set[tuple[str, str]] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.name, record.getMessage()
        if record.levelno > logging.WARNING or message not in self.shown:
            self.shown.add(message)
            return True
        return False


class Quiet(logging.Filter):
    """Drops what is not needed; says once what would be said for every task or every kind of bias."""

    def __init__(self) -> None:
        super().__init__()
        self.sample_said = False
        self.undefined: dict[str, dict[str, None]] = {}  # what: where, in the order in which they came

    def filter(self, record: logging.LogRecord) -> bool:
        about = record.args if isinstance(record.args, tuple) else ()
        if is_one_of(record, (SAMPLE,)):
            if not self.sample_said:
                self.sample_said = True
                logger.warning("using the bundled sample, not %s", about[2])
            return False
        if is_one_of(record, (UNDEFINED,)):
            where, what = str(about[0]), str(about[1])
            self.undefined.setdefault(what, {})[where] = None
            return False
        return record.levelno > logging.WARNING or not is_one_of(record, UNNEEDED)

    def say_undefined(self) -> None:
        if self.undefined:
            found = "; ".join(f"{what} of {', '.join(where)}" for what, where in self.undefined.items())
            logger.warning("NaN, because there are too few examples or clusters of them: %s", found)


def is_one_of(record: logging.LogRecord, messages: tuple[tuple[str, str], ...]) -> bool:
    return any(record.name == name and part in record.getMessage() for name, part in messages)


@contextmanager
def quiet() -> Iterator[None]:
    """While it is open, the harness's log handlers, which are ours, too, show less."""
    from lm_eval import evaluator
    from lm_eval.loggers.utils import get_commit_from_path

    handlers = _handlers_of("lm_eval")
    one = Quiet()
    git_hash = evaluator.get_git_commit_hash

    def get_git_commit_hash() -> str | None:
        return git_hash() if git_answers() else get_commit_from_path(os.getcwd())

    for handler in handlers:
        handler.addFilter(one)
    try:
        with replaced(evaluator, "get_git_commit_hash", get_git_commit_hash):
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(one)
        one.say_undefined()


@contextmanager
def without_repetition() -> Iterator[None]:
    """While it is open, no warning is shown twice: a model's config, say, is read several times and warns each time."""
    filters = [(handler, Once()) for handler in {*_handlers_of("lm_eval"), *_handlers_of("transformers")}]
    for handler, once in filters:
        handler.addFilter(once)
    try:
        yield
    finally:
        for handler, once in filters:
            handler.removeFilter(once)


def _handlers_of(library: str) -> list[logging.Handler]:
    """None where the user wants to see everything."""
    if logging.getLogger("lm_eval").isEnabledFor(logging.DEBUG):
        return []
    return list(logging.getLogger(library).handlers)


def git_answers() -> bool:
    """Whether the command by which the harness asks git works here. It would let git complain on the terminal."""
    try:
        return (
            subprocess.run(["git", "describe", "--always"], capture_output=True, check=False).returncode == 0
        )
    except OSError:  # no git on this machine
        return False
