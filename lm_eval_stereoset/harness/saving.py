"""Whether the harness can save its results, and has.

lm-eval 0.4.13 finds out after hours of scoring, logs "Could not save results aggregated" and ends with exit code 0.
"""

import logging
from pathlib import Path
from types import TracebackType
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness.preflight import refuse_unwritable

TRACKER = "lm_eval.loggers.evaluation_tracker"
FAILED = "Could not save"


class Saving(logging.Handler):
    """Open while the harness runs: refuses an output path that cannot be written; `check` afterwards."""

    def __init__(self, output_path: Any):
        super().__init__(logging.INFO)
        self.output_path = None if output_path is None else Path(output_path)
        self.failures: list[str] = []
        self.before: set[Path] = set()

    def __enter__(self) -> "Saving":
        if self.output_path is not None:
            refuse_unwritable(folder_of_results(self.output_path), f"--output_path {self.output_path}")
            self.before = self._files()
            logging.getLogger(TRACKER).addHandler(self)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        logging.getLogger(TRACKER).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message.startswith(FAILED):
            self.failures.append(message)
        elif self.failures and record.levelno == logging.INFO and "Error" in message:
            self.failures[-1] += f" ({message})"  # the harness says the reason in a second message

    def check(self, samples: bool) -> None:
        """Raises unless results, and samples if they were asked for, lie in the folder."""
        if self.output_path is None:
            return
        new = {path.suffix for path in self._files() - self.before}
        lost = list(self.failures) or [
            f"no {what} were written"
            for what, suffix in (("results", ".json"), ("samples", ".jsonl"))
            if suffix not in new and (samples or suffix == ".json")
        ]
        if lost:
            raise UserError(
                f"--output_path {self.output_path}: {'; '.join(lost)}; the table above is all that is left of this run"
            )

    def report_paths(self) -> list[Path]:
        """What `stereoset report` takes to show this run: the folder, or the files that were written as NAME.json."""
        if self.output_path is None:
            return []
        if self.output_path.suffix != ".json":
            return [self.output_path]
        return sorted(path for path in self._files() - self.before if path.suffix == ".json")

    def _files(self) -> set[Path]:
        if self.output_path is None:
            return set()
        folder = folder_of_results(self.output_path)
        return {path for suffix in ("json", "jsonl") for path in folder.rglob(f"*.{suffix}")}


def folder_of_results(output_path: Path) -> Path:
    """NAME.json means files beside it, NAME_<time>.json; anything else is a folder."""
    return output_path.parent if output_path.suffix == ".json" else output_path
