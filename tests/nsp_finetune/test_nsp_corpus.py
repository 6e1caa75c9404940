"""Where articles come from, and what is said when they cannot."""

import json
from pathlib import Path

import pytest

from lm_eval_stereoset.errors import UserError
from nsp_finetune.corpus import read, resolve

ARTICLES = [("1", "Eins. Zwei."), ("2", "Drei.\nVier.")]


def write_jsonl(path: Path) -> Path:
    path.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in ARTICLES), encoding="utf-8")
    return path


def write_parquet(path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [i for i, _ in ARTICLES], "text": [t for _, t in ARTICLES]}), path)
    return path


def test_json_lines_and_parquet_give_the_same_articles(tmp_path):
    for path in (write_jsonl(tmp_path / "a.jsonl"), write_parquet(tmp_path / "a.parquet")):
        (source,) = resolve([f"de={path}"], [])
        assert list(read(source)) == ARTICLES


def test_folder_of_text_files_is_one_article_a_file(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_text("B", encoding="utf-8")
    (tmp_path / "sub" / "a.txt").write_text("Ä", encoding="utf-8")
    (source,) = resolve([str(tmp_path)], ["de"])
    assert list(read(source)) == [("b.txt", "B"), ("sub/a.txt", "Ä")]


def test_language_placeholder_names_a_file_for_each_language(tmp_path):
    for language in ("de", "fr"):
        write_jsonl(tmp_path / f"{language}.jsonl")
    sources = resolve([str(tmp_path / "{language}.jsonl")], ["de", "fr"])
    assert [(s.language, s.files[0].name) for s in sources] == [("de", "de.jsonl"), ("fr", "fr.jsonl")]


def test_default_is_wikipedia_of_the_language():
    (source,) = resolve([], ["tr"])
    assert (source.kind, source.name, source.config) == ("hub", "wikimedia/wikipedia", "20231101.tr")


def test_hub_that_cannot_be_reached_is_one_line_with_a_way_out():
    (source,) = resolve(["nobody/nothing:x"], ["de"])
    with pytest.raises(
        UserError, match=r"nobody/nothing \(x\) cannot be read beyond row 0: .*--corpus de=FILE"
    ):
        next(read(source))


def test_hub_data_set_is_streamed(monkeypatch):
    import datasets

    asked = []
    rows = [{"id": i, "text": t, "url": ""} for i, t in ARTICLES]
    monkeypatch.setattr(datasets, "load_dataset", lambda *a, **k: asked.append((a, k)) or iter(rows))
    assert list(read(resolve([], ["tr"])[0])) == ARTICLES
    assert asked == [(("wikimedia/wikipedia", "20231101.tr"), {"split": "train", "streaming": True})]


def test_fingerprint_follows_the_contents_not_the_place(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first = resolve([f"de={write_jsonl(tmp_path / 'one' / 'a.jsonl')}"], [])[0].fingerprint()
    path = write_jsonl(tmp_path / "two" / "a.jsonl")
    assert resolve([f"de={path}"], [])[0].fingerprint() == first
    path.write_text(path.read_text() + "\n")
    assert resolve([f"de={path}"], [])[0].fingerprint() != first


@pytest.mark.parametrize(
    ("corpora", "languages", "message"),
    [
        ([], [], "which language"),
        ([], ["../x"], "language '../x': give its code, such as de, it or zh_hant"),
        (["de=missing.jsonl"], [], "missing.jsonl: no such file"),
        (["a/b", "c/d"], ["de"], "several corpora"),
        (["de=a.jsonl", "de=b.jsonl"], [], "a language has two corpora"),
        (["de=a.jsonl", "b.jsonl"], [], "b.jsonl is not used"),
        (["de=a.jsonl"], ["de", "fr"], "no corpus for fr"),
        (["."], ["de", "fr"], "cannot be the corpus of several languages"),
    ],
)
def test_mistakes_in_naming_a_corpus_are_one_line(corpora, languages, message):
    with pytest.raises(UserError, match=message):
        resolve(corpora, languages)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"id": 1, "text": "x"}\n{"id"', "a.jsonl, line 2: not valid JSON"),
        ("a.jsonl", b'{"id": 1, "body": "x"}\n', "line 1: needs an object with 'text'"),
        ("a.jsonl", b'{"id": 1, "text": 7}\n', "line 1: the text must be a string, is int"),
        ("a.parquet", b"PAR1", "not a readable Parquet file"),
        ("a.txt", b"\xff\xfe", "not UTF-8"),
        ("a.csv", b"x", "unknown kind of corpus"),
    ],
)
def test_broken_file_is_named_with_the_place(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        list(read(resolve([f"de={tmp_path / name}"], [])[0]))


def test_folder_with_two_kinds_of_files_is_refused(tmp_path):
    write_jsonl(tmp_path / "a.jsonl")
    write_parquet(tmp_path / "b.parquet")
    with pytest.raises(UserError, match="one kind"):
        resolve([f"de={tmp_path}"], [])


def test_other_column_names_can_be_given_and_a_missing_one_is_named(tmp_path):
    (source,) = resolve([f"de={write_parquet(tmp_path / 'a.parquet')}"], [])
    assert next(read(source, "id", "text")) == ("Eins. Zwei.", "1")
    with pytest.raises(UserError, match="no column 'body'; it has id, text"):
        next(read(source, "body"))


def test_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (source,) = resolve([f"de={path}"], [])
    assert list(read(source)) == ARTICLES
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_bytes(b"\xef\xbb\xbfEins.")
    (source,) = resolve([f"de={tmp_path / 'texts'}"], [])
    assert list(read(source)) == [("a.txt", "Eins.")]


def test_articles_without_an_id_are_known_by_their_place(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": null, "text": "Eins."}\n{"text": "Zwei."}\n')
    (source,) = resolve([f"de={tmp_path / 'a.jsonl'}"], [])
    assert list(read(source)) == [("1", "Eins."), ("2", "Zwei.")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": 1, "text": "a \\ud800 b"}', "line 3: a text holds half a character"),
        (b'{"id": "\\udc00", "text": "a"}', "line 3: a text holds half a character"),
        (b'{"id": ' + b"9" * 6000 + b', "text": "a"}', "line 3: holds a whole number with too many digits"),
        (b"[" * 100_000, "line 3: not valid JSON .nested too deeply"),
        ("{}".encode("utf-16"), "line 3: not UTF-8"),
    ],
)
def test_line_that_cannot_be_text_is_named(line, message, tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl")
    path.write_bytes(path.read_bytes() + line + b"\n")
    (source,) = resolve([f"de={path}"], [])
    with pytest.raises(UserError, match=message):
        list(read(source))


def test_pipes_and_devices_are_no_corpora(tmp_path):
    import os

    (tmp_path / "texts").mkdir()
    for path in (tmp_path / "a.jsonl", tmp_path / "texts" / "a.txt"):
        os.mkfifo(path)
    for name in (tmp_path / "a.jsonl", tmp_path / "texts", "/dev/zero"):
        with pytest.raises(UserError, match="is a pipe, socket or device"):
            resolve([f"de={name}"], [])


def test_parquet_file_damaged_in_the_middle_is_named(tmp_path):
    path = write_parquet(tmp_path / "a.parquet")
    content = path.read_bytes()
    path.write_bytes(content[:20] + bytes(byte ^ 0xFF for byte in content[20:90]) + content[90:])
    (source,) = resolve([f"de={path}"], [])
    with pytest.raises(UserError, match=r"a\.parquet: damaged after row 0"):
        list(read(source))
