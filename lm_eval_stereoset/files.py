"""Reading users' files so that every fault is one line; writing so that a kill never leaves half a file; checksums.

Data files are UTF-8 JSON Lines, one example per line; an error names the file and the line. What the fields of a line
are is up to the benchmark, which parses them (benchmarks/X/example.py) with the checks in data/fields.py.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lm_eval_stereoset.errors import UserError


@contextmanager
def atomic_write(path: Path | str, mode: str = "w") -> Iterator[IO]:
    """Opens a temporary file beside `path` and puts it in place only when the block ends well.

    Readers see the old file or the new one, never a part. Text is UTF-8 with "\\n" line ends.
    """
    path = Path(path)
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    temporary = None
    try:
        refuse_special(
            path
        )  # putting a file in the place of /dev/null or /dev/stdout would break the whole machine
        if path.parent.resolve() == Path("/dev"):
            raise UserError(f"{path}: is a device; name a regular file instead")
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = tempfile.NamedTemporaryFile(  # noqa: SIM115  closed below, before it is put in place
            mode, dir=path.parent, prefix=f".{path.name}.", suffix=".tmp", delete=False, **text
        )
        temporary = Path(handle.name)
        with handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # NamedTemporaryFile makes it private
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}; what was there before is unchanged"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_json(path: Path | str, value: Any) -> None:
    with atomic_write(path) as handle:
        json.dump(value, handle, ensure_ascii=False, indent=2)
        handle.write("\n")


def read_bytes(path: Path | str) -> bytes:
    """The content of a regular file. A FIFO would wait for a writer that never comes, a device may never end."""
    path = Path(path)
    try:
        refuse_special(path)
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise UserError(f"{path}: is a folder, not a file") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the path
        raise UserError(f"{str(path)!r}: not a valid path ({error})") from error


def refuse_special(path: Path) -> None:
    """Nothing but a regular file or a folder is read or replaced; what does not exist is left to the caller."""
    mode = path.stat().st_mode if path.exists() else stat.S_IFREG
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UserError(f"{path}: is a pipe, socket or device; name a regular file instead")


def read_text(path: Path | str) -> str:
    return decoded(read_bytes(path), path)


def decoded(content: bytes, path: Path | str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start})") from error


def read_json(path: Path | str) -> Any:
    return parse_json(read_bytes(path), str(path))


def parse_json(content: bytes | str, where: str) -> Any:
    """Decodes JSON that a user has; whatever is wrong with it becomes one line that opens with `where`."""
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content  # Windows writes a BOM
        value = json.loads(text)
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}: " if "\n" in text.strip() else ""
        raise UserError(f"{where}: not valid JSON ({place}{error.msg}); is the file cut off?") from error
    except RecursionError as error:
        raise UserError(f"{where}: not valid JSON (nested too deeply)") from error
    except ValueError as error:  # Python refuses whole numbers of more than 4,300 digits
        raise UserError(f"{where}: holds a whole number with too many digits") from error
    if _LONE_SURROGATE.search(text):
        _refuse_surrogates(value, where)
    return value


# A surrogate can come in as an escape only, since decoding UTF-8 refuses it. Escapes of surrogates are rare enough
# to look at every text once one is there.
_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _refuse_surrogates(value: Any, where: str) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            try:
                item.encode("utf-8")
            except UnicodeEncodeError as error:
                raise UserError(
                    f"{where}: a text holds half a character (a lone surrogate, "
                    f"\\u{ord(item[error.start]):04x}) and cannot be written as UTF-8"
                ) from error
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            waiting += item


# JSON Lines

Parse = Callable[[Any, str], Any]  # (decoded line, where) -> example


def iter_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines, split at "\\n" only: texts contain other line separators. A byte order mark is skipped."""
    for number, line in enumerate(read_bytes(path).removeprefix(BOM_UTF8).split(b"\n"), start=1):
        if line.strip():
            yield number, line


def read_lines(path: Path, parse: Parse) -> list[Any]:
    """All examples of a file; the first line that breaks a rule is an error naming it."""
    unique = Uniqueness()
    examples = []
    for number, line in iter_lines(path):
        where = f"{path}, line {number}"
        example = parse(parse_json(line, where), where)
        unique.check(example.ids, where)
        examples.append(example)
    if not examples:
        raise UserError(f"{path}: no examples")
    return examples


class Uniqueness:
    """Refuses an id that was seen before, and remembers where."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    def check(self, ids: Iterable[str], where: str) -> None:
        for id_ in ids:
            if id_ in self.seen:
                raise UserError(f"{where}: duplicate id {id_} (first in {self.seen[id_]})")
            self.seen[id_] = where


def encoded(examples: Iterable[Any]) -> bytes:
    """The content of a data file."""
    return "".join(json.dumps(e.to_dict(), ensure_ascii=False) + "\n" for e in examples).encode("utf-8")


def write_examples(path: Path | str, examples: Iterable[Any]) -> None:
    with atomic_write(path, "wb") as handle:
        handle.write(encoded(examples))


# Folders


def write_fault(error: BaseException) -> str | None:
    """What the system said if a file could not be written, None if the error is of another kind."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UserError) and isinstance(error.__cause__, OSError):  # said already, of one file
        return error.__cause__.strerror or str(error.__cause__)
    # safetensors and tokenizers are written in Rust: an exception of their own, or a plain one, with these words
    return str(error) if "(os error " in str(error) else None


class replacing_folder:
    """`with replacing_folder(folder) as temporary`: on success the temporary folder takes the place of `folder`."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __enter__(self) -> Path:
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.temporary = Path(tempfile.mkdtemp(prefix=f".{self.folder.name}.", dir=self.folder.parent))
        except OSError as error:
            raise UserError(f"cannot write {self.folder}: {error.strerror or error}") from error
        self.temporary.chmod(0o755)
        return self.temporary

    def __exit__(self, kind: type | None, error: BaseException | None, _: Any) -> None:
        if kind is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)
            if error is not None and (reason := write_fault(error)) is not None:
                raise UserError(f"cannot write {self.folder}: {reason}") from error
            return
        for path in self.temporary.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # safetensors makes its files private
        if self.folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{self.folder.name}.old.", dir=self.folder.parent))
            self.folder.rename(old / "replaced")
            self.temporary.rename(self.folder)
            shutil.rmtree(old, ignore_errors=True)
        else:
            self.temporary.rename(self.folder)


# Inputs and outputs


def refuse_overwriting(output: Path | str, inputs: Iterable[Path | str], flag: str) -> None:
    """`flag` (such as -o) must not name one of the files that are read.

    Call it before anything is computed. Links are followed: two names of one file are one file.
    """
    output = Path(output)
    for given in map(Path, inputs):
        if _same_file(output, given):
            raise UserError(f"{flag} {output}: would overwrite {given}, which is an input; name another file")


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))
    except OSError:
        return False


def sha256_of(path: Path | str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
