"""How the harness is bent: what it is asked, what it logs, what it prints. Seen in lm-eval 0.4.13.

replaced       one of its functions is another one while a block runs; everything below does it this way
tasks_found    it reads its own tasks only where one of them is asked for, and ours join its tag
asking_model   a task learns which model asks for its requests, which `evaluate` does not tell it
quiet          what it logs before it starts is cut to what a user can act on: for five languages, some fifty lines
table_of       what it prints as its own table: which part of the results, and which metrics first

Each place has a test that fails when a version of the harness moves it (tests/harness/test_quiet.py,
test_closing_table.py, test_task_class.py). What a cache and a results file hold is bent in identified.py.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from lm_eval_stereoset import benchmarks

logger = logging.getLogger(__name__)


@contextmanager
def replaced(owner: Any, name: str, value: Callable[..., Any]) -> Iterator[None]:
    there = name in vars(owner)  # `lm_eval.simple_evaluate` is found by the module's own __getattr__
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if there:
            setattr(owner, name, original)
        else:
            delattr(owner, name)


# The model that asks for requests

CALLER = ("lm_eval.evaluator", "evaluate")


def asking_model() -> Any | None:
    """The model that `evaluate` is running, without the cache around it; None if it is not `evaluate` that asks.

    A task is told neither the model nor its settings (`evaluate(lm, …)` calls `task.build_all_requests(rank=…, …)`),
    yet the count of scored tokens, the record of what was computed and the refusal of unsuitable models all depend
    on it. So the model is read from the harness's own frame. Where it is not found, tasks refuse to run.
    """
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


# Its tasks


@contextmanager
def tasks_found(with_the_harnesss: bool) -> Iterator[None]:
    """Which tasks the harness reads: its own fourteen thousand files (five seconds) only where one of them is asked for.

    Then ours join its tag of tasks like these. A tag in our files would take the place of the harness's tag of that name,
    because they are read later; see hatch_build.py.
    """
    from lm_eval import evaluator, tasks  # noqa: F401  the evaluator takes the manager as it is: import it before

    from lm_eval_stereoset.harness.yaml_tasks import TAG, tagged

    theirs = tasks.TaskManager

    def manager(*arguments: Any, **options: Any) -> Any:
        made = theirs(*arguments, **({} if with_the_harnesss else {"include_defaults": False}), **options)
        if TAG in made.task_index:
            made.task_index[TAG].tags |= tagged(made.task_index)
        return made

    with replaced(tasks, "TaskManager", manager):
        yield


# Its log

# (logger, part of the message): left out.
UNNEEDED = (
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
    """While it is open, no warning is shown twice: a model's config, say, is read several times and warns each time.

    On build servers, where CI is set, transformers (5.23) also hands its messages on to the root logger, whose handler
    shows them once more.
    """
    library = logging.getLogger("transformers")
    handed_on = library.propagate
    if _handlers_of("transformers"):
        library.propagate = False
    filters = [(handler, Once()) for handler in {*_handlers_of("lm_eval"), *_handlers_of("transformers")}]
    for handler, once in filters:
        handler.addFilter(once)
    try:
        yield
    finally:
        library.propagate = handed_on
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


# Its table

Results = Mapping[str, Any]


@contextmanager
def table_of(shown: Callable[[Results], Results] | None) -> Iterator[list[Results]]:
    """The harness prints `shown(results)`, or nothing where that is empty; yields a list that gets the full results.

    `_cli/run.py` prints `lm_eval.utils.make_table(results)`, and again with "groups": every metric in a row of its own,
    sorted by name. It imports the function when it is about to run, so replacing it in `lm_eval.utils` is enough.
    """
    from lm_eval import utils

    whole: list[Results] = []
    theirs = utils.make_table

    def make_table(results: Results, column: str = "results", *rest: Any, **options: Any) -> str:
        if not whole:
            whole.append(results)
        chosen = shown(results) if shown else results
        return theirs(chosen, column, *rest, **options) if chosen.get(column) else ""

    with replaced(utils, "make_table", make_table):
        yield whole


class Ranked(str):
    """A metric's key that is sorted by its rank first: main metrics, then the others."""

    rank: int = 1

    def __lt__(self, other: str) -> bool:
        return (self.rank, str(self)) < (getattr(other, "rank", 1), str(other))

    @classmethod
    def of(cls, key: str, main: set[str]) -> "Ranked":
        ranked = cls(key)
        ranked.rank = 0 if key.partition(",")[0] in main else 1
        return ranked


def put_main_metrics_first() -> None:
    """In plain `lm_eval`, too, a table of ours begins with the metrics that models are compared by."""
    from lm_eval import utils

    if getattr(utils.make_table, "main_metrics_first", False):
        return
    theirs = utils.make_table

    def make_table(results: Results, column: str = "results", *rest: Any, **options: Any) -> str:
        tasks = {task: in_order(results, task, values) for task, values in results.get(column, {}).items()}
        return theirs({**results, column: tasks}, column, *rest, **options)

    vars(make_table)["main_metrics_first"] = True
    utils.make_table = make_table


def in_order(results: Results, task: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of one of our tasks with keys that sort as they should be read; those of other tasks as they are."""
    metadata = (results.get("configs", {}).get(task) or {}).get("metadata") or {}
    name = (metadata.get("provenance") or {}).get("benchmark")
    if name not in benchmarks.names():
        return values
    main = {metric.name for metric in benchmarks.find(name).main}
    return {Ranked.of(key, main): value for key, value in values.items()}
