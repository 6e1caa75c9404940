"""The whole of StereoSet through a stand-in for Amazon Translate, killed again and again.

python performance/translation_kill.py [--kills 20] [--delay 0.01] [--concurrency 8] [--limit 1000]

Prints strings per second of an undisturbed run, what was asked twice, and whether the data sets agree.
"""

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = [str(ROOT), str(ROOT / "translation")]
sys.path[:0] = [*PACKAGES, str(ROOT / "tests" / "translation")]

CODE = "import sys; from lm_eval_stereoset.cli import main; sys.exit(main(sys.argv[1:]))"


def start(work: Path, url: str, key: str, args: argparse.Namespace) -> subprocess.Popen:
    environment = os.environ | {
        "AWS_ENDPOINT_URL_TRANSLATE": url, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_DEFAULT_REGION": "eu-central-1", "PYTHONPATH": os.pathsep.join(PACKAGES),
    }  # fmt: skip
    command = [
        sys.executable, "-c", CODE, "translate", "run", "--to", "it", "--backend", "aws",
        "--dir", str(work), "--concurrency", str(args.concurrency), "--limit", str(args.limit),
    ]  # fmt: skip
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stored(work: Path) -> set[str]:
    """The texts whose answers the memory holds."""
    if not (work / "memory.sqlite").exists():
        return set()
    connection = sqlite3.connect(work / "memory.sqlite")
    texts = {text for (text,) in connection.execute("SELECT text FROM answers")}
    connection.close()
    return texts


def main() -> None:
    from translation_stand_in import KEY, StandIn

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--delay", type=float, default=0.01, help="seconds that the stand-in takes per text")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--limit", type=int, default=3000, help="examples of each split (default: all)")
    args = parser.parse_args()
    server = StandIn()
    server.delay = args.delay
    chance = random.Random(11)
    with tempfile.TemporaryDirectory() as parent:
        quiet, killed = Path(parent) / "quiet", Path(parent) / "killed"
        begun = time.monotonic()
        assert start(quiet, server.url, KEY, args).wait() == 0
        seconds = time.monotonic() - begun
        strings = len(server.asked)
        server.asked.clear()
        stored_asked_again = 0
        for number in range(args.kills):
            before, mark = stored(killed), len(server.asked)
            process = start(killed, server.url, KEY, args)
            goal = len(server.answered) + chance.randint(1, strings // (args.kills + 4))
            while len(server.answered) < goal and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            print(f"kill {number + 1}: exit {process.wait()}, {len(server.asked)} asked so far", flush=True)
            time.sleep(0.05)  # what the killed process had sent has arrived
            stored_asked_again += len(before & set(server.asked[mark:]))
        before, mark = stored(killed), len(server.asked)
        assert start(killed, server.url, KEY, args).wait() == 0
        stored_asked_again += len(before & set(server.asked[mark:]))
        asked = Counter(server.asked)
        names = ("raw/intra/it.jsonl", "raw/inter/it.jsonl")
        result = {
            "unique_strings": strings,
            "undisturbed_seconds": round(seconds, 1),
            "strings_per_second": round(strings / seconds, 1),
            "kills": args.kills,
            "stored_but_asked_again": stored_asked_again,
            "asked_again": sum(asked.values()) - len(asked),
            "at_most_in_flight": args.kills * args.concurrency,
            "same_data_set": all((quiet / n).read_bytes() == (killed / n).read_bytes() for n in names),
            "terminologies_left": len(server.terminologies),
        }
    for name, value in result.items():
        print(f"{name:<24}{value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
