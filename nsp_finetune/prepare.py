"""A corpus into a folder of sentence pairs: train, validation and test, no article in two of them.

stereoset nsp prepare --corpus de=articles.jsonl --output pairs

DIR/train/*.arrow, DIR/validation/*.arrow, DIR/test/*.arrow   pairs, already shuffled (see `pairs.features`)
DIR/statistics.json, DIR/inputs.json                          what is in it, and what it was made from
"""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, write_json
from nsp_finetune.corpus import CorpusSource, read
from nsp_finetune.pairs import MAX_LENGTH, count_pairs, kept_articles, plan_pairs, write_bucket
from nsp_finetune.sentences import Store, StoreWriter, split_articles
from nsp_finetune.splitters import DEFAULT, describe, not_default

SPLITS = ("train", "validation", "test")
FORMAT = 1  # of the folder; a change makes older ones be built anew
PERCENTILES = (5, 25, 50, 75, 95, 99)


@dataclass(frozen=True)
class PrepareSettings:
    sources: tuple[CorpusSource, ...]
    output: Path
    seed: int = 27
    held_out: float = 0.05  # share of articles for validation, and again for test
    max_articles: int | None = None  # of each language
    text_column: str = "text"
    id_column: str = "id"
    workers: int = os.cpu_count() or 1
    splitters: Mapping[str, str] = field(default_factory=dict)  # of languages; the others have the default

    def inputs(self) -> dict[str, Any]:
        """All that the result depends on; the number of processes is not among it."""
        splitters = not_default(self.splitters)
        return {
            "format": FORMAT,
            "sources": [source.fingerprint() for source in self.sources],
            "seed": self.seed,
            "held_out": self.held_out,
            "max_articles": self.max_articles,
            "columns": [self.text_column, self.id_column],
        } | ({"splitters": splitters} if splitters else {})


def prepare(settings: PrepareSettings) -> tuple[dict[str, Any], bool]:
    """Statistics of the pairs, and whether they were there already."""
    if not 0 < settings.held_out < 0.5:
        raise UserError(f"--held-out is a share of articles between 0 and 0.5, not {settings.held_out}")
    output = settings.output
    check_output(output)
    inputs = settings.inputs()
    if (output / "inputs.json").is_file():
        if read_json(output / "inputs.json") == inputs:
            return read_statistics(output), True
        raise UserError(
            f"{output} holds pairs made from other inputs or settings; choose another --output or delete it"
        )
    if output.exists():
        raise UserError(f"{output} exists and holds no pairs; choose another --output")
    remove_leftovers(output)
    known = [size for source in settings.sources if (size := source.text_bytes()) is not None]
    # every sentence is stored once by itself and about four times in pairs
    check_disk(output, int(5.5 * sum(known)))
    building = output.parent / f".{output.name}.building-{os.getpid()}"
    try:
        building.mkdir(parents=True)
        statistics = build(settings, building)
        write_json(building / "statistics.json", statistics)
        write_json(building / "inputs.json", inputs)
        building.rename(output)
    except OSError as error:
        raise UserError(
            f"cannot write {output}: {error.strerror or error}; nothing was left behind"
        ) from error
    except BrokenProcessPool as error:
        raise UserError(
            f"a process of --workers {settings.workers} was killed, perhaps for lack of memory; try --workers 1; "
            "nothing was left behind"
        ) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return statistics, False


def build(settings: PrepareSettings, folder: Path) -> dict[str, Any]:
    stores_folder = folder / "stores"
    statistics: dict[str, Any] = {"languages": {}, "splits": {}}
    for source in settings.sources:
        statistics["languages"][source.language] = split_corpus(source, settings, stores_folder)
    size = sum(path.stat().st_size for path in stores_folder.rglob("texts"))
    check_disk(folder, 5 * size)
    for index, split in enumerate(SPLITS):
        stores = [(s.language, stores_folder / s.language / split) for s in settings.sources]
        statistics["splits"][split] = build_split(
            stores, split, [settings.seed, index], folder, settings.workers
        )
    shutil.rmtree(stores_folder)
    return statistics


def split_of(article: str, seed: int, held_out: float) -> str:
    """By a hash of the article's id: the same in every language, so that translations stay together."""
    digest = hashlib.blake2b(f"{seed}\n{article}".encode(), digest_size=8).digest()
    place = int.from_bytes(digest, "big") / 2**64
    return "test" if place < held_out else "validation" if place < 2 * held_out else "train"


def split_corpus(source: CorpusSource, settings: PrepareSettings, folder: Path) -> dict[str, Any]:
    """Sentences of one language into a store for each split; counts of what came and what was dropped."""
    from tqdm import tqdm

    writers = {split: StoreWriter(folder / source.language / split) for split in SPLITS}
    lengths = np.zeros(MAX_LENGTH + 1, dtype=np.int64)
    empty = kept = 0
    articles = read(source, settings.text_column, settings.id_column)
    splitter = settings.splitters.get(source.language, DEFAULT)
    split = split_articles(articles, source.language, settings.workers, splitter)
    with tqdm(desc=f"splitting {source.language}", unit=" articles") as bar:
        for number, (article, sentences) in enumerate(split):
            bar.update()
            if not sentences:
                empty += 1
                continue
            writers[split_of(article, settings.seed, settings.held_out)].add(number, sentences)
            lengths += np.bincount([min(len(s), MAX_LENGTH) for s in sentences], minlength=MAX_LENGTH + 1)
            kept += 1
            if kept == settings.max_articles:
                break
        split.close()
    for writer in writers.values():
        writer.close()
    _check_articles(
        source, {split: writer.count for split, writer in writers.items()}, empty, settings.held_out
    )
    return {
        "corpus": source.name if source.config is None else f"{source.name} ({source.config})",
        "splitter": describe(source.language, splitter),
        "articles": kept,
        "sentences": sum(writer.sentences for writer in writers.values()),
        "sentence_characters": length_percentiles(lengths),
        "dropped": {"empty articles": empty},
    }


def _check_articles(source: CorpusSource, counts: dict[str, int], empty: int, held_out: float) -> None:
    total = sum(counts.values())
    if total == 0:
        found = f"all {empty} articles are empty" if empty else "no articles"
        raise UserError(f"{source.name}: {found}")
    if total == 1:
        raise UserError(f"{source.name}: only one article with text; a random sentence of another needs more")
    for split, count in counts.items():
        if count < 2:
            raise UserError(
                f"{source.name}: {count} of its {total} articles fell to {split}, which needs at least two; "
                f"give more articles or another --held-out (now {held_out}) or --seed"
            )


def build_split(
    stores: list[tuple[str, Path]], split: str, seed: list[int], folder: Path, workers: int
) -> dict[str, Any]:
    """The Arrow files of one split, all languages mixed."""
    from tqdm import tqdm

    opened = [Store(path) for _, path in stores]
    kept = kept_articles(opened, seed)
    kept_lengths = [store.lengths()[articles] for store, articles in zip(opened, kept, strict=True)]
    statistics: dict[str, Any] = {
        "articles": {language: len(a) for (language, _), a in zip(stores, kept, strict=True)},
        "sentences": {language: int(n.sum()) for (language, _), n in zip(stores, kept_lengths, strict=True)},
        "pairs": {language: count_pairs(n) for (language, _), n in zip(stores, kept_lengths, strict=True)},
        "dropped": {
            f"articles of {language} beyond the number of the smallest language": len(store.articles) - len(a)
            for (language, _), store, a in zip(stores, opened, kept, strict=True)
            if len(store.articles) > len(a)
        },
    }
    plan = folder / "plan" / split
    with tqdm(total=sum(statistics["sentences"].values()), desc=f"pairing {split}", unit=" sentences") as bar:
        buckets = plan_pairs(opened, kept, seed, plan, bar.update)
    for store in opened:
        store.close()
    (folder / split).mkdir()
    tasks = [(bucket, folder / split / f"{bucket.name}.arrow", stores) for bucket in buckets]
    labels, lengths = np.zeros(2, dtype=np.int64), np.zeros(MAX_LENGTH + 1, dtype=np.int64)
    with tqdm(total=sum(statistics["pairs"].values()), desc=f"writing {split}", unit=" pairs") as bar:
        for count, of_label, of_length in _run(tasks, workers):
            labels += of_label
            lengths += of_length
            bar.update(count)
    shutil.rmtree(folder / "plan")
    return statistics | {
        "labels": {"random": int(labels[0]), "next": int(labels[1])},
        "pair_characters": length_percentiles(lengths),
    }


def _run(tasks: list[tuple], workers: int) -> Iterator[Any]:
    if workers <= 1 or len(tasks) == 1:
        yield from (write_bucket(*task) for task in tasks)
        return
    with ProcessPoolExecutor(min(workers, len(tasks)), get_context("spawn")) as pool:
        for future in as_completed([pool.submit(write_bucket, *task) for task in tasks]):
            yield future.result()


def length_percentiles(histogram: np.ndarray) -> dict[str, int]:
    """From counts by length, so that no list of lengths is ever held."""
    cumulative = np.cumsum(histogram)
    if not cumulative[-1]:
        return {}
    wanted = [np.searchsorted(cumulative, cumulative[-1] * p / 100) for p in PERCENTILES]
    return {f"p{p}": int(value) for p, value in zip(PERCENTILES, wanted, strict=True)}


def check_disk(path: Path, needed: int) -> None:
    """Refuses before the work, not after hours of it."""
    while not path.exists():
        path = path.parent
    free = shutil.disk_usage(path).free
    if free < needed:
        raise UserError(
            f"too little disk for {path}: about {needed / 1e6:,.1f} MB needed, {free / 1e6:,.1f} MB free; "
            "make room or choose another --output"
        )


def check_output(output: Path) -> None:
    """That a folder can be made there, without making it."""
    try:
        output.exists()  # raises for a name that is too long
        parent = next(path for path in output.absolute().parents if path.exists())
    except OSError as error:
        raise UserError(f"--output {str(output)[:200]}: not a valid path ({error.strerror})") from error
    if not parent.is_dir():
        raise UserError(f"--output {output}: {parent} is not a folder")


def remove_leftovers(output: Path) -> None:
    """Folders of runs that were killed; those of living processes stay."""
    for folder in output.parent.glob(f".{output.name}.building-*"):
        try:
            os.kill(int(folder.name.rsplit("-", 1)[1]), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)
        except (ValueError, PermissionError):
            continue


def pair_files(folder: Path, split: str) -> list[Path]:
    """The Arrow files of one split of a finished folder."""
    if not (folder / "inputs.json").is_file():
        raise UserError(f"{folder}: holds no pairs; `stereoset nsp prepare` makes them")
    if split not in SPLITS:
        raise UserError(f"no split {split!r}; there are {', '.join(SPLITS)}")
    files = sorted((folder / split).glob("*.arrow"))
    if not files:
        raise UserError(f"{folder / split}: no Arrow files; make the pairs anew")
    return files


def read_statistics(folder: Path) -> dict[str, Any]:
    """statistics.json, with what a model card takes from it."""
    path = folder / "statistics.json"
    statistics = read_json(path)
    languages = statistics.get("languages") if isinstance(statistics, dict) else None
    if not isinstance(languages, dict) or not languages or not all(map(_is_summary, languages.values())):
        raise UserError(f"{path}: not what prepare writes there; make the pairs anew")
    return statistics


def _is_summary(info: Any) -> bool:
    return (
        isinstance(info, dict)
        and isinstance(info.get("corpus"), str)
        and all(isinstance(info.get(name), int) for name in ("articles", "sentences"))
    )
