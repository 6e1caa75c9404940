import json
import subprocess
import sys

import pytest

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import adding, store
from lm_eval_stereoset.errors import UserError


@pytest.fixture
def own_data(tmp_path, example_line):
    for split in ("intra", "inter"):
        (tmp_path / "mine" / split).mkdir(parents=True)
        lines = "\n".join(json.dumps(example_line(i, split)) for i in range(8))
        (tmp_path / "mine" / split / "it.jsonl").write_text(lines)
    return tmp_path / "mine"


def test_the_sample_is_never_taken_silently(caplog):
    dataset = store.load(STEREOSET, "intra", "de", data="sample")
    assert dataset.provenance.data == "sample"
    assert "using the bundled sample, not StereoSet" in caplog.text


def test_a_folder_can_be_named_as_data(own_data):
    dataset = store.load(STEREOSET, "inter", "it", data=own_data)
    assert (dataset.provenance.data, len(dataset.examples)) == ("mine", 8)


def test_published_data_is_recognised_by_its_checksum_wherever_it_lies(fetched):
    assert store.load(STEREOSET, "intra", "de", data=fetched).provenance.version == "883f005"


def test_added_data_keep_source_version_and_checksum(own_data):
    added = adding.add(STEREOSET, own_data, "it", version="2026-11")
    assert [(d.split, d.provenance.version) for d in added] == [("intra", "2026-11"), ("inter", "2026-11")]
    assert store.load(STEREOSET, "intra", "it").provenance.source == "added from mine"


def test_data_changed_after_it_was_added_is_refused(own_data, own_data_folder, example_line):
    adding.add(STEREOSET, own_data, "it")
    with open(own_data_folder / "intra" / "it.jsonl", "a") as handle:
        handle.write(json.dumps(example_line(99)) + "\n")
    with pytest.raises(UserError, match="changed since it was put there"):
        store.load(STEREOSET, "intra", "it")


def test_adding_a_bad_file_changes_nothing(own_data, own_data_folder, capsys):
    adding.add(STEREOSET, own_data, "it")
    (own_data / "inter" / "it.jsonl").write_text('{"id": 1}')
    before = {path: path.read_bytes() for path in own_data_folder.rglob("*.jsonl")}
    assert main(["data", "add", str(own_data), "-l", "it"]) == 2
    assert "inter/it.jsonl, line 1" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in own_data_folder.rglob("*.jsonl")} == before


def test_adding_one_split_says_that_the_other_is_from_before(own_data, capsys):
    main(["data", "add", str(own_data), "-l", "it"])
    assert "added before" not in capsys.readouterr().out
    (own_data / "inter" / "it.jsonl").unlink()
    main(["data", "add", str(own_data), "-l", "it"])
    assert "inter/it: still the data added before; stereoset_it pools it" in capsys.readouterr().out


def test_a_data_folder_that_cannot_be_written_is_one_line(own_data, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STEREOSET_DATA", str(tmp_path / "file"))
    assert main(["data", "add", str(own_data), "-l", "it"]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_a_full_disk_leaves_the_old_data_with_the_note_of_its_origin(own_data, own_data_folder, tmp_path):
    before = adding.add(STEREOSET, own_data, "it", version="first")
    files = snapshot(own_data_folder)
    for split in ("intra", "inter"):  # more than the limit below lets a process write into one file
        path = own_data / split / "it.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines()
        more = [lines[0].replace(f'"{split}-0', f'"{split}-x{i}') for i in range(100)]
        path.write_text("\n".join(lines + (more if split == "inter" else [])), encoding="utf-8")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
        "from lm_eval_stereoset.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "data", "add", str(own_data), "-l", "it", "--version", "second"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert f"cannot write {own_data_folder / 'inter' / 'it.jsonl'}: File too large" in done.stderr
    assert snapshot(own_data_folder) == files
    assert [store.load(STEREOSET, d.split, "it").provenance for d in before] == [d.provenance for d in before]


def snapshot(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_both_splits_are_added_or_none(own_data, own_data_folder, capsys):
    (own_data_folder / "inter" / "it.jsonl").mkdir(parents=True)
    assert main(["data", "add", str(own_data), "-l", "it"]) == 2
    assert "something that is not a file is there; nothing was changed" in capsys.readouterr().err
    assert snapshot(own_data_folder) == {}


@pytest.mark.parametrize("blocked", ["inter", "intra"])
def test_a_folder_in_the_way_of_one_split_keeps_the_other_out(own_data, own_data_folder, capsys, blocked):
    own_data_folder.mkdir()
    (own_data_folder / blocked).write_text("")
    assert main(["data", "add", str(own_data), "-l", "it"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert [path.name for path in snapshot(own_data_folder)] == [blocked]


def test_data_whose_tasks_cannot_be_written_is_not_added(own_data, own_data_folder, capsys):
    own_data_folder.mkdir()
    (own_data_folder / "tasks").write_text("")
    assert main(["data", "add", str(own_data), "-l", "it"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert [path.name for path in snapshot(own_data_folder)] == ["tasks"]


def test_data_from_elsewhere_is_replaced_only_when_asked(own_data, own_data_folder, tmp_path, capsys):
    adding.add(STEREOSET, own_data, "it", version="1")
    other = tmp_path / "elsewhere" / "mine"  # the same name, another folder
    for split in ("intra", "inter"):
        (other / split).mkdir(parents=True)
        lines = (own_data / split / "it.jsonl").read_text().splitlines()
        (other / split / "it.jsonl").write_text("\n".join(lines[:5]))
    before = snapshot(own_data_folder)
    assert main(["data", "add", str(other), "-l", "it"]) == 2
    err = capsys.readouterr().err
    assert "intra/it is there already (added from mine, version 1)" in err
    assert "--replace" in err
    assert snapshot(own_data_folder) == before
    assert main(["data", "add", str(other), "-l", "it", "--replace"]) == 0
    assert len(store.load(STEREOSET, "intra", "it").examples) == 5


def test_a_newer_version_from_the_same_folder_needs_no_flag(own_data, capsys):
    assert main(["data", "add", str(own_data), "-l", "it"]) == 0
    path = own_data / "intra" / "it.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:3]))
    assert main(["data", "add", str(own_data), "-l", "it"]) == 0
    assert len(store.load(STEREOSET, "intra", "it").examples) == 3


def test_data_edited_in_the_data_folder_is_not_lost_by_adding(own_data, own_data_folder, capsys):
    adding.add(STEREOSET, own_data, "it")
    path = own_data_folder / "intra" / "it.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:3]))
    assert main(["data", "add", str(own_data), "-l", "it"]) == 2
    assert "changed by hand since it was put there" in capsys.readouterr().err
    (own_data / "intra" / "it.jsonl").write_bytes(path.read_bytes())  # taken in, as `data list` advises
    assert main(["data", "add", str(own_data), "-l", "it"]) == 0
    assert len(store.load(STEREOSET, "intra", "it").examples) == 3


@pytest.mark.parametrize("note", ["[]", "null", '{"sha256": 5}', "{", "[" * 5000])
def test_a_damaged_note_is_one_line(own_data, own_data_folder, capsys, note):
    adding.add(STEREOSET, own_data, "it")
    (own_data_folder / "intra" / "it.about.json").write_text(note)
    assert main(["data", "list"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("code", ["IT", "../it", "i", "it-it", ""])
def test_a_language_code_must_be_usable_in_task_names(own_data, code):
    with pytest.raises(UserError, match="give a code such as it"):
        adding.add(STEREOSET, own_data, code)


def test_a_built_in_language_is_not_replaced(own_data):
    with pytest.raises(UserError, match="is built in"):
        adding.add(STEREOSET, own_data, "de")


def test_list_shows_counts_version_and_checksum(real_data, capsys):
    assert main(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 10
    assert lines[4].split()[:7] == ["stereoset", "intra", "de", "2103", "79", "883f005", "c02d5740a5fe"]


def test_list_of_an_empty_folder_says_how_to_fill_it(capsys):
    assert main(["data", "list"]) == 0
    assert "stereoset data fetch" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("intra", "xx"), "no data for language 'xx'.*stereoset data add"), (("both", "de"), "no split 'both'"),
     (("intra", "it", "sample"), "the sample of StereoSet has no language 'it'"),
     (("intra", "de", "/nowhere"), "no file /nowhere")],
)  # fmt: skip
def test_what_is_not_there_is_named(arguments, message):
    with pytest.raises(UserError, match=message):
        store.load(STEREOSET, *arguments)


def test_a_damaged_file_does_not_hide_the_others(own_data_folder, capsys):
    for split in ("intra", "inter"):
        store.save(STEREOSET, split, "it", store.load(STEREOSET, split, "de", "sample").examples, "mine", "1")
    path = store.file_in(own_data_folder, "intra", "it")
    path.write_text(path.read_text().replace("stereotype", "stereotyp", 1))
    assert main(["data", "list"]) == 2
    out, err = capsys.readouterr()
    assert "inter     it" in out
    assert err.startswith(f"stereoset data: {path}: changed since it was put there")
    assert len(err.splitlines()) == 1
