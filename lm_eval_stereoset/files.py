"""Writing files so that a kill or a full disk never leaves half of one, and fingerprints of files."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
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
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    temporary = None
    try:
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


def read_json(path: Path | str) -> Any:
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise UserError(f"{path}: is a folder, not a JSON file") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}: not valid JSON (line {error.lineno}: {error.msg}); is the file cut off?"
        ) from error


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
