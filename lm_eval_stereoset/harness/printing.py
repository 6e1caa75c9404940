"""What the harness prints as its own table: which part of the results, and which metrics first.

Seen in lm-eval 0.4.13: `_cli/run.py` prints `lm_eval.utils.make_table(results)`, and again with "groups", every metric
in a row of its own, sorted by name. It imports the function when it is about to run, so replacing it in `lm_eval.utils`
is enough. tests/harness/test_closing_table.py fails when that place is gone.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.harness.bending import replaced

Results = Mapping[str, Any]


@contextmanager
def table_of(shown: Callable[[Results], Results] | None) -> Iterator[list[Results]]:
    """The harness prints `shown(results)`, or nothing where that is empty; yields a list that gets the full results."""
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
