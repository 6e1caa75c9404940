"""The paper's tables for the user's models, in LaTeX, Markdown and CSV; best values of a column marked.

Tables 2 to 5 of the paper, and 8 and 9: a row a model, for each metric a column a language.
"""

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.stereoset.metrics import MAIN
from lm_eval_stereoset.files import atomic_write
from lm_eval_stereoset.report.cells import markdown_cell, spreadsheet_cell
from lm_eval_stereoset.report.comparisons import Comparison
from lm_eval_stereoset.report.paper import LANGUAGES as PAPER_LANGUAGES
from lm_eval_stereoset.report.paper import Beside
from lm_eval_stereoset.report.run import Run
from lm_eval_stereoset.report.study import Study

GLOBAL = (("LMS", ("lms",)), ("SS", ("ss",)), ("ICAT", ("icat",)))
MULTI_CLASS = (("LMS", ("mc_lms",)), ("SS", ("mc_ss",)), ("ICAT (macro/micro)", ("icat_macro", "icat_micro")))


COMPARISONS, AGAINST_PAPER = "comparisons.csv", "against_paper.csv"
BEST = "Bold: best of a column, for SS the one nearest to 50."


@dataclass(frozen=True)
class Layout:
    number: int  # of the paper's table
    split: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]  # heading and metrics; two metrics share a cell
    caption: str

    @property
    def name(self) -> str:
        return f"table{self.number}_{self.split}_{'global' if self.groups == GLOBAL else 'multiclass'}"

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(metric for _, metrics in self.groups for metric in metrics)


LAYOUTS = (
    Layout(2, "intra", GLOBAL, "Intrasentence test: global scores"),
    Layout(3, "inter", GLOBAL, "Intersentence test: global scores"),
    Layout(4, "overall", GLOBAL, "Both tests together: global scores"),
    Layout(5, "overall", MULTI_CLASS, "Both tests together: multi-class scores"),
    Layout(8, "intra", MULTI_CLASS, "Intrasentence test: multi-class scores"),
    Layout(9, "inter", MULTI_CLASS, "Intersentence test: multi-class scores"),
)


@dataclass(frozen=True)
class Entry:
    value: float
    low: float
    high: float
    best: bool


Grid = dict[tuple[str, str, str], Entry]  # (model, metric, language)


def file_names() -> list[str]:
    """All that write_tables may write."""
    tables = [f"{layout.name}.{suffix}" for layout in LAYOUTS for suffix in RENDERERS]
    return [*tables, COMPARISONS, AGAINST_PAPER]


def write_tables(
    folder: Path,
    study: Study,
    intervals: bool = False,
    published: Sequence[Beside] | None = None,
    written: list[Any] | None = None,
) -> list[Any]:
    """Adds every file to `written` as soon as it is there."""
    written = [] if written is None else written
    for layout in LAYOUTS:
        if not any(layout.split in run.table for run in study.runs):
            continue
        grid, models, languages = _grid(study, layout)
        for suffix, render in RENDERERS.items():
            text = render(layout, grid, models, languages, intervals)
            written.append(_write(folder / f"{layout.name}.{suffix}", text))
    if study.comparisons:
        written.append(_write(folder / COMPARISONS, comparisons_csv(study.comparisons)))
    if published:
        written.append(_write(folder / AGAINST_PAPER, _published_csv(published)))
    return written


def _write(path: Path, text: str) -> Path:
    with atomic_write(path) as handle:
        handle.write(text)
    return path


def _grid(study: Study, layout: Layout) -> tuple[Grid, list[str], list[str]]:
    runs = [run for run in study.runs if layout.split in run.table]
    languages = sorted({run.language for run in runs}, key=_paper_order(study))
    models = [model for model in study.models if any(run.model == model for run in runs)]
    grid: Grid = {}
    for metric in layout.metrics:
        for language in languages:
            rivals = [run for run in runs if run.language == language]
            best = max((_merit(run, layout.split, metric) for run in rivals), default=math.nan)
            for run in rivals:
                numbers = [
                    run.value(layout.split, "overall", f"{metric}{end}") for end in ("", "_low", "_high")
                ]
                marked = len(rivals) > 1 and _merit(run, layout.split, metric) == best
                grid[run.model, metric, language] = Entry(*numbers, best=marked)
    return grid, models, languages


def _paper_order(study: Study) -> Callable[[str], int]:
    order = [*PAPER_LANGUAGES, *(code for code in study.languages if code not in PAPER_LANGUAGES)]
    return order.index


def _merit(run: Run, split: str, metric: str) -> float:
    """Highest is best, except for SS, where nearest to 50 is. As printed: equal at two decimals is equal."""
    value = round(run.value(split, "overall", metric), 2)
    if math.isnan(value):
        return -math.inf
    return -round(abs(value - 50), 2) if metric.endswith("ss") else value


def _cells(
    layout: Layout, grid: Grid, model: str, languages: list[str], show: Callable[[Entry], str], missing: str
) -> list[str]:
    """A model's cells, group by group, language by language; macro and micro ICAT share one."""
    cells = []
    for _, metrics in layout.groups:
        for language in languages:
            entries = [grid.get((model, metric, language)) for metric in metrics]
            shown = [show(e) for e in entries if e is not None and not math.isnan(e.value)]
            cells.append(" / ".join(shown) if len(shown) == len(metrics) else missing)
    return cells


def _latex(layout: Layout, grid: Grid, models: list[str], languages: list[str], intervals: bool) -> str:
    def show(entry: Entry) -> str:
        value = f"\\textbf{{{entry.value:.2f}}}" if entry.best else f"{entry.value:.2f}"
        if intervals and not math.isnan(entry.low):
            value += f" {{\\scriptsize [{entry.low:.1f}, {entry.high:.1f}]}}"
        return value

    width, groups = len(languages), layout.groups
    rules = (f"\\cmidrule(lr){{{2 + i * width}-{1 + (i + 1) * width}}}" for i in range(len(groups)))
    lines = [
        "% needs \\usepackage{booktabs} and \\usepackage{graphicx}",
        "\\begin{table*}[t]",
        "  \\centering",
        "  \\setlength{\\tabcolsep}{4pt}",
        "  \\resizebox{\\textwidth}{!}{%",
        f"  \\begin{{tabular}}{{l{'r' * width * len(groups)}}}",
        "    \\toprule",
        "    & " + " & ".join(f"\\multicolumn{{{width}}}{{c}}{{{label}}}" for label, _ in groups) + " \\\\",
        "    " + " ".join(rules),
        "    Model & " + " & ".join(map(_latex_text, languages * len(groups))) + " \\\\",
        "    \\midrule",
    ]
    for model in models:
        cells = _cells(layout, grid, model, languages, show, "--")
        lines.append(f"    {_latex_text(model)} & " + " & ".join(cells) + " \\\\")
    lines += [
        "    \\bottomrule",
        "  \\end{tabular}}",
        f"  \\caption{{{layout.caption} (per cent). {BEST}}}",
        f"  \\label{{tab:stereoset-{layout.number}}}",
        "\\end{table*}",
    ]
    return "\n".join(lines) + "\n"


LATEX = {
    "\\": "\\textbackslash{}", "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}",
    "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}",
}  # fmt: skip


def _latex_text(text: str) -> str:
    """Special characters escaped; also < and >, which LaTeX's default font encoding prints as ¡ and ¿."""
    return "".join(LATEX.get(letter, letter) for letter in " ".join(text.split()))


def _markdown(layout: Layout, grid: Grid, models: list[str], languages: list[str], intervals: bool) -> str:
    def show(entry: Entry) -> str:
        text = f"**{entry.value:.2f}**" if entry.best else f"{entry.value:.2f}"
        return (
            f"{text} [{entry.low:.1f}, {entry.high:.1f}]" if intervals and not math.isnan(entry.low) else text
        )

    head = [
        "Model",
        *(f"{label} {markdown_cell(language)}" for label, _ in layout.groups for language in languages),
    ]
    rows = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for model in models:
        cells = _cells(layout, grid, model, languages, show, "–")
        rows.append("| " + " | ".join([markdown_cell(model), *cells]) + " |")
    return f"{layout.caption}. Per cent. {BEST}\n\n" + "\n".join(rows) + "\n"


def _csv(layout: Layout, grid: Grid, models: list[str], languages: list[str], intervals: bool) -> str:
    """Full precision, one line a number, for other programs; intervals always."""
    rows = [("model", "language", "split", "metric", "value", "low", "high", "best")]
    for model in models:
        for metric in layout.metrics:
            for language in languages:
                entry = grid.get((model, metric, language))
                if entry is not None and not math.isnan(entry.value):
                    numbers = [_plain(n) for n in (entry.value, entry.low, entry.high)]
                    rows.append((model, language, layout.split, metric, *numbers, int(entry.best)))
    return _csv_text(rows)


def comparisons_csv(comparisons: Sequence[Comparison]) -> str:
    rows: list[tuple] = [
        (
            "kind", "split", "metric", "first_model", "first_language", "second_model", "second_language", "examples",
            "left_out", "difference", "stderr", "low", "high", "low_corrected", "high_corrected", "p", "p_adjusted",
            "comparisons", "smallest_detectable", "significant",
        )
    ]  # fmt: skip
    for c in comparisons:
        sides = (c.first.model, c.first.language, c.second.model, c.second.language)
        for metric in MAIN:
            d = c.differences[metric]
            numbers = (
                d.value, d.standard_error, d.low, d.high, *d.corrected_interval(max(c.family, 1)), d.p,
                c.adjusted[metric],
            )  # fmt: skip
            ends = (c.family, _plain(d.smallest_detectable()), int(c.significant(metric)))
            rows.append((c.kind, c.split, metric, *sides, c.n, c.left_out, *map(_plain, numbers), *ends))
    return _csv_text(rows)


def _published_csv(published: Sequence[Beside]) -> str:
    rows: list[tuple] = [
        (
            "model", "language", "split", "metric", "value", "published", "difference", "equal", "source", "table",
            "row", "remark",
        )
    ]  # fmt: skip
    for b in published:
        where = (b.run.model, b.run.language, b.cell.split, b.cell.metric)
        numbers = (_plain(b.value), b.cell.value, _plain(b.difference), int(b.equal))
        rows.append((*where, *numbers, b.cell.source, b.cell.table, b.cell.row, b.remark))
    return _csv_text(rows)


RENDERERS = {"tex": _latex, "md": _markdown, "csv": _csv}


def _plain(number: float) -> str:
    return "NaN" if math.isnan(number) else repr(float(number))


def _csv_text(rows: Sequence[tuple]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(spreadsheet_cell, row) for row in rows)
    return text.getvalue()
