"""What --help and `ls` say is what there is: read from the declarations, the model's signature and the data folder."""

import inspect
import json

import pytest

from lm_eval_stereoset import benchmarks
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.cli import main, run_help
from lm_eval_stereoset.harness.paths import task_folder
from lm_eval_stereoset.harness.yaml_tasks import group_names, task_names


@pytest.fixture
def typed(capsys):
    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(list(arguments))
        except SystemExit as stop:
            code = stop.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def toy():
    """A benchmark of another package, known while a test runs."""
    from toy_benchmark import BENCHMARK

    benchmarks.register(BENCHMARK)
    yield BENCHMARK
    benchmarks._REGISTERED.pop(BENCHMARK.name)


def test_a_benchmark_that_is_declared_appears_in_every_help(typed, toy):
    for arguments in (["--help"], ["run", "--help"], ["ls"]):
        _, out, _ = typed(*arguments)
        assert f"{toy.title}" in out
        assert STEREOSET.asks in out
        assert all(metric.title in out for metric in (*toy.main, *STEREOSET.main))
    _, names, _ = typed("ls", "--names")
    assert set(names.split()) == {
        name for b in benchmarks.registered() for name in task_names(b) + group_names(b)
    }


def test_the_help_of_run_says_what_is_ours_before_the_harnesss_flags(typed):
    code, out, _ = typed("run", "--help")
    ours, _, theirs = out.partition("All other options are lm_eval's own:")
    assert code == 0
    assert "usage: lm-eval run" in theirs
    for what in (
        "stereoset_inter_XX",
        "stereoset-hf",
        "data=sample",
        "data=DIR",
        "--full-table",
        "pretrained=",
    ):
        assert what in ours
    assert max(map(len, ours.splitlines())) <= 115


def test_the_model_args_in_the_help_are_those_that_the_models_take():
    from lm_eval.models.huggingface import HFLM

    from lm_eval_stereoset.harness.model import StereoSetHF

    theirs = set(inspect.signature(HFLM.__init__).parameters)
    ours = set(inspect.signature(StereoSetHF.__init__).parameters)
    assert set(run_help.OWN_MODEL_ARGS) == ours - theirs - {"options"}
    assert set(run_help.COMMON_MODEL_ARGS) <= theirs


def test_task_names_are_those_of_the_files():
    files = {path.stem for path in (task_folder() / "stereoset").glob("*.yaml")}
    assert set(task_names(STEREOSET)) | {f"_{name}" for name in group_names(STEREOSET)} == files
    assert task_names(STEREOSET)[:4] == [
        *("stereoset_en", "stereoset_intra_en", "stereoset_inter_en", "stereoset_de"),
    ]


def test_ls_says_which_data_is_here(typed, own_data_folder, example_line, tmp_path):
    assert typed("ls", "stereoset")[1].count("not fetched") == 6
    assert "stereoset data fetch stereoset;" in typed("ls", "stereoset_chat")[1], "whose data it asks about"
    for split, count in (("intra", 3), ("inter", 2)):
        (tmp_path / "mine" / split).mkdir(parents=True)
        lines = [json.dumps(example_line(number, split)) for number in range(count)]
        (tmp_path / "mine" / split / "it.jsonl").write_text("\n".join(lines))
    assert typed("data", "add", str(tmp_path / "mine"), "--language", "it")[0] == 0
    row = next(line for line in typed("ls")[1].splitlines() if line.startswith("  it"))
    assert "intra 3, inter 2 (own)" in row
    assert row.endswith("stereoset_intra_it, stereoset_inter_it, stereoset_it")
    (benchmark,) = json.loads(typed("ls", "stereoset", "-l", "it", "--json")[1])["benchmarks"]
    assert [(r["code"], r["built_in"], r["examples"]) for r in benchmark["languages"]] == [
        ("it", False, {"intra": 3, "inter": 2})
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ls", "nothing"], f"no benchmark 'nothing'; the benchmarks are {', '.join(benchmarks.names())}"),
        (
            ["ls", "stereoset", "-l", "xx"],
            "--language xx is not known; choose from en, de, fr, es, tr, pt",
        ),
    ],
)
def test_what_ls_does_not_know_is_one_line(typed, arguments, said):
    code, out, err = typed(*arguments)
    assert (code, out, err) == (2, "", f"stereoset ls: {said}\n")
