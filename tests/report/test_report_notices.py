from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
from lm_eval_stereoset.report.model_run import Run
from lm_eval_stereoset.report.notices import notices


def run(model: str, data: str) -> Run:
    return Run(
        BENCHMARK,
        model,
        "de",
        "x",
        {"intra": {"overall": {"n": 3, "ss": 50.0}}},
        data={"intra": {"data": data}},
    )


def texts(*runs: Run) -> list[str]:
    return [notice.text for notice in notices(runs, []) if "sample" in notice.text]


def test_results_on_the_bundled_sample_are_marked():
    assert texts(run("a", "sample"), run("b", "stereoset"))[0].startswith("a, de: on the small sample")
    assert texts(run("a", "sample"), run("b", "sample"))[0].startswith("All runs: on the small sample")


def test_results_on_stereoset_are_not():
    assert texts(run("a", "stereoset"), run("b", "own")) == []
