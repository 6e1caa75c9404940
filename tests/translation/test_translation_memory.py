"""The translation memory: kept at once, shared safely, and honest about a full disk."""

import sqlite3
import subprocess
import sys
import threading

import pytest
from stereoset_translation.backends import Backend, Refused
from stereoset_translation.memory import Memory
from stereoset_translation.run import translate

from lm_eval_stereoset.errors import UserError


class Echo(Backend):
    """Answers with a mark, and counts; can be told to fail."""

    identity = "echo"

    def __init__(self, batch_size=1, concurrency=1):
        self.batch_size, self.concurrency = batch_size, concurrency
        self.asked: list[str] = []
        self.fail_at: int | None = None
        self.lock = threading.Lock()

    def translate(self, texts):
        with self.lock:
            self.asked += texts
            if self.fail_at is not None and len(self.asked) > self.fail_at:
                raise UserError("no more")
        return [Refused("rude") if "rude" in text else f"<{text}>" for text in texts]


@pytest.fixture
def memory(tmp_path):
    memory = Memory(tmp_path / "m.sqlite", "echo", "en", "it")
    yield memory
    memory.close()


def test_answers_survive_reopening_and_are_kept_per_translator_and_language(tmp_path, memory):
    memory.put({"calm": "calmo", "": "", "line\nbreak \u2028": "riga"})
    again = Memory(tmp_path / "m.sqlite", "echo", "en", "it")
    assert again.get(["calm", "", "line\nbreak \u2028", "wild"]) == {
        "calm": "calmo", "": "", "line\nbreak \u2028": "riga",
    }  # fmt: skip
    assert Memory(tmp_path / "m.sqlite", "echo", "en", "fr").get(["calm"]) == {}
    assert Memory(tmp_path / "m.sqlite", "other", "en", "it").get(["calm"]) == {}


def test_first_answer_stays(memory):
    memory.put({"calm": "calmo"})
    memory.put({"calm": "sereno"})
    assert memory.get(["calm"]) == {"calm": "calmo"}


def test_identical_strings_are_sent_once(memory):
    backend = Echo(batch_size=3, concurrency=2)
    answers, outcome = translate(["a", "b", "a", "c", "b", "d"], backend, memory, quiet=True)
    assert sorted(backend.asked) == ["a", "b", "c", "d"]
    assert answers["d"] == "<d>"
    assert (outcome.asked, outcome.characters) == (4, 4)


def test_answers_before_a_failure_are_kept_and_not_asked_again(memory):
    backend = Echo()
    backend.fail_at = 3
    with pytest.raises(UserError, match="no more"):
        translate(list("abcdef"), backend, memory, quiet=True)
    assert memory.get(list("abcdef")) == {"a": "<a>", "b": "<b>", "c": "<c>"}
    backend.fail_at, backend.asked = None, []
    answers, _ = translate(list("abcdef"), backend, memory, quiet=True)
    assert backend.asked == ["d", "e", "f"]
    assert len(answers) == 6


def test_failure_stops_the_queue(memory):
    backend = Echo(concurrency=3)
    backend.fail_at = 2
    with pytest.raises(UserError):
        translate([f"text {i}" for i in range(500)], backend, memory, quiet=True)
    assert len(backend.asked) <= 8


def test_refused_text_is_reported_and_not_stored(memory):
    answers, outcome = translate(["a", "rude b"], Echo(batch_size=2), memory, quiet=True)
    assert answers == {"a": "<a>"}
    assert outcome.refused == {"rude b": "rude"}


def test_translator_that_gives_too_few_answers_is_found_out(memory):
    backend = Echo(batch_size=2)
    backend.translate = lambda texts: ["only one"]
    with pytest.raises(UserError, match="2 texts, but 1 answers"):
        translate(["a", "b"], backend, memory, quiet=True)
    assert memory.get(["a", "b"]) == {}


def test_full_disk_stops_the_run_and_leaves_a_sound_memory(tmp_path, memory):
    memory.put({"first": "primo"})
    pages = memory._connection.execute("PRAGMA page_count").fetchone()[0]
    memory._connection.execute(f"PRAGMA max_page_count = {pages + 1}")  # SQLite's own "disk is full"
    backend = Echo(concurrency=2)
    with pytest.raises(UserError, match="disk is full"):
        translate([f"{i} " + "x" * 2000 for i in range(200)], backend, memory, quiet=True)
    assert len(backend.asked) < 20  # it did not go on paying
    again = Memory(tmp_path / "m.sqlite", "echo", "en", "it")
    assert again.get(["first"]) == {"first": "primo"}
    assert again._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_second_process_on_the_same_language_is_told_to_wait(tmp_path, memory):
    code = (
        "import sys; from stereoset_translation.memory import Memory\n"
        "with Memory(sys.argv[1], 'echo', 'en', sys.argv[2]).only_run(): print('in')"
    )

    def other(language):
        command = [sys.executable, "-c", code, str(tmp_path / "m.sqlite"), language]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    with memory.only_run():
        refused = other("it")
        assert "another process is translating into 'it'" in refused.stderr
        assert other("fr").stdout == "in\n"  # another language is no conflict
    assert other("it").stdout == "in\n"


def test_two_processes_write_into_one_memory_without_loss(tmp_path, memory):
    code = (
        "import sys; from stereoset_translation.memory import Memory\n"
        "m = Memory(sys.argv[1], 'echo', 'en', sys.argv[2])\n"
        "for i in range(150): m.put({f'text {i}': sys.argv[2]})"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "m.sqlite"), language])
        for language in ("fr", "es")
    ]
    assert [process.wait(60) for process in running] == [0, 0]
    for language in ("fr", "es"):
        stored = Memory(tmp_path / "m.sqlite", "echo", "en", language)
        assert stored.get([f"text {i}" for i in range(150)]) == {f"text {i}": language for i in range(150)}


def test_file_that_is_no_database_is_one_line(tmp_path):
    path = tmp_path / "m.sqlite"
    path.write_text("not a database, but long enough to be taken for one " * 30, encoding="utf-8")
    with pytest.raises(UserError, match="file is not a database"):
        Memory(path, "echo", "en", "it")


def test_memory_is_in_wal_mode_with_full_synchronisation(tmp_path, memory):
    assert memory._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert memory._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert sqlite3.connect(tmp_path / "m.sqlite").execute("PRAGMA journal_mode").fetchone() == ("wal",)
