"""How `stereoset run` ends: a table with one row per task of ours, the data it was made from, what was undefined.

model      lang  split  SS          LMS         ICAT         examples  scoring  data
tiny-gpt2  de    both   60.0 ± 7.8  50.0 ± 9.9  40.0 ± 12.3  10 of 56  [1] [2]  sample
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark, Metric
from lm_eval_stereoset.harness import closing_standouts

WIDTH = 100  # columns; the model's name gets what the others leave
SHORTEST_NAME = 12
LONGEST_DATA = 12  # versions and checksums are listed below the table
# Paths and names of models stay in one piece.
NOTES = TextWrapper(WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)

Results = Mapping[str, Any]
Row = tuple[str, str, Mapping[str, Any]]  # language, split, values as the harness has them: "ss,none": …
Parts = list[dict[str, Any]]  # what load_docs and the task have written about each split


def data_lines(loaded: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line per file of data, each once. `loaded`: what load_docs has noted (task.py)."""
    found: dict[str, None] = {}
    for about in loaded:
        for part in about["data"]:
            used, whole = part.get("used", part["examples"]), part["examples"]
            number = f"{whole} examples" if used == whole else f"{used} of {whole} examples"
            line = (
                f"data: {part['data']} {part['version']}, {part['split']}/{part['language']}, {number}, "
                f"sha256 {part['sha256'][:12]}"
            )
            found[line] = None
    return list(found)


def closing_table(results: Results) -> list[str]:
    """The lines of the tables, one per benchmark, and of the notes below them; none without a task of ours."""
    notes: dict[str, int] = {}  # a way of scoring: its number
    lines: list[str] = []
    by_benchmark: dict[str, dict[str, Parts]] = {}
    for task, (name, parts) in our_tasks(results).items():
        by_benchmark.setdefault(name, {})[task] = parts
    for name, tasks in by_benchmark.items():
        lines += _table(benchmarks.find(name), results, tasks, notes)
    for text, number in notes.items():
        lines += NOTES.wrap(f"[{number}] {text}")
    return lines


def _table(
    benchmark: Benchmark, results: Results, tasks: dict[str, Parts], notes: dict[str, int]
) -> list[str]:
    titles = [metric.title for metric in benchmark.main]
    header = ["model", "lang", "split", *titles, "examples", "scoring", "data"]
    ordered = sorted(tasks.items(), key=lambda item: _place(benchmark, item[1]))
    rows = [_row(benchmark, results, task, parts, notes) for task, parts in ordered]
    shown = [
        (row[1], row[2], results["results"].get(task, {}))
        for row, (task, _) in zip(rows, ordered, strict=True)
    ]
    return [
        *_aligned([header, *rows], model_of(results)),
        *shares(benchmark, shown),
        "",
        *NOTES.wrap(f"{benchmark.legend} ±: standard error, by {benchmark.cluster}."),
        *(line for text in remarks(benchmark, shown) for line in NOTES.wrap(text)),
        *closing_standouts.lines(results, [task for task, _ in ordered]),
    ]


def our_tasks(results: Results) -> dict[str, tuple[str, Parts]]:
    """{task: (benchmark, its data)}. A task of ours is one that says where its data is from."""
    found = {}
    for task, config in results.get("configs", {}).items():
        provenance = (config.get("metadata") or {}).get("provenance") or {}
        if provenance.get("data"):
            found[task] = (provenance.get("benchmark", "stereoset"), provenance["data"])
    return found


def without_ours(results: Results) -> Results:
    """What is left for the harness's own table: other tasks, and groups with at least one of them."""
    ours, members = set(our_tasks(results)), results.get("group_subtasks", {})

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

    config = results.get("config", {})
    arguments = config.get("model_args") or {}
    if isinstance(arguments, str):
        arguments = simple_parse_args_string(arguments)
    name = model_name(str(arguments.get("pretrained") or arguments.get("model") or config.get("model")))
    return debiased_name(name, config)


def debiased_name(name: str, config: Any) -> str:
    """A model with projections on it is another model. `config`: of a results file."""
    about = config.get("stereoset") if isinstance(config, Mapping) else None
    debias = about.get("debias") if isinstance(about, Mapping) else None
    found = debias.get("name") if isinstance(debias, Mapping) else None
    return f"{name} [{found}]" if isinstance(found, str) else name


def model_name(name: str) -> str:
    """A hub id stays as it is; of a local path only the last folder says something."""
    if name.startswith(("/", "./", "../", "~")) or "\\" in name or name.count("/") > 1:
        return Path(name.replace("\\", "/").rstrip("/")).name or name
    return name


def _place(benchmark: Benchmark, parts: Parts) -> tuple[int, str, int, str]:
    """Built-in languages first, in their order; in each language all splits together, then one by one."""
    language, built_in = parts[0]["language"], benchmark.built_in
    known = built_in.index(language) if language in built_in else len(built_in)
    return known, language, -len(parts), parts[0]["split"]


def _row(benchmark: Benchmark, results: Results, task: str, parts: Parts, notes: dict[str, int]) -> list[str]:
    """All cells but the model's. `notes` gets the ways of scoring that are new."""
    scorings = [f"{part['scoring']}; normaliser: {part['normaliser']}" for part in parts if "scoring" in part]
    for scoring in scorings:
        notes.setdefault(scoring, len(notes) + 1)
    used = sum(part["used"] if "used" in part else part["examples"] for part in parts)
    data = ", ".join(dict.fromkeys(part["data"] for part in parts))
    return [
        "",
        parts[0]["language"],
        pooled_name(len(parts)) if len(parts) > 1 else parts[0]["split"],
        *(cell(results["results"].get(task, {}), metric) for metric in benchmark.main),
        f"{used} of {sum(part['examples'] for part in parts)}",
        " ".join(f"[{number}]" for number in sorted({notes[scoring] for scoring in scorings})),
        data if len(data) <= LONGEST_DATA else data[: LONGEST_DATA - 1] + "…",
    ]


def pooled_name(splits: int) -> str:
    return "both" if splits == 2 else "all"


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


# The second part: how much was answered, for benchmarks that declare it (Metric.closing)
#
# lang  split  answered    refused     …  examples answered
# de    both   91.1 ± 2.0  0.0 ± 0.0   …  27 of 28


def shares(benchmark: Benchmark, rows: Sequence[Row]) -> list[str]:
    """No lines for a benchmark without such metrics."""
    chosen = [metric for metric in benchmark.metrics if metric.closing]
    if not chosen:
        return []
    table = [["lang", "split", *(metric.title for metric in chosen)]]
    table += [
        [language, split, *(cell(values, metric) for metric in chosen)] for language, split, values in rows
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return ["", lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def cell(values: Mapping[str, Any], metric: Metric) -> str:
    """A dash where nothing was computed (--predict_only), NaN where it is undefined; a count without an error."""
    value, error = (values.get(f"{name},none") for name in (metric.name, f"{metric.name}_stderr"))
    if value is None:
        return "-"
    digits = {"%": 1, "#": 0}.get(metric.unit, 3)
    return f"{number(value, digits)} ± {number(error, digits)}" if metric.has_error else number(value, digits)


def number(value: Any, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) and not math.isnan(value) else "NaN"


def remarks(benchmark: Benchmark, rows: Sequence[Row]) -> list[str]:
    """What must be said beside the numbers, each once with the tasks that it is about."""
    found: dict[str, list[str]] = {}
    for language, split, values in rows:
        plain = {
            key.partition(",")[0]: value for key, value in values.items() if isinstance(value, int | float)
        }
        if text := benchmark.remark(plain):
            found.setdefault(text, []).append(f"{language} ({split})")
    return [f"{', '.join(where)}: {text}." for text, where in found.items()]
