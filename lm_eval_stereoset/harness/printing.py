"""Which part of the results the harness prints as its own table.

Seen in lm-eval 0.4.13: `_cli/run.py` prints `lm_eval.utils.make_table(results)`, and again with "groups", every metric
in a row of its own. It imports the function when it is about to run, so replacing it in `lm_eval.utils` is enough.
tests/harness/test_closing_table.py fails when that place is gone.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

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
