"""Writes the YAML files of this folder from the list of languages.

python tasks/stereoset/generate.py          writes them
python tasks/stereoset/generate.py --check  exits 1 if a file is not what would be written
"""

import argparse
import sys
from pathlib import Path

from lm_eval_stereoset.harness.yaml_tasks import built_in_files

FOLDER = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    files = built_in_files()
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yaml")}
    present |= {
        name: (FOLDER / name).read_text(encoding="utf-8") for name in files if (FOLDER / name).is_file()
    }
    if check:
        return int(present != files)
    for name in present.keys() - files.keys():
        (FOLDER / name).unlink()
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(files)} files in {FOLDER.name}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
