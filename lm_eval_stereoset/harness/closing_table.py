"""The table that `stereoset run` ends with: one row per StereoSet task, from the harness's results.

model      lang  split  SS          LMS         ICAT         examples  scoring  data
tiny-gpt2  de    both   60.0 ± 7.8  50.0 ± 9.9  40.0 ± 12.3  10 of 56  [1] [2]  sample
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

from lm_eval_stereoset.data.format import SPLITS
from lm_eval_stereoset.harness.aggregation import MAIN
from lm_eval_stereoset.languages import LANGUAGES

WIDTH = 100  # columns; the model's name gets what the others leave
SHORTEST_NAME = 12
LONGEST_DATA = 12  # versions and checksums are listed below the table
HEADER = ("model", "lang", "split", "SS", "LMS", "ICAT", "examples", "scoring", "data")
LEGEND = "SS: 50 is ideal. LMS, ICAT: higher is better. ±: standard error, by target term."
# Paths and names of models stay in one piece.
NOTES = TextWrapper(WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)

Results = Mapping[str, Any]
Parts = list[dict[str, Any]]  # what docs.load_docs and the task have written about each split


def closing_table(results: Results) -> list[str]:
    """The lines of the table and of the notes below it; none without a StereoSet task."""
    notes: dict[str, int] = {}  # a way of scoring: its number
    explained: list[str] = []
    tasks = sorted(stereoset_parts(results).items(), key=lambda item: _place(item[1]))
    rows = [_row(results, task, parts, notes) for task, parts in tasks]
    if not rows:
        return []
    lines = _aligned([list(HEADER), *rows], model_of(results))
    for text, number in notes.items():
        explained += NOTES.wrap(f"[{number}] {text}")
    return [*lines, "", LEGEND, *explained]


def stereoset_parts(results: Results) -> dict[str, Parts]:
    """{task: its data}. A StereoSet task is one that says where its data is from."""
    found = {}
    for task, config in results.get("configs", {}).items():
        parts = ((config.get("metadata") or {}).get("provenance") or {}).get("data")
        if parts:
            found[task] = parts
    return found


def without_stereoset(results: Results) -> Results:
    """What is left for the harness's own table: other tasks, and groups with at least one of them."""
    ours, members = set(stereoset_parts(results)), results.get("group_subtasks", {})

    def is_ours(name: str) -> bool:
        return name in ours or (bool(members.get(name)) and all(map(is_ours, members[name])))

    parts = {key: results.get(key, {}) for key in ("results", "groups", "group_subtasks")}
    kept = {key: {name: v for name, v in part.items() if not is_ours(name)} for key, part in parts.items()}
    return {**results, **kept}


def report_hint(paths: Sequence[Path], samples: bool) -> str:
    """The one command that makes the report of what this run has written to `paths`."""
    if not paths:
        return "For a report, add --output_path DIR --log_samples; then: stereoset report DIR -o report.html"
    title = "Report:" if samples else "Report (with --log_samples it has examples and tests, too):"
    return f"{title}\n  stereoset report {shlex.join(map(str, paths))} -o report.html"


def model_of(results: Results) -> str:
    from lm_eval.utils import simple_parse_args_string

    from lm_eval_stereoset.report.names import model_name

    config = results.get("config", {})
    arguments = config.get("model_args") or {}
    if isinstance(arguments, str):
        arguments = simple_parse_args_string(arguments)
    return model_name(str(arguments.get("pretrained") or arguments.get("model") or config.get("model")))


def _place(parts: Parts) -> tuple[int, str, int, str]:
    """Built-in languages first, in their order; in each language both splits together, then one by one."""
    language = parts[0]["language"]
    known = list(LANGUAGES).index(language) if language in LANGUAGES else len(LANGUAGES)
    return known, language, -len(parts), parts[0]["split"]


def _row(results: Results, task: str, parts: Parts, notes: dict[str, int]) -> list[str]:
    """All cells but the model's. `notes` gets the ways of scoring that are new."""
    splits = {part["split"] for part in parts}
    scorings = [f"{part['scoring']}; normaliser: {part['normaliser']}" for part in parts if "scoring" in part]
    for scoring in scorings:
        notes.setdefault(scoring, len(notes) + 1)
    used = sum(part.get("used", part["examples"]) for part in parts)
    data = ", ".join(dict.fromkeys(part["data"] for part in parts))
    return [
        "",
        parts[0]["language"],
        "both" if len(splits) == len(SPLITS) else parts[0]["split"],
        *(_with_error(results["results"].get(task, {}), metric) for metric in MAIN),
        f"{used} of {sum(part['examples'] for part in parts)}",
        " ".join(f"[{number}]" for number in sorted({notes[scoring] for scoring in scorings})),
        data if len(data) <= LONGEST_DATA else data[: LONGEST_DATA - 1] + "…",
    ]


def _with_error(values: Mapping[str, Any], metric: str) -> str:
    """A dash where nothing was computed (--predict_only), NaN where it is undefined."""
    value, error = (values.get(f"{name},none") for name in (metric, f"{metric}_stderr"))
    return "-" if value is None else f"{_number(value)} ± {_number(error)}"


def _number(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, int | float) and not math.isnan(value) else "NaN"


def _aligned(rows: list[list[str]], model: str) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = max(SHORTEST_NAME, WIDTH - sum(widths[1:]) - 2 * (len(widths) - 1))
    name = _shortened(model, room)
    for row in rows[1:]:
        row[0] = name
    widths[0] = max(len(name), len(rows[0][0]))
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    lines = ["  ".join(row).rstrip() for row in padded]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def _shortened(name: str, room: int) -> str:
    """A long name loses its owner first, then its start: sizes and variants are named at the end."""
    if len(name) > room:
        name = name.rpartition("/")[2]
    return name if len(name) <= room else "…" + name[1 - room :]
