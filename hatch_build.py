"""Puts the task files into lm_eval's own folder, too: it searches no other without --include_path.

    tasks/<benchmark>/  ->  lm_eval_stereoset/tasks/<benchmark>/   by the link of that name: `stereoset run` reads these
                        ->  lm_eval/tasks/<benchmark>/             by this hook: `lm_eval` finds these by itself

No file or folder of the harness has the name of one of ours (tests/packaging/test_wheel.py says so), and pip removes them
with our package. Only there do our tasks join the harness's tag `social_bias`: of a tag that two folders define, the
harness keeps the second folder's tasks, so under an include path ours would take the place of its own.

The pages and configurations that messages and pages name go into the package: docs/*.md, configs/.

An editable install leaves lm_eval's folder alone: `stereoset tasks` prints the folder to include.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMON = "_common"  # what the tasks of a folder include
WITH_TAG = "_with_tag"  # stands in its place beside lm_eval's tasks, and includes it under the name UNTAGGED
UNTAGGED = "_untagged"


class TaskFiles(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version != "editable":
            root = Path(self.root)
            build_data["force_include"] |= places(root / "tasks") | read_by_users(root)


def places(tasks: Path) -> dict[str, str]:
    """{file of the project: where the wheel puts it}."""
    found = {}
    for folder in sorted(path for path in tasks.iterdir() if any(path.glob("*.yaml"))):
        renamed = {COMMON: UNTAGGED, WITH_TAG: COMMON} if (folder / WITH_TAG).is_file() else {}
        for path in sorted(path for path in folder.iterdir() if path.is_file()):
            found[str(path)] = f"lm_eval/tasks/{folder.name}/{renamed.get(path.name, path.name)}"
    return found


def read_by_users(root: Path) -> dict[str, str]:
    files = [*sorted(root.glob("docs/*.md")), *sorted(root.glob("configs/*.yaml"))]
    return {str(path): f"lm_eval_stereoset/{path.relative_to(root).as_posix()}" for path in files}
