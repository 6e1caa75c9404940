"""The wheel, in a virtual environment of its own: what the harness finds, what stays and what goes.

lm_eval is the newest 0.4 that pip finds, and installed afresh; so is our wheel. All other packages are those of the
environment that runs the tests, linked one by one, so that neither lm_eval nor our source can be found there.
`make wheel-test` is the same on a machine with nothing else, every dependency downloaded.
"""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lm_eval_stereoset

ROOT = Path(__file__).resolve().parents[2]
NEWEST = "lm_eval>=0.4.13,<0.5"
NOT_LINKED = ("lm_eval", "lm-eval", "_editable_impl", "nsp_finetune", "stereoset_translation")


@dataclass
class Environment:
    folder: Path

    @property
    def site(self) -> Path:
        return Path(next(self.folder.glob("lib/python*/site-packages")))

    def pip(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pip", "--python", str(self.folder), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def install(self, *arguments: str | Path) -> None:
        done = self.pip("install", "--quiet", "--no-deps", "--no-compile", *arguments)
        if any(
            word in done.stderr for word in ("ConnectionError", "NewConnectionError", "connection broken")
        ):
            pytest.skip("needs a network: pip finds no index")
        assert done.returncode == 0, done.stderr

    def run(self, *command: str | Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LMEVAL"))
        }
        (program, *arguments) = map(str, command)
        return subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=folder, env=kept | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def files(self) -> dict[str, int]:
        """{file: when it was written}, without what Python compiles."""
        found = (path for path in self.folder.rglob("*") if "__pycache__" not in path.parts)
        return {
            str(p.relative_to(self.folder)): p.lstat().st_mtime_ns
            for p in found
            if p.is_file() and not p.is_symlink()
        }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def harness_alone(tmp_path_factory) -> tuple[Environment, dict[str, int]]:
    """The newest lm_eval, and the files of its environment."""
    environment = Environment(tmp_path_factory.mktemp("fresh") / "venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment.folder)], check=True)
    others = environment.folder / "others"
    others.mkdir()
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not path.name.startswith(NOT_LINKED) and path.suffix != ".pth":
            (others / path.name).symlink_to(path)
    (environment.site / "others.pth").write_text(f"{others}\n")
    environment.install(NEWEST)
    return environment, environment.files()


@pytest.fixture(scope="module")
def installed(harness_alone, wheel) -> Environment:
    environment, _ = harness_alone
    environment.install(wheel)
    return environment


@pytest.fixture(scope="module")
def sample_as_data(tmp_path_factory) -> Path:
    """A data folder, so that nothing is fetched."""
    folder = tmp_path_factory.mktemp("data")
    sample = ROOT / "lm_eval_stereoset" / "benchmarks" / "stereoset" / "sample"
    for split in ("intra", "inter"):
        shutil.copytree(sample / split, folder / split)
    return folder


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    letters = {letter: i for i, letter in enumerate(["</s>", *pre_tokenizers.ByteLevel.alphabet()])}
    tokenizer = Tokenizer(models.BPE(letters, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", bos_token="</s>").save_pretrained(
        folder
    )
    torch.manual_seed(1)
    size = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 512, "vocab_size": len(letters)}
    GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0)).save_pretrained(folder)
    return folder


def test_nothing_of_the_harness_has_the_name_of_a_file_or_folder_of_ours(harness_alone, wheel):
    environment, files = harness_alone
    ours = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("lm_eval/")}
    folders = {name.split("/")[2] for name in ours}
    assert {"stereoset", "stereoset_chat", "genderswap"} <= folders
    assert folders == {path.parent.name for path in (ROOT / "tasks").glob("*/*.yaml")}
    assert all(name.startswith("lm_eval/tasks/") and name.count("/") == 3 for name in ours)
    tasks = environment.site.relative_to(environment.folder) / "lm_eval" / "tasks"
    theirs = {Path(name).relative_to(tasks).parts[0] for name in files if Path(name).is_relative_to(tasks)}
    assert len(theirs) > 100
    assert not folders & theirs


def test_pages_that_messages_name_are_in_the_wheel(wheel):
    sources = [*(ROOT / "lm_eval_stereoset").rglob("*.py"), *(ROOT / "translation").rglob("*.py")]
    named = {
        name for path in sources for name in re.findall(r"\bpage\(['\"](.+?)['\"]\)", path.read_text("utf-8"))
    }
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {"data.md", "gate.md"} <= named
    assert {f"lm_eval_stereoset/docs/{name}" for name in named} <= inside
    assert "lm_eval_stereoset/configs/shared_benchmark.yaml" in inside


def test_what_an_index_shows_is_complete_and_its_links_work_from_there(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(archive.read(name))
    assert metadata["Version"] == lm_eval_stereoset.__version__
    assert metadata["Author"]
    kinds = {url.partition(",")[0] for url in metadata.get_all("Project-URL")}
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= kinds
    harness = next(one for one in metadata.get_all("Requires-Dist") if one.startswith("lm-eval["))
    assert "<0.5" in harness
    links = re.findall(r"\]\(([^)]+)\)", metadata.get_payload())
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert any(link.startswith("https://raw.") and link.endswith("lms_ss.png") for link in links)


def test_what_the_owner_typed(installed, sample_as_data, checkpoint, tmp_path):
    """In an empty folder, without an include path."""
    done = installed.run(
        "lm_eval", "--tasks", "stereoset_intra_de", "--model", "hf", "--model_args", f"pretrained={checkpoint}",
        folder=tmp_path, STEREOSET_DATA=str(sample_as_data),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (first,) = (line for line in done.stdout.splitlines() if line.startswith("|stereoset_intra_de"))
    assert [cell.strip() for cell in first.split("|")][5] == "icat"
    assert "overrides existing task" not in done.stderr


# Run by the environment's Python. Of the harness's files, those in folders without its tag are left out: 14,000 take long.
PROBE = """
import importlib.metadata, importlib.util, json, sys
from pathlib import Path
import lm_eval.tasks, lm_eval_stereoset
from lm_eval.tasks._index import TaskIndex

root, ours = Path(lm_eval.tasks.__file__).parent, {path.name for path in Path(sys.argv[1]).iterdir() if path.is_dir()}
names = {path.relative_to(root).parts[0] for path in root.glob("*/**/*") if path.suffix in ("", ".yaml")
         and path.is_file() and "social_bias" in path.read_text("utf-8")} | ours

def tags(among, *more):
    every = TaskIndex._iter_yaml_files
    def some(folder):
        return (path for path in every(folder) if folder != root or path.relative_to(root).parts[0] in among)
    TaskIndex._iter_yaml_files = staticmethod(some)
    index = TaskIndex.build([root, *map(Path, more)])
    TaskIndex._iter_yaml_files = staticmethod(every)
    return {tag: sorted(index[tag].tags) for tag in ("social_bias", "social_bias_chat") if tag in index}

(entry,) = (e for e in importlib.metadata.entry_points(group="lm_eval.tasks") if e.name == "stereoset")
(folder,) = importlib.util.find_spec(entry.value).submodule_search_locations
print(json.dumps({
    "package": lm_eval_stereoset.__file__,
    "alone": tags(names - ours), "without": tags(names), "with": tags(names, sys.argv[1]),
    "entry point": [entry.load().__file__, folder],
}))
"""


@pytest.fixture(scope="module")
def probed(installed, tmp_path_factory) -> dict[str, Any]:
    done = installed.run("python", "-c", PROBE, ROOT / "tasks", folder=tmp_path_factory.mktemp("empty"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_tag_holds_the_harnesss_tasks_and_ours_with_and_without_an_include_path(probed):
    theirs = set(probed["alone"]["social_bias"])
    assert len(theirs) >= 14
    assert probed["with"] == probed["without"]
    ours = set(probed["with"]["social_bias"]) - theirs
    assert set(probed["with"]["social_bias"]) == theirs | ours
    assert {"stereoset_intra_de", "stereoset_pt", "genderswap_dev"} <= ours
    assert "stereoset_chat_de" in probed["with"]["social_bias_chat"]


def test_the_entry_point_names_a_package_with_the_task_files(installed, probed):
    file, folder = map(Path, probed["entry point"])
    assert file.parent == folder == installed.site / "lm_eval_stereoset" / "tasks"
    assert Path(probed["package"]).is_relative_to(installed.site), "the wheel's, not the source's"
    written = {path.relative_to(ROOT / "tasks") for path in (ROOT / "tasks").glob("*/*.yaml")}
    assert {path.relative_to(folder) for path in folder.rglob("*.yaml")} == written


def test_stereoset_tasks_prints_a_folder_that_repeats_nothing(installed, sample_as_data, tmp_path):
    done = installed.run("stereoset", "tasks", folder=tmp_path, STEREOSET_DATA=str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    assert [*Path(done.stdout.strip()).rglob("*.yaml")] == []
    assert "finds the built-in tasks by itself" in done.stderr


def test_reinstalling_the_harness_leaves_our_tasks_and_uninstalling_ours_leaves_nothing(
    harness_alone, installed
):
    """The last test of this module: it takes the environment apart."""
    environment, before = harness_alone
    ours = {name: time for name, time in environment.files().items() if name not in before}
    assert any("lm_eval/tasks/stereoset/stereoset_intra_de.yaml" in name for name in ours)
    assert environment.files() == before | ours, "no file of the harness was written"
    environment.install("--force-reinstall", NEWEST)
    assert ours.items() <= environment.files().items()
    done = environment.pip("uninstall", "--quiet", "--yes", "lm-eval-stereoset")
    assert done.returncode == 0, done.stderr
    assert environment.files().keys() == before.keys()
    assert not [path for path in environment.folder.rglob("*stereoset*") if "others" not in path.parts]
