"""--against-paper: the published numbers beside the user's, for every benchmark that declares some."""

from collections.abc import Mapping, Sequence

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.report.extras import Beside, extras_of
from lm_eval_stereoset.report.model_run import Run


def parse_rows(arguments: Sequence[str], runs: Sequence[Run]) -> dict[str, str]:
    """--paper-row MODEL=ROW, for models under another name."""
    declared = {run.benchmark.name: extras_of(run.benchmark).published for run in runs}
    known = dict.fromkeys(row for published in declared.values() if published for row in published.rows)
    rows = {}
    for text in arguments:
        model, _, row = text.rpartition("=")
        if not model or row not in known:
            raise UserError(f"--paper-row {text}: give MODEL=ROW with a row of {', '.join(known)}")
        rows[model] = row
    if unknown := set(rows) - {run.model for run in runs} - {run.base for run in runs}:
        raise UserError(f"--paper-row: no model {min(unknown)!r} among the results")
    return rows


def beside(runs: Sequence[Run], rows: Mapping[str, str]) -> dict[str, list[Beside]]:
    """{benchmark: every published cell that a run has a number for}, of the benchmarks that have published cells."""
    found: dict[str, list[Beside]] = {}
    for name in dict.fromkeys(run.benchmark.name for run in runs):
        chosen = [run for run in runs if run.benchmark.name == name]
        if published := extras_of(chosen[0].benchmark).published:
            found[name] = published.beside(chosen, rows)
    return found
