"""The cache's file: JSON only, nothing in it is ever run, whatever is wrong with it is one line."""

import os
import pickle
import resource
import signal
import sqlite3
import stat
from multiprocessing import get_context

import numpy as np
import pytest

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.harness.cache import TABLE, AnswerStore


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache_rank0.db"


@pytest.mark.parametrize(
    "answer",
    [
        (-1.2345678901234567, True),
        (-3.0, 7),
        "a generated\u2028 text \U0001f600",
        "",
        -12.25,
        (0.1 + 0.2, False),
        0,
    ],
)
def test_answers_come_back_with_their_types_and_every_bit(path, answer):
    AnswerStore(path, "scope")["key"] = answer
    found = AnswerStore(path, "scope")["key"]
    assert found == answer
    assert type(found) is type(answer)
    if isinstance(answer, tuple):
        assert [type(part) for part in found] == [type(part) for part in answer]


def test_numpy_numbers_become_plain_ones(path):
    store = AnswerStore(path, "scope")
    store["key"] = (np.float32(-1.5), np.bool_(True))
    assert store["key"] == (-1.5, True)
    assert type(store["key"][1]) is bool


@pytest.mark.parametrize("answer", [float("nan"), (float("-inf"), False), object(), {1, 2}])
def test_what_json_cannot_hold_is_asked_again(path, answer):
    store = AnswerStore(path, "scope")
    store["key"] = answer
    assert "key" not in store


def test_scopes_do_not_see_each_other(path):
    one, two = AnswerStore(path, "one"), AnswerStore(path, "two")
    one["key"] = (-1.0, True)
    assert "key" not in two
    two["key"] = (-2.0, True)
    assert one["key"] == (-1.0, True)


class Hostile:
    """Unpickled, it makes a file."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


def test_a_pickle_in_the_harness_table_is_refused_and_not_run(path, tmp_path):
    with sqlite3.connect(path) as database:
        database.execute('CREATE TABLE "unnamed" (key TEXT PRIMARY KEY, value BLOB)')
        database.execute(
            'INSERT INTO "unnamed" VALUES (?, ?)', ("key", pickle.dumps(Hostile(tmp_path / "ran")))
        )
    with pytest.raises(UserError, match=r"not written by `stereoset run`.*delete the file"):
        AnswerStore(path, "scope")
    assert not (tmp_path / "ran").exists()


def test_stereoset_run_does_not_run_what_is_in_a_cache(checkpoints, command, tmp_path):
    from lm_eval.api.model import hash_args

    from lm_eval_stereoset.benchmarks.stereoset.data import load
    from lm_eval_stereoset.harness.docs import example_to_doc, requests_of_doc

    docs = [example_to_doc(STEREOSET, e, "en") for e in load("inter", "en", "sample").examples]
    keys = [hash_args("loglikelihood", request) for doc in docs for request in requests_of_doc(doc)]
    hostile = pickle.dumps(Hostile(tmp_path / "ran"))
    with sqlite3.connect(tmp_path / "cache_rank0.db") as database:
        database.execute('CREATE TABLE "unnamed" (key TEXT PRIMARY KEY, value BLOB)')
        database.executemany('INSERT INTO "unnamed" VALUES (?, ?)', [(key, hostile) for key in keys])
    said = command(
        "run", "--model", "hf", "--model_args", f"pretrained={checkpoints['causal']}", "--device", "cpu",
        "--tasks", "stereoset_inter_en", "--metadata", "data=sample", "--use_cache", tmp_path / "cache", expect=2,
    )  # fmt: skip
    assert said.splitlines()[-1].startswith("stereoset run: the cache")
    assert "Traceback" not in said
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("value", ["pickle", "[]", "{", '{"tuple": 3}', '{"value": null}', "[" * 100_000, 5])
def test_values_of_another_kind_in_our_table_are_refused_and_not_run(path, tmp_path, value):
    store = AnswerStore(path, "scope")
    value = pickle.dumps(Hostile(tmp_path / "ran")) if value == "pickle" else value
    store.connection.execute(f"INSERT INTO {TABLE} VALUES ('scope', 'key', ?)", (value,))
    with pytest.raises(UserError, match="did not write"):
        store.get("key")
    assert not (tmp_path / "ran").exists()


def test_a_file_that_is_no_database_is_one_line(path):
    path.write_bytes(b"hello " * 1000)
    with pytest.raises(UserError, match=r"is damaged: file is not a database; give --use_cache another name"):
        AnswerStore(path, "scope")
    assert path.read_bytes() == b"hello " * 1000


def test_a_truncated_file_is_one_line_and_never_a_wrong_answer(path):
    store = AnswerStore(path, "scope")
    store.update({f"key {i}": (float(i), True) for i in range(5000)})
    store.close()
    whole = path.read_bytes()
    for part in (0.1, 0.4, 0.7, 0.95):
        path.write_bytes(whole[: int(len(whole) * part)])
        with pytest.raises(UserError, match=r"damaged|cannot be used"):  # noqa: PT012
            damaged = AnswerStore(path, "scope")
            assert all(damaged[f"key {i}"] == (float(i), True) for i in range(5000))


def test_a_folder_a_pipe_and_a_place_without_rights_are_one_line(tmp_path):
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(UserError, match="is a folder"):
        AnswerStore(tmp_path / "folder.db", "scope")
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(UserError, match="pipe"):
        AnswerStore(tmp_path / "pipe.db", "scope")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be used"):
        AnswerStore(tmp_path / "file" / "cache.db", "scope")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_one_line(path):
    AnswerStore(path, "scope").close()
    path.chmod(stat.S_IRUSR)
    with pytest.raises(UserError, match="readonly"):
        AnswerStore(path, "scope")["key"] = 1.0


def test_a_full_disk_is_one_line_and_keeps_what_was_written(path):
    store = AnswerStore(path, "scope")
    store["before"] = (-1.0, True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
        with pytest.raises(UserError, match="answers written before are kept"):
            store.update({f"key {i}": "x" * 1000 for i in range(100)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert store["before"] == (-1.0, True)
    assert "key 1" not in store


def write_many(path, scope):
    store = AnswerStore(path, scope)
    for i in range(200):
        store[f"key {i}"] = (float(i), scope == "a")


def test_processes_that_write_at_once_do_not_disturb_each_other(path):
    context = get_context("spawn")
    writers = [context.Process(target=write_many, args=(path, scope)) for scope in ("a", "b", "a")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    for scope in ("a", "b"):
        store = AnswerStore(path, scope)
        assert all(store[f"key {i}"] == (float(i), scope == "a") for i in range(200))
