"""Pair building: sentences a second and peak memory, by size of the corpus.

python performance/nsp_pairs.py --corpus corpus/en.jsonl [--sizes 100000 1000000] [--json FILE]

Sentences of a real corpus (performance/nsp_corpus.py makes one), repeated with their number until there are enough,
in articles of their real lengths. Splitting is done before and not measured. Each size runs in a process of its
own; memory is the highest sum over the process and its workers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def fill_stores(corpus: Path, folder: Path, sentences: int) -> None:
    from nsp_finetune.prepare import SPLITS, split_of
    from nsp_finetune.sentences import StoreWriter, split_article
    from nsp_finetune.splitters import load

    splitter = load("en")
    with open(corpus, encoding="utf-8") as lines:
        articles = [split_article(splitter, json.loads(line)["text"]) for line in lines]
    articles = [article for article in articles if article]
    writers = {split: StoreWriter(folder / "en" / split) for split in SPLITS}
    number = done = 0
    while done < sentences:
        article = articles[number % len(articles)]
        writers[split_of(str(number), 27, 0.05)].add(number, [f"{number} {sentence}" for sentence in article])
        number, done = number + 1, done + len(article)
    for writer in writers.values():
        writer.close()


class Peak(threading.Thread):
    """Highest memory of this process and its children, sampled; shared pages are counted once (PSS)."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.running = 0, True

    def run(self) -> None:
        import psutil

        me = psutil.Process()
        while self.running:
            total = 0
            for process in (me, *me.children(recursive=True)):
                try:
                    total += process.memory_full_info().pss
                except psutil.Error:
                    continue
            self.peak = max(self.peak, total)
            time.sleep(0.05)


def measure(corpus: Path, sentences: int, workers: int) -> dict:
    from nsp_finetune.prepare import SPLITS, build_split

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fill_stores(corpus, folder / "stores", sentences)
        memory, begin, built = Peak(), time.perf_counter(), 0
        memory.start()
        for index, split in enumerate(SPLITS):
            info = build_split(
                [("en", folder / "stores" / "en" / split)], split, [27, index], folder, workers
            )
            built += sum(info["pairs"].values())
        seconds = time.perf_counter() - begin
        memory.running = False
        memory.join()
        size = sum(path.stat().st_size for path in folder.rglob("*.arrow"))
    return {
        "sentences": sentences,
        "pairs": built,
        "seconds": round(seconds, 2),
        "sentences_per_minute": round(60 * sentences / seconds),
        "peak_memory_mb": round(memory.peak / 2**20),
        "output_mb": round(size / 2**20),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="speed and memory of pair building")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)  # a size, in a process of its own
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.corpus, arguments.one, arguments.workers)))
        return
    rows = []
    print(
        f"{'sentences':>10} {'pairs':>10} {'seconds':>8} {'sentences/min':>14} {'peak MB':>8} {'output MB':>10}"
    )
    for size in arguments.sizes:
        command = [sys.executable, __file__, "--corpus", str(arguments.corpus), "--one", str(size)]
        command += ["--workers", str(arguments.workers)]
        out = subprocess.run(
            command, check=True, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
        )
        row = json.loads(out.stdout.splitlines()[-1])
        rows.append(row)
        print(
            f"{row['sentences']:>10} {row['pairs']:>10} {row['seconds']:>8} {row['sentences_per_minute']:>14} "
            f"{row['peak_memory_mb']:>8} {row['output_mb']:>10}"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


if __name__ == "__main__":
    main()
