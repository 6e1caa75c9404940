"""Writes the YAML files of this folder from the benchmarks' declarations.

python tasks/generate.py          writes them
python tasks/generate.py --check  exits 1 if a file is not what would be written
"""

import argparse
import sys
from pathlib import Path

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.harness.yaml_tasks import task_files

FOLDER = Path(__file__).parent


def files_in(folder: Path) -> dict[str, str]:
    """Task files are those ending in .yaml, and those they include, which begin with an underscore."""
    found = [path for path in folder.glob("*") if path.suffix == ".yaml" or path.name.startswith("_")]
    return {path.name: path.read_text(encoding="utf-8") for path in found if path.is_file()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    wanted: dict[str, dict[str, str]] = {}  # folder: its files
    for benchmark in map(benchmarks.find, benchmarks.names()):
        wanted.setdefault(benchmark.tasks_folder, {}).update(task_files(benchmark))
    for room, files in wanted.items():
        folder = FOLDER / room
        present = files_in(folder)
        if check:
            if present != files:
                return 1
            continue
        folder.mkdir(exist_ok=True)
        for name in present.keys() - files.keys():
            (folder / name).unlink()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        print(f"{len(files)} files in {folder.name}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
