"""The wheel on a fresh machine: every dependency downloaded, then what a user types first.

make wheel-test                     (python performance/wheel.py)
python performance/wheel.py --torch torch==2.13.0 --python python3.12

Builds the wheel, makes a virtual environment with nothing in it, installs torch and the wheel there, and types in an empty
folder, without an include path:

    lm_eval --tasks stereoset_intra_de --model hf --model_args pretrained=DIR

Then lm_eval is installed again, and our package uninstalled. Prints how long each step took and what was left behind.
tests/packaging/test_wheel.py is the short form, with the dependencies of the environment that runs the tests.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).parent / "results" / "wheel.json"

# Run in the fresh environment: a checkpoint with letters for tokens.
MODEL = """
import sys, torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
letters = {letter: i for i, letter in enumerate(["</s>", *pre_tokenizers.ByteLevel.alphabet()])}
tokenizer = Tokenizer(models.BPE(letters, []))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", bos_token="</s>").save_pretrained(sys.argv[1])
size = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 512, "vocab_size": len(letters)}
GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0)).save_pretrained(sys.argv[1])
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default="torch==2.13.0", help="what pip is asked for beside the wheel")
    parser.add_argument("--python", default=sys.executable, help="the Python of the fresh environment")
    parser.add_argument(
        "--clone",
        type=Path,
        help="a clone of the authors' repository: all of the German data, not the sample",
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = steps(Path(folder), args)
    print(f"{'step':52} {'seconds':>8}")
    for step, seconds in found["seconds"].items():
        print(f"{step:52} {seconds:8.1f}")
    print(
        f"lm_eval {found['lm_eval']}, Python {found['python']}; left behind: {found['left behind'] or 'nothing'}"
    )
    print(found["row"])
    RESULT.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 1 if found["left behind"] else 0


def steps(folder: Path, args: argparse.Namespace) -> dict:
    seconds: dict[str, float] = {}
    environment, empty, data, model = (folder / name for name in ("venv", "empty", "data", "model"))
    empty.mkdir()
    python, pip = (
        environment / "bin" / "python",
        [environment / "bin" / "python", "-m", "pip", "-q", "--disable-pip-version-check"],
    )

    def step(name: str, *command: object, **variables: str) -> str:
        """Runs a command in the empty folder, as outside this project."""
        began = time.perf_counter()
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "LMEVAL", "STEREOSET"))
        }
        done = subprocess.run([*map(str, command)], cwd=empty, env=kept | variables, capture_output=True, text=True, check=False)  # fmt: skip
        seconds[name] = time.perf_counter() - began
        if done.returncode:
            sys.exit(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    step("a fresh environment", args.python, "-m", "venv", environment)
    step("a pip that builds wheels", *pip, "install", "--upgrade", "pip")
    step("build the wheel", *pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    step("pip install torch", *pip, "install", args.torch)
    step("pip install the harness", *pip, "install", args.torch, "lm-eval[hf]>=0.4.13,<0.5")
    before = files(environment)
    step("pip install the wheel", *pip, "install", args.torch, wheel)
    others = {name for name in files(environment) - before if is_not_ours(name)}
    step("make a model", python, "-c", MODEL, model)
    prepare_data(data, args.clone, lambda *command: step("data", *command), environment)
    table = step(
        "lm_eval --tasks stereoset_intra_de", environment / "bin" / "lm_eval", "--tasks", "stereoset_intra_de",
        "--model", "hf", "--model_args", f"pretrained={model}", STEREOSET_DATA=str(data),
    )  # fmt: skip
    version = step(
        "its version", python, "-c", "import importlib.metadata as m; print(m.version('lm_eval'))"
    ).strip()
    step("install lm_eval again", *pip, "install", "--force-reinstall", "--no-deps", f"lm_eval=={version}")
    step(
        "lm_eval finds the task after that", python, "-c",
        "from lm_eval.tasks import TaskManager as T; T().task_index['stereoset_intra_de']",
    )  # fmt: skip
    step("uninstall ours", *pip, "uninstall", "--yes", "lm-eval-stereoset")
    return {
        "seconds": {name: round(took, 1) for name, took in seconds.items()},
        "lm_eval": version,
        "python": subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[
            1
        ],
        "left behind": sorted(files(environment) - before - others),
        "row": next(line for line in table.splitlines() if line.startswith("|stereoset_intra_de")),
    }


def prepare_data(data: Path, clone: Path | None, run: Callable[..., str], environment: Path) -> None:
    if clone:
        run(
            "env",
            f"STEREOSET_DATA={data}",
            environment / "bin" / "stereoset",
            "data",
            "fetch",
            "-l",
            "de",
            "--from",
            clone.resolve(),
        )
    else:
        shutil.copytree(
            ROOT / "lm_eval_stereoset" / "benchmarks" / "stereoset" / "sample" / "intra", data / "intra"
        )


def files(environment: Path) -> set[str]:
    """Without what Python compiles on the way."""
    found = (path for path in environment.rglob("*") if "__pycache__" not in path.parts and path.is_file())
    return {str(path.relative_to(environment)) for path in found}


def is_not_ours(name: str) -> bool:
    """Files of the packages that pip installed as our dependencies, which stay when ours goes."""
    ours = ("lm_eval_stereoset", "nsp_finetune", "stereoset_translation", "/lm_eval/", "bin/stereoset")
    return not any(part in name for part in ours)


if __name__ == "__main__":
    sys.exit(main())
