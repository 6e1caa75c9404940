"""Commands typed as a user types them, in a folder of their own, with checkpoints of every kind beside it."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from end_to_end_models import make_all, write_corpus

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {"stereoset": "lm_eval_stereoset", "nsp_finetune": "nsp_finetune"}


@dataclass(frozen=True)
class Outcome:
    command: str
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def mistakes(self) -> list[str]:
        """The lines that tell the user what is wrong: ours, or argparse's."""
        lines = [line.split("\r")[-1] for line in self.err.splitlines()]
        return [line for line in lines if line.startswith(("stereoset", "nsp_finetune"))]


class Terminal:
    """Types commands into one server, see typing_server.py."""

    def __init__(self) -> None:
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        self.server = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("typing_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        assert self.server.stdout.readline() == "ready\n"

    def type(self, command: str, folder: Path, environment: dict[str, str], seconds: float = 120) -> Outcome:
        program, *arguments = shlex.split(command)
        streams = {name: str(folder.parent / f"{folder.name}.{name}") for name in ("stdout", "stderr")}
        asked = {
            "module": PROGRAMS[program],
            "arguments": arguments,
            "folder": str(folder),
            "seconds": seconds,
        }
        self.server.stdin.write(json.dumps({**asked, **streams, "environment": environment}) + "\n")
        self.server.stdin.flush()
        code = int(self.server.stdout.readline())
        out, err = (Path(streams[name]).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        return Outcome(command, code, out, err)

    def close(self) -> None:
        self.server.stdin.close()
        self.server.wait(timeout=30)


@pytest.fixture(scope="session")
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()


def environment_for(data: Path, nltk_data: Path) -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "translation")]),
        "STEREOSET_DATA": str(data),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "ACCELERATE_USE_CPU": "true",
        "NLTK_DATA": str(nltk_data),
        "COLUMNS": "200",
    }


Type = Callable[..., Outcome]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory, terminal: Terminal, shared: Path) -> dict[str, Path]:
    """{kind: folder}; the next-sentence ones are fine-tuned here, by the commands a user types."""
    folder = tmp_path_factory.mktemp("models")
    made = make_all(folder)
    write_corpus(folder / "corpus.jsonl")
    environment = environment_for(folder / "no data", shared / "nltk_data")

    def type_it(command: str) -> None:
        done = terminal.type(command, folder, environment, seconds=300)
        assert done.code == 0, done.text

    type_it("nsp_finetune prepare --corpus en=corpus.jsonl --output pairs --held-out 0.1 --workers 1")
    short = (
        "--max-examples 32 --batch-size 8 --accumulation 1 --eval-examples 8 --test-examples 8 --tracker none"
    )
    for kind, base in (("nsp-decoder", "gpt2"), ("nsp-seq2seq", "t5"), ("nsp-encoder", "roberta")):
        type_it(f"nsp_finetune train --base {base} --pairs pairs --output {kind} {short}")
        made[kind] = folder / kind
    return made | {"pairs": folder / "pairs", "shared": shared}


@pytest.fixture
def type_command(terminal: Terminal, models: dict[str, Path], shared: Path, tmp_path: Path) -> Type:
    """Types into a folder of its own; {kind} in the command stands for a checkpoint, {shared} for the material."""
    folder = tmp_path / "here"
    folder.mkdir(exist_ok=True)
    environment = environment_for(tmp_path / "data", shared / "nltk_data")

    def run(command: str, seconds: float = 120, **more: str) -> Outcome:
        filled = command.format_map(models)
        done = terminal.type(filled, folder, environment | more, seconds)
        assert done.code != 124, f"still running after {seconds} s: {filled}"
        assert "Traceback" not in done.text, f"{filled}\n{done.text}"
        return done

    run.folder = folder
    run.data = tmp_path / "data"
    return run
