"""Whatever stands in the data is shown as text: it never runs, and never breaks the page. And pages with gaps."""

import json
import zlib

import pytest

from lm_eval_stereoset.cli import main as stereoset
from lm_eval_stereoset.report.page import script_safe

ODD = {
    "script": "</script><script>window.hacked = 1</script>",
    "image": '<img src=x onerror="window.hacked = 2">',
    "comment": "<!-- <script> -->",
    "quotes": "\"double\" 'single' `back` \\ ${window.hacked = 3} {{ 7 * 7 }}",
    "arabic": "قال الطباخ \u202eمرحبا\u202c (نعم)",
    "emoji": "👩🏽‍🍳 cooks 🍲",
    "separators": "line\u2028para\u2029end\u0085next\x0btab\tend",
    "entities": "&lt;b&gt; &amp; &#x3c;script&#x3e;",
    "prototype": "__proto__ constructor toString",
}


def oddly(doc: dict) -> dict:
    """The odd texts in every field of a document."""
    texts = list(ODD.values())
    number = zlib.crc32(doc["id"].encode()) % len(texts)
    doc["context"] = f"BLANK {texts[number]}"
    doc["target"] = texts[number]
    doc["target_original"] = texts[number]
    for k, candidate in enumerate(doc["candidates"]):
        candidate["sentence"] = f"{texts[(number + k) % len(texts)]} {candidate['label']}"
    return doc


@pytest.fixture
def odd_page(harness_folder, report):
    for seed, name in enumerate(ODD.values()):
        folder = harness_folder.write(f"model{seed}", seed=seed, change=oddly, normaliser=f"tokens of {name}")
        results = next(folder.glob("results_*.json"))
        content = json.loads(results.read_text())
        content["model_name"] = name.replace("/", "")
        results.write_text(json.dumps(content))
    return report(harness_folder.root, "--title", ODD["script"], "--against-paper")


def test_nothing_from_the_data_runs_as_code(odd_page, visit):
    opened = visit(odd_page["path"])
    page = opened.show_examples()
    for split in ("intra", "inter"):
        page.select_option("#stereoset-split", split)
    assert page.evaluate("window.hacked") is None
    assert opened.quiet(), opened.problems
    assert page.locator("img").count() == 0
    assert page.title() == ODD["script"]
    assert page.inner_text("h1") == ODD["script"]


def test_odd_texts_are_shown_as_they_are_and_are_found(odd_page, visit):
    page = visit(odd_page["path"]).show_examples()
    for text in ODD.values():
        page.fill("#stereoset-example-search", text.split("\u2028")[0].splitlines()[0])
        page.wait_for_timeout(250)
        content = page.evaluate(
            "[...document.querySelectorAll('article.example')].map(e => e.textContent).join(' ')"
        )
        assert text in content


def test_right_to_left_text_keeps_its_own_direction(odd_page, visit):
    page = visit(odd_page["path"]).show_examples()
    page.fill("#stereoset-example-search", "مرحبا")
    page.wait_for_timeout(250)
    sentence = page.locator("td.sentence span", has_text="مرحبا").first
    assert sentence.get_attribute("dir") == "auto"
    assert sentence.get_attribute("lang") == "en"


def test_policy_stops_scripts_that_get_into_the_page_anyway(odd_page, visit):
    opened = visit(odd_page["path"])
    opened.page.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = 'window.hacked = 4';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="window.hacked = 5">');
    }""")
    opened.page.wait_for_timeout(200)
    assert opened.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in problem for problem in opened.problems)


def test_json_cannot_leave_its_element():
    text = script_safe({"x": [*ODD.values(), "\ud800", float("nan")]})
    assert not set("<>&\u2028\u2029\ud800") & set(text)
    assert json.loads(text) == {"x": [*ODD.values(), "\ud800", None]}


def test_half_a_character_in_a_name_is_one_line(harness_folder, capsys):
    folder = harness_folder.write("m")
    results = next(folder.glob("results_*.json"))
    results.write_text(results.read_text().replace('"model_name": "m"', '"model_name": "m\\ud83d"'))
    assert stereoset(["report", str(folder)]) == 2
    assert "half a character" in capsys.readouterr().err


def test_control_characters_and_endless_names_are_made_fit_to_show(harness_folder, report, capsys, tmp_path):
    folder = harness_folder.write("m")
    results = next(folder.glob("results_*.json"))
    content = json.loads(results.read_text())
    content["model_name"] = "\x1b[31mred\x00\nname " + "x" * 10_000
    results.write_text(json.dumps(content))
    arguments = ("--tables", tmp_path / "t", "--figures", tmp_path / "f", "--against-paper")
    (name,) = report(folder, *arguments)["models"]
    assert name.startswith("\ufffd[31mred\ufffd name xxx")
    assert len(name) == 200
    assert "\x1b" not in "".join(capsys.readouterr())


def test_names_of_files_and_notes_beside_them_do_not_run_either(tmp_path, report, visit):
    name = "<img src=x onerror='window.hacked=6'>"
    path = tmp_path / f"{name}_en.json"
    path.write_text(json.dumps({"intra": {"overall": {"ss": 50.0, "lms": 80.0, "icat": 80.0}}}))
    note = {"normaliser": "tokens of </script><script>window.hacked=7</script>", "data": [
        {"split": "intra", "data": "<svg onload='window.hacked=8'>", "version": "<b>", "sha256": "&lt;"},
    ]}  # fmt: skip
    path.with_suffix(".about.json").write_text(json.dumps(note))
    data = report(path, "--figures", tmp_path / "f", "--tables", tmp_path / "t")
    assert data["models"] == [name]
    opened = visit(data["path"])
    opened.page.wait_for_timeout(200)
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("img").count() == 0
    assert opened.quiet(), opened.problems
    written = [*(tmp_path / "f").glob("*.svg"), *(tmp_path / "t").glob("*.md")]
    assert written
    for file in written:
        assert "<img" not in file.read_text("utf-8")


def test_odd_names_reach_tables_and_figures(harness_folder, report, tmp_path):
    harness_folder.write("a|b_$x$ & 100% #1")
    harness_folder.write("other")
    report(harness_folder.root, "--tables", tmp_path / "t", "--figures", tmp_path / "f")
    assert "a\\|b\\_$x$ &amp; 100% #1" in (tmp_path / "t" / "table4_overall_global.md").read_text("utf-8")
    assert "a|b\\_\\$x\\$ \\& 100\\% \\#1" in (tmp_path / "t" / "table4_overall_global.tex").read_text(
        "utf-8"
    )
    assert "a|b_$x$ &amp; 100% #1" in (tmp_path / "f" / "ranking_overall.svg").read_text("utf-8")


# gaps: never an empty plot without a word


def test_page_without_samples_says_what_it_cannot_show(harness_folder, report, visit, tmp_path, capsys):
    harness_folder.write("a", samples=False)
    harness_folder.write("b", samples=False)
    data = report(harness_folder.root, "--figures", tmp_path / "f")
    assert "nothing to draw for lack of samples: target_terms_overall" in capsys.readouterr().err
    opened = visit(data["path"])
    page = opened.page
    assert "--log_samples" in page.inner_text("#stereoset-notices")
    assert "No heat map of target terms: it needs the samples" in page.inner_text("#stereoset-heat")
    assert "No paired tests" in page.inner_text("#stereoset-ranking")
    assert "No comparisons" in page.inner_text("#stereoset-ranking")
    assert "none of the results has samples" in page.inner_text("#stereoset-examples")
    assert page.locator("#stereoset-lms_ss .mark").count() == 2
    assert page.locator("#stereoset-groups .mark").count() == 2 * 5
    assert opened.quiet(), opened.problems


def test_runs_without_samples_beside_others_are_named(harness_folder, report, visit):
    harness_folder.write("with")
    harness_folder.write("without", samples=False)
    page = visit(report(harness_folder.root)["path"]).page
    assert "Not shown here, for lack of samples: without, English" in page.inner_text("#stereoset-examples")


def test_single_result_has_nothing_to_compare_with(harness_folder, report, visit):
    opened = visit(report(harness_folder.write("m", splits=("intra",)))["path"])
    text = opened.page.inner_text("#stereoset-ranking")
    assert "Only one model in this language" in text
    assert "One result only" in text
    assert opened.page.locator("#stereoset-split option").all_inner_texts() == ["intra"]
    assert opened.quiet(), opened.problems


def test_page_without_examples_says_so(harness_folder, report, visit):
    page = visit(report(harness_folder.write(), "--no-examples")["path"]).page
    assert "left out of this page" in page.inner_text("#stereoset-examples")


def test_models_that_the_papers_lack_are_said_to_be_unknown(harness_folder, report, visit):
    page = visit(report(harness_folder.write("some-new-model"), "--against-paper")["path"]).page
    assert "None of these models is in the papers" in page.inner_text("#stereoset-published")


def test_damaged_examples_are_reported_in_their_place(harness_folder, report, visit):
    path = report(harness_folder.write())["path"]
    text = path.read_text("utf-8")
    start = text.index('"scores":"') + 400
    path.write_text(text[:start] + "AAAA" + text[start + 4 :], "utf-8")
    opened = visit(path)
    opened.page.click("#stereoset-show-examples")
    opened.page.wait_for_selector("#stereoset-examples .empty")
    assert "could not be unpacked" in opened.page.inner_text("#stereoset-examples")
    assert opened.page.locator("#stereoset-lms_ss .mark").count() == 1


def test_versions_of_the_data_with_other_texts_are_shown_side_by_side(harness_folder, report, visit):
    harness_folder.write("old")
    harness_folder.write(
        "new", version="2", change=lambda doc: doc | {"context": doc["context"] + " Changed."}
    )
    data = report(harness_folder.root)
    assert len(data["examples"]["corpora"]) == 4
    page = visit(data["path"]).show_examples()
    page.locator("article.example button").first.click()
    contexts = page.locator("article.example").first.locator(".context").all_inner_texts()
    assert [text.endswith("Changed.") for text in contexts] == [True, False]
