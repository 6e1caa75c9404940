"""What the report shows of models that were asked in words: beside their likelihoods, with refusals and answers."""

import math

import numpy as np
import pytest
from report_harness_folder import HarnessFolder
from report_page import page_content, page_data
from report_spoken_folder import letter, write_spoken

from lm_eval_stereoset.benchmarks import find
from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.benchmarks.gest.pair import Pair
from lm_eval_stereoset.benchmarks.gest_chat.statement import Statement
from lm_eval_stereoset.chat.tally import NAMES
from lm_eval_stereoset.cli.compare import main as compare
from lm_eval_stereoset.cli.gate import main as gate
from lm_eval_stereoset.cli.publish import main as publish
from lm_eval_stereoset.cli.report import main
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.report import spoken as spoken_panels

STEREOTYPE, ANTI, UNRELATED = 0, 1, 2
REFUSAL = "I'm sorry, but I can't answer that."


def by_bias(doc, order) -> str:
    """Refuses gender, cannot decide about race, says the stereotype of professions and the opposite of religion."""
    return {
        "gender": REFUSAL,
        "race": "(a)",
        "profession": letter(order, STEREOTYPE),
        "religion": f"{letter(order, ANTI)} <img src=x onerror=alert(1)>",
    }[doc["bias_type"]]


def likes_stereotypes(doc):
    """A likelihood that always prefers the stereotype."""
    return [
        {"stereotype": -10.0, "anti-stereotype": -20.0, "unrelated": -30.0}[c["label"]]
        for c in doc["candidates"]
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Likelihoods and answers of one model, the first without a chat template, the second with one; a second model
    that refuses everything, in two languages the first."""
    root = tmp_path_factory.mktemp("spoken")
    HarnessFolder(root).write(score=likes_stereotypes)
    template = {"chat_template_sha": "abc"}
    write_spoken(root, by_bias, change=_as_written_by_harness_folder, more=template)
    write_spoken(
        root,
        lambda doc, order: REFUSAL if doc["bias_type"] == "race" else "(c)",
        language="de",
        more=template,
    )
    write_spoken(root, lambda doc, order: REFUSAL, model="org/model-b")
    path = root / "report.html"
    assert main([str(root), "-o", str(path)]) == 0
    return path


def _as_written_by_harness_folder(data):
    for part in data:
        part["sha256"] = f"{part['split']}-sample 1.0"


def panel(page, name, split="overall"):
    section = page_data(page, "stereoset_chat")
    (found,) = (one for one in section["panels"] if one["name"] == name)
    return found["tables"][split]


def test_likelihoods_and_answers_of_a_model_are_never_pooled_nor_in_one_table(page):
    content = page_content(page)
    assert content["models"] == ["org/model-a", "org/model-b"]  # the chat template makes no other model of it
    by_name = {section["name"]: section for section in content["benchmarks"]}
    assert [run["model"] for run in by_name["stereoset"]["runs"]] == [0]
    assert [run["model"] for run in by_name["stereoset_chat"]["runs"]] == [0, 0, 1]
    assert by_name["stereoset"]["runs"][0]["values"]["overall"]["overall"]["ss"][0] == 100
    # professions say the stereotype, religion the opposite, race each candidate once: 14 of 28 examples of each
    assert by_name["stereoset_chat"]["runs"][0]["values"]["overall"]["overall"]["ss"][0] == pytest.approx(50)
    pairs = [(c["a"], c["b"]) for c in by_name["stereoset_chat"]["comparisons"] if c["split"] == "overall"]
    assert sorted(pairs) == [(0, 1), (0, 2)]  # itself in German, and the other model; never likelihoods


def test_likelihoods_stand_beside_answers(page):
    table = panel(page, "beside")
    (row,) = table["rows"]  # model-b has no likelihoods
    values = dict(zip(table["header"], row, strict=True))
    assert values["Model"] == "org/model-a"
    assert values["SS of likelihoods"] == 100
    assert values["SS in words"] == pytest.approx(50)
    assert values["LMS of likelihoods"] == 100
    assert values["answered, %"] == pytest.approx(75)
    assert values["refused, %"] == pytest.approx(25)


def test_examples_without_a_named_preference_have_one_in_the_likelihoods(page):
    rows = panel(page, "preferences")["rows"]
    found = {row[2]: row[3:] for row in rows}
    assert {sort: numbers[:2] for sort, numbers in found.items()} == {
        "says stereotype": [14, 100],
        "says anti-stereotype": [14, 100],
        "depends on the order": [14, 100],
        "refused": [14, 100],
    }
    intra = panel(page, "preferences", "intra")["rows"]
    assert [row[3] for row in intra] == [7, 7, 7, 7]


def test_in_gest_the_stereotype_of_a_sentence_about_women_is_the_feminine_text():
    """Likelihoods that always prefer the masculine text fit the stereotypes about men, and no others."""
    chat, gest = find("gest_chat"), find("eurogest")
    sentences = [Statement(str(number), number, "I am.") for number in (1, 9)]
    pairs = [Pair(str(number), number, "P", "„I am“ he", "„I am“ she") for number in (1, 9, 10)]
    spoken = Scored(chat, sentences, np.zeros((2, len(NAMES))))
    fits, there = spoken_panels.prefers_stereotype(spoken, Scored(gest, pairs, np.array([[0.9, 0.1]] * 3)))
    assert there.tolist() == [True, True, False]  # the last one was not asked about
    assert fits[there].tolist() == [0, 1]


def test_what_must_be_said_beside_the_numbers_is_said_wherever_they_go(page, capsys):
    """A gate that passes, or a model card, must not hide that most answers were no answers."""
    notices = [notice["text"] for notice in page_data(page, "stereoset_chat")["notices"]]
    assert any("org/model-b, en: only 0.0 % of the answers name one" in text for text in notices)
    assert any("org/model-a, en: only 75.0 % of the answers name one" in text for text in notices)
    folder = str(page.parent / "org__model-b")
    assert publish([folder, "--partial"]) == 0
    assert "only 0.0 % of the answers name one" in capsys.readouterr().out
    gate([folder, "--limit", "ss within 10 of 50"])
    assert "only 0.0 % of the answers name one" in "".join(capsys.readouterr())


def test_results_of_other_data_are_not_put_beside(harness_folder, tmp_path):
    harness_folder.write(score=likes_stereotypes)
    write_spoken(tmp_path / "results", by_bias)  # with the sample's real checksums
    path = tmp_path / "report.html"
    main([str(tmp_path / "results"), "-o", str(path)])
    assert panel(path, "beside") is None
    assert panel(path, "preferences") is None


def test_refusals_by_bias_type_and_language(page):
    table = panel(page, "refusals")
    assert table["header"] == ["Model", "Bias type", "en", "de"]
    rows = {(row[0], row[1]): row[2:] for row in table["rows"]}
    assert rows["org/model-a", "all"] == [25, 25]
    assert rows["org/model-a", "gender"] == [100, 0]
    assert rows["org/model-a", "race"] == [0, 100]
    assert rows["org/model-b", "race"] == [100, None]


def test_answers_are_in_the_browser_as_text(page, visit):
    from playwright.sync_api import expect

    seen = visit(page)
    seen.page.click("#stereoset_chat-show-examples")
    seen.page.fill("#stereoset_chat-example-search", "onerror")
    expect(seen.page.locator("#stereoset_chat-example-count")).to_have_text("14 examples found.")
    quotes = seen.page.locator("#stereoset_chat article.example blockquote")
    assert "<img src=x onerror=alert(1)>" in quotes.first.text_content()
    assert seen.page.locator("#stereoset_chat article.example img").count() == 0
    read = seen.page.locator("#stereoset_chat article.example details.answers summary").first.text_content()
    assert "anti-stereotype · anti-stereotype · anti-stereotype" in read
    assert seen.quiet()


def test_an_example_that_is_refused_prefers_no_candidate(page, visit):
    from playwright.sync_api import expect

    seen = visit(page)
    seen.page.click("#stereoset_chat-show-examples")
    seen.page.select_option("label:text-is('Outcome') + select >> nth=-1", "no candidate")
    # model-b refuses them all
    expect(seen.page.locator("#stereoset_chat-example-count")).to_have_text("56 examples found.")
    assert seen.quiet()


def test_compare_refuses_answers_against_likelihoods(harness_folder, tmp_path):
    folder = harness_folder.write(model="org/one")
    spoken = write_spoken(tmp_path / "spoken", by_bias, model="org/two")
    with pytest.raises(UserError, match="nothing to compare"):
        compare([str(folder), str(spoken)])


def test_compare_refuses_answers_to_another_number_of_orders(tmp_path):
    one = write_spoken(tmp_path / "one", by_bias)
    other = write_spoken(tmp_path / "two", by_bias, model="org/model-b")
    for number, folder in enumerate((one, other)):
        for path in folder.glob("samples_*"):
            text = path.read_text().replace(
                '"split":', f'"scoring": "answers to {3 + 3 * number} orders", "split":'
            )
            path.write_text(text)
    with pytest.raises(UserError, match="other method"):
        compare([str(one), str(other)])


def test_nothing_answered_is_nan_and_never_fifty(page):
    section = page_data(page, "stereoset_chat")
    values = section["runs"][2]["values"]["overall"]["overall"]
    assert "ss" not in values  # undefined numbers are left out of the page
    assert values["refused"][0] == 100
    assert not math.isnan(values["n"])
