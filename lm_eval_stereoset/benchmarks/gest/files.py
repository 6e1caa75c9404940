"""Files of a pinned commit: downloaded, or from a local clone, with their checksums looked at; CSV tables in them."""

import csv
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.declaration import Fetch
from lm_eval_stereoset.benchmarks.gest.upstream import SHA256
from lm_eval_stereoset.data.download import download
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_bytes


@dataclass(frozen=True)
class Fetched:
    """Some files of a repository, and whether they are the published ones."""

    contents: Mapping[str, bytes]  # by path in the repository
    clone: Path | None

    @property
    def published(self) -> bool:
        return all(digest_of(content) == SHA256[path] for path, content in self.contents.items())

    def version(self, commit: str) -> str:
        if self.published:
            return commit
        return f"changed, csv sha256:{digest_of(b''.join(self.contents.values()))[:12]}"

    def where(self, path: str) -> str:
        return path if self.clone is None else str(self.clone / path)

    def rows(self, path: str) -> list[list[str]]:
        try:
            return list(csv.reader(io.StringIO(self.contents[path].decode("utf-8"), newline=""), strict=True))
        except (UnicodeDecodeError, csv.Error) as error:
            raise UserError(f"{self.where(path)}: not a CSV file in UTF-8 ({error})") from error

    def json(self, path: str) -> Any:
        try:
            return json.loads(self.contents[path].decode("utf-8"))
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise UserError(f"{self.where(path)}: not JSON in UTF-8 ({error})") from error


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fetched(addresses: Mapping[str, str], wanted: Fetch, repository: str) -> Fetched:
    """`addresses`: {path in the repository: where to download it from}. Files that were changed must be insisted on."""
    contents = {path: _content(path, url, wanted.clone, repository) for path, url in addresses.items()}
    found = Fetched(contents, wanted.clone)
    for path, content in contents.items():
        if digest_of(content) != SHA256[path] and not wanted.insist:
            raise UserError(
                f"{found.where(path)}: its SHA-256 is not that of the published file; nothing was changed. If you mean "
                "to use this other version, add --insist (it is then marked as a changed version in all results)"
            )
    return found


def _content(path: str, url: str, clone: Path | None, repository: str) -> bytes:
    if clone is None:
        return download(url)
    try:
        return read_bytes(clone / path)
    except UserError as error:
        raise UserError(f"{error}; --from takes a folder laid out like a clone of {repository}") from error
