"""Where the harness finds task files, ours and those of the user's own languages, and which tasks they make.

NAME.yaml holds the task NAME, _NAME.yaml the group NAME (yaml_tasks.py writes them so).
"""

from pathlib import Path

import lm_eval_stereoset
from lm_eval_stereoset import benchmarks
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
