"""`stereoset debias sweep`: the figures of an independent program, and a kill that changes no byte."""

import json
from dataclasses import replace

import pytest

from lm_eval_stereoset.benchmarks import find
from lm_eval_stereoset.benchmarks.declaration import Fetch
from lm_eval_stereoset.cli import debias_outputs, debias_sweep, main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.interventions.sweep import scores, subject
from lm_eval_stereoset.scoring import load
from lm_eval_stereoset.scoring.architecture import methods_of
from lm_eval_stereoset.scoring.questions import Settings


@pytest.fixture
def tiny_bert(shared):
    return shared / "golden" / "models" / "tiny-bert"


def test_s_and_d_of_22_settings_are_those_of_an_independent_program(tiny_bert, shared, own_data_folder):
    expected = json.loads((shared / "expected" / "genderswap_tiny-bert.json").read_text())["settings"]
    benchmark = find("genderswap")
    clone = shared / "upstream" / "GenderSwappedStereoSet"
    benchmark.sources["authors"].fetch(benchmark, Fetch(("en",), ("dev", "test"), clone))
    pairs = benchmark.pairs(store.load(benchmark, "test", "en").examples)
    examples = store.load(benchmark, "dev", "en").examples
    model, tokenizer = load(tiny_bert)
    whole = subject(model, tokenizer, methods_of(model), pairs)
    assert len(whole.names) == 75
    wanted = {row["setting"]: whole.settings[row["setting"]] for row in expected}
    assert len(wanted) == 22
    chosen = replace(whole, settings=wanted)
    task = debias_sweep.Task(benchmark, {}, examples, chosen, {})
    found = scores(chosen, [example.question for example in examples], Settings(batch_tokens=8192))
    for row in expected:
        p = [[score.probability for score in one] for one in found[row["setting"]]]
        got = debias_sweep.metrics_of(task, p)
        assert got["S"] == pytest.approx(row["S"], abs=1e-4), row["setting"]
        assert got["D"] == pytest.approx(row["D"], abs=1e-4), row["setting"]


def typed(folder, model, name="sweep.json"):
    return main(["debias", "sweep", str(model), "--data", "sample", "--quiet", "-o", str(folder / name)])


def test_a_sweep_that_is_interrupted_goes_on_and_ends_with_the_same_bytes(
    tiny_bert, tmp_path, monkeypatch, capsys
):
    from lm_eval_stereoset.interventions import sweep

    monkeypatch.setattr(debias_sweep, "AT_ONCE", 24)  # four triples in a part, three parts
    assert typed(tmp_path, tiny_bert, "whole.json") == 0
    asked = []
    original = sweep.scores

    def interrupted(subject, questions, settings):
        if len(asked) == 1:
            raise KeyboardInterrupt
        asked.append(len(questions))
        return original(subject, questions, settings)

    monkeypatch.setattr(sweep, "scores", interrupted)
    assert typed(tmp_path, tiny_bert) == 130
    assert (tmp_path / "sweep.json.part").is_file()
    assert not (tmp_path / "sweep.json").exists()
    asked.append(0)  # from here on it is let through, and counted
    monkeypatch.setattr(sweep, "scores", lambda *a: asked.append(len(a[1])) or original(*a))
    assert typed(tmp_path, tiny_bert) == 0
    assert asked == [4, 0, 4, 4]
    assert (tmp_path / "sweep.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert not (tmp_path / "sweep.json.part").exists()
    content = json.loads((tmp_path / "sweep.json").read_text())
    assert [row["setting"] for row in content["settings"]][:2] == ["base", "sent (0)"]
    assert len(content["settings"]) == 75
    assert {"S", "D", "S_stderr", "D_stderr", "pareto"} <= set(content["settings"][7])
    assert content["pairs"]["count"] == 16
    for ending, start in ((".md", b"| setting | S | D |"), (".png", b"\x89PNG"), (".svg", b"<?xml")):
        assert (tmp_path / "sweep").with_suffix(ending).read_bytes().startswith(start)
    assert "layer12 (" in (tmp_path / "sweep.md").read_text()


def test_an_output_that_is_no_sweep_is_not_replaced(tiny_bert, tmp_path, capsys):
    (tmp_path / "sweep.json").write_text('{"my": "results"}')
    assert typed(tmp_path, tiny_bert) == 2
    assert typed(tmp_path, tiny_bert, "sweep.txt") == 2
    few = ["--data", "sample", "--limit", "4", "--quiet", "-o", str(tmp_path / "few.json")]
    assert main(["debias", "sweep", str(tiny_bert), *few]) == 2
    assert "is not a sweep" in (printed := capsys.readouterr().err)
    assert "ends in .json" in printed
    assert "undefined for 4 examples" in printed
    assert (tmp_path / "sweep.json").read_text() == '{"my": "results"}'


def row(name, s, d, **more):
    return {"setting": name, "S": s, "D": d, **more}


def test_the_front_holds_what_no_other_setting_beats():
    rows = [
        row("base", 0.5, 0.5),
        row("a", 0.1, 0.4),
        row("b", -0.2, 0.2),
        row("c", 0.3, 0.3),
        row("d", 0.1, 0.4),
    ]
    assert [one["setting"] for one in debias_outputs.pareto(rows)] == ["a", "d", "b"]


def test_a_model_that_lost_more_than_five_percent_of_its_accuracy_is_not_viable():
    rows = [
        row("base", 1, 1, snli_accuracy=0.8),
        row("a", 0, 0, snli_accuracy=0.761),
        row("b", 0, 0, snli_accuracy=0.759),
    ]
    assert [debias_outputs.viable(one, rows) for one in rows] == [True, True, False]
    assert debias_outputs.viable(row("x", 0, 0), [row("base", 1, 1)])
