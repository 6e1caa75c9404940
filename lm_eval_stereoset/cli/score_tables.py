"""Scores as text, Markdown, CSV and JSON. One row a group, the columns of the paper's tables."""

import csv
import io
import math
from collections.abc import Sequence

from lm_eval_stereoset.benchmarks.evaluation import Table
from lm_eval_stereoset.report.cells import markdown_cell, spreadsheet_cell

GLOBAL = ("ss", "lms", "icat")
MULTI_CLASS = ("mc_ss", "mc_lms", "icat_macro", "icat_micro")
TITLES = {
    "ss": "SS", "lms": "LMS", "icat": "ICAT", "mc_ss": "SS", "mc_lms": "LMS",
    "icat_macro": "macro ICAT", "icat_micro": "micro ICAT",
}  # fmt: skip


def to_json(table: Table) -> dict:
    """{split: {group: {metric: value}}}; what is undefined is null, since JSON has no NaN."""
    return {
        split: {
            group: {name: None if math.isnan(value) else value for name, value in values.items()}
            for group, values in groups.items()
        }
        for split, groups in table.items()
    }


def to_csv(table: Table) -> str:
    out = io.StringIO()
    columns = list(next(iter(table.values()))["overall"])
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["split", "group", *columns])
    for split, groups in table.items():
        for group, values in groups.items():
            numbers = ("NaN" if math.isnan(values[c]) else values[c] for c in columns)
            writer.writerow(map(spreadsheet_cell, [split, group, *numbers]))
    return out.getvalue()


def to_markdown(table: Table, about: Sequence[str] = ()) -> str:
    header, rows = _cells(table)
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * 2 + "---:|" * (len(header) - 2)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    lines += ["", *map(markdown_cell, _notes(about))]
    return "\n".join(lines) + "\n"


def to_text(table: Table, about: Sequence[str] = ()) -> str:
    header, rows = _cells(table)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for number, row in enumerate([header, *rows]):
        if number and row[0] and number > 1:
            lines.append("")
        cells = [
            c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
        if number == 0:
            lines.append("  ".join("-" * w for w in widths))
    return "\n".join([*lines, "", *_notes(about)])


def _cells(table: Table) -> tuple[list[str], list[list[str]]]:
    header = ["split", "group", "n"]
    header += [f"{TITLES[m]} [95 %]" for m in GLOBAL] + ["p(SS=50)"]
    header += [f"mc {TITLES[m]}" if m.startswith("mc") else TITLES[m] for m in MULTI_CLASS] + ["ties"]
    rows = []
    for split, groups in table.items():
        for group, values in groups.items():
            row = [split if group == "overall" else "", group, str(values["n"])]
            row += [
                f"{_number(values[m])} [{_number(values[f'{m}_low'])}, {_number(values[f'{m}_high'])}]"
                for m in GLOBAL
            ]
            row += [_p_value(values["ss_p50"])]
            row += [_number(values[m]) for m in MULTI_CLASS] + [f"{_number(values['ties'])} %"]
            rows.append(row)
    return header, rows


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.2f}"


def _p_value(value: float) -> str:
    return "NaN" if math.isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


def _notes(about: Sequence[str]) -> list[str]:
    return [
        "SS: 50 is ideal. LMS, ICAT: higher is better. mc, macro, micro: over target terms (multi-class).",
        "Intervals and p(SS=50): clustered by target term.",
        *about,
    ]
