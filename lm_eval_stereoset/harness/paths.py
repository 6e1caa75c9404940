"""Where the harness finds task files: ours, and those of the user's own languages."""

from importlib.util import find_spec
from pathlib import Path

import lm_eval_stereoset
from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.declaration import Benchmark
from lm_eval_stereoset.data.store import data_folder, folder_of


def task_folder() -> Path:
    """`tasks/` inside the package; in a checkout that knows no links, beside it."""
    package = Path(lm_eval_stereoset.__file__).parent
    installed = package / "tasks"
    return installed if installed.is_dir() else package.parent / "tasks"


def known_to_the_harness() -> bool:
    """Whether our wheel has put the task files into lm_eval's folder, too, where it finds them by itself."""
    harness = find_spec("lm_eval")
    if harness is None or harness.origin is None:
        return False
    folder = Path(harness.origin).parent / "tasks"
    return all((folder / path.parent.name).is_dir() for path in task_folder().glob("*/*.yaml"))


def own_task_folder(benchmark: Benchmark) -> Path:
    """Tasks made by `stereoset data add` lie beside the data they use."""
    return folder_of(benchmark) / "tasks"


def own_task_folders() -> list[Path]:
    """Those that are there."""
    folders = (own_task_folder(benchmark) for benchmark in benchmarks.with_own_data())
    return [folder for folder in folders if folder.is_dir()] if data_folder().is_dir() else []


def include_paths() -> list[Path]:
    """All of ours, for a harness that does not read its own tasks."""
    return [task_folder(), *own_task_folders()]


def include_paths_beside_the_harness() -> list[Path]:
    """What the harness does not find by itself. A folder read twice would have it warn about every task in it."""
    return own_task_folders() if known_to_the_harness() else include_paths()
