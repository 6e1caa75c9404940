"""Types a command into a fork of this process, which has imported everything, and looks at what it leaves behind."""

import hashlib
import os
import signal
import sys
import time
from pathlib import Path


def enter(command: str, folder: Path) -> None:
    """In the child: becomes the command. Never returns."""
    os.setpgid(0, 0)
    os.chdir(folder)
    os.environ["STEREOSET_DATA"] = str(folder / "data")
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    program, *arguments = command.split()
    code = 70
    try:
        if program == "stereoset":
            from lm_eval_stereoset.cli import main

            code = main(arguments)
        else:
            from lm_eval_stereoset.cli import guarded
            from nsp_finetune.cli import main as train

            code = guarded("nsp_finetune", lambda: train(arguments))
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


def run(command: str, folder: Path, seconds: float = 300) -> tuple[int, str]:
    """Exit code and output; 124 for a command that did not end in time."""
    child = os.fork()
    if child == 0:
        enter(command, folder)
    end = time.monotonic() + seconds
    while not (done := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 124, ""
        time.sleep(0.002)
    texts = [(folder.parent / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err")]
    return os.waitstatus_to_exitcode(done[1]), "".join(texts)


def checksums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(".part") and "stereoset-it" not in path.parts
    }


def broken_rule(code: int, text: str, before: dict[str, str], folder: Path) -> str | None:
    if code == 124:
        return "hang"
    if "Traceback (most recent" in text or code not in (0, 1, 2):
        return "traceback"
    if (folder / "executed").exists():
        return "execution"
    after = checksums(folder)
    if any(after.get(name) != digest for name, digest in before.items()):
        return "input changed"
    lines = [line for line in text.splitlines() if line.startswith(("stereoset ", "nsp_finetune: "))]
    judged = " not judged" in text  # the third verdict of a gate has the same exit code
    if code == 2 and len(lines) != 1 and "usage:" not in text and not judged:
        return "not one line"
    return None


def succeed(command: str, folder: Path) -> None:
    code, text = run(command, folder)
    assert code == 0, f"{command}\n{text}"
