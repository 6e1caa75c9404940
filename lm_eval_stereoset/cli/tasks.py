"""stereoset tasks: the folder of our task files, for plain lm_eval.

lm_eval --tasks stereoset_de … --include_path "$(stereoset tasks)"

An installed wheel needs this for added languages only: lm_eval finds the built-in tasks by itself. An editable install
needs it for all of them. lm_eval takes one folder, so where there are added languages, all task files are copied into one.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def make_parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="stereoset tasks",
        description="Prints the folder in which lm_eval finds our tasks, those of added languages among them. `stereoset "
        "run` needs no include path, nor does lm_eval for the built-in tasks where the package was installed from a wheel.",
        epilog='lm_eval --tasks stereoset_de … --include_path "$(stereoset tasks)"',
    )


def main(argv: Sequence[str]) -> int:
    make_parser().parse_args(argv)
    from lm_eval_stereoset.harness.paths import (
        include_paths_beside_the_harness,
        known_to_the_harness,
        refresh_own_tasks,
        task_folder,
    )

    refresh_own_tasks()
    needed = include_paths_beside_the_harness()
    if not needed or known_to_the_harness():
        print(
            "stereoset tasks: lm_eval finds the built-in tasks by itself; this folder has those of added languages",
            file=sys.stderr,
        )
    print(task_folder() if needed == [task_folder()] else collected(needed))
    return 0


def collected(folders: Sequence[Path]) -> Path:
    """One folder with copies of the task files in all these; what else it held of an earlier call is removed."""
    from lm_eval_stereoset.data.store import data_folder
    from lm_eval_stereoset.files import atomic_write, read_bytes

    target = data_folder() / "include"
    target.mkdir(parents=True, exist_ok=True)
    copies = {target / name: path for name, path in task_files_in(folders).items()}
    for copy, path in copies.items():
        if not copy.is_file() or read_bytes(copy) != read_bytes(path):
            with atomic_write(copy, "wb") as handle:
                handle.write(read_bytes(path))
    for old in set(target.glob("*/*")) - copies.keys():
        old.unlink()
    return target


def task_files_in(folders: Sequence[Path]) -> dict[str, Path]:
    """{place in the new folder: file}. Own tasks lie right in their folder, built-in ones in a folder per benchmark."""
    found = {}
    for number, folder in enumerate(folders):
        for path in sorted({*folder.glob("**/*.yaml"), *folder.glob("**/_*")}):
            if path.is_file() and path.suffix not in (".py", ".pyc"):
                place = path.parent.name if path.parent != folder else f"own-{number}"
                found[f"{place}/{path.name}"] = path
    return found
