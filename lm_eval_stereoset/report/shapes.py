"""Parts of users' JSON files, checked: what has another type than expected is one line that names file and part.

A part that is missing or null is left to the caller: older files lack some.
"""

from typing import Any

from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.errors import UserError

_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def mapping(value: Any, where: str) -> dict[str, Any]:
    """`value` itself, which must be an object; null is an empty one."""
    return _checked({} if value is None else value, dict, where)


def part(container: dict[str, Any], key: str, kind: type, where: str) -> Any:
    """container[key], which must be of this kind; None if it is missing or null."""
    value = container.get(key)
    return None if value is None else _checked(value, kind, f"{where}: {key}")


def text(container: dict[str, Any], key: str, where: str) -> str | None:
    """A blank text says as little as none."""
    value = part(container, key, str, where)
    return value if value and value.strip() else None


def provenance(container: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """The list `data`: which data each split is from. Every entry names its split."""
    found = part(container, "data", list, where) or []
    return [_origin(fields, f"{where}: data") for fields in found]


def _origin(fields: Any, where: str) -> dict[str, Any]:
    _checked(fields, dict, where)
    if fields.get("split") not in SPLITS:
        raise UserError(
            f"{where}: an entry has the split {_shown(fields.get('split'))}, not {' or '.join(SPLITS)}"
        )
    known = {
        key: text(fields, key, where) for key in ("split", "language", "data", "source", "version", "sha256")
    }
    examples = part(fields, "examples", int, where)
    if examples is not None and examples < 0:
        raise UserError(f"{where}: examples is {_shown(examples)}")
    return {key: value for key, value in (known | {"examples": examples}).items() if value is not None}


def _checked(value: Any, kind: type, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        found = next((name for known, name in _NAMES.items() if type(value) is known), "null")
        raise UserError(f"{where} should be {_NAMES[kind]}, is {found}: {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    return repr(value)[:40]
