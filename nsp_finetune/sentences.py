"""Articles to sentences (splitters.py), and a store of sentences that is read in place, not loaded.

A store is three files: all texts one after the other, the byte where each begins, the sentence with which each
article begins. `os.pread` fetches any sentence in microseconds without the file counting as memory.
"""

import os
import struct
from array import array
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from nsp_finetune.corpus import Article
from nsp_finetune.splitters import DEFAULT, Splitter, load

CHUNK_CHARACTERS = 400_000  # of text that a worker gets at once
_splitter: Splitter | None = None  # of a worker process


def split_article(splitter: Splitter, text: str) -> list[str]:
    """Sentences with single spaces. A line break ends a sentence: a heading has no dot but is not the next one's
    beginning."""
    return [
        " ".join(sentence.split())
        for line in text.splitlines()
        if line.strip()
        for sentence in splitter(line)
        if sentence.strip()
    ]


def split_articles(
    articles: Iterable[Article], language: str, workers: int, splitter: str = DEFAULT
) -> Generator[tuple[str, list[str]], None, None]:
    """(id, sentences) in the order of the articles, however many processes split them."""
    load(language, splitter)  # fails here, not in a worker
    chunks = _chunks(articles)
    if workers <= 1:
        _start_worker(language, splitter)
        for chunk in chunks:
            yield from _split_chunk(chunk)
        return
    # spawn: the libraries that read the corpus have threads, which do not survive a fork
    with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (language, splitter)) as pool:
        waiting: deque[Future] = deque()
        try:
            for chunk in chunks:
                waiting.append(pool.submit(_split_chunk, chunk))
                if len(waiting) > 2 * workers:  # a fast reader must not pile up the corpus in memory
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _start_worker(language: str, splitter: str) -> None:
    global _splitter
    _splitter = load(language, splitter)


def _split_chunk(chunk: Sequence[Article]) -> list[tuple[str, list[str]]]:
    assert _splitter is not None  # _start_worker has run in this process
    return [(article, split_article(_splitter, text)) for article, text in chunk]


def _chunks(articles: Iterable[Article]) -> Iterator[list[Article]]:
    chunk, size = [], 0
    for article in articles:
        chunk.append(article)
        size += len(article[1]) + 100
        if size >= CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


class StoreWriter:
    """Appends articles; nothing is kept but what waits for the disk."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True)
        names = ("texts", "offsets", "articles", "numbers")
        self.files = {name: open(folder / name, "wb") for name in names}  # noqa: SIM115  closed by close()
        self.bytes = self.sentences = self.count = 0
        self._append("offsets", [0])

    def add(self, number: int, sentences: Sequence[str]) -> None:
        """`number`: the article's place in its corpus."""
        encoded = [sentence.encode("utf-8") for sentence in sentences]
        ends = array("q")
        for sentence in encoded:
            self.bytes += len(sentence)
            ends.append(self.bytes)
        self.files["texts"].write(b"".join(encoded))
        self._append("offsets", ends)
        self._append("articles", [self.sentences])
        self._append("numbers", [number])
        self.sentences += len(sentences)
        self.count += 1

    def _append(self, name: str, values: Iterable[int]) -> None:
        self.files[name].write(array("q", values).tobytes())

    def close(self) -> None:
        for file in self.files.values():
            file.close()


class Store:
    """A finished store, for reading."""

    def __init__(self, folder: Path):
        self.texts = os.open(folder / "texts", os.O_RDONLY)
        self.offsets = os.open(folder / "offsets", os.O_RDONLY)
        self.articles = np.fromfile(folder / "articles", dtype=np.int64)  # first sentence of each
        self.numbers = np.fromfile(folder / "numbers", dtype=np.int64)
        self.sentences = os.fstat(self.offsets).st_size // 8 - 1

    def lengths(self) -> np.ndarray:
        """Sentences of each article."""
        return np.diff(self.articles, append=self.sentences)

    def numbers_of(self, sentences: np.ndarray) -> np.ndarray:
        """The article number of each sentence."""
        return self.numbers[np.searchsorted(self.articles, sentences, side="right") - 1]

    def read(self, sentence: int) -> str:
        begin, end = struct.unpack("=qq", os.pread(self.offsets, 16, 8 * sentence))
        return os.pread(self.texts, end - begin, begin).decode("utf-8")

    def close(self) -> None:
        os.close(self.texts)
        os.close(self.offsets)
