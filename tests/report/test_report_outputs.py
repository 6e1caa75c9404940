"""What a report writes: never over its inputs, whole or not at all, safe in other programs."""

import csv
import json
import os

import pytest
from test_report_inputs import write_predictions

from lm_eval_stereoset import files
from lm_eval_stereoset.cli import main as stereoset


def fails(capsys, *arguments) -> str:
    assert stereoset(["report", *map(str, arguments)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_page_may_not_overwrite_results_or_samples_in_a_folder_that_is_read(harness_folder, capsys, tmp_path):
    folder = harness_folder.write()
    before = contents(tmp_path)
    for name in ("results_*.json", "samples_*.jsonl"):
        path = next(folder.glob(name))
        assert "which is an input" in fails(capsys, harness_folder.root, "-o", path)
        link = tmp_path / "link.html"
        link.hardlink_to(path)
        assert "which is an input" in fails(capsys, harness_folder.root, "-o", link)
        link.unlink()
    assert contents(tmp_path) == before


def test_page_may_not_overwrite_predictions_or_their_data(tmp_path, capsys):
    path = write_predictions(tmp_path / "m_en.json")
    assert "which is an input" in fails(capsys, f"m:en={path}", "--data", "sample", "-o", path)
    data = tmp_path / "data" / "intra" / "en.jsonl"
    data.parent.mkdir(parents=True)
    data.write_text("{}")
    assert "which is an input" in fails(capsys, path, "--data", tmp_path / "data", "-o", data)
    assert data.read_text() == "{}"


def test_tables_and_figures_may_not_overwrite_inputs(tmp_path, capsys):
    for flag, name in (("--tables", "comparisons.csv"), ("--figures", "ranking_intra.svg")):
        folder = tmp_path / flag.strip("-")
        folder.mkdir()
        path = write_predictions(folder / name)
        before = path.read_bytes()
        line = fails(capsys, f"m:en={path}", "--data", "sample", flag, folder, "-o", tmp_path / "r.html")
        assert line.startswith(f"stereoset report: {flag} {path}: would overwrite")
        assert path.read_bytes() == before
        assert not (tmp_path / "r.html").exists()


def test_page_may_not_be_one_of_the_tables(harness_folder, capsys, tmp_path):
    folder = harness_folder.write()
    assert "would overwrite" in fails(
        capsys, folder, "--tables", tmp_path / "t", "-o", tmp_path / "t" / "comparisons.csv"
    )


def test_a_page_in_the_folder_that_is_read_can_be_written_again(harness_folder, report):
    folder = harness_folder.write()
    for _ in range(2):
        assert stereoset(["report", str(folder), "-o", str(folder / "report.html")]) == 0


def test_a_folder_for_tables_that_is_a_file_is_refused_before_anything_is_written(
    harness_folder, capsys, tmp_path
):
    folder = harness_folder.write()
    (tmp_path / "t").write_text("x")
    for flag in ("--tables", "--figures"):
        assert "is a file; name a folder" in fails(
            capsys, folder, flag, tmp_path / "t", "-o", tmp_path / "r.html"
        )
    assert not (tmp_path / "r.html").exists()


def test_a_full_disk_half_way_says_what_was_written(harness_folder, capsys, tmp_path, monkeypatch):
    folder, page = harness_folder.write(), tmp_path / "r.html"
    replace = os.replace

    def full(source, target):
        if str(target).endswith("table2_intra_global.md"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", full)
    (line,) = [
        line
        for line in fails_lines(capsys, folder, "--tables", tmp_path / "t", "-o", page)
        if line.startswith("stereoset report: ")
    ]
    assert "No space left on device" in line
    assert f"written before that: {page}, {tmp_path / 't' / 'table2_intra_global.tex'}" in line
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == ["table2_intra_global.tex"]


def fails_lines(capsys, *arguments) -> list[str]:
    assert stereoset(["report", *map(str, arguments)]) == 2
    return capsys.readouterr().err.splitlines()


def test_a_device_is_not_replaced_by_the_page(harness_folder, capsys, tmp_path):
    folder, pipe = harness_folder.write(), tmp_path / "page"
    os.mkfifo(pipe)
    assert "pipe, socket or device" in fails(capsys, folder, "-o", pipe)
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1"])
def test_names_that_spreadsheets_would_run_are_neutralised(harness_folder, tmp_path, name):
    first, second = harness_folder.write("a"), harness_folder.write("b", seed=1)
    results = next(first.glob("results_*.json"))
    content = json.loads(results.read_text())
    content["model_name"] = name
    results.write_text(json.dumps(content))
    arguments = [str(first), str(second), "--tables", str(tmp_path / "t"), "-o", str(tmp_path / "r.html")]
    assert stereoset(["report", *arguments]) == 0
    cells = [
        cell
        for path in (tmp_path / "t").glob("*.csv")
        for row in csv.reader(path.open(encoding="utf-8", newline=""))
        for cell in row
    ]
    shown = name.strip()
    assert any(shown in cell for cell in cells)
    for cell in cells:
        assert not cell.startswith(("=", "@", "\t")), cell
        assert not (cell.startswith(("+", "-")) and shown in cell), cell


def test_html_and_pipes_in_names_are_escaped_in_markdown(harness_folder, tmp_path):
    folder = harness_folder.write("m")
    results = next(folder.glob("results_*.json"))
    content = json.loads(results.read_text())
    content["model_name"] = "<img src=x onerror=alert(1)> | [a](javascript:b)\n| x"
    results.write_text(json.dumps(content))
    assert stereoset(["report", str(folder), "--tables", str(tmp_path), "-o", str(tmp_path / "r.html")]) == 0
    text = (tmp_path / "table4_overall_global.md").read_text("utf-8")
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt; \\| \\[a\\](javascript:b) \\| x |" in text
    latex = (tmp_path / "table4_overall_global.tex").read_text("utf-8")
    assert "\\textless{}img" in latex
