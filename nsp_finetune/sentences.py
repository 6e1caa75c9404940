"""Articles to sentences (NLTK punkt), and a store of sentences that is read in place, not loaded.

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
from typing import Any

import numpy as np

from lm_eval_stereoset.errors import UserError, missing_package
from lm_eval_stereoset.languages import LANGUAGES
from nsp_finetune.corpus import Article

CHUNK_CHARACTERS = 400_000  # of text that a worker gets at once
_splitter: Any = None  # of a worker process


def load_splitter(language: str) -> Any:
    """NLTK's punkt for a language; its data is fetched if it is not there."""
    try:
        import nltk
        from nltk.tokenize.punkt import PunktTokenizer
    except ImportError as error:
        raise missing_package("nltk", "splitting texts into sentences", extra="nsp") from error
    name = LANGUAGES[language].punkt
    try:
        return PunktTokenizer(name)
    except LookupError:
        nltk.download("punkt_tab", quiet=True)
    try:
        return PunktTokenizer(name)
    except LookupError as error:
        raise UserError(
            f"NLTK's sentence splitter for {LANGUAGES[language].name} is not installed and could not be fetched; "
            "where there is a network run `python -m nltk.downloader punkt_tab`, copy the folder nltk_data here "
            "and set NLTK_DATA to it"
        ) from error


def split_article(splitter: Any, text: str) -> list[str]:
    """Sentences with single spaces. A line break ends a sentence: a heading has no dot but is not the next one's
    beginning."""
    return [
        " ".join(sentence.split())
        for line in text.splitlines()
        if line.strip()
        for sentence in splitter.tokenize(line)
        if sentence.strip()
    ]


def split_articles(
    articles: Iterable[Article], language: str, workers: int
) -> Generator[tuple[str, list[str]], None, None]:
    """(id, sentences) in the order of the articles, however many processes split them."""
    load_splitter(language)  # fails here, not in a worker
    chunks = _chunks(articles)
    if workers <= 1:
        _start_worker(language)
        for chunk in chunks:
            yield from _split_chunk(chunk)
        return
    # spawn: the libraries that read the corpus have threads, which do not survive a fork
    with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (language,)) as pool:
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


def _start_worker(language: str) -> None:
    global _splitter
    _splitter = load_splitter(language)


def _split_chunk(chunk: Sequence[Article]) -> list[tuple[str, list[str]]]:
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
