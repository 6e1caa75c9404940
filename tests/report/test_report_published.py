"""The report of the authors' published predictions has the published numbers, in every form."""

import csv
import json
import re
from xml.etree import ElementTree

import pytest
from report_page import page_data

from lm_eval_stereoset.benchmarks.stereoset.paper import cells

NAMES = {"count": "n", "macro_icat": "icat_macro", "micro_icat": "icat_micro"}


@pytest.fixture(scope="module")
def expected(shared):
    return json.loads((shared / "expected" / "published_scores.json").read_text("utf-8"))


def by_source(data: dict) -> dict[str, dict]:
    return {run["source"]: run for run in data["runs"]}


def test_page_has_every_published_score(published, expected):
    runs = by_source(page_data(published / "report.html"))
    assert set(runs) == set(expected)
    checked = 0
    for name, scores in expected.items():
        for split in ("intra", "inter", "overall"):
            if not scores.get(split):  # one file has inter only
                assert split not in runs[name]["values"]
                continue
            for group, values in scores[split].items():
                shown = runs[name]["values"][split][group]
                assert shown["n"] == values["count"]
                for metric in ("lms", "ss", "icat", "mc_lms", "mc_ss", "macro_icat", "micro_icat"):
                    assert shown[NAMES.get(metric, metric)][0] == pytest.approx(values[metric], abs=1e-8)
                    checked += 1
    assert checked > 1500


def test_tables_for_other_programs_have_full_precision(published, expected):
    data = page_data(published / "report.html")
    source = {
        (data["models"][r["model"]], data["languages"][r["language"]]["code"]): r["source"]
        for r in data["runs"]
    }
    back = {ours: theirs for theirs, ours in NAMES.items()}
    checked = 0
    for path in sorted((published / "tables").glob("table*.csv")):
        for row in csv.DictReader(path.read_text("utf-8").splitlines()):
            scores = expected[source[row["model"], row["language"]]][row["split"]]["overall"]
            value = scores[back.get(row["metric"], row["metric"])]
            assert float(row["value"]) == pytest.approx(value, abs=1e-9)
            assert float(row["low"]) < float(row["value"]) < float(row["high"])
            checked += 1
    assert checked == 16 * 14 + 17 * 7  # intra and overall of 16 files, inter of 17; 3 + 4 metrics


def test_all_published_cells_are_equal_but_the_known_ones(published):
    rows = page_data(published / "report.html")["published"]
    unequal = {(r["row"], r["split"], r["metric"]) for r in rows if not r["equal"]}
    assert len(rows) == 336
    assert unequal == {
        ("mBERT", "inter", "lms"), ("T5", "overall", "ss"), ("T5", "overall", "icat"),
        ("T5", "overall", "mc_ss"), ("T5", "overall", "icat_macro"), ("T5", "overall", "icat_micro"),
    }  # fmt: skip
    assert all(r["remark"].startswith("known: ") for r in rows if not r["equal"])


def test_carried_over_cells_are_those_of_the_papers(shared):
    printed = json.loads((shared / "expected" / "paper_tables.json").read_text("utf-8"))["cells"]
    wanted = sorted(
        (c["source"], c["table"], c["split"], NAMES.get(c["metric"], c["metric"]), c["language"], c["value"])
        for c in printed
        if c["table"] != "3.4" and c["metric"] != "count"
    )
    ours = sorted((c.source, c.table, c.split, c.metric, c.language, c.value) for c in cells())
    assert ours == wanted


def test_paper_tables_mark_the_best_of_each_column(published):
    text = (published / "tables" / "table3_inter_global.md").read_text("utf-8")
    head, *rows = [
        [c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]
    rows = [dict(zip(head, row, strict=True)) for row in rows[1:]]
    assert head[:6] == ["Model", "LMS en", "LMS de", "LMS tr", "LMS fr", "LMS es"]  # the paper's order
    column = {row["Model"]: row["SS en"] for row in rows if row["SS en"] != "–"}
    marked = [model for model, value in column.items() if value.startswith("**")]
    nearest = min(column, key=lambda model: abs(float(column[model].strip("*")) - 50))
    assert marked == [nearest]


def test_latex_table_is_well_formed(published):
    text = (published / "tables" / "table5_overall_multiclass.tex").read_text("utf-8")
    assert text.count("\\begin{") == text.count("\\end{") == 2
    body = text[text.index("\\midrule") : text.index("\\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith("\\\\")]
    assert {line.count("&") for line in rows} == {15}  # three groups of five languages
    assert all(row.count("{") == row.count("}") for row in rows)
    assert "THUMT\\_mGPT" in text
    assert "68.17 / 69.42" in text  # macro and micro ICAT of English BERT


def test_intervals_in_tables_are_optional(published, report, tmp_path, real_data, predictions):
    plain = (published / "tables" / "table2_intra_global.tex").read_text("utf-8")
    assert "[" not in plain[plain.index("\\midrule") :]
    report(predictions / "gpt2_GPT2LM_GPT2LM_d_en.json", "--tables", tmp_path / "t", "--intervals")
    text = (tmp_path / "t" / "table2_intra_global.tex").read_text("utf-8")
    assert re.search(r"91\.14 \{\\scriptsize \[\d\d\.\d, \d\d\.\d\]\}", text)


def test_every_plot_is_there_as_svg_and_png(published):
    from PIL import Image

    for plot in ("lms_ss", "bias_types", "target_terms", "ranking"):
        for split in ("overall", "intra", "inter"):
            path = published / "figures" / f"{plot}_{split}.svg"
            text = "".join(ElementTree.parse(path).getroot().itertext())
            assert "engineer" in text if plot == "target_terms" else "bert-base-multilingual-cased" in text
            with Image.open(path.with_suffix(".png")) as image:
                assert min(image.size) > 600
                assert len(image.convert("RGB").getcolors(1 << 24)) > 50  # something is drawn


def test_page_is_small_enough(published):
    assert (published / "report.html").stat().st_size < 5e6


def test_comparisons_cover_all_pairs_of_models_in_a_language_and_of_languages_of_a_model(published):
    data = page_data(published / "report.html")
    overall = [c for c in data["comparisons"] if c["split"] == "overall"]
    kinds = [c["kind"] for c in overall]
    # en 7 models, de 4, fr 2, es 1, tr 2; three models in two languages
    assert (kinds.count("models"), kinds.count("languages")) == (21 + 6 + 1 + 0 + 1, 3)
    assert {c["family"] for c in overall} == {32}
    for c in overall:
        for metric in ("ss", "lms", "icat"):
            assert c[metric]["p"] <= c[metric]["adjusted"] <= 1
            assert c[metric]["low"] <= c[metric]["value"] <= c[metric]["high"]
            assert c[metric]["detectable"] < c[metric]["detectableAll"]
