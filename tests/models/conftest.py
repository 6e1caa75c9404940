"""Tiny checkpoints of all four families on disk, and ways to run the harness on them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def checkpoints(shared, tmp_path_factory) -> dict[str, Path]:
    """masked (with next-sentence head), causal, seq2seq (also one whose head is not its embedding), and next-sentence
    models of our own format (a decoder; an encoder-decoder whose head is not its embedding)."""
    from nsp_finetune.convert import convert

    golden = shared / "golden" / "models"
    names = {"masked": "tiny-bert", "causal": "tiny-gpt2", "seq2seq": "tiny-t5", "untied": "tiny-mt5"}
    folders = {family: golden / name for family, name in names.items()}
    for family, name in (("nsp", "tiny-gpt2-nsp"), ("untied nsp", "tiny-mt5-nsp")):
        folders[family] = tmp_path_factory.mktemp("nsp") / name
        convert(golden / name / "nsp_model.pth", str(golden / name), folders[family])
    return folders


@pytest.fixture(scope="session")
def evaluate(fetched):
    """simple_evaluate with stereoset-hf on the real data: folder, tasks, model_args, further options."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    from lm_eval_stereoset.cli.run import register_models
    from lm_eval_stereoset.harness.identified import identified
    from lm_eval_stereoset.harness.paths import include_paths

    register_models()

    def run(folder, tasks, model_args=None, limit=40, **options):
        model_args = {"pretrained": str(folder), **(model_args or {})}
        metadata = {**model_args, "data": str(fetched)}
        manager = TaskManager(
            include_path=[*map(str, include_paths()), *options.pop("more_tasks", [])],
            metadata=metadata,
            include_defaults=False,
        )
        with identified():  # as `stereoset run` does
            return lm_eval.simple_evaluate(
                model=options.pop("model", "stereoset-hf"),
                model_args=model_args,
                tasks=tasks,
                task_manager=manager,
                limit=limit,
                bootstrap_iters=0,
                device=options.pop("device", "cpu"),
                **options,
            )

    return run


@pytest.fixture(scope="session")
def command(fetched):
    """`stereoset …` in a process of its own, or in several under torchrun; returns what it printed."""

    def run(*arguments: str, processes: int = 1, expect: int = 0) -> str:
        environment = {
            **os.environ,
            "STEREOSET_DATA": str(fetched),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "ACCELERATE_USE_CPU": "true",
        }
        launcher = [sys.executable]
        if processes > 1:
            launcher += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        done = subprocess.run(
            [*launcher, "-m", "lm_eval_stereoset", *map(str, arguments)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == expect, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout + done.stderr

    return run
