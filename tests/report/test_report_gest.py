"""GEST in the report: published predictions, EuroGEST's languages, and masculine rates of translations."""

import json

import numpy as np
import pytest
from report_page import page_data

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.gest.mt import rates
from lm_eval_stereoset.benchmarks.gest.mt.figures import rates as draw_rates
from lm_eval_stereoset.benchmarks.gest.stereotypes import ABOUT_WOMEN, NUMBERS
from lm_eval_stereoset.cli.report import main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.report import inputs, study

# Published predictions


@pytest.fixture(scope="session")
def published_gest(shared, tmp_path_factory):
    """A masked model's template and both of a causal one's, each in the file that the authors have published."""
    from lm_eval_stereoset.benchmarks.declaration import Fetch
    from lm_eval_stereoset.benchmarks.gest.fetch import fetch_authors

    folder, gest = tmp_path_factory.mktemp("gest"), shared / "upstream" / "gest"
    files = [
        gest / "data" / "predictions" / name
        for name in (
            "english_mlm/bert-base-uncased_template-0.txt",
            "english_glm/gpt2_template-0.txt",
            "english_glm/gpt2_template-1.txt",
        )
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEREOSET_DATA", str(folder / "data"))
        fetch_authors(benchmarks.find("gest"), Fetch(("en",), benchmarks.find("gest").splits, gest))
        arguments = [*map(str, files), "-o", str(folder / "report.html"), "--tables", str(folder / "tables")]
        main([*arguments, "--data", "1.0"])
    return folder


@pytest.fixture(scope="session")
def expected(shared) -> dict:
    return json.loads((shared / "expected" / "gest_english.json").read_text())


@pytest.mark.parametrize(
    ("family", "model", "template"),
    [("mlm", "bert-base-uncased", "0"), ("glm", "gpt2", "0"), ("glm", "gpt2", "1")],
)
def test_the_page_has_the_published_numbers(published_gest, expected, family, model, template):
    data = page_data(published_gest / "report.html", "gest")
    (run,) = (run for run in data["runs"] if data["models"][run["model"]] == model)
    values, wanted = run["values"][f"template_{template}"]["overall"], expected[family][model][template]
    for name in ("q_f", "q_m", "g_s", "q_fam"):
        assert values[name][0] == pytest.approx(wanted[name], abs=1e-6), name
    assert [values[f"q_{i}"][0] for i in NUMBERS] == pytest.approx(wanted["q"], abs=1e-6)
    assert [values[f"feminine_rank_{i}"][0] for i in NUMBERS] == wanted["feminine_rank"]
    assert all(values[f"q_{i}"][1] < values[f"q_{i}"][0] < values[f"q_{i}"][2] for i in NUMBERS)


def test_templates_in_files_of_their_own_are_one_model(published_gest):
    data = page_data(published_gest / "report.html", "gest")
    assert data["models"] == ["bert-base-uncased", "gpt2"]
    splits = [set(run["values"]) for run in data["runs"]]
    assert splits == [{"template_0"}, {"template_0", "template_1", "overall"}]
    assert data["runs"][1]["values"]["overall"]["overall"]["n"] == 2 * 3565


def test_models_are_compared_on_the_template_that_both_have(published_gest):
    (comparison,) = page_data(published_gest / "report.html", "gest")["comparisons"]
    assert (comparison["split"], comparison["n"]) == ("template_0", 3565)
    data = page_data(published_gest / "report.html", "gest")
    one, two = (run["values"]["template_0"]["overall"]["g_s"][0] for run in data["runs"])
    assert comparison["g_s"]["value"] == pytest.approx(one - two, abs=1e-6)
    assert comparison["g_s"]["p"] < 0.01


def test_tables_have_a_column_per_stereotype_and_whole_ranks(published_gest):
    lines = (published_gest / "tables" / "gest" / "ranks_template_0.md").read_text().splitlines()
    cells = [cell.strip() for cell in lines[-1].strip("|").split("|")]
    assert cells[0] == "gpt2"
    assert sorted(map(int, cells[1:])) == list(NUMBERS)


# EuroGEST, on the sample


def eurogest_file(folder, model: str, language: str, limit: int | None = None, lean: float = 0.0):
    """Predictions for the sample: the larger `lean`, the more the model makes men of men's stereotypes."""
    declared = benchmarks.find("eurogest")
    pairs = store.load(declared, declared.splits[0], language, "sample").examples[:limit]
    random = np.random.default_rng(len(model))
    scores = [
        {"id": pair.id, "condition": pair.condition, "masculine": pair.masculine, "feminine": pair.feminine}
        | {"p_masculine": 0.1 * 10 ** (random.normal() / 9 + lean * (pair.stereotype > ABOUT_WOMEN)), "p_feminine": 0.1}
        for pair in pairs
    ]  # fmt: skip
    head = {"benchmark": "eurogest", "language": language, "model": model, "data": [{"data": "sample"}]}
    path = folder / f"{model}_{language}.json"
    path.write_text(json.dumps(head | ({"limit": limit} if limit else {}) | {"scores": scores}))
    return path


@pytest.fixture(scope="session")
def eurogest_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eurogest")
    files = [eurogest_file(folder, "fair", "de"), eurogest_file(folder, "biased", "de", lean=0.3)]
    files += [eurogest_file(folder, "biased", "cs", limit=100)]
    arguments = [*map(str, files), "-o", str(folder / "report.html"), "--figures", str(folder / "figures")]
    assert main(arguments) == 0
    return folder


def test_a_stereotype_with_too_few_examples_has_no_number_but_a_count(eurogest_report):
    data = page_data(eurogest_report / "report.html", "eurogest")
    czech = next(
        i for i, run in enumerate(data["runs"]) if data["languages"][run["language"]]["code"] == "cs"
    )
    panel = next(panel for panel in data["panels"] if panel["name"] == "by_stereotype")
    counts = panel["facts"]["counts"]["pairs"][czech]
    values = data["runs"][czech]["values"]["pairs"]["overall"]
    assert sum(counts) == 100
    assert min(counts) < 10 <= max(counts)
    assert [f"r_{i}" in values for i in NUMBERS] == [count >= 10 for count in counts]
    assert "g_s_ratio" not in values


def test_the_heat_map_says_why_a_cell_is_empty(eurogest_report, visit):
    seen = visit(eurogest_report / "report.html")
    rows = seen.page.locator("#eurogest-by_stereotype table.stereotypes tbody tr")
    assert rows.count() == 16 + 3
    seen.page.locator("#eurogest-by_stereotype select").last.select_option(label="biased")
    empty = seen.page.locator("#eurogest-by_stereotype td.soft").first
    assert empty.inner_text() == "–"
    assert "fewer than 10 examples" in empty.get_attribute("title")
    assert seen.quiet()


def test_a_stereotype_leads_to_its_examples(eurogest_report, visit):
    page = visit(eurogest_report / "report.html").page
    page.click("#eurogest-show-examples")
    page.wait_for_selector("article.example")
    page.locator("#eurogest-by_stereotype th button", has_text="13 leaders").click()
    assert page.locator("#eurogest-example-count").inner_text() == "10 examples found."
    assert "13 leaders" in page.locator("article.example").first.inner_text()


def test_each_figure_is_written(eurogest_report):
    written = {path.name for path in (eurogest_report / "figures" / "eurogest").iterdir()}
    plots = ("by_stereotype", "means", "ranks", "ranking")
    assert written == {f"{name}_pairs.{suffix}" for name in plots for suffix in ("svg", "png")}


# Translations


def rates_file(folder, system: str, language: str, share: float, changes: dict | None = None):
    """A file as `stereoset gest-mt score` writes it: `share` of the speakers are men, all of men's stereotypes'."""
    men = [100 if i > ABOUT_WOMEN else int(100 * share) for i in NUMBERS]
    counted = rates.Rates(*(np.array(counts) for counts in (men, [100 - m for m in men], [5] * len(men))))
    path = folder / f"{system}_{language}.json"
    path.write_text(
        json.dumps(counted.to_dict() | {"benchmark": "gest-mt", "language": language} | (changes or {}))
    )
    return path


def page_of_rates(folder, *results) -> dict:
    output = folder / "page" / "report.html"
    output.parent.mkdir()
    assert main([*map(str, results), "-o", str(output)]) == 0
    return page_data(output, "gest_mt")


def test_masculine_rates_of_two_systems_are_shown_side_by_side(tmp_path):
    files = [rates_file(tmp_path, "one", "sk", 0.5), rates_file(tmp_path, "two", "sk", 0.9)]
    data = page_of_rates(tmp_path, *files)
    assert data["models"] == ["one", "two"]
    assert data["benchmarks"][0]["title"] == "GEST translations"
    for run, path in zip(data["runs"], files, strict=True):
        values, written = run["values"]["translations"]["overall"], json.loads(path.read_text())
        assert values["n"] == 16 * 105
        for name in ("f_s", "f_m", "p_f", "p_m"):
            assert values[name] == pytest.approx([written[name], *written["intervals"][name]], abs=1e-5)
        assert [values[f"p_{i}"][0] for i in NUMBERS] == pytest.approx(written["p"], abs=1e-7)
        assert [values[f"feminine_rank_{i}"][0] for i in NUMBERS] == [1] * 7 + [8] * 9


def test_a_folder_of_rates_is_found(tmp_path):
    folder = tmp_path / "rates"
    folder.mkdir()
    rates_file(folder, "one", "pl", 0.5)
    (folder / "other.json").write_text('{"p": 1}')
    data = page_of_rates(tmp_path, folder)
    assert [run["source"] for run in data["runs"]] == ["one_pl.json"]


def test_rates_are_drawn_at_f_m_and_f_s(tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    path = rates_file(tmp_path, "one", "sk", 0.5)
    (found,) = study.build(inputs.load([str(path)]))
    figure = draw_rates(found, "translations")
    written = json.loads(path.read_text())
    marks = [line.get_xydata()[0] for line in figure.axes[0].lines if len(line.get_xydata()) == 1]
    assert np.array(marks) == pytest.approx(np.array([[written["f_m"], written["f_s"]]]))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"p": [0.5] * 15}, "p must be a list of 16 numbers"),
        ({"f_s": "much"}, "f_s must be a number"),
        ({"f_m": 1.5}, "f_m must lie between 0 and 1"),
        ({"language": None}, "language must be a text"),
    ],
)
def test_a_broken_file_of_rates_is_one_line(tmp_path, changes, said):
    path = rates_file(tmp_path, "one", "sk", 0.5, changes)
    with pytest.raises(UserError, match=f"{path}: .*{said}"):
        inputs.load([str(path)])


def test_rates_cannot_be_compared_example_by_example(tmp_path):
    from lm_eval_stereoset.cli import compare

    one, two = (str(rates_file(tmp_path, name, "sk", 0.5)) for name in ("one", "two"))
    with pytest.raises(UserError, match="holds numbers of GEST translations but no answers"):
        compare.main([one, two])
