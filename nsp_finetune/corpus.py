"""Articles from wherever they are: a hub data set, Parquet, JSON Lines, or a folder of text files."""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import parse_json, read_text, refuse_special, sha256_of

WIKIPEDIA, WIKIPEDIA_CONFIG = "wikimedia/wikipedia", "20231101.{language}"
_CODE = re.compile(r"[a-z]{2,3}([_-][A-Za-z]{2,8})?", re.ASCII)  # de, gsw, pt-br, zh_hant
SUFFIXES = {".parquet": "parquet", ".jsonl": "jsonl", ".txt": "text"}
# Bytes of plain text in a byte of file: Parquet is compressed.
EXPANSION = {"parquet": 2.5, "jsonl": 1.0, "text": 1.0}

Article = tuple[str, str]  # id, text


@dataclass(frozen=True)
class CorpusSource:
    language: str
    name: str  # as the user gave it
    kind: str  # parquet, jsonl, text or hub
    files: tuple[Path, ...] = ()  # of the local kinds, sorted
    config: str | None = None  # of a hub data set

    def fingerprint(self) -> dict[str, Any]:
        """What makes two runs read the same thing: contents of local files, name and config on the hub."""
        if self.kind == "hub":
            return {"language": self.language, "hub": self.name, "config": self.config}
        root = Path(self.name) if Path(self.name).is_dir() else Path(self.name).parent
        files = [[str(path.relative_to(root)), sha256_of(path)] for path in self.files]
        return {"language": self.language, "kind": self.kind, "files": files}

    def text_bytes(self) -> int | None:
        """About how much text there is; None if only reading tells."""
        if self.kind == "hub":
            return None
        return int(sum(path.stat().st_size for path in self.files) * EXPANSION[self.kind])


def resolve(corpora: Sequence[str], languages: Sequence[str]) -> list[CorpusSource]:
    """`corpora`: LANGUAGE=SOURCE for each language, or one source for all ("{language}" stands for the code)."""
    pairs = [corpus.split("=", 1) for corpus in corpora if _is_named(corpus)]
    named = dict(pairs)
    if len(named) < len(pairs):
        raise UserError("a language has two corpora; put its files into one folder: --corpus LANGUAGE=FOLDER")
    common = [corpus for corpus in corpora if not _is_named(corpus)]
    languages = list(dict.fromkeys([*languages, *named]))
    if not languages:
        raise UserError("which language? give --languages de or --corpus de=FILE")
    for language in languages:
        if not _CODE.fullmatch(language):
            raise UserError(f"language {language[:40]!r}: give its code, such as de, it or zh_hant")
    if len(common) > 1:
        raise UserError(
            f"several corpora for the same languages ({', '.join(common)}); write LANGUAGE=SOURCE"
        )
    without = [language for language in languages if language not in named]
    if common and not without:
        raise UserError(f"{common[0]} is not used: every language has a corpus of its own; leave it out")
    if named and without and not common:
        raise UserError(
            f"no corpus for {', '.join(without)}; add --corpus {without[0]}=SOURCE, or --corpus {WIKIPEDIA}"
        )
    default = common[0] if common else WIKIPEDIA
    if len(languages) > 1 and Path(default).exists() and not set(languages) <= set(named):
        raise UserError(
            f"{default} cannot be the corpus of several languages; write LANGUAGE=SOURCE for each"
        )
    return [_source(language, named.get(language, default)) for language in languages]


def _is_named(corpus: str) -> bool:
    head, equals, _ = corpus.partition("=")
    return bool(equals) and _CODE.fullmatch(head) is not None


def _source(language: str, name: str) -> CorpusSource:
    name = name.replace("{language}", language)
    path = Path(name).expanduser()
    try:
        refuse_special(path)
    except OSError as error:
        raise UserError(f"{name[:200]}: not a valid path ({error.strerror})") from error
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise UserError(
                f"{path}: unknown kind of corpus; known are {', '.join(SUFFIXES)} files and folders of them"
            )
        return CorpusSource(language, str(path), SUFFIXES[path.suffix], (path,))
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and not p.is_dir())
        for file in files:
            refuse_special(file)
        kinds = {SUFFIXES[p.suffix] for p in files}
        if len(kinds) != 1:
            found = "mixed kinds of files" if kinds else f"no {', '.join(SUFFIXES)} file"
            raise UserError(f"{path}: {found}; a corpus folder holds one kind")
        return CorpusSource(language, str(path), kinds.pop(), tuple(files))
    if name.startswith(("/", ".", "~")) or path.suffix in SUFFIXES or name.count("/") != 1:
        raise UserError(f"{name}: no such file or folder (and no name of a hub data set, OWNER/NAME)")
    owner_name, _, config = name.partition(":")
    return CorpusSource(
        language, owner_name, "hub", config=config or WIKIPEDIA_CONFIG.format(language=language)
    )


def read(source: CorpusSource, text_column: str = "text", id_column: str = "id") -> Iterator[Article]:
    """Articles one after the other; never more than a block of them in memory."""
    columns = (text_column, id_column)
    if source.kind == "hub":
        yield from _read_hub(source, *columns)
    for path in source.files:
        if source.kind == "parquet":
            yield from _read_parquet(path, *columns)
        elif source.kind == "jsonl":
            yield from _read_jsonl(path, *columns)
        else:
            yield (
                str(path.relative_to(source.name) if path != Path(source.name) else path.name),
                _read_text(path),
            )


def _read_hub(source: CorpusSource, text_column: str, id_column: str) -> Iterator[Article]:
    from datasets import load_dataset

    number = 0
    try:
        for row in load_dataset(source.name, source.config, split="train", streaming=True):
            if text_column not in row:
                raise UserError(f"{source.name}: no column {text_column!r}; it has {', '.join(row)}")
            where = f"{source.name}, row {number}"
            yield _id(row.get(id_column), number), _text(row[text_column], where)
            number += 1
    except (UserError, GeneratorExit):
        raise
    except Exception as error:  # no network, no such data set, gated: whatever the hub's client raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"the hub data set {source.name} ({source.config}) cannot be read beyond row {number}: {reason}; "
            f"give local files instead: --corpus {source.language}=FILE"
        ) from error


def _read_parquet(path: Path, text_column: str, id_column: str) -> Iterator[Article]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path, memory_map=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: not a readable Parquet file ({error}); is it cut off?") from error
    with table:
        names = table.schema_arrow.names
        if text_column not in names:
            raise UserError(f"{path}: no column {text_column!r}; it has {', '.join(names)}")
        wanted = [text_column] + [id_column] * (id_column in names)
        number = 0
        batches = table.iter_batches(batch_size=256, columns=wanted)
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise UserError(f"{path}: damaged after row {number} ({error})") from error
            if batch is None:
                return
            for row in batch.to_pylist():
                yield _id(row.get(id_column), number), _text(row[text_column], f"{path}, row {number}")
                number += 1


def _read_jsonl(path: Path, text_column: str, id_column: str) -> Iterator[Article]:
    try:
        with open(path, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if not line.strip():
                    continue
                where = f"{path}, line {number}"
                row = parse_json(line, where)
                if not isinstance(row, dict) or text_column not in row:
                    raise UserError(f"{where}: needs an object with {text_column!r} (and {id_column!r})")
                yield _id(row.get(id_column), number), _text(row[text_column], where)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error


def _read_text(path: Path) -> str:
    return read_text(path).removeprefix("\ufeff")


def _id(value: Any, number: int) -> str:
    """An article without an id is known by its place."""
    return str(number if value is None else value)


def _text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UserError(f"{where}: the text must be a string, is {type(value).__name__}")
    return value
