"""Sentence pairs: what the paper asks of them, and nothing half-made."""

import json
import os
import shutil
from collections import Counter, namedtuple
from pathlib import Path

import numpy as np
import pytest

from lm_eval_stereoset.errors import UserError
from nsp_finetune import pairs as pairs_module
from nsp_finetune import prepare as prepare_module
from nsp_finetune.corpus import resolve
from nsp_finetune.data import load_pairs
from nsp_finetune.prepare import SPLITS, PrepareSettings, length_percentiles, prepare
from nsp_finetune.sentences import split_article
from nsp_finetune.splitters import load as load_splitter

pytestmark = pytest.mark.usefixtures("punkt")


def numbered_corpus(path: Path, articles: int, prefix: str = "Article", start: int = 0) -> Path:
    """Every sentence says where it stands: article 7, sentence 2. Lengths differ, some articles have one only."""
    with open(path, "w", encoding="utf-8") as out:
        for number in range(start, start + articles):
            text = " ".join(f"{prefix} {number} sentence {k}." for k in range(1 + number % 7))
            out.write(json.dumps({"id": number, "text": text}) + "\n")
    return path


def made(tmp_path: Path, corpora: list[str], name: str = "out", **settings) -> tuple[Path, dict]:
    values = {"workers": 1, "held_out": 0.15} | settings
    statistics, _ = prepare(PrepareSettings(tuple(resolve(corpora, [])), tmp_path / name, **values))
    return tmp_path / name, statistics


def place(sentence: str) -> tuple[int, int]:
    _, article, _, number = sentence.rstrip(".").split()
    return int(article), int(number)


@pytest.fixture(scope="module")
def numbered(tmp_path_factory, punkt):
    folder = tmp_path_factory.mktemp("numbered")
    return made(folder, [f"en={numbered_corpus(folder / 'en.jsonl', 120)}"])


def test_every_sentence_but_the_last_is_paired_with_its_successor(numbered):
    folder, _ = numbered
    nexts = [row for split in SPLITS for row in load_pairs(folder, split) if row["label"] == 1]
    for row in nexts:
        (article, number), (other, following) = place(row["first"]), place(row["second"])
        assert (article, number + 1) == (other, following)
        assert row["first_article"] == row["second_article"] == article
    found = Counter(place(row["first"]) for row in nexts)
    assert found == Counter((a, k) for a in range(120) for k in range(a % 7))


def test_every_sentence_has_one_random_partner_of_another_article(numbered):
    folder, _ = numbered
    randoms = [row for split in SPLITS for row in load_pairs(folder, split) if row["label"] == 0]
    assert all(place(row["first"])[0] != place(row["second"])[0] for row in randoms)
    assert all(row["second_article"] == place(row["second"])[0] for row in randoms)
    assert Counter(place(row["first"]) for row in randoms) == Counter(
        (a, k) for a in range(120) for k in range(1 + a % 7)
    )


def test_no_article_is_in_two_splits(numbered):
    folder, statistics = numbered
    articles = {
        split: {place(row[side])[0] for row in load_pairs(folder, split) for side in ("first", "second")}
        for split in SPLITS
    }
    assert sum(map(len, articles.values())) == len(set.union(*articles.values())) == 120
    assert {split: statistics["splits"][split]["articles"]["en"] for split in SPLITS} == {
        split: len(found) for split, found in articles.items()
    }


def test_random_partners_come_evenly_from_all_other_sentences(numbered):
    """Sentences, not articles, are drawn: a partner's article comes up in proportion to its length."""
    folder, _ = numbered
    rows = [row for row in load_pairs(folder, "train") if row["label"] == 0]
    lengths = Counter(1 + place(row["second"])[0] % 7 for row in rows)
    sentences = Counter(1 + place(row["first"])[0] % 7 for row in rows)
    for length, expected in sentences.items():
        assert abs(lengths[length] - expected) < 5 * np.sqrt(expected) + 1


def test_pairs_are_shuffled(numbered):
    rows = load_pairs(numbered[0], "train")
    articles = np.array([place(first)[0] for first in rows["first"]])
    limit = 4 / np.sqrt(len(articles))  # four standard errors of a correlation of nothing
    for values in (articles, np.array(rows["label"])):
        assert abs(np.corrcoef(values, np.arange(len(values)))[0, 1]) < limit
        assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < limit


def test_statistics_count_what_is_there(numbered):
    folder, statistics = numbered
    assert statistics["languages"]["en"]["articles"] == 120
    assert statistics["languages"]["en"]["sentences"] == sum(1 + a % 7 for a in range(120))
    for split in SPLITS:
        info, rows = statistics["splits"][split], load_pairs(folder, split)
        assert info["pairs"]["en"] == len(rows) == sum(info["labels"].values())
        assert info["labels"]["next"] == sum(rows["label"])


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_result_does_not_depend_on_the_number_of_processes(tmp_path, numbered):
    corpus = numbered_corpus(tmp_path / "en.jsonl", 120)
    folder, _ = made(tmp_path, [f"en={corpus}"], workers=2)
    one, two = files_of(numbered[0]), files_of(folder)
    for files in (one, two):
        files["statistics.json"] = files["statistics.json"].split(b'"splits"')[
            1
        ]  # before it: the corpus's path
    assert one == two


def test_many_buckets_hold_the_same_pairs_as_one(tmp_path, monkeypatch, numbered):
    monkeypatch.setattr(pairs_module, "BUCKET_PAIRS", 37)
    folder, _ = made(tmp_path, [f"en={numbered_corpus(tmp_path / 'en.jsonl', 120)}"])
    assert len(list((folder / "train").glob("*.arrow"))) > 10
    for split in SPLITS:  # sorted by the same keys: even the order is the same
        assert load_pairs(folder, split).to_list() == load_pairs(numbered[0], split).to_list()


def test_languages_are_balanced_and_never_mixed_within_a_pair(tmp_path):
    corpora = [
        f"en={numbered_corpus(tmp_path / 'en.jsonl', 90)}",
        f"de={numbered_corpus(tmp_path / 'de.jsonl', 150, 'Artikel')}",
    ]
    folder, statistics = made(tmp_path, corpora)
    for split in SPLITS:
        articles = statistics["splits"][split]["articles"]
        assert articles["en"] == articles["de"] > 1
        rows = load_pairs(folder, split)
        assert set(rows["language"]) == {"en", "de"}
        for row in rows:
            word = {"en": "Article", "de": "Artikel"}[row["language"]]
            assert row["first"].startswith(word)
            assert row["second"].startswith(word)
    assert (
        "articles of de beyond the number of the smallest language"
        in statistics["splits"]["train"]["dropped"]
    )


def test_translations_of_an_article_fall_into_the_same_split(tmp_path):
    corpora = [
        f"{language}={numbered_corpus(tmp_path / f'{language}.jsonl', 90)}" for language in ("en", "de")
    ]
    folder, _ = made(tmp_path, corpora)
    for split in SPLITS:
        rows = load_pairs(folder, split)
        by_language = {code: set() for code in ("en", "de")}
        for row in rows:
            by_language[row["language"]].add(place(row["first"])[0])
        assert by_language["en"] == by_language["de"]


def test_second_run_with_the_same_inputs_is_found(tmp_path, monkeypatch):
    corpus = numbered_corpus(tmp_path / "en.jsonl", 60)
    settings = PrepareSettings(
        tuple(resolve([f"en={corpus}"], [])), tmp_path / "out", held_out=0.15, workers=1
    )
    first, reused = prepare(settings)
    assert not reused
    monkeypatch.setattr(prepare_module, "build", lambda *_: pytest.fail("built again"))
    assert prepare(settings) == (first, True)
    with pytest.raises(UserError, match="other inputs or settings"):
        prepare(PrepareSettings(settings.sources, settings.output, seed=28, held_out=0.15, workers=1))
    numbered_corpus(corpus, 61)
    with pytest.raises(UserError, match="other inputs or settings"):
        prepare(settings)


def test_interrupted_run_leaves_nothing_and_the_next_one_clears_up_after_a_kill(tmp_path, monkeypatch):
    corpus = numbered_corpus(tmp_path / "en.jsonl", 60)
    dead = tmp_path / ".out.building-999999999"  # of a killed process; no such process can exist
    (dead / "train").mkdir(parents=True)
    alive = tmp_path / f".out.building-{os.getppid()}"
    alive.mkdir()

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(prepare_module, "plan_pairs", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made(tmp_path, [f"en={corpus}"])
    assert not (tmp_path / "out").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == [alive.name, "en.jsonl"]
    folder, _ = made(tmp_path, [f"en={corpus}"])
    assert len(load_pairs(folder, "train")) > 100


def test_max_articles_takes_the_first(tmp_path):
    folder, statistics = made(
        tmp_path, [f"en={numbered_corpus(tmp_path / 'en.jsonl', 200)}"], max_articles=60
    )
    assert statistics["languages"]["en"]["articles"] == 60
    assert max(place(first)[0] for first in load_pairs(folder, "train")["first"]) < 60


def test_empty_articles_are_dropped_and_counted(tmp_path):
    corpus = numbered_corpus(tmp_path / "en.jsonl", 60)
    with open(corpus, "a") as out:
        out.write('{"id": "a", "text": ""}\n{"id": "b", "text": " \\n "}\n{"id": "c", "text": null}\n')
    _, statistics = made(tmp_path, [f"en={corpus}"])
    assert statistics["languages"]["en"]["dropped"] == {"empty articles": 3}
    assert statistics["languages"]["en"]["articles"] == 60


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["One. Two."], "only one article with text"),
        (["", " "], "all 2 articles are empty"),
        ([], "no articles"),
        (["One. Two."] * 5, "which needs at least two; give more articles or another --held-out"),
    ],
)
def test_corpus_that_is_too_small_is_refused(tmp_path, texts, message):
    corpus = tmp_path / "en.jsonl"
    corpus.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)))
    with pytest.raises(UserError, match=message):
        made(tmp_path, [f"en={corpus}"])
    assert [p.name for p in tmp_path.iterdir()] == ["en.jsonl"]


def test_too_little_disk_is_said_before_any_work(tmp_path, monkeypatch):
    corpus = numbered_corpus(tmp_path / "en.jsonl", 60)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**12, 10**12, 1000))
    monkeypatch.setattr(prepare_module, "split_corpus", lambda *_: pytest.fail("started"))
    with pytest.raises(UserError, match=r"too little disk .* 0\.0 MB free"):
        made(tmp_path, [f"en={corpus}"])


def test_missing_splitter_data_says_how_to_get_it(monkeypatch):
    import nltk

    tried = []
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(nltk, "download", lambda *a, **k: tried.append(a) or False)
    with pytest.raises(UserError, match=r"python -m nltk\.downloader punkt_tab"):
        load_splitter("de")
    assert tried == [("punkt_tab",)]


def test_splitter_knows_the_language_and_line_breaks_end_sentences():
    text = "Kopf\nDas sagt  Dr. Müller am 3. Mai. Und\tnoch einer!"
    assert split_article(load_splitter("de"), text) == [
        "Kopf",
        "Das sagt Dr. Müller am 3. Mai.",
        "Und noch einer!",
    ]
    assert "Mai." in split_article(load_splitter("en"), text)  # English has no ordinals with a dot


def test_percentiles_from_counts():
    counts = np.zeros(200, dtype=np.int64)
    counts[1:101] = 1
    assert length_percentiles(counts) == {"p5": 5, "p25": 25, "p50": 50, "p75": 75, "p95": 95, "p99": 99}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("en.jsonl/pairs", "is not a folder"),
        ("/dev/null/pairs", "is not a folder"),
        ("y" * 300, "not a valid path"),
    ],
)
def test_output_where_no_folder_can_be_is_one_line(output, message, tmp_path):
    corpus = numbered_corpus(tmp_path / "en.jsonl", 60)
    settings = PrepareSettings(tuple(resolve([f"en={corpus}"], [])), tmp_path / output, workers=1)
    with pytest.raises(UserError, match=message):
        prepare(settings)


def test_killed_worker_is_one_line_and_leaves_nothing(tmp_path, monkeypatch):
    from concurrent.futures.process import BrokenProcessPool

    def killed(*_):
        raise BrokenProcessPool("A process in the process pool was terminated abruptly")

    monkeypatch.setattr(prepare_module, "split_corpus", killed)
    corpus = numbered_corpus(tmp_path / "en.jsonl", 60)
    settings = PrepareSettings(tuple(resolve([f"en={corpus}"], [])), tmp_path / "out", workers=2)
    with pytest.raises(UserError, match=r"a process of --workers 2 was killed.*try --workers 1"):
        prepare(settings)
    assert [path.name for path in tmp_path.iterdir()] == ["en.jsonl"]
