"""What there is to measure, in words: read from the declarations, shown by --help and `stereoset ls`."""

from collections.abc import Iterable, Sequence
from textwrap import wrap

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.harness.yaml_tasks import group_names, task_names

WIDTH = 100
ANY_LANGUAGE = "XX"


def benchmarks_text() -> str:
    """For --help: every benchmark with its tasks, groups, languages and main metrics."""
    return "\n".join(line for benchmark in benchmarks.registered() for line in _lines(benchmark))


def _lines(benchmark: Benchmark) -> list[str]:
    more = f"; outside the groups: {', '.join(benchmark.more_languages)}" if benchmark.more_languages else ""
    rows = [
        ("tasks", ", ".join(task_patterns(benchmark))),
        ("groups", ", ".join(group_names(benchmark))),
        (ANY_LANGUAGE, ", ".join(benchmark.languages) + more),
        ("measured", ", ".join(measured(benchmark))),
    ]
    return [*_wrapped(heading(benchmark), "  "), *table(rows, "    ")]


def heading(benchmark: Benchmark) -> str:
    return f"{benchmark.title}: {benchmark.asks}" if benchmark.asks else benchmark.title


def task_patterns(benchmark: Benchmark) -> list[str]:
    """The names of tasks with XX for the language: stereoset_XX, stereoset_intra_XX, …"""
    patterns: dict[str, None] = {}
    for task in task_names(benchmark):
        code = language_of_task(benchmark, task)
        named = code is not None and task.endswith(f"_{code}")
        patterns[task.removesuffix(str(code)) + ANY_LANGUAGE if named else task] = None
    return list(patterns)


def language_of_task(benchmark: Benchmark, task: str) -> str | None:
    codes = [code for code in benchmark.built_in if task.endswith(f"_{code}")]
    only = benchmark.languages[0] if len(benchmark.languages) == 1 else None  # which names of tasks leave out
    return max(codes, key=len, default=only)


def measured(benchmark: Benchmark) -> list[str]:
    return [
        metric.title if metric.ideal is None else f"{metric.title} ({metric.ideal:g} is ideal)"
        for metric in benchmark.main
    ]


def table(rows: Iterable[Sequence[str]], indent: str = "  ", width: int = WIDTH) -> list[str]:
    """Lines of aligned columns, of which the last is wrapped to the width."""
    rows = [list(row) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)] if rows else []
    lines = []
    for row in rows:
        start = indent + "".join(f"{cell:<{size}}  " for cell, size in zip(row, widths, strict=False))
        last = wrap(row[-1], max(20, width - len(start)), break_long_words=False, break_on_hyphens=False)
        lines.append((start + (last[0] if last else "")).rstrip())
        lines += [" " * len(start) + more for more in last[1:]]
    return lines


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False)
