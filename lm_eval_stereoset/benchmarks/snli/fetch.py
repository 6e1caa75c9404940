"""SNLI's test split from the hub, or from its own file."""

from pathlib import Path

from lm_eval_stereoset.benchmarks.declaration import Benchmark, Fetch
from lm_eval_stereoset.benchmarks.snli.rows import REPOSITORY, labelled, read_rows, rows_from_hub
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import sha256_of


def fetch_snli(benchmark: Benchmark, wanted: Fetch) -> list[Path]:
    path = store.file_of(benchmark, "test", "en")
    if wanted.clone is None:
        rows = rows_from_hub("test", wanted.revision)
        source, version, where = REPOSITORY, f"hub {wanted.revision or 'main'}", REPOSITORY
    else:
        if wanted.revision:
            raise UserError("--revision: is for the hub; leave it out with --from")
        file = file_of_split(wanted.clone, ("test",))
        rows = read_rows(file)
        source, version, where = f"copied from {file.name}", f"sha256:{sha256_of(file)[:12]}", str(file)
    labelled(rows, where)
    store.say_what_is_replaced(benchmark, path, source, version)
    return [store.save(benchmark, "test", "en", rows, source, version)]


def file_of_split(place: Path, names: tuple[str, ...]) -> Path:
    """The file itself, or the one in the folder that is named after the split: snli_1.0_test.jsonl."""
    if place.is_file():
        return place
    found = sorted(path for name in names for path in place.glob(f"*{name}*.jsonl") if path.is_file())
    if len(found) != 1:
        what = f"several: {', '.join(path.name for path in found)}" if found else "none"
        raise UserError(
            f"{place}: needs one file of the {names[0]} split in SNLI's format, such as snli_1.0_{names[0]}.jsonl, "
            f"has {what}"
        )
    return found[0]
