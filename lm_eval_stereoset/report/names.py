"""Names of models and languages, from arguments and from file names."""

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.benchmarks.prediction_files import FileName
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.report.model_run import Run, shown_name

LANGUAGE = r"[a-z]{2,3}(?:_[a-z0-9]+)*"


class Argument(NamedTuple):
    """PATH, NAME=PATH or NAME:LANGUAGE=PATH."""

    path: Path
    name: str | None = None
    language: str | None = None


def parse_argument(text: str) -> Argument:
    if not text.strip():  # an unset shell variable; Path("") would be the folder one is in
        raise UserError("one of the RESULTS is an empty text; name a file or a folder")
    if os.path.exists(text):  # False also for names that no system can have
        return Argument(Path(text))
    found = re.fullmatch(rf"(?P<name>[^=]+?)(?::(?P<language>{LANGUAGE}))?=(?P<path>.+)", text)
    if found is None:
        return Argument(Path(text))
    return Argument(Path(found["path"]), shown_name(found["name"]), found["language"])


def parse_file_name(path: Path, benchmark: Benchmark | None = None) -> FileName:
    """What the name of a file of predictions or scores says; the language only if it is at the end."""
    stem = path.stem
    if benchmark and benchmark.predictions and (found := benchmark.predictions.parse_name(stem)):
        return found
    if found := re.fullmatch(r"(?P<model>.+?)[_.](?P<language>[a-z]{2,3})", stem):
        return FileName(found["model"], found["language"], None)
    return FileName(stem, None, None)


def tell_apart(runs: Sequence[Run]) -> None:
    """Adds the variant to a model that occurs twice in a language; what is still the same is an error."""
    by_model: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        by_model[run.benchmark.name, run.model].append(run)
    for group in by_model.values():
        if _twice(group):
            for run in group:
                if run.variant:
                    run.model = f"{run.model} ({run.variant})"
    if twice := _twice(runs):
        first, second = twice
        raise UserError(
            f"two results for {first.model} in {first.language}: {first.source} and {second.source}; "
            "leave one out, or name them: NAME=PATH"
        )


def _twice(runs: Sequence[Run]) -> tuple[Run, Run] | None:
    seen: dict[tuple[str, str, str], Run] = {}
    for run in runs:
        key = (run.benchmark.name, run.model, run.language)
        if key in seen:
            return seen[key], run
        seen[key] = run
    return None
