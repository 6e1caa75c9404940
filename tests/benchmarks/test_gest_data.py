"""GEST and EuroGEST on disk: fetched from clones and from the hub's layout, counted, checked line by line; the sample."""

import csv
import json
import re
import shutil

import datasets
import pytest
from benchmarks.gest_data import EUROGEST, GEST, fetch_all

from lm_eval_stereoset.benchmarks.gest import fetch_eurogest, scaffolds, upstream
from lm_eval_stereoset.benchmarks.gest.pair import as_published, parse_pair
from lm_eval_stereoset.benchmarks.gest.sentence import SPLITS, parse_sentence
from lm_eval_stereoset.benchmarks.gest.stereotypes import NUMBERS
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError


@pytest.fixture(scope="module")
def everything(shared, tmp_path_factory):
    return fetch_all(tmp_path_factory.mktemp("gest"), shared)


@pytest.fixture
def real(everything, monkeypatch):
    monkeypatch.setenv("STEREOSET_DATA", str(everything))
    return everything


def bare(pair):
    """The sentence without quotation marks and what is said behind them."""
    return re.split("[“”»]", pair.masculine.strip("„«"))[0].strip(".").casefold()


def pairs(language):
    return store.load(EUROGEST, "pairs", language).examples


def test_both_versions_have_the_authors_rows_in_their_order(real, shared):
    for version, name in (("1.1", "gest_1.1.csv"), ("1.0", "gest.csv")):
        with open(shared / "upstream" / "gest" / "data" / name, encoding="utf-8", newline="") as handle:
            rows = list(csv.reader(handle))[1:]
        found = store.load(GEST, "template_3", "en", version)
        assert [(e.id, e.sentence, str(e.stereotype)) for e in found.examples] == [
            (str(i), sentence, number) for i, (sentence, number) in enumerate(rows)
        ]
        assert found.provenance.version == f"{version} (7dd908c)"
    one, two = (store.load(GEST, "template_0", "en", version).examples for version in ("1.0", "1.1"))
    assert len(one) == 3565
    assert sum(a.sentence != b.sentence for a, b in zip(one, two, strict=True)) == 244
    assert store.load(GEST, "template_0", "en").examples == two


def test_counts_per_language_and_stereotype_are_the_published_ones(real, shared):
    path = shared / "upstream" / "EuroGEST" / "data" / "stats_2_letters_1_words.csv"
    with open(path, encoding="utf-8", newline="") as handle:
        published = {row[""]: row for row in csv.DictReader(handle)}
    totals = [0, 0]
    for code in EUROGEST.languages:
        row, found = published[upstream.PUBLISHED[code].name], pairs(code)
        counts = fetch_eurogest.counts_of(found)
        assert counts == (int(row["Gendered"]), int(row["Neutral"])), code
        by_number = {i: sum(pair.stereotype == i for pair in found) for i in NUMBERS}
        said = re.findall(r"(\d+): (\d+)", row["Number samples per stereotype"])
        assert by_number == {int(i): int(n) for i, n in said}, code
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
    assert totals == [14538, 56497]


def test_the_harness_takes_a_version_that_it_has_made_a_number_of(real):
    from lm_eval_stereoset.harness.task import load_docs

    docs = load_docs("en", [SPLITS[0]], "gest", data=1.0)["test"]
    assert docs[0]["data"] == "gest 1.0 (7dd908c)"


def test_only_italians_scaffold_is_another_than_published(real):
    for code in EUROGEST.languages:
        found = pairs(code)
        other = [pair for pair in found if as_published(pair) != pair]
        assert len(other) == (2011 if code == "it" else 0), code
        assert all(pair.masculine != pair.feminine for pair in found)
    it = next(pair for pair in pairs("it") if pair.condition != "G")
    assert (it.condition, it.masculine) == ("N", '"Sono passionale", disse l\'uomo')
    assert as_published(it).masculine == as_published(it).feminine == '"Sono passionale", disse'


def test_texts_are_those_of_the_golden_files(real, shared):
    for code in ("de", "it"):
        golden = json.loads((shared / "golden" / "scores" / f"tiny-gpt2__eurogest__{code}.json").read_text())
        found = [as_published(pair) for pair in pairs(code)]
        assert [(p.id, p.condition, p.masculine, p.feminine) for p in found] == [
            (str(g["row"]), g["condition"], g["masculine"], g["feminine"]) for g in golden
        ]


def test_scaffolds_are_kept_beside_the_data_and_a_second_fetch_reads_nothing(real, capsys):
    kept = json.loads((real / "eurogest" / "scaffolds.json").read_text("utf-8"))
    assert set(kept) == set(EUROGEST.languages)
    assert kept["de"]["pronouns"] == ["sagte er", "sagte sie"]
    assert main(["data", "fetch", "eurogest", "--from", str(real)]) in (
        None,
        0,
    )  # no clone: nothing is missing
    assert main(["data", "fetch", "gest", "--from", str(real)]) in (None, 0)
    assert main(["data", "list"]) == 0
    assert "gest       sentences en         3565" in capsys.readouterr().out


def test_a_changed_file_is_refused_and_taken_with_insist(shared, tmp_path, capsys):
    clone = tmp_path / "gest" / "data"
    clone.mkdir(parents=True)
    for name in ("gest.csv", "gest_1.1.csv"):
        text = (shared / "upstream" / "gest" / "data" / name).read_text("utf-8")
        (clone / name).write_text(text.replace("passionate", "a passion", 1), "utf-8")
    assert main(["data", "fetch", "gest", "--from", str(clone.parent)]) == 2
    assert "its SHA-256 is not that of the published file" in capsys.readouterr().err
    assert main(["data", "fetch", "gest", "--from", str(clone.parent), "--insist"]) in (None, 0)
    assert store.load(GEST, "template_0", "en").provenance.version.startswith("1.1 (changed, csv sha256:")


@pytest.mark.parametrize("number", ["17", "0", "x", ""])
def test_an_unknown_stereotype_number_is_one_line(number, tmp_path, capsys):
    clone = tmp_path / "gest" / "data"
    clone.mkdir(parents=True)
    for name in ("gest.csv", "gest_1.1.csv"):
        (clone / name).write_text(f"sentence,stereotype\nI sing.,3\nI dance.,{number}\n", "utf-8")
    assert main(["data", "fetch", "gest", "--from", str(clone.parent), "--insist"]) == 2
    err = capsys.readouterr().err
    assert "row 1: stereotype" in err
    assert "they are the numbers 1 to 16" in err
    assert err.count("\n") == 1


def test_a_language_without_scaffolds_is_one_line(shared, tmp_path, capsys):
    clone = tmp_path / "EuroGEST"
    shutil.copytree(shared / "upstream" / "EuroGEST", clone, copy_function=shutil.copyfile)
    configs = clone / "evaluate_models" / "configs"
    path = configs / "prompt_scaffolds.json"
    path.chmod(0o644)
    phrases = json.loads(path.read_text("utf-8"))
    del phrases["the woman said"]["Czech"]
    path.write_text(json.dumps(phrases), "utf-8")
    command = ["data", "fetch", "eurogest", "--from", str(clone), "--insist", "-l", "cs"]
    assert main(command) == 2
    err = capsys.readouterr().err
    assert f"{configs}: no scaffolds for Czech ('Czech'); its neutral sentences need them" in err
    assert err.count("\n") == 1


GOOD = {"id": "1", "stereotype": 3, "condition": "G", "masculine": "rád", "feminine": "ráda"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stereotype": 17}, "x: stereotype 17 is unknown; they are the numbers 1 to 16"),
        ({"stereotype": "3"}, "x: stereotype '3' is unknown; they are the numbers 1 to 16"),
        ({"feminine": ""}, "x: feminine must be a non-empty text, is ''"),
        ({"feminine": "rád"}, "x: masculine and feminine are the same text: 'rád'"),
        ({"condition": "H"}, "x: condition 'H' is not one of G, P, N"),
        ({"speaker": "a"}, "x: unknown key 'speaker'; allowed are condition, english, feminine, id, masculine, "
         "published, split, stereotype"),
        ({"neutral": "jo", "masculine": None, "feminine": None},
         "x: a neutral text alone, and there are no scaffolds that would make a pair of it"),
    ],
)  # fmt: skip
def test_a_wrong_pair_is_told(change, said):
    with pytest.raises(UserError) as error:
        parse_pair(GOOD | change, "pairs", "x")
    assert str(error.value).startswith(said)


def test_a_missing_sentence_is_told():
    with pytest.raises(UserError, match=r"^x: sentence is missing$"):
        parse_sentence({"id": "1", "stereotype": 3}, "template_0", "x")


def test_nouns_are_taken_where_both_pronouns_are_the_same():
    equal = scaffolds.Scaffold(("«", "»"), ("dice", "dice"), ("dice lui", "dice lei"), "P")
    assert equal.condition == "N"
    assert equal.pair("...Sono io!?", "N") == ("«Sono io» dice lui", "«Sono io» dice lei")


def test_the_hub_gives_the_same_pairs(real, shared, tmp_path, monkeypatch):
    """The hub's table of a language, here as CSV in its layout, and the authors' scaffolds."""
    texts = fetch_eurogest.Texts(
        fetch_eurogest.fetched(
            dict.fromkeys((upstream.SENSITIVE, upstream.INSENSITIVE), ""),
            fetch_eurogest.Fetch((), (), shared / "upstream" / "EuroGEST"),
            "",
        )
    )
    rows = texts.rows("Italian")
    table = datasets.Dataset.from_list(
        [
            {
                "GEST_ID": int(row["id"]), "Source": row["english"], "Stereotype_ID": float(row["stereotype"]),
                "Masculine": row["masculine"] or None, "Feminine": row["feminine"] or None,
                "Neutral": row["neutral"] or None,
            }
            for row in rows
        ]
    )  # fmt: skip
    expected = pairs("it")
    asked = []

    def load_dataset(name, split, revision):
        asked.append((name, split, revision))
        return table

    def from_shared(url):
        return (
            shared / "upstream" / "EuroGEST" / url.partition(f"{upstream.SCAFFOLDS_COMMIT}/")[2]
        ).read_bytes()

    monkeypatch.setenv("STEREOSET_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr("lm_eval_stereoset.benchmarks.gest.files.download", from_shared)
    assert main(["data", "fetch", "eurogest", "--source", "hub", "--revision", "abc", "-l", "it"]) in (
        None,
        0,
    )
    assert asked == [("utter-project/EuroGEST", "Italian", "abc")]
    assert pairs("it") == expected


def test_the_hub_gives_both_versions_of_gest(monkeypatch):
    def load_dataset(name, split, revision):
        assert (name, revision) == ("kinit/gest", None)
        return [{"sentence": f"I am of {split}.", "stereotype": 5}]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert main(["data", "fetch", "gest", "--source", "hub"]) in (None, 0)
    texts = [store.load(GEST, "template_0", "en", version).examples[0].sentence for version in ("1.1", "1.0")]
    assert texts == ["I am of gest1.1.", "I am of gest1.0."]


def test_the_sample_has_ten_sentences_of_each_stereotype_in_six_languages():
    english = {e.id: e.sentence for e in store.load(GEST, SPLITS[0], "en", "sample").examples}
    for code in ("de", "cs", "sk", "pl", "es"):
        found = store.load(EUROGEST, "pairs", code, "sample").examples
        assert [sum(pair.stereotype == i for pair in found) for i in NUMBERS] == [10] * 16
        assert {pair.condition == "G" for pair in found} == {True, False}, "gendered and neutral ones"
        assert {pair.id: pair.english for pair in found} == english
    assert len(set(english.values())) == 160


def test_the_sample_is_not_taken_from_the_published_data(real):
    versions = [store.load(GEST, "template_0", "en", version).examples for version in ("1.0", "1.1")]
    published = {e.sentence.casefold() for examples in versions for e in examples}
    ours = store.load(GEST, "template_0", "en", "sample").examples
    assert not published & {e.sentence.casefold() for e in ours}
    for code in ("de", "cs", "sk", "pl", "es"):
        texts = {bare(pair) for pair in pairs(code)}
        assert not texts & {bare(pair) for pair in store.load(EUROGEST, "pairs", code, "sample").examples}


def test_added_sentences_get_tasks_of_all_templates(tmp_path, capsys):
    folder = tmp_path / "mine" / "sentences"
    folder.mkdir(parents=True)
    (folder / "en_mine.jsonl").write_text('{"id": "a", "stereotype": 1, "sentence": "I sing."}\n')
    assert main(["data", "add", "-b", "gest", str(folder.parent), "-l", "en_mine"]) in (None, 0)
    out = capsys.readouterr().out
    assert "gest_template_3_en_mine, gest_en_mine" in out
    assert len(store.load(GEST, "template_2", "en_mine").examples) == 1


def test_check_counts_a_file_and_what_the_slavic_filter_leaves(real, shared, capsys):
    """Czech: all pairs differ in one word that begins the same, as published; a vocabulary splits most endings off."""
    path = str(real / "eurogest" / "pairs" / "cs.jsonl")
    assert (
        main(
            ["data", "check", path, "-b", "eurogest", "--tokenizer", str(shared / "golden/models/tiny-bert")]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert "published: 1570 gendered, 238 neutral" in out
    assert "1570  gendered sentence (G)" in out
    counts = {line.split("  ")[-1]: int(line.split()[0]) for line in out.splitlines() if "…" in line}
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    assert 0 < counts["… and one token differs"] < counts["… in which one word differs"]


def test_check_lists_every_bad_line(tmp_path, capsys):
    path = tmp_path / "en.jsonl"
    path.write_text('{"id": "1", "stereotype": 99, "sentence": "I sing."}\n{"id": "1", "stereotype": 9}\n')
    assert main(["data", "check", str(path), "--benchmark", "gest"]) == 1
    out = capsys.readouterr().out
    assert "line 1: stereotype 99 is unknown" in out
    assert "line 2: sentence is missing" in out
