"""GEST and EuroGEST typed from fetch to gate, on the sample, with the published models of three families."""

import json

import pytest


def test_fetch_list_and_check(type_command):
    done = type_command("stereoset data fetch gest --from {shared}/upstream/gest")
    assert (done.code, "2 files in" in done.out) == (0, True), done.text
    done = type_command("stereoset data fetch eurogest --from {shared}/upstream/EuroGEST -l cs -l mt")
    assert (done.code, "2 files in" in done.out) == (0, True), done.text
    listed = type_command("stereoset data list --json")
    rows = {(row["benchmark"], row["language"]): row["examples"] for row in json.loads(listed.out)}
    assert rows == {("gest", "en"): 3565, ("eurogest", "cs"): 1808, ("eurogest", "mt"): 1121}


@pytest.mark.parametrize("kind", ["roberta", "gpt2", "t5"])
def test_predict_score_and_run_give_the_same_numbers(type_command, kind):
    folder = type_command.folder
    for benchmark, language in (("gest", "en"), ("eurogest", "cs")):
        done = type_command(
            f"stereoset predict {{{kind}}} --benchmark {benchmark} --language {language} --data sample -o {benchmark}.json"
        )
        assert done.code == 0, done.text
        scored = type_command(
            f"stereoset score {benchmark}.json --benchmark {benchmark} -o {benchmark}_scores.json"
        )
        assert scored.code == 0, scored.text
        assert "13 leaders" in scored.out
    run = type_command(
        f"stereoset run --model stereoset-hf --model_args pretrained={{{kind}}} --tasks gest_en,eurogest_cs "
        "--metadata data=sample --output_path results --log_samples"
    )
    assert run.code == 0, run.text
    (file,) = (folder / "results").rglob("results_*.json")
    results = json.loads(file.read_text())["results"]
    for benchmark, task, view in (("gest", "gest_en", "overall"), ("eurogest", "eurogest_cs", "pairs")):
        table = json.loads((folder / f"{benchmark}_scores.json").read_text())[view]["overall"]
        for metric in ("g_s", "g_s_ratio", "q_m", "q_f", "q_13", "feminine_rank_2"):
            assert results[task][f"{metric},none"] == pytest.approx(table[metric], abs=1e-6), metric
            assert results[task][f"{metric}_stderr,none"] == pytest.approx(
                table[f"{metric}_stderr"], abs=1e-6
            )
    if kind != "gpt2":
        return
    gate = type_command(
        "stereoset gate results --limit 'g_s at most 5' --limit 'q_3 at most 5 benchmark=eurogest'"
    )
    assert (gate.code, "3 passed" in gate.out) == (0, True), gate.text
    compared = type_command("stereoset compare results gest.json")
    assert compared.code == 0, compared.text
    report = type_command("stereoset report results -o report.html --tables tables")
    assert report.code == 0, report.text
    assert {path.name for path in (folder / "tables").iterdir()} == {"gest", "eurogest"}


def test_plain_lm_eval_answers_prompts_as_predict_does(type_command):
    """`hf` is asked for he and she behind the prompt."""
    folder = type_command.folder
    done = type_command(
        "stereoset run --model hf --model_args pretrained={gpt2} --tasks gest_en --metadata data=sample --output_path hf"
    )
    assert done.code == 0, done.text
    assert type_command("stereoset predict {gpt2} -b gest --data sample -o gest.json").code == 0
    assert type_command("stereoset score gest.json -o scores.json").code == 0
    (file,) = (folder / "hf").rglob("results_*.json")
    values = json.loads(file.read_text())["results"]["gest_en"]
    table = json.loads((folder / "scores.json").read_text())
    assert values["g_s,none"] == pytest.approx(table["g_s"], abs=1e-4)
    assert values["q_16,none"] == pytest.approx(table["q"][15], abs=1e-4)


def test_a_template_that_a_causal_model_lacks_is_one_line(type_command):
    done = type_command(
        "stereoset run --model hf --model_args pretrained={gpt2} --tasks gest_template_3_en --metadata data=sample"
    )
    assert done.code == 2
    assert done.mistakes()[-1] == (
        "stereoset run: gest_template_3_en: template_3 is for models that see both sides; causal models have "
        "template_0 and template_1"
    )
