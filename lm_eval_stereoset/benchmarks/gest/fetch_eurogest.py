"""Fetching EuroGEST, and the scaffolds of its languages, from its authors' repository, a clone of it, or the hub."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.benchmarks.gest import scaffolds, upstream
from lm_eval_stereoset.benchmarks.gest.files import Fetched, fetched
from lm_eval_stereoset.benchmarks.gest.pair import FILE, Pair, parse_pair
from lm_eval_stereoset.benchmarks.gest.scaffolds import Scaffold
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import sha256_of, write_json

SCAFFOLDS_FILE = "scaffolds.json"
MASCULINE, FEMININE = "the man said", "the woman said"  # the second header row of the gendered texts


def fetch_authors(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """What is there and right already is kept."""
    if wanted.revision:
        raise UserError("--revision is for --source hub; the authors' files are those of pinned commits")
    paths = {code: store.file_of(benchmark, FILE, code) for code in wanted.languages}
    waiting = [code for code, path in paths.items() if wanted.force or not _is_right(path, code)]
    if not waiting and scaffolds_file(benchmark).is_file():
        return list(paths.values())
    where = dict.fromkeys((upstream.SENSITIVE, upstream.INSENSITIVE), upstream.EUROGEST_COMMIT)
    where |= dict.fromkeys(upstream.SCAFFOLD_FILES, upstream.SCAFFOLDS_COMMIT)
    addresses = {path: f"{upstream.EUROGEST_RAW}/{commit}/{path}" for path, commit in where.items()}
    files = fetched(addresses, wanted, upstream.EUROGEST_REPOSITORY)
    texts = Texts(files)
    version = files.version(upstream.EUROGEST_COMMIT)
    _save_all(benchmark, waiting, files, texts.rows, upstream.EUROGEST_REPOSITORY, version, wanted.insist)
    return list(paths.values())


def fetch_hub(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    """The texts from the hub, one split per language; the scaffolds, which are not there, from the authors."""
    import datasets

    addresses = {
        path: f"{upstream.EUROGEST_RAW}/{upstream.SCAFFOLDS_COMMIT}/{path}"
        for path in upstream.SCAFFOLD_FILES
    }
    files = fetched(addresses, wanted, upstream.EUROGEST_REPOSITORY)

    def rows(name: str) -> list[dict[str, Any]]:
        try:
            table = datasets.load_dataset(upstream.EUROGEST_HUB, split=name, revision=wanted.revision)
        except Exception as error:  # offline, unknown revision, no such split: many types, one answer
            raise UserError(
                f"cannot load {upstream.EUROGEST_HUB} ({name}) from the hub ({type(error).__name__}: {error}); without "
                "--source hub the authors' repository is used, with --from DIR a local clone of it"
            ) from error
        return [
            {
                "id": str(row["GEST_ID"]),
                "stereotype": number(row["Stereotype_ID"]),
                "english": text(row["Source"]),
                "masculine": text(row["Masculine"]),
                "feminine": text(row["Feminine"]),
                "neutral": text(row["Neutral"]),
            }
            for row in table
        ]

    version = f"hub {wanted.revision or 'main'}"
    _save_all(benchmark, wanted.languages, files, rows, upstream.EUROGEST_HUB, version, insist=True)
    return [store.file_of(benchmark, FILE, code) for code in wanted.languages]


def text(cell: Any) -> str:
    """Empty for what is missing, which tables of numbers hold as NaN."""
    return cell if isinstance(cell, str) else ""


def number(cell: Any) -> Any:
    """9 of 9, 9.0 and "9.0"; what is no whole number stays as it is, and is refused where it is parsed."""
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return cell
    return int(value) if value.is_integer() else cell


class Texts:
    """The authors' two tables: gendered texts, two columns per language, and neutral ones, one column each."""

    def __init__(self, files: Fetched) -> None:
        self.sensitive, self.insensitive = files.rows(upstream.SENSITIVE), files.rows(upstream.INSENSITIVE)
        self.where = files.where(upstream.SENSITIVE), files.where(upstream.INSENSITIVE)
        if len(self.sensitive) < 3 or len(self.insensitive) < 2:
            raise UserError(f"{self.where[0]} or {self.where[1]}: no rows of data")
        if len(self.sensitive) - 2 != len(self.insensitive) - 1:
            raise UserError(f"{self.where[0]} and {self.where[1]} do not have the same number of rows")

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Every row, with the texts of the language; a text that is not there is empty."""
        languages, phrases = self.sensitive[0], self.sensitive[1]
        gendered = {
            phrase: self._column([*zip(languages, phrases, strict=True)], (name, phrase), 0)
            for phrase in (MASCULINE, FEMININE)
            if name in languages
        }
        neutral = self._column(self.insensitive[0], name, 1)
        english = self._column(self.insensitive[0], "GEST_sentence", 1)
        stereotype = self._column(self.insensitive[0], "stereotype_number", 1)
        found = []
        for pair, row in zip(self.sensitive[2:], self.insensitive[1:], strict=True):
            if not row[english].strip():
                continue  # the last line of both files is empty
            texts = {phrase: pair[column] for phrase, column in gendered.items()}
            found.append(
                {
                    "id": row[0],
                    "stereotype": number(row[stereotype]),
                    "english": row[english],
                    "masculine": texts.get(MASCULINE, ""),
                    "feminine": texts.get(FEMININE, ""),
                    "neutral": row[neutral],
                }
            )
        return found

    def _column(self, header: Sequence[Any], name: Any, file: int) -> int:
        if name not in header:
            raise UserError(
                f"{self.where[file]}: no column {' / '.join(name) if isinstance(name, tuple) else name}"
            )
        return list(header).index(name)


def pairs_of(rows: Iterable[Mapping[str, Any]], scaffold: Scaffold, where: str) -> list[Pair]:
    """Gendered where both texts are there, else neutral in a scaffold if that text is there, else absent."""
    pairs = []
    for row in rows:
        fields = {key: row[key] for key in ("id", "stereotype", "english")}
        if row["masculine"].strip() and row["feminine"].strip():
            fields |= {"condition": "G", "masculine": row["masculine"], "feminine": row["feminine"]}
        elif row["neutral"].strip():
            fields |= _wrapped(row["neutral"], scaffold, scaffold.condition)
            if scaffold.condition != scaffold.published:
                fields["published"] = _wrapped(row["neutral"], scaffold, scaffold.published)
        else:
            continue
        pairs.append(parse_pair(fields, FILE, f"{where}, row {row['id']}"))
    return pairs


def _wrapped(neutral: str, scaffold: Scaffold, condition: str) -> dict[str, str]:
    masculine, feminine = scaffold.pair(neutral, condition)
    return {"condition": condition, "masculine": masculine, "feminine": feminine}


def counts_of(pairs: Iterable[Pair]) -> tuple[int, int]:
    """Gendered and neutral ones."""
    found = Counter(pair.condition == "G" for pair in pairs)
    return found[True], found[False]


def scaffolds_file(benchmark: Benchmark) -> Path:
    return store.folder_of(benchmark) / SCAFFOLDS_FILE


def _is_right(path: Path, code: str) -> bool:
    return path.is_file() and sha256_of(path) == upstream.EUROGEST_CANONICAL[code]


def _save_all(
    benchmark: Benchmark,
    codes: Sequence[str],
    files: Fetched,
    rows: Callable[[str], list[dict[str, Any]]],
    source: str,
    version: str,
    insist: bool,
) -> None:
    """Scaffolds first; every language is checked before it is written."""
    configs = {Path(path).stem: files.json(path) for path in upstream.SCAFFOLD_FILES}
    place = files.where(upstream.CONFIGS)
    chosen = {
        code: scaffolds.read(configs, upstream.PUBLISHED[code].name, place) for code in benchmark.languages
    }
    write_json(scaffolds_file(benchmark), scaffolds.to_json(chosen))
    for code in codes:
        published = upstream.PUBLISHED[code]
        pairs = pairs_of(rows(published.name), chosen[code], f"{source} {published.name}")
        found = counts_of(pairs)
        if found != (published.gendered, published.neutral) and not insist:
            raise UserError(
                f"{published.name}: {found[0]} gendered and {found[1]} neutral sentences, published are "
                f"{published.gendered} and {published.neutral}"
            )
        path = store.file_of(benchmark, FILE, code)
        store.say_what_is_replaced(benchmark, path, source, version)
        store.save(benchmark, FILE, code, pairs, source, version)
