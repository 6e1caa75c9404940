"""Reads the authors' pickled data frames without running anything that is in them.

A pickle names functions and has them called. Here every name on a short allow-list becomes an inert
stand-in that only remembers its arguments, every other name is refused, and the table is taken out
of the remembered arguments. So neither pandas nor numpy code runs, and no version of pandas matters.
"""

import io
import pickle
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks.stereoset.example import Candidate, Example
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_bytes

ALLOWED = {
    "pandas.core.frame": {"DataFrame"},
    "pandas.core.internals.managers": {"BlockManager"},
    "pandas.core.indexes.base": {"_new_Index", "Index"},
    "pandas.core.indexes.range": {"RangeIndex"},
    "pandas.core.indexes.numeric": {"Int64Index"},
    "pandas._libs.internals": {"_unpickle_block"},
    "numpy": {"ndarray", "dtype"},
    "numpy.core.multiarray": {"_reconstruct"},
    "numpy.core.numeric": {"_frombuffer"},
    "builtins": {"slice"},
}


class _Remembered:
    """What a pickle wanted to build: the arguments it gave, and the state it set."""

    def __init__(self, *args: Any) -> None:
        self.args = args
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _InertUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        if name not in ALLOWED.get(module, ()):
            raise UserError(f"it asks to run {module}.{name}, which is refused")
        return type(name, (_Remembered,), {})


def read_frame(content: bytes, where: str) -> tuple[list[int], dict[str, list[Any]]]:
    """Row numbers and columns of a pickled data frame."""
    try:
        frame = _InertUnpickler(io.BytesIO(content)).load()
        blocks, (column_axis, row_axis) = frame.state["_mgr"].args
        names = column_axis.args[1]["data"].state[4]
        columns: dict[str, list[Any]] = {}
        for block in blocks:
            values, placement = block.args[:2]
            _, (_, width), _, fortran_order, flat = values.state
            if fortran_order:
                raise UserError("its table is stored in an order that is not supported")
            for row, position in enumerate(range(*placement.args)):
                columns[names[position]] = flat[row * width : (row + 1) * width]
        return _row_numbers(row_axis), {name: columns[name] for name in names}
    except UserError as error:
        raise UserError(f"{where}: {error}; nothing was read") from error
    except Exception as error:  # a broken pickle can fail in any way; none of them is our bug
        raise UserError(f"{where}: not a pickled data frame of the expected layout ({error!r})") from error


def _row_numbers(axis: _Remembered) -> list[int]:
    fields = axis.args[1]
    if "start" in fields:
        return list(range(fields["start"], fields["stop"], fields["step"]))
    buffer = fields["data"].args[0]
    return [int.from_bytes(buffer[i : i + 8], "little", signed=True) for i in range(0, len(buffer), 8)]


def frame_to_examples(columns: dict[str, list[Any]], split: str, where: str) -> list[Example]:
    """Wide columns (c1_id, c1_sentence, …) to examples; the annotators' labels stay behind."""
    try:
        # English has no target_original: there it is the target itself.
        originals = columns.get("target_original", columns["target"])
        return [
            Example(
                id=columns["id"][row],
                target=columns["target"][row],
                target_original=originals[row],
                bias_type=columns["bias_type"][row],
                context=columns["context"][row],
                candidates=tuple(
                    Candidate(
                        id=columns[f"c{k}_id"][row],
                        label=columns[f"c{k}_gold_label"][row],
                        sentence=columns[f"c{k}_sentence"][row],
                        word=columns[f"c{k}_word"][row] if split == "intra" else None,
                    )
                    for k in (1, 2, 3)
                ),
            )
            for row in range(len(columns["id"]))
        ]
    except KeyError as error:
        raise UserError(f"{where}: the table has no column {error}") from error


def frame_to_annotations(rows: list[int], columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """What the canonical format leaves out: row number and every annotator's label, per example."""
    return [
        {
            "id": columns["id"][i],
            "row": row,
            "labels": {columns[f"c{k}_id"][i]: columns[f"c{k}_labels"][i] for k in (1, 2, 3)},
        }
        for i, row in enumerate(rows)
    ]


def examples_to_frame(
    examples: list[Example], annotations: list[dict[str, Any]] | None = None, translated: bool = True
) -> dict[str, list[Any]]:
    """The way back: wide columns as upstream has them (their order in the file does not matter)."""
    columns: dict[str, list[Any]] = {
        "id": [e.id for e in examples],
        "target": [e.target for e in examples],
        "bias_type": [e.bias_type for e in examples],
        "context": [e.context for e in examples],
    }
    for k in (1, 2, 3):
        candidates = [e.candidates[k - 1] for e in examples]
        columns[f"c{k}_id"] = [c.id for c in candidates]
        columns[f"c{k}_sentence"] = [c.sentence for c in candidates]
        columns[f"c{k}_gold_label"] = [c.label for c in candidates]
        if candidates and candidates[0].word is not None:
            columns[f"c{k}_word"] = [c.word for c in candidates]
        if annotations is not None:
            columns[f"c{k}_labels"] = [
                a["labels"][c.id] for a, c in zip(annotations, candidates, strict=True)
            ]
    if translated:
        columns["target_original"] = [e.target_original for e in examples]
    return columns


def read_pickle(path: Path | str, split: str) -> list[Example]:
    """The examples of one of the authors' files."""
    content = read_bytes(path)
    return frame_to_examples(read_frame(content, str(path))[1], split, str(path))
