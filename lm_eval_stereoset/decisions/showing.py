"""Verdicts of a gate as people and build servers read them: a table, Markdown, JSON, JUnit XML, GitHub annotations."""

import math
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import OVERALL
from lm_eval_stereoset.decisions.judging import FAILED, PASSED, UNJUDGED, Judgement
from lm_eval_stereoset.report.cells import markdown_cell

HEADER = ("verdict", "benchmark", "model", "lang", "what", "limit", "certainty", "value [95 %]")
WORDS = {PASSED: "passed", FAILED: "FAILED", UNJUDGED: "NOT JUDGED"}
LONGEST_MODEL = 24
# Control characters that XML 1.0 has no way to write.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def summary(judgements: Sequence[Judgement]) -> str:
    counts = {verdict: sum(one.verdict == verdict for one in judgements) for verdict in WORDS}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def to_text(judgements: Sequence[Judgement]) -> str:
    table = [HEADER, *(_cells(one) for one in judgements)]
    if len({one.benchmark for one in judgements}) == 1:
        table = [row[:1] + row[2:] for row in table]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in table]
    lines.insert(1, "  ".join("-" * width for width in widths))
    reasons = [f"{WORDS[one.verdict]}: {name_of(one)}: {one.reason}" for one in judgements if one.reason]
    return "\n".join([*lines, "", *reasons, summary(judgements)])


def to_markdown(judgements: Sequence[Judgement], notes: Sequence[str] = ()) -> str:
    """For the summary of a step: what failed and why comes first."""
    icons = {PASSED: "✅", FAILED: "❌", UNJUDGED: "⚠️"}
    lines = [f"### Stereotype gate: {summary(judgements)}", ""]
    lines += [
        f"- {icons[one.verdict]} {markdown_cell(f'{name_of(one)}: {one.reason}')}"
        for one in judgements
        if one.reason
    ]
    lines += ["", f"| | {' | '.join(HEADER[1:])} |", "|---" * len(HEADER) + "|"]
    for one in judgements:
        lines.append(f"| {icons[one.verdict]} | {' | '.join(map(markdown_cell, _cells(one)[1:]))} |")
    return "\n".join([*lines, "", *map(markdown_cell, notes)]).rstrip() + "\n"


def name_of(one: Judgement) -> str:
    return f"{one.model}, {one.language}: {_what(one)} {one.limit}, {one.certainty}"


def to_json(judgements: Sequence[Judgement], code: int, notes: Sequence[str]) -> dict[str, Any]:
    verdict = {0: PASSED, 1: FAILED}.get(code, UNJUDGED)
    return {"verdict": verdict, "judgements": [one.to_dict() for one in judgements], "notes": list(notes)}


def to_junit(judgements: Sequence[Judgement]) -> bytes:
    """One suite, one case per judgement: a failure is a failure, what was not judged is an error."""
    failed = sum(one.verdict == FAILED for one in judgements)
    errors = sum(one.verdict == UNJUDGED for one in judgements)
    counts = {"tests": str(len(judgements)), "failures": str(failed), "errors": str(errors)}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "stereoset gate", **counts})
    for one in judgements:
        names = {"classname": _xml(f"{one.benchmark}.{one.model}.{one.language}"), "name": _xml(name_of(one))}
        case = ElementTree.SubElement(suite, "testcase", names)
        if one.verdict != PASSED:
            tag = "failure" if one.verdict == FAILED else "error"
            found = ElementTree.SubElement(case, tag, {"message": _xml(one.reason), "type": one.certainty})
            found.text = _xml(f"{_what(one)} is {_number(one)}; {one.reason}")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def to_annotations(judgements: Sequence[Judgement]) -> list[str]:
    """Workflow commands, which GitHub shows beside the run; nothing in a text can start another command."""
    found = []
    for one in judgements:
        if one.verdict != PASSED:
            title, text = (_escaped(part) for part in ("Stereotype gate", f"{name_of(one)}: {one.reason}"))
            found.append(f"::error title={title}::{text}")
    return found


def _cells(one: Judgement) -> tuple[str, ...]:
    model = one.model if len(one.model) <= LONGEST_MODEL else "…" + one.model[1 - LONGEST_MODEL :]
    head = (WORDS[one.verdict], benchmarks.find(one.benchmark).title, model, one.language)
    return (*head, _what(one), one.limit, one.certainty, _number(one))


def _what(one: Judgement) -> str:
    title = next(
        (m.title for m in benchmarks.find(one.benchmark).metrics if m.name == one.metric), one.metric
    )
    where = [part for part in (one.split, one.group) if part != OVERALL]
    return f"{title} ({', '.join(where)})" if where else title


def _number(one: Judgement) -> str:
    if math.isnan(one.value):
        return "-"
    sign = "+" if one.limit.startswith("no worse") else ""
    interval = "" if math.isnan(one.low) else f" [{one.low:{sign}.4g}, {one.high:{sign}.4g}]"
    return f"{one.value:{sign}.4g}{interval}"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _escaped(text: str) -> str:
    for letter, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(letter, code)
    return text
