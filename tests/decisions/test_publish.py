"""`stereoset publish`: a card keeps what is not ours, the hub's own classes read what was written, nothing is uploaded
unasked."""

import pytest
import yaml
from decisions_predictions import sample_predictions
from huggingface_hub import ModelCard, parse_eval_result_entries

from lm_eval_stereoset.decisions.publishing import BEGIN, END

MBERT = "bert-base-multilingual-cased_BertLM_BertNextSentence_{}.json"
CARD = """---
license: apache-2.0   # mine
tags: [a,   b]
model-index:
- name: mine
  results:
  - task: {type: text-generation}
    dataset: {type: other, name: Other}
    metrics: [{type: acc, value: 1}]
language: en
---

# My model

Some text with trailing spaces.@@
| a | b |
""".replace("@@", "  ")


@pytest.fixture
def card(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(CARD, "utf-8")
    return path


def test_everything_but_ours_stays_letter_for_letter(typed, published, real_data, card):
    assert typed("publish", published / MBERT.format("en"), "--model-card", card)[0] == 0
    text = card.read_text("utf-8")
    assert text.startswith("---\nlicense: apache-2.0   # mine\ntags: [a,   b]\nmodel-index:\n")
    assert (
        "\nlanguage: en\n---\n\n# My model\n\nSome text with trailing spaces.  \n| a | b |\n\n" + BEGIN
        in text
    )
    assert (
        "| en | overall | 55.17 [53.41, 56.94] | 76.45 [75.00, 77.82] | 68.55 [65.54, 71.56] | 4,229 |"
        in text
    )
    assert "CC BY-SA 4.0" in text
    results = ModelCard.load(card).data.eval_results
    assert [(one.dataset_name, one.metric_type, one.metric_value) for one in results[:2]] == [
        ("Other", "acc", 1), ("StereoSet (en, overall)", "ss", 55.17),
    ]  # fmt: skip
    assert len(results) == 1 + 9


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("\n---\nlicense: mit\n---\n\n# M\n", "license: mit"),
        (
            "---\nmodel-index:\n- name: x\n  results: []\n# who chose it\nlicense: mit\n---\n",
            "# who chose it\nlicense: mit",
        ),
        ('---\n"model-index":\n- name: x\n  results: []\nlicense: mit\n---\n', "license: mit"),
    ],
)
def test_metadata_of_other_shapes_stay(typed, published, real_data, tmp_path, before, kept):
    path = tmp_path / "README.md"
    path.write_text(before, "utf-8")
    for _ in range(2):
        assert typed("publish", published / MBERT.format("en"), "--model-card", path)[0] == 0
    text = path.read_text("utf-8")
    assert text.count("model-index") == 1
    assert kept in text
    assert text.count("license: mit") == 1


def test_each_split_says_how_it_was_scored_itself(typed, published, real_data, card):
    typed("publish", published / MBERT.format("en"), "--model-card", card)
    text = card.read_text("utf-8")
    assert (
        "- intra: candidates are compared by BertLM.\n- inter: candidates are compared by BertNextSentence."
        in text
    )
    metadata = yaml.safe_load(text.split("---\n")[1])
    found = {
        one["dataset"]["split"]: one["dataset"]["args"]["scoring"]
        for one in metadata["model-index"][0]["results"][1:]
    }
    assert found == {
        "intra": "BertLM", "inter": "BertNextSentence", "overall": "BertLM and BertNextSentence",
    }  # fmt: skip


def test_a_second_run_changes_nothing_and_another_result_only_ours(typed, published, real_data, card):
    typed("publish", published / MBERT.format("en"), "--model-card", card)
    once = card.read_bytes()
    code, out, _ = typed("publish", published / MBERT.format("en"), "--model-card", card)
    assert (code, card.read_bytes()) == (0, once)
    assert "nothing has changed" in out
    typed("publish", published / MBERT.format("tr"), "--model-card", card)
    text = card.read_text("utf-8")
    before, after = once.decode("utf-8"), text
    for one in (before, after):
        assert one.count(BEGIN) == one.count(END) == 1
    assert after.split(BEGIN)[0].split("\n---\n")[1] == before.split(BEGIN)[0].split("\n---\n")[1]
    assert after.split(END)[1] == before.split(END)[1]
    names = {one.dataset_name for one in ModelCard.load(card).data.eval_results}
    assert names == {"Other", *(f"StereoSet (tr, {split})" for split in ("overall", "intra", "inter"))}


@pytest.mark.parametrize("before", [None, "", "# Only text\n", "---\nlicense: mit\n---\n"])
def test_cards_without_metadata_or_text_or_at_all(typed, published, real_data, tmp_path, before):
    path = tmp_path / "cards" / "README.md"
    if before is not None:
        path.parent.mkdir()
        path.write_text(before, "utf-8")
    assert typed("publish", published / MBERT.format("en"), "--model-card", path)[0] == 0
    found = ModelCard.load(path)
    assert len(found.data.eval_results) == 9
    assert "## Stereotypes" in found.text
    if before == "---\nlicense: mit\n---\n":
        assert found.data.license == "mit"
    once = path.read_bytes()
    assert typed("publish", published / MBERT.format("en"), "--model-card", path)[0] == 0
    assert path.read_bytes() == once


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- stereoset: begin -->\nno end", "do not form one pair"),
        (f"{BEGIN}\n{END}\n{BEGIN}\n{END}", "do not form one pair"),
        ("---\nlicense: [\n---\n", "not valid YAML"),
        ("---\n- a\n---\n", "must be a mapping"),
        ("---\nmodel-index: 3\n---\n", "model-index is not a list"),
    ],
)
def test_damaged_cards_are_one_line_and_stay_as_they_are(
    typed, published, real_data, tmp_path, text, message
):
    path = tmp_path / "README.md"
    path.write_text(text, "utf-8")
    code, _, err = typed("publish", published / MBERT.format("en"), "--model-card", path)
    assert (code, path.read_text("utf-8")) == (2, text)
    assert message in err


def test_the_hubs_classes_read_the_evaluation_results(typed, published, real_data, tmp_path):
    assert typed("publish", published / MBERT.format("en"), "--eval-results", tmp_path)[0] == 0
    entries = parse_eval_result_entries(
        yaml.safe_load((tmp_path / ".eval_results" / "stereoset.yaml").read_text())
    )
    assert len(entries) == 9
    assert (entries[0].dataset_id, entries[0].task_id, entries[0].value) == (
        "McGill-NLP/stereoset", "stereoset_en_ss", 55.17,
    )  # fmt: skip
    assert "883f005" in entries[0].notes


def test_part_of_the_data_and_the_sample_are_not_published_unasked(typed, tmp_path):
    path = sample_predictions(tmp_path / "toy.json")
    code, _, err = typed("publish", path, "--data", "sample", "--model-card", tmp_path / "README.md")
    assert code == 2
    assert "measured on the small bundled sample" in err
    assert not (tmp_path / "README.md").exists()
    code, out, _ = typed("publish", path, "--data", "sample", "--partial")
    assert code == 0
    assert "NOT comparable with other results: toy, en: measured on the small bundled sample" in out


def test_latex_for_a_paper(typed, published, real_data):
    code, out, _ = typed("publish", published / MBERT.format("en"), "--latex")
    assert code == 0
    assert "\\begin{tabular}" in out
    assert "55.17" in out


def test_nothing_is_uploaded_unasked(typed, published, real_data, card, monkeypatch):
    from huggingface_hub import HfApi

    commits = []

    def create_commit(self, repo_id, operations, **_):
        commits.append((repo_id, {one.path_in_repo: one.path_or_fileobj for one in operations}))
        return type("Done", (), {"commit_url": "there"})

    monkeypatch.setattr(HfApi, "create_commit", create_commit)
    mine = (published / MBERT.format("en"), "--model-card", card, "--eval-results", card.parent)
    assert typed("publish", *mine)[0] == 0
    assert commits == []
    assert typed("publish", *mine, "--push", "me/mine")[0] == 0
    ((repository, files),) = commits
    assert repository == "me/mine"
    assert set(files) == {"README.md", ".eval_results/stereoset.yaml"}
    assert files["README.md"] == card.read_bytes()


def test_an_upload_that_fails_is_one_line(typed, published, real_data, card):
    code, _, err = typed("publish", published / MBERT.format("en"), "--model-card", card, "--push", "me/mine")
    assert code == 2
    assert "nothing was uploaded" in err
    assert len(err.strip().splitlines()) == 1
    assert typed("publish", published / MBERT.format("en"), "--push", "me/mine")[0] == 2


def test_several_models_have_no_common_card(typed, published, real_data, card):
    before = card.read_bytes()
    code, _, err = typed("publish", published, "--model-card", card)
    assert (code, card.read_bytes()) == (2, before)
    assert "are of several models" in err
