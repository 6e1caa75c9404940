"""Where the harness finds task files, ours and those of the user's own languages, and which tasks they make.

NAME.yaml holds the task NAME, _NAME.yaml the group NAME (yaml_tasks.py writes them so).
"""

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
    """Those that are there. Read off the folders, so that no benchmark is imported."""
    places = [data_folder() / "tasks", *sorted(data_folder().glob("*/tasks"))]
    return [folder for folder in places if folder.is_dir()]


def include_paths() -> list[Path]:
    """All of ours, for a harness that does not read its own tasks."""
    return [task_folder(), *own_task_folders()]


def include_paths_beside_the_harness() -> list[Path]:
    """What the harness does not find by itself. A folder read twice would have it warn about every task in it."""
    return own_task_folders() if known_to_the_harness() else include_paths()


def installed_names() -> list[str]:
    """Tasks and groups of every benchmark, those of added languages, too. Read off the files, so that no benchmark that
    nobody asked for is imported."""
    stems = {path.stem for folder in include_paths() for path in folder.rglob("*.yaml")}
    return sorted(stem.removeprefix("_") for stem in stems if not stem.startswith("_common"))


def refresh_own_tasks() -> None:
    """Tasks of added languages that another version has written are written anew, so that they load.

    Benchmarks of other packages have no task files that are installed with ours: theirs are written here, too.
    """
    if not (benchmarks.of_other_packages() or data_folder().is_dir()):
        return  # nobody has added anything
    from lm_eval_stereoset.files import atomic_write, read_bytes
    from lm_eval_stereoset.harness.yaml_tasks import all_own_files

    for path, content in all_own_files().items():
        if not path.is_file() or read_bytes(path) != content:
            with atomic_write(path, "wb") as handle:
                handle.write(content)
