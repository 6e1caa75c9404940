import http.server
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lm_eval_stereoset.benchmarks.declaration import Fetch
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS, read_examples
from lm_eval_stereoset.benchmarks.stereoset.fetch import fetch_authors
from lm_eval_stereoset.benchmarks.stereoset.upstream import CANONICAL_SHA256, COMMIT, REPOSITORY, pickle_path
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import download, store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import sha256_of


@pytest.fixture
def mirror(clone, monkeypatch):
    """The authors' repository on loopback; `failures` of the next answers are errors, `stall` paths hang half-way."""
    state = {"failures": 0, "cut": 0, "stall": None, "asked": []}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state["asked"].append(self.path)
            if state["failures"] > 0:
                state["failures"] -= 1
                self.send_error(503)
                return
            file = clone / self.path.lstrip("/")
            if not file.is_file():
                self.send_error(404)
                return
            content = file.read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if state["cut"] > 0:
                state["cut"] -= 1
                self.wfile.write(content[: len(content) // 2])
                return
            if state["stall"] and state["stall"] in self.path:
                self.wfile.write(content[: len(content) // 2])
                state["stalled"].wait(20)
                return
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    state["stalled"] = threading.Event()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("STEREOSET_MIRROR", f"http://127.0.0.1:{server.server_port}")
    yield state
    state["stalled"].set()
    server.shutdown()
    thread.join()


def fetch(languages, splits, clone=None, **options) -> list[Path]:
    return fetch_authors(STEREOSET, Fetch(tuple(languages), tuple(splits), clone, **options))


def stereoset(*arguments, **options):
    command = [sys.executable, "-m", "lm_eval_stereoset", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def test_fetching_a_clone_gives_the_known_files(fetched):
    for (split, language), digest in CANONICAL_SHA256.items():
        assert sha256_of(fetched / split / f"{language}.jsonl") == digest


def test_annotators_labels_are_kept_beside_the_data(fetched):
    lines = (fetched / "annotations" / "intra" / "de.jsonl").read_text(encoding="utf-8").split("\n")
    first = json.loads(lines[0])
    example = read_examples(fetched / "intra" / "de.jsonl")[0]
    assert first["id"] == example.id
    assert set(first["labels"]) == {c.id for c in example.candidates}
    assert all({"label", "human_id"} <= set(vote) for votes in first["labels"].values() for vote in votes)


def test_download_retries_and_checks(mirror, own_data_folder, monkeypatch):
    monkeypatch.setattr(download, "BACKOFF", 0)
    mirror["failures"] = 2
    assert fetch(["fr"], ["inter"]) == [own_data_folder / "inter" / "fr.jsonl"]
    assert len(mirror["asked"]) == 3
    assert store.load(STEREOSET, "inter", "fr").provenance.version == "883f005"


def test_an_answer_cut_off_in_the_middle_is_asked_for_again(mirror):
    mirror["cut"] = 2
    fetch(["fr"], ["inter"])
    assert len(mirror["asked"]) == 3
    assert len(store.load(STEREOSET, "inter", "fr").examples) == 2123


def test_an_answer_that_is_always_cut_off_is_one_line(mirror, capsys):
    mirror["cut"] = 99
    assert main(["data", "fetch", "-l", "fr"]) == 2
    assert "cannot download" in capsys.readouterr().err.splitlines()[-1]


def test_what_is_there_is_not_downloaded_again_unless_forced(mirror):
    fetch(["tr"], ["intra"])
    fetch(["tr"], ["intra"])
    assert len(mirror["asked"]) == 1
    fetch(["tr"], ["intra"], force=True)
    assert len(mirror["asked"]) == 2


def test_a_task_fetches_its_missing_data_by_itself(mirror):
    assert len(store.load(STEREOSET, "intra", "es").examples) == 2106


def test_no_data_and_no_network_names_the_commands_that_help(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("STEREOSET_MIRROR", "http://127.0.0.1:9")  # nothing listens there
    monkeypatch.setattr(download, "BACKOFF", 0)
    with pytest.raises(UserError) as caught:
        store.load(STEREOSET, "intra", "de")
    assert "`stereoset data fetch`" in str(caught.value)
    assert "`stereoset data fetch --from CLONE`" in str(caught.value)


def damaged_clone(clone: Path, tmp_path: Path, split: str, language: str, content: bytes) -> Path:
    folder = tmp_path / "damaged"
    file = folder / pickle_path(split, language)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return folder


def test_a_wrong_checksum_is_refused_and_keeps_what_is_there(clone, tmp_path, own_data_folder, capsys):
    fetch(["de"], ["intra"], clone=clone)
    before = sha256_of(own_data_folder / "intra" / "de.jsonl")
    changed = (clone / pickle_path("intra", "de")).read_bytes().replace(b"Schachspieler", b"Schachspielar", 1)
    damaged = damaged_clone(clone, tmp_path, "intra", "de", changed)
    arguments = ["data", "fetch", "-l", "de", "--split", "intra", "--from", str(damaged), "--force"]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "SHA-256" in error
    assert sha256_of(own_data_folder / "intra" / "de.jsonl") == before


def test_insisting_takes_a_changed_file_and_marks_it(clone, tmp_path):
    changed = (clone / pickle_path("intra", "de")).read_bytes().replace(b"Schachspieler", b"Schachspielar", 1)
    damaged = damaged_clone(clone, tmp_path, "intra", "de", changed)
    fetch(["de"], ["intra"], clone=damaged, insist=True)
    assert store.load(STEREOSET, "intra", "de").provenance.version.startswith("changed, pickle sha256:")


def test_going_back_to_the_published_file_says_what_it_replaces(clone, tmp_path, caplog):
    changed = (clone / pickle_path("intra", "de")).read_bytes().replace(b"Schachspieler", b"Schachspielar", 1)
    fetch(["de"], ["intra"], damaged_clone(clone, tmp_path, "intra", "de", changed), insist=True)
    assert "replaced" not in caplog.text
    fetch(["de"], ["intra"], clone)
    assert "version changed, pickle sha256:" in caplog.text
    assert f"is replaced by {REPOSITORY}, version {COMMIT[:7]}" in caplog.text
    caplog.clear()
    fetch(["de"], ["intra"], clone, force=True)
    assert not caplog.text


def test_a_pickle_that_runs_code_is_refused_even_when_insisting(clone, tmp_path, capsys):
    evil = b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR."
    damaged = damaged_clone(clone, tmp_path, "intra", "de", evil)
    arguments = ["data", "fetch", "-l", "de", "--split", "intra", "--from", str(damaged), "--insist"]
    assert main(arguments) == 2
    assert "asks to run" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_unknown_language_and_missing_clone_are_one_line(tmp_path, capsys):
    assert main(["data", "fetch", "-l", "xx"]) == 2
    assert main(["data", "fetch", "--from", str(tmp_path / "no")]) == 2
    assert main(["data", "fetch", "--from", str(tmp_path)]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3
    assert "--language xx is not known; choose from en, de, fr, es, tr" in errors[0]
    assert "no such folder" in errors[1]
    assert "laid out like a clone" in errors[2]


def test_a_full_disk_is_one_line_and_leaves_the_old_file(clone, own_data_folder):
    fetch(["fr"], ["intra"], clone=clone)
    before = sha256_of(own_data_folder / "intra" / "fr.jsonl")

    def small_files_only():  # a write past the limit fails as one on a full disk does
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    result = stereoset("data", "fetch", "--from", clone, "--force", "-l", "fr", preexec_fn=small_files_only)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "cannot write" in result.stderr
    assert sha256_of(own_data_folder / "intra" / "fr.jsonl") == before
    assert not list(own_data_folder.rglob("*.tmp"))


def test_a_kill_in_the_middle_keeps_what_was_finished_and_the_next_run_goes_on(mirror, own_data_folder):
    mirror["stall"] = "df_intrasentence_de"
    command = [
        sys.executable,
        "-m",
        "lm_eval_stereoset",
        "data",
        "fetch",
        "-l",
        "en",
        "-l",
        "de",
        "--split",
        "intra",
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not any("intrasentence_de" in path for path in mirror["asked"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(read_examples(own_data_folder / "intra" / "en.jsonl")) == 2106
    assert not (own_data_folder / "intra" / "de.jsonl").exists()
    mirror["stall"] = None
    fetch(["en", "de"], ["intra"])
    assert sum("intrasentence_en" in path for path in mirror["asked"]) == 1
    assert len(read_examples(own_data_folder / "intra" / "de.jsonl")) == 2103


def test_splits_are_the_same_two_everywhere():
    assert {split for split, _ in CANONICAL_SHA256} == set(SPLITS)
