"""The hub's data set, here as a local folder in the hub's layout, read by the same code."""

import datasets
import pytest

from lm_eval_stereoset.benchmarks.declaration import Fetch
from lm_eval_stereoset.benchmarks.stereoset import hub
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError

LABELS = ["anti-stereotype", "stereotype", "unrelated"]


def write_hub_folder(folder, examples_by_split, names=LABELS):
    """Parquet files and the README that makes them two configurations, as on the hub."""
    configs = []
    for split, examples in examples_by_split.items():
        sentences = {
            "sentence": datasets.List(datasets.Value("string")),
            "id": datasets.List(datasets.Value("string")),
            "gold_label": datasets.List(datasets.ClassLabel(names=names)),
        }
        features = {key: datasets.Value("string") for key in ("id", "target", "bias_type", "context")}
        table = datasets.Dataset.from_list(
            [
                {"id": e.id, "target": e.target, "bias_type": e.bias_type, "context": e.context}
                | {
                    "sentences": {
                        "sentence": [c.sentence for c in e.candidates],
                        "id": [c.id for c in e.candidates],
                        "gold_label": [names.index(c.label) for c in e.candidates],
                    }
                }
                for e in examples
            ],
            features=datasets.Features(features | {"sentences": sentences}),
        )
        (folder / f"{split}sentence").mkdir(parents=True)
        table.to_parquet(folder / f"{split}sentence" / "validation-00000-of-00001.parquet")
        configs.append(
            f"- config_name: {split}sentence\n  data_files:\n"
            f"  - split: validation\n    path: {split}sentence/validation-*\n"
        )
    (folder / "README.md").write_text("---\nconfigs:\n" + "".join(configs) + "---\n")
    return str(folder)


def fetch(monkeypatch, folder: str) -> None:
    monkeypatch.setattr(hub, "REPOSITORY", folder)
    hub.fetch_hub(STEREOSET, Fetch(STEREOSET.languages, STEREOSET.splits))


@pytest.fixture
def english():
    return {split: store.load(STEREOSET, split, "en", data="sample").examples for split in ("intra", "inter")}


def test_hub_rows_become_the_same_examples(tmp_path, english, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    fetch(monkeypatch, write_hub_folder(tmp_path / "hub", english))
    for split in ("intra", "inter"):
        dataset = store.load(STEREOSET, split, "en")
        assert dataset.examples == english[split]  # words cut from the sentences, labels by their numbers
        assert dataset.provenance.version == "hub main"


def test_replacing_data_of_another_origin_is_said(tmp_path, english, monkeypatch, own_data_folder, caplog):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    store.save(STEREOSET, "intra", "en", english["intra"], "the authors", "883f005")
    folder = write_hub_folder(tmp_path / "hub", english)
    fetch(monkeypatch, folder)
    assert f"the authors, version 883f005, is replaced by {folder}, version hub main" in caplog.text


def test_a_revision_without_the_hub_is_refused_not_ignored(capsys):
    assert main(["data", "fetch", "--revision", "abc"]) == 2
    assert "--revision is for --source hub" in capsys.readouterr().err


def test_other_class_names_are_refused_rather_than_swapped(tmp_path, english, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = write_hub_folder(tmp_path / "hub", english, names=["stereotype", "anti-stereotype", "unrelated"])
    with pytest.raises(UserError, match="refusing to guess"):
        fetch(monkeypatch, folder)


def test_gold_label_1_is_the_stereotype():
    row = {
        "id": "e", "target": "cook", "bias_type": "profession", "context": "The cook was BLANK!",
        "sentences": {"id": ["a", "b", "c"], "gold_label": [0, 1, 2],
                      "sentence": ["The cook was calm!", "The cook was loud!", "The cook was green!"]},
    }  # fmt: skip
    example = hub.row_to_example(row, "intra", "row")
    assert example.candidate("stereotype").word == "loud"
    assert example.candidate("anti-stereotype").id == "a"
    assert example.target_original == "cook"


def test_without_a_hub_the_other_ways_are_named(tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"cannot load .* from the hub .*--from DIR"):
        fetch(monkeypatch, str(tmp_path / "nothing"))


def test_words_cut_from_english_sentences_are_the_published_ones(fetched):
    from lm_eval_stereoset.benchmarks.stereoset.example import read_examples
    from lm_eval_stereoset.benchmarks.stereoset.words import candidate_word

    pairs = [
        (candidate_word(e.context, c.sentence), c.word)
        for e in read_examples(fetched / "intra" / "en.jsonl")
        for c in e.candidates
    ]
    assert len(pairs) == 2106 * 3
    assert all(cut == published for cut, published in pairs)
