"""SIGKILL at random points: nothing stored is asked again, and the result is that of a quiet run."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from translation_stand_in import StandIn

KILLS = 20
CONCURRENCY = 4


def start(work: Path, english: Path, server: StandIn) -> subprocess.Popen:
    code = "import sys; from lm_eval_stereoset.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [
        sys.executable, "-c", code, "translate", "run", "--to", "it", "--backend", "aws",
        "--data", str(english), "--dir", str(work), "--concurrency", str(CONCURRENCY),
    ]  # fmt: skip
    env = os.environ | {"AWS_ENDPOINT_URL_TRANSLATE": server.url}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def stored(work: Path) -> set[str]:
    path = work / "memory.sqlite"
    if not path.exists():
        return set()
    with sqlite3.connect(path) as connection:
        has_table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'answers'").fetchone()
        rows = connection.execute("SELECT text FROM answers").fetchall() if has_table else []
    connection.close()
    return {text for (text,) in rows}


def files(work: Path) -> dict[str, bytes]:
    return {split: (work / "raw" / split / "it.jsonl").read_bytes() for split in ("intra", "inter")}


def test_twenty_kills_in_a_row_lose_nothing_and_pay_for_nothing_twice(amazon, english, tmp_path):
    quiet = start(tmp_path / "quiet", english, amazon)
    assert quiet.wait(60) == 0, quiet.stdout.read()
    expected = Counter(amazon.asked)
    assert set(expected.values()) == {1}
    amazon.asked.clear()

    chance = random.Random(7)
    amazon.delay = 0.002
    work = tmp_path / "killed"
    asked: Counter[str] = Counter()
    interrupted = 0
    for _ in range(KILLS):
        before = stored(work)
        due, countdown = threading.Event(), chance.randint(1, 6)
        answers = iter(range(1, 10**6))
        amazon.after_answer = lambda due=due, n=countdown, c=answers: due.set() if next(c) >= n else None
        process = start(work, english, amazon)
        assert due.wait(60)
        time.sleep(chance.random() * 0.01)  # anywhere between two requests, also while storing
        process.send_signal(signal.SIGKILL)
        interrupted += process.wait() == -signal.SIGKILL
        time.sleep(0.02)  # the server's threads notice
        asked.update(amazon.asked)
        assert not set(amazon.asked) & before  # an answer that was stored is never asked for again
        amazon.asked.clear()
    assert interrupted == KILLS

    before = stored(work)
    assert 0 < len(before) < len(expected)
    last = start(work, english, amazon)
    assert last.wait(60) == 0, last.stdout.read()
    assert not set(amazon.asked) & before
    asked.update(amazon.asked)

    assert set(asked) == set(expected)
    assert sum(asked.values()) - len(asked) <= KILLS * CONCURRENCY  # only what was in flight at a kill
    assert files(work) == files(tmp_path / "quiet")
    assert amazon.terminologies == {}  # what killed runs left behind is removed by the last
