"""Where the harness finds task files: ours, and those of the user's own languages."""

from pathlib import Path

import lm_eval_stereoset
from lm_eval_stereoset.data.store import data_folder


def task_folder() -> Path:
    """`tasks/` inside the installed package, or beside it in a checkout."""
    package = Path(lm_eval_stereoset.__file__).parent
    installed = package / "tasks"
    return installed if installed.is_dir() else package.parent / "tasks"


def own_task_folder() -> Path:
    """Tasks made by `stereoset data add` lie beside the data they use."""
    return data_folder() / "tasks"


def include_paths() -> list[Path]:
    return [path for path in (task_folder(), own_task_folder()) if path.is_dir()]
