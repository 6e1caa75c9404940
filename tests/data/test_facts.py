"""Labels, bias types and English targets of examples with StereoSet's ids are StereoSet's, or it is an error."""

import json

import pytest

from lm_eval_stereoset.benchmarks.stereoset import facts
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store

SWAP = {"stereotype": "anti-stereotype", "anti-stereotype": "stereotype", "unrelated": "unrelated"}
SPLITS = ("intra", "inter")


def swapped(line: dict) -> None:
    for candidate in line["candidates"]:
        candidate["label"] = SWAP[candidate["label"]]


def other_bias(line: dict) -> None:
    line["bias_type"] = "race" if line["bias_type"] != "race" else "gender"


def other_target(line: dict) -> None:
    line["target_original"] += "s"


def translated_target(line: dict) -> None:
    line["target_original"] = line["target"]


def renamed_candidate(line: dict) -> None:
    line["candidates"][0]["id"] += "x"


@pytest.fixture
def changed(fetched, tmp_path):
    """German with a change in some of its examples, in a folder of its own as language de_mine and de."""

    def make(change, count=None):
        for split in SPLITS:
            lines = (fetched / split / "de.jsonl").read_bytes().decode("utf-8").split("\n")[:-1]
            content = [json.loads(line) for line in lines]
            for line in content[:count]:
                change(line)
            for name in ("de", "de_mine"):
                path = tmp_path / "changed" / split / f"{name}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(
                    "".join(json.dumps(x) + "\n" for x in content), encoding="utf-8", newline="\n"
                )
        return tmp_path / "changed"

    return make


def test_the_table_is_that_of_the_english_data(real_data):
    english = [example for split in SPLITS for example in store.load(STEREOSET, split, "en").examples]
    assert facts.table_of(english) == facts.TABLE.read_bytes()
    assert len(facts.TABLE.read_bytes()) == 4229 * facts.ENTRY_BYTES


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "tr"])
def test_the_published_data_agrees_in_every_language(real_data, language):
    for split in SPLITS:
        examples = store.load(STEREOSET, split, language).examples
        assert all(map(facts.is_stereoset, examples))
        assert facts.complaint(examples) is None


def test_the_sample_has_ids_of_its_own():
    for split in SPLITS:
        assert not any(map(facts.is_stereoset, store.load(STEREOSET, split, "en", "sample").examples))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (swapped, "2103 examples have StereoSet's ids but not its labels, e.g. fdc01ba6042b41f0c894cdccc149f5b4: "
         "candidate 107a3b2e248a218017cf1ba6a22f2c76 is stereotype here and anti-stereotype in StereoSet"),
        (other_bias, "not its bias_type"),
        (other_target, "not its target_original"),
        (translated_target, "not its target_original"),
        (renamed_candidate, "its candidates have other ids than in StereoSet"),
    ],
)  # fmt: skip
def test_data_check_counts_other_facts_as_an_error(changed, change, says, capsys):
    assert main(["data", "check", str(changed(change) / "intra" / "de.jsonl")]) == 1
    out = capsys.readouterr().out
    assert says in out
    assert "1  errors" in out


def test_a_single_swapped_example_is_found(changed, capsys):
    assert main(["data", "check", str(changed(swapped, 1) / "inter" / "de.jsonl")]) == 1
    assert "1 examples have StereoSet's ids but not its labels" in capsys.readouterr().out


def test_swapped_labels_are_neither_added_nor_loaded(changed, own_data_folder, capsys):
    folder = changed(swapped)
    assert main(["data", "add", str(folder), "-l", "de_mine"]) == 2
    err = capsys.readouterr().err
    assert "intra/de_mine.jsonl: 2103 examples have StereoSet's ids but not its labels" in err
    assert "give these examples ids of their own" in err
    assert not own_data_folder.exists()
    assert main(["predict", "/nowhere", "-o", "x.json", "--language", "de", "--data", str(folder)]) == 2
    assert "not its labels" in capsys.readouterr().err


def test_what_could_be_compared_is_said(changed, capsys, tmp_path, example_line):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(example_line(1)) + "\n")
    assert main(["data", "check", str(path)]) == 0
    assert "     0  examples with an id of StereoSet's" in (out := capsys.readouterr().out)
    assert "the others cannot be compared" in out
    assert main(["data", "check", str(changed(lambda line: None) / "intra" / "de.jsonl")]) == 0
    assert "  2103  examples with an id of StereoSet's" in (out := capsys.readouterr().out)
    assert "cannot be compared" not in out
