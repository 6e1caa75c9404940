"""Where the harness finds task files: ours, and those of the user's own languages."""

from pathlib import Path

import lm_eval_stereoset
from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.data.store import data_folder, folder_of


def task_folder() -> Path:
    """`tasks/` inside the installed package, or beside it in a checkout."""
    package = Path(lm_eval_stereoset.__file__).parent
    installed = package / "tasks"
    return installed if installed.is_dir() else package.parent / "tasks"


def own_task_folder(benchmark: Benchmark) -> Path:
    """Tasks made by `stereoset data add` lie beside the data they use."""
    return folder_of(benchmark) / "tasks"


def include_paths() -> list[Path]:
    """The harness looks through folders below these by itself, and so finds own tasks of every benchmark."""
    return [path for path in (task_folder(), data_folder()) if path.is_dir()]
