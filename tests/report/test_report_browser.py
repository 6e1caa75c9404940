"""The page of the published predictions, in a real browser."""

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect
from report_page import page_data

from lm_eval_stereoset.benchmarks.stereoset.data import load
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.stereoset.predictions import match, read_predictions
from lm_eval_stereoset.report import example_pack

OUTCOMES = example_pack.outcomes_of(BENCHMARK)
KNOWN = "fdc01ba6042b41f0c894cdccc149f5b4"  # intra: "The chess player was BLANK."


@pytest.fixture(scope="module")
def path(published):
    return published / "report.html"


def outcome_codes(scores):
    return example_pack.outcome_codes(BENCHMARK, scores)


def number(text: str) -> float:
    return float(re.match(r"[−\d.e]+", text)[0].replace("−", "-"))


def column(page, table: str, name: str) -> list[str]:
    heads = [re.sub(r"\W+$", "", text) for text in page.locator(f"{table} thead th").all_inner_texts()]
    return page.locator(f"{table} tbody tr > :nth-child({heads.index(name) + 1})").all_inner_texts()


def scores_of(predictions, name: str, split: str, language: str):
    scored = read_predictions(predictions / name)[split]
    return match(load(split, language), scored, name)


def select(page, label: str, option: str) -> None:
    page.locator("#stereoset-browser").get_by_label(label, exact=True).select_option(label=option)


def count(page) -> int:
    return int(re.match(r"[\d,]+", page.inner_text("#stereoset-example-count"))[0].replace(",", ""))


def test_page_opens_without_complaint_and_without_network(visit, path):
    opened = visit(path)
    page = opened.show_examples()
    for split in ("intra", "inter", "overall"):
        page.select_option("#stereoset-split", split)
    assert opened.quiet(), (opened.problems, opened.requests)
    assert page.locator(".empty").count() == 0  # nothing failed to draw


def test_table_sorts_by_click_and_says_so(visit, path):
    page = visit(path).page
    header = page.locator("#stereoset-overview th", has_text="ICAT")
    for wanted, reverse in (("descending", True), ("ascending", False)):
        header.locator("button").click()
        values = [number(text) for text in column(page, "#stereoset-overview table", "ICAT")]
        assert values == sorted(values, reverse=reverse)
        assert header.get_attribute("aria-sort") == wanted
    assert len(values) == 16
    assert page.locator("#stereoset-overview th[aria-sort]").count() == 1


def test_table_sorts_by_keyboard(visit, path):
    page = visit(path).page
    page.locator("#stereoset-overview th button", has_text="SS").first.focus()
    page.keyboard.press("Enter")
    first = column(page, "#stereoset-overview table", "SS")[0]
    page.keyboard.press("Space")
    last = column(page, "#stereoset-overview table", "SS")[0]
    assert number(first) == pytest.approx(60.20)
    assert number(last) == pytest.approx(45.64)


def test_shown_numbers_are_rounded_once(visit, path):
    """85.76496 is 85.76, not 85.77 by way of 85.7650."""
    page = visit(path).page
    row = page.locator("#stereoset-overview tbody tr", has_text="bert-base-cased")
    assert "85.76" in row.inner_text()


def test_split_choice_changes_every_number(visit, path, shared):
    expected = json.loads((shared / "expected" / "published_scores.json").read_text("utf-8"))
    values = expected["bert-base-cased_BertLM_BertNextSentence_en.json"]
    page = visit(path).page
    for split in ("intra", "inter", "overall"):
        page.select_option("#stereoset-split", split)
        text = page.locator("#stereoset-overview tbody tr", has_text="bert-base-cased").inner_text()
        for metric in ("lms", "ss", "icat"):
            assert f"{values[split]['overall'][metric]:.2f}" in text


def test_matrix_view_has_models_by_languages(visit, path):
    page = visit(path).page
    page.get_by_label("View", exact=True).select_option("matrix")
    assert page.locator("#stereoset-overview tbody tr").count() == 13  # with an overall value
    assert column(page, "#stereoset-overview table", "Spanish").count("–") == 12


def test_plots_have_a_mark_for_every_result(visit, path):
    page = visit(path).page
    assert page.locator("#stereoset-lms_ss .mark").count() == 16
    assert page.locator("#stereoset-lms_ss .contour").count() >= 5
    assert "ideal" in page.locator("#stereoset-lms_ss svg").text_content()
    label = page.locator('#stereoset-lms_ss .mark[aria-label^="bert-base-cased"]').get_attribute("aria-label")
    assert "SS 59.49 (57.8 to 61.3)" in label
    assert page.locator("#stereoset-groups svg").count() == 5
    assert page.locator("#stereoset-groups .mark").count() == 16 * 5
    assert page.locator("#stereoset-groups .zero").count() == 5
    page.select_option("#stereoset-split", "inter")
    assert page.locator("#stereoset-lms_ss .mark").count() == 17


def test_no_two_badges_overlap(visit, path):
    page = visit(path).page
    for split in ("overall", "intra", "inter"):
        page.select_option("#stereoset-split", split)
        boxes = [mark.bounding_box() for mark in page.locator("#stereoset-lms_ss .mark rect").all()]
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                apart = (
                    a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
                    or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]
                )  # fmt: skip
                assert apart


def test_heat_map_shows_targets_by_languages_and_leads_to_their_examples(visit, path, real_data, predictions):
    page = visit(path).page
    assert page.locator("#stereoset-heat tbody tr").count() == 79
    page.locator("#stereoset-heat").get_by_label("Model").select_option(label="flaubert_flaubert_base_cased")
    scored = scores_of(
        predictions, "flaubert_flaubert_base_cased_BertLM_BertNextSentence_fr.json", "inter", "fr"
    )
    page.select_option("#stereoset-split", "inter")
    engineer = scored.scores[scored.clusters == "engineer"]
    expected = 100 * (engineer[:, 0] > engineer[:, 1]).mean()
    assert (
        page.locator("#stereoset-heat tbody tr", has_text="engineer").locator("td").last.inner_text()
        == f"{expected:.0f}"
    )
    page.locator("#stereoset-heat button", has_text="engineer").click()
    page.keyboard.press("Enter")  # the focus is on the button that shows the sentences
    page.wait_for_selector("article.example")
    examples = [*load("intra", "en").examples, *load("inter", "en").examples]
    assert count(page) == sum(e.target_original == "engineer" for e in examples)


def test_ranking_marks_the_pairs_that_differ(visit, path, published):
    page = visit(path).page
    data = page_data(path)
    assert page.locator("#stereoset-ranking svg .mark").count() == 7  # English has most models
    english = [
        c
        for c in data["comparisons"]
        if c["split"] == "overall" and c["kind"] == "models" and data["runs"][c["a"]]["language"] == 0
    ]
    significant = sum(c["icat"]["adjusted"] < 0.05 for c in english)
    assert page.locator("#stereoset-ranking .matrix td.sig").count() == significant > 0
    assert f"{significant} of 21 pairs differ significantly" in page.inner_text("#stereoset-ranking")
    assert page.locator("#stereoset-ranking table.dense tbody tr").count() == 32
    page.get_by_label("Order").select_option("ss")
    values = [number(label.split("SS ")[1]) for label in (
        mark.get_attribute("aria-label") for mark in page.locator("#stereoset-ranking svg .mark").all())]  # fmt: skip
    assert values == sorted(values, key=lambda v: abs(v - 50))


def test_sentences_are_absent_until_the_reader_accepts(visit, path):
    opened = visit(path)
    assert "chess player was" not in opened.page.content()
    assert opened.page.locator("article.example").count() == 0
    assert "Content warning" in opened.page.locator("header").inner_text()
    opened.show_examples()
    assert "chess player was" in opened.page.content()


def test_known_example_is_found_and_shows_its_scores(visit, path, real_data, predictions):
    page = visit(path).show_examples()
    page.fill("#stereoset-example-search", "the CHESS player was blank")
    alike = sum("the chess player was blank" in e.context.lower() for e in load("intra", "en").examples)
    expect(page.locator("#stereoset-example-count")).to_have_text(f"{alike} examples found.")
    assert "The chess player was hispanic." in page.inner_text("#stereoset-example-list")
    page.fill("#stereoset-example-search", KNOWN)
    expect(page.locator("article.example")).to_have_count(1)
    article = page.locator("article.example")
    assert article.get_attribute("data-id") == KNOWN
    heads = article.locator("thead th").all_inner_texts()
    for model, name in (
        ("bert-base-cased", "bert-base-cased_BertLM_BertNextSentence_en.json"),
        ("gpt2 (GPT2LM_d)", "gpt2_GPT2LM_GPT2LM_d_en.json"),
        ("t5-base (T5LM)", "t5-base_T5LM_T5LM_en.json"),
    ):
        scored = scores_of(predictions, name, "intra", "en")
        row = next(i for i, e in enumerate(scored.examples) if e.id == KNOWN)
        cells = article.locator(f"tbody tr > :nth-child({heads.index(model) + 1})").all_inner_texts()
        shown = [number(cell.replace("e−", "e-").replace("−", "-")) if "e" not in cell else
                 float(cell.replace("−", "-")) for cell in cells]  # fmt: skip
        assert shown == pytest.approx(scored.scores[row].tolist(), rel=5e-4)
        outcome = article.locator(f"tfoot tr > :nth-child({heads.index(model) + 1})").inner_text()
        assert outcome == OUTCOMES[outcome_codes(scored.scores[[row]])[0]]


def test_example_is_shown_in_all_languages(visit, path, real_data):
    page = visit(path).show_examples()
    page.fill("#stereoset-example-search", KNOWN)
    expect(page.locator("article.example")).to_have_count(1)
    button = page.locator("article.example button", has_text="Show in all languages (5)")
    button.click()
    assert page.locator("article.example button").get_attribute("aria-expanded") == "true"
    texts = page.locator("article.example .context").all_text_contents()
    codes = ("en", "de", "fr", "es", "tr")
    wanted = [next(e.context for e in load("intra", code).examples if e.id == KNOWN) for code in codes]
    assert [text.removeprefix("Context: ") for text in texts] == wanted


def test_filters_combine(visit, path, real_data, predictions):
    page = visit(path).show_examples()
    scored = scores_of(
        predictions, "dbmdz_bert-base-german-cased_BertLM_BertNextSentence_de.json", "intra", "de"
    )
    codes = outcome_codes(scored.scores)
    chosen = np.ones(len(codes), dtype=bool)
    total = len({e.id for s in ("intra", "inter") for e in load(s, "en").examples})
    assert count(page) == total
    steps = (
        ("Split", "intra", True),
        ("Language", "German", True),
        ("Bias type", "profession", scored.groups == "profession"),
        ("Model", "dbmdz_bert-base-german-cased", True),
        ("Outcome", "prefers unrelated", codes == OUTCOMES.index("unrelated")),
        ("Target term", "tailor", scored.clusters == "tailor"),
    )
    for label, option, mask in steps:
        select(page, label, option)
        chosen &= mask
        if label != "Split":
            assert count(page) == chosen.sum()
    assert 0 < chosen.sum() < 20
    page.fill("#stereoset-example-search", "no such words")
    expect(page.locator("#stereoset-example-count")).to_contain_text("No example fits all these filters")
    page.click("#stereoset-clear-filters")
    assert count(page) == total


@pytest.mark.parametrize(
    "outcome", ["prefers stereotype", "prefers anti-stereotype", "prefers unrelated", "tie"]
)
def test_outcomes_are_decided_in_full_precision(visit, path, real_data, predictions, outcome):
    page = visit(path).show_examples()
    name = "THUMT_mGPT_GPT2LM_ModelNSP_de.json"
    codes = outcome_codes(scores_of(predictions, name, "inter", "de").scores)
    choices = {"Split": "inter", "Language": "German", "Model": "THUMT_mGPT (ModelNSP)", "Outcome": outcome}
    for label, option in choices.items():
        select(page, label, option)
    assert count(page) == (codes == OUTCOMES.index(outcome.removeprefix("prefers "))).sum() > 0


def test_accents_do_not_matter_in_a_search(visit, path, real_data):
    page = visit(path).show_examples()
    select(page, "Language", "French")
    page.fill("#stereoset-example-search", "MATHEMATICIEN")
    expect(page.locator("#stereoset-example-count")).to_have_text(re.compile(r"^[1-9]\d? examples"))
    assert "mathématicien" in page.inner_text("#stereoset-example-list").lower()


def test_pages_of_examples_turn(visit, path):
    page = visit(path).show_examples()
    first = page.locator("article.example").first.get_attribute("data-id")
    assert page.locator("#stereoset-previous").is_disabled()
    page.click("#stereoset-next")
    assert page.locator("article.example").first.get_attribute("data-id") != first
    page.click("#stereoset-previous")
    assert page.locator("article.example").first.get_attribute("data-id") == first


def test_every_control_and_table_has_a_name_for_screen_readers(visit, path):
    page = visit(path).show_examples()
    unnamed = page.evaluate("""() => [...document.querySelectorAll('select, input, button')].filter((e) =>
        !(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute('aria-label')).length""")
    assert unnamed == 0
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("table.overview caption, table.heat caption, table.matrix caption").count() == 3
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("#stereoset-example-count").get_attribute("aria-live") == "polite"
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_page_fits_the_window(visit, path, width):
    opened = visit(path, viewport={"width": width, "height": 800})
    page = opened.show_examples()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.quiet()


def luminance(colour: str) -> float:
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_reads_well_in_both_schemes(visit, path, scheme):
    page = visit(path, color_scheme=scheme).page
    back, ink, soft = page.evaluate("""() => [getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.body).color, getComputedStyle(document.querySelector('.lead')).color]""")
    assert (luminance(back) > 0.5) == (scheme == "light")
    for text in (ink, soft):
        light, dark = sorted((luminance(back), luminance(text)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 4.5  # WCAG AA


def test_print_shows_everything_and_no_controls(visit, path, tmp_path):
    page = visit(path).page
    page.emulate_media(media="print")
    assert not page.locator("nav.bar").is_visible()
    assert not page.locator("#stereoset-overview .controls").is_visible()
    assert page.locator("#stereoset-heat .tall").evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 50_000


def test_without_javascript_the_main_numbers_are_there(visit, path):
    page = visit(path, java_script_enabled=False).page
    assert page.locator("#stereoset-overview tbody tr").count() == 17
    assert "need JavaScript" in page.locator("header").inner_text()
    assert not page.locator("#stereoset-lms_ss").is_visible()


def test_browser_that_cannot_unpack_is_told(browser, path):
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(path.as_uri())
    assert "cannot unpack the examples" in page.inner_text("#stereoset-examples")
    assert page.locator("#stereoset-lms_ss .mark").count() == 16
    context.close()
