"""Files that belong together: a kill at any moment leaves all of the old or, after `finish`, all of the new."""

import json
import os

import pytest

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import parse_example
from lm_eval_stereoset.data import store, together
from lm_eval_stereoset.errors import UserError

RENAMES = 9  # two files and two notes written, the journal written, then four of them put in place


def examples(make, split, number):
    return [parse_example(make(i, split), split, "") for i in range(number)]


def save(make, number):
    data = {split: examples(make, split, number) for split in ("intra", "inter")}
    return store.save_splits(STEREOSET, "it", data, dict.fromkeys(data, store.Origin("test", str(number))))


def killed_at(rename: int, command) -> None:
    """Runs a command in a child process that dies before its n-th rename, as after a kill -9."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    original, left = os.replace, [rename]

    def replace(*paths):
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)
        original(*paths)

    os.replace = replace
    try:
        command()
    finally:
        os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("rename", range(1, RENAMES + 2))
def test_a_kill_at_any_moment_leaves_both_splits_of_one_version(own_data_folder, example_line, rename):
    save(example_line, 3)
    killed_at(rename, lambda: save(example_line, 5))
    loaded = [store.load(STEREOSET, split, "it") for split in ("intra", "inter")]
    expected = 3 if rename <= 5 else 5
    assert [(len(d.examples), d.provenance.version) for d in loaded] == [(expected, str(expected))] * 2
    save(example_line, 4)  # and the next command finds nothing in its way
    assert [len(store.load(STEREOSET, split, "it").examples) for split in ("intra", "inter")] == [4, 4]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_language_whose_files_wait_to_be_put_in_place_is_listed(own_data_folder, example_line):
    killed_at(6, lambda: save(example_line, 2))
    assert not (own_data_folder / "intra" / "it.jsonl").exists()
    assert store.languages_in(STEREOSET, own_data_folder) == ["it"]


@pytest.mark.parametrize(
    "moves",
    [
        "{}",
        "[1]",
        '[["a"]]',
        '[["a", 1]]',
        '[["../a", "b"]]',
        '[["/etc/a", "b"]]',
        "[",
        '[["a\\u0000", "b"]]',
    ],
)
def test_a_damaged_journal_is_one_line_and_moves_nothing(tmp_path, moves):
    (tmp_path / "data").mkdir()
    (tmp_path / "a").write_text("mine")
    journal = tmp_path / "data" / "journal.json"
    journal.write_text(moves)
    with pytest.raises(UserError, match=r"journal\.json: not"):
        together.finish(journal)
    assert (tmp_path / "a").read_text() == "mine"


def test_two_processes_that_finish_the_same_journal_do_not_disturb_each_other(tmp_path):
    (tmp_path / "new").write_text("content")
    journal = tmp_path / "journal.json"
    moves = [["new", "place"], ["put in place by the other", "elsewhere"]]
    journal.write_text(json.dumps(moves))
    together.finish(journal)
    assert (tmp_path / "place").read_text() == "content"
    assert not journal.exists()
