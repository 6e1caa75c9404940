"""Which model, data and method a file of predictions is from: FILE.json.about.json, written beside it by `predict`.

The published format has two keys and no room for it. The note holds the checksum of the file it speaks of, so that it
is never believed about another.
"""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import atomic_write, read_json, sha256_of, write_json

logger = logging.getLogger(__name__)

KEY = "predictions"  # which every such note has: the checksum of the file


def note_file(predictions: Path | str) -> Path:
    """Not FILE.about.json: `stereoset score FILE.json -o FILE.md` writes that."""
    path = Path(predictions)
    return path.with_name(path.name + ".about.json")


def write_with_note(path: Path, content: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """The note first: after a kill between the two, it speaks of a file that is not there and is not believed."""
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    write_json(note_file(path), {KEY: hashlib.sha256(text.encode("utf-8")).hexdigest(), **about})
    with atomic_write(path) as handle:
        handle.write(text)


def may_be_replaced(note: Path) -> bool:
    """Whether there is nothing yet, or a note of ours."""
    if not note.exists():
        return True
    about = read_json(note) if note.is_file() else None
    return isinstance(about, dict) and KEY in about


def read_note(path: Path | str) -> dict[str, Any]:
    """What is known about a file of predictions; nothing if there is no note, or one about other content."""
    note = note_file(path)
    if not note.is_file():
        return {}
    about = read_json(note)
    if not isinstance(about, dict) or KEY not in about:
        return {}
    if about[KEY] != sha256_of(path):
        logger.warning("%s: changed since %s was written, so the note is not used", path, note.name)
        return {}
    return about


def refuse_wrong_language(path: Path | str, about: Mapping[str, Any], language: str) -> None:
    """Ids are the same in all languages, so the scores would come out, under the wrong name."""
    made_for = about.get("language")
    if isinstance(made_for, str) and made_for != language:
        raise UserError(
            f"{path}: predictions for language {made_for} ({note_file(path).name}), not {language}"
        )


def unlike_data(about: Mapping[str, Any], split: str, sha256: str) -> str | None:
    """One line if the predictions were made from other data than those of the given checksum."""
    entries: Sequence[Any] = about.get("data") if isinstance(about.get("data"), list) else []
    made_from = next((d for d in entries if isinstance(d, dict) and d.get("split") == split), None)
    if made_from is None or made_from.get("sha256") == sha256:
        return None
    return (
        f"{split}: the predictions were made from other data (sha256 {str(made_from.get('sha256'))[:12]}) than they "
        f"are scored with now (sha256 {sha256[:12]})"
    )
