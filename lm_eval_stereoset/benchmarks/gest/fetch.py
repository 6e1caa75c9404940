"""Fetching GEST, both versions of its texts, from its authors' repository, a clone of it, or the hub."""

from collections.abc import Sequence
from pathlib import Path

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.benchmarks.gest import upstream
from lm_eval_stereoset.benchmarks.gest.files import fetched
from lm_eval_stereoset.benchmarks.gest.sentence import SPLITS, Sentence, parse_sentence
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import sha256_of

VERSIONS = tuple(upstream.GEST_FILES)
LANGUAGE = "en"


def file_of(benchmark: Benchmark, version: str) -> Path:
    return store.file_of_version(benchmark, SPLITS[0], LANGUAGE, version)


def fetch_authors(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """Both versions; what is there and right already is kept."""
    if wanted.revision:
        raise UserError("--revision is for --source hub; the authors' files are those of one pinned commit")
    paths = {version: file_of(benchmark, version) for version in VERSIONS}
    right = [
        v for v, path in paths.items() if path.is_file() and sha256_of(path) == upstream.GEST_CANONICAL[v]
    ]
    for version, relative in upstream.GEST_FILES.items():
        if version in right and not wanted.force:
            continue
        addresses = {relative: f"{upstream.GEST_RAW}/{relative}"}
        files = fetched(addresses, wanted, upstream.GEST_REPOSITORY)
        sentences = sentences_of(files.rows(relative), files.where(relative))
        _save(
            benchmark, version, sentences, upstream.GEST_REPOSITORY, files.version(upstream.GEST_COMMIT[:7])
        )
    return list(paths.values())


def fetch_hub(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """Both versions from the hub, where each is a split; both are read before either is written."""
    if wanted.clone:
        raise UserError("--from is for --source authors; leave one of them out")
    import datasets

    found = {}
    for version in VERSIONS:
        split = f"gest{version}"
        try:
            table = datasets.load_dataset(upstream.GEST_HUB, split=split, revision=wanted.revision)
        except Exception as error:  # offline, unknown revision, no such split: many types, one answer
            raise UserError(
                f"cannot load {upstream.GEST_HUB} ({split}) from the hub ({type(error).__name__}: {error}); without "
                "--source hub the authors' repository is used, with --from DIR a local clone of it"
            ) from error
        rows = [[str(row["sentence"]), str(row["stereotype"])] for row in table]
        found[version] = sentences_of([["sentence", "stereotype"], *rows], f"{upstream.GEST_HUB} {split}")
    for version, sentences in found.items():
        _save(benchmark, version, sentences, upstream.GEST_HUB, f"hub {wanted.revision or 'main'}")
    return [file_of(benchmark, version) for version in VERSIONS]


def _save(
    benchmark: Benchmark, version: str, sentences: Sequence[Sentence], source: str, origin: str
) -> None:
    named = f"{version} ({origin})"
    store.say_what_is_replaced(benchmark, file_of(benchmark, version), source, named)
    store.save_splits(
        benchmark,
        LANGUAGE,
        {SPLITS[0]: sentences},
        {SPLITS[0]: store.Origin(source, named)},
        of_version=version,
    )


def sentences_of(rows: Sequence[Sequence[str]], where: str) -> list[Sentence]:
    """The table's rows in their order, which is that of the published predictions."""
    if not rows or list(rows[0]) != ["sentence", "stereotype"]:
        raise UserError(f"{where}: the first line must name the columns sentence, stereotype")
    sentences = []
    for number, row in enumerate(rows[1:]):
        here = f"{where}, row {number}"
        if len(row) != 2:
            raise UserError(f"{here}: needs a sentence and a stereotype, has {len(row)} cells")
        kind = int(row[1]) if row[1].isascii() and row[1].isdigit() else row[1]
        fields = {"id": str(number), "stereotype": kind, "sentence": row[0]}
        sentences.append(parse_sentence(fields, SPLITS[0], here))
    return sentences
