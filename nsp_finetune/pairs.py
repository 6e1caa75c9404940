"""Sentence pairs as the paper makes them, shuffled, in memory that does not grow with the corpus.

1. plan: every pair is five numbers (a random key, a store, two sentences, a label), thrown into a bucket file
   by its key. Vectorised, no text is touched.
2. write: each bucket is sorted by key, which is a fair shuffle of all pairs, its texts are fetched, and it
   becomes one Arrow file. Buckets are independent, so processes share them.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lm_eval_stereoset.errors import UserError
from nsp_finetune.sentences import Store

if TYPE_CHECKING:
    from datasets import Features

BUCKET_PAIRS = 50_000  # pairs of a bucket: what a process holds at once
MAX_BUCKETS = 512  # files open at once
KEY_BITS = 62
PLAN_ARTICLES = 2048  # planned at once
PAIR = np.dtype([("key", "<i8"), ("first", "<i8"), ("second", "<i8"), ("store", "<i2"), ("label", "<i2")])


def kept_articles(stores: Sequence[Store], seed: Sequence[int]) -> list[np.ndarray]:
    """The same number of articles from each store, drawn at random, in ascending order."""
    count = min(len(store.articles) for store in stores)
    kept = []
    for index, store in enumerate(stores):
        generator = np.random.default_rng([*seed, 1, index])
        kept.append(np.sort(generator.permutation(len(store.articles))[:count]))
    return kept


def count_pairs(lengths: np.ndarray) -> int:
    """Each sentence but an article's last has a successor; each has one random partner."""
    return int((2 * lengths - 1).sum())


def plan_pairs(
    stores: Sequence[Store],
    kept: Sequence[np.ndarray],
    seed: Sequence[int],
    folder: Path,
    advance: Callable[[int], object],
) -> list[Path]:
    """Bucket files of all pairs of one split; `advance(sentences)` feeds a progress bar."""
    lengths = [store.lengths()[articles] for store, articles in zip(stores, kept, strict=True)]
    total = sum(map(count_pairs, lengths))
    buckets = min(MAX_BUCKETS, math.ceil(total / BUCKET_PAIRS))
    width = -(-(1 << KEY_BITS) // buckets)
    paths = [folder / f"{bucket:05d}" for bucket in range(buckets)]
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        files = [stack.enter_context(open(path, "wb")) for path in paths]
        for index, (store, articles) in enumerate(zip(stores, kept, strict=True)):
            if len(articles) < 2:
                raise UserError("a random sentence of another article needs at least two articles")
            begins = np.concatenate([[0], np.cumsum(lengths[index])])  # in the kept articles, end to end
            for chunk, at in enumerate(range(0, len(articles), PLAN_ARTICLES)):
                generator = np.random.default_rng([*seed, 2, index, chunk])
                here = slice(at, at + PLAN_ARTICLES)
                pairs = _plan_chunk(store.articles[articles], begins, here, generator)
                pairs["store"] = index
                bucket_of = pairs["key"] // width
                order = np.argsort(bucket_of, kind="stable")
                bounds = np.searchsorted(bucket_of[order], np.arange(buckets + 1))
                for bucket in range(buckets):
                    pairs[order[bounds[bucket] : bounds[bucket + 1]]].tofile(files[bucket])
                advance(int(lengths[index][here].sum()))
    return paths


def _plan_chunk(
    starts: np.ndarray, begins: np.ndarray, here: slice, generator: np.random.Generator
) -> np.ndarray:
    """Pairs of some articles. `starts`: first sentence of each kept article in the store; `begins`: the same,
    counted over kept articles only."""
    lengths = np.diff(begins)
    counts = lengths[here]
    article = np.repeat(np.arange(len(lengths))[here], counts)
    place = np.arange(len(article)) - np.repeat(np.cumsum(counts) - counts, counts)
    sentence = starts[article] + place
    follows = place + 1 < lengths[article]

    # A random sentence of the others: draw among all but one's own article, then step over one's own.
    drawn = generator.integers(0, begins[-1] - lengths[article])
    drawn += np.where(drawn >= begins[article], lengths[article], 0)
    other = np.searchsorted(begins, drawn, side="right") - 1
    partner = starts[other] + drawn - begins[other]

    pairs = np.empty(int(follows.sum()) + len(sentence), dtype=PAIR)
    pairs["first"] = np.concatenate([sentence[follows], sentence])
    pairs["second"] = np.concatenate([sentence[follows] + 1, partner])
    pairs["label"] = np.repeat([1, 0], [int(follows.sum()), len(sentence)])
    pairs["key"] = generator.integers(0, 1 << KEY_BITS, len(pairs))
    return pairs


def write_bucket(
    bucket: Path, output: Path, stores: Sequence[tuple[str, Path]]
) -> tuple[int, list[int], np.ndarray]:
    """One bucket as an Arrow file; (pairs, pairs of each label, histogram of their length in characters).

    `stores`: language and folder of each.
    """
    from datasets.arrow_writer import ArrowWriter

    pairs = np.fromfile(bucket, dtype=PAIR)
    pairs = pairs[np.argsort(pairs["key"], kind="stable")]
    opened = [Store(folder) for _, folder in stores]
    languages = [language for language, _ in stores]
    of = pairs["store"].tolist()
    columns = {
        name: [opened[store].read(sentence) for store, sentence in zip(of, pairs[name].tolist(), strict=True)]
        for name in ("first", "second")
    }
    columns["label"] = pairs["label"].tolist()
    columns["language"] = [languages[store] for store in of]
    for name in ("first", "second"):
        numbers = np.empty(len(pairs), dtype=np.int64)
        for index, store in enumerate(opened):
            mine = pairs["store"] == index
            numbers[mine] = store.numbers_of(pairs[name][mine])
        columns[f"{name}_article"] = numbers.tolist()
    for store in opened:
        store.close()
    with ArrowWriter(features=features(), path=str(output)) as writer:
        writer.write_batch(columns)
        writer.finalize()
    bucket.unlink()
    lengths = [len(a) + len(b) for a, b in zip(columns["first"], columns["second"], strict=True)]
    labels = np.bincount(pairs["label"], minlength=2).tolist()
    return len(pairs), labels, np.bincount(np.minimum(lengths, MAX_LENGTH), minlength=MAX_LENGTH + 1)


MAX_LENGTH = 4000  # characters; longer pairs count as this in the percentiles


def features() -> "Features":
    """Columns of the table of pairs."""
    from datasets import Features, Value

    return Features(
        {
            "first": Value("string"),
            "second": Value("string"),
            "label": Value("int8"),  # 1: the second follows the first
            "language": Value("string"),
            "first_article": Value("int64"),  # place of the article in the corpus of its language
            "second_article": Value("int64"),
        }
    )
