"""Reads translated examples as they come: a text may be empty or damaged or lack its BLANK, which is mended later."""

from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.stereoset.example import Example, parse_example
from lm_eval_stereoset.benchmarks.stereoset.facts import refuse_other_facts
from lm_eval_stereoset.data.fields import damage, visible
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import Uniqueness, iter_lines, parse_json
from lm_eval_stereoset.scoring.questions import BLANK
from stereoset_translation.columns import names, put


def read_translated(path: Path, split: str) -> list[Example]:
    """The canonical format, except that empty or damaged texts and lost BLANKs are accepted: we repair them."""
    unique = Uniqueness()
    examples = []
    for number, line in iter_lines(path):
        where = f"{path}, line {number}"
        example = parse_lenient(parse_json(line, where), split, where)
        unique.check(example.ids, where)
        examples.append(example)
    if not examples:
        raise UserError(f"{path}: no examples")
    refuse_other_facts(examples, str(path))
    return examples


def parse_lenient(fields: Any, split: str, where: str) -> Example:
    """Validates a line as if no text were empty and BLANK were there, then gives the texts as they are."""
    if not isinstance(fields, dict) or not isinstance(fields.get("candidates"), list):
        return parse_example(fields, split, where)
    complete = _filled(fields, ("target", "context"))
    if split == "intra" and isinstance(complete.get("context"), str) and BLANK not in complete["context"]:
        complete["context"] += BLANK
    complete["candidates"] = [
        _filled(c, ("sentence", "word")) if isinstance(c, dict) else c for c in fields["candidates"]
    ]
    example = parse_example(complete, split, where)
    for column in names(split):
        source = fields if column in fields else fields["candidates"][int(column[1]) - 1]
        example = put(example, column, source[column if column in fields else column[3:]])
    return example


def _filled(fields: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    texts = {key: fields[key] for key in keys if isinstance(fields.get(key), str)}
    faulty = [key for key, text in texts.items() if not visible(text) or damage(text)]
    return {**fields, **dict.fromkeys(faulty, "empty")}
