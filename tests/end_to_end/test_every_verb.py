"""Every verb, typed for every kind of model and input that it accepts: exit code 0, the lines, the files."""

import argparse
import importlib
import json

import pytest
from end_to_end_verbs import VERBS

from lm_eval_stereoset.cli import COMMANDS

KINDS = ("bert", "roberta", "gpt2", "chat", "t5", "mt5")
NEXT_SENTENCE = ("nsp-decoder", "nsp-seq2seq", "nsp-encoder")
CAUSAL = ("gpt2", "chat")
REPORTED = ("bert", "gpt2", "nsp-encoder")  # one of each way of scoring: a report is drawn from numbers alone


def every_command() -> list[str]:
    """All that can be asked for help, from the parsers: `stereoset data`, `stereoset data fetch` …"""
    found = ["stereoset", "nsp_finetune"]
    for name, (module, _) in COMMANDS.items():
        found.append(f"stereoset {name}")
        for action in importlib.import_module(module).make_parser()._actions:
            if isinstance(action, argparse._SubParsersAction):
                found += [f"stereoset {name} {verb}" for verb in action.choices]
    return found


def metrics(folder) -> dict[str, float]:
    """{metric of the one task: value} of the results file below a folder."""
    (file,) = folder.rglob("results_*.json")
    (values,) = json.loads(file.read_text())["results"].values()
    return {name.partition(",")[0]: value for name, value in values.items() if isinstance(value, float)}


@pytest.mark.parametrize("kind", [*KINDS, *NEXT_SENTENCE])
def test_predict_then_score_gives_what_run_gives(type_command, kind):
    """The two ways from a model to a number, and the table of one is the table of the other."""
    folder = type_command.folder
    split = "inter" if kind in NEXT_SENTENCE else "both"
    task = "stereoset_inter_de" if kind in NEXT_SENTENCE else "stereoset_de"
    predicted = type_command(
        f"stereoset predict {{{kind}}} --language de --split {split} --data sample -o predictions.json"
    )
    assert predicted.code == 0, predicted.text
    assert "wrote predictions.json" in predicted.out
    scored = type_command("stereoset score predictions.json -o scores.json")
    assert scored.code == 0, scored.text
    run = type_command(
        f"stereoset run --model stereoset-hf --model_args pretrained={{{kind}}} --tasks {task} "
        "--metadata data=sample --output_path results --log_samples"
    )
    assert run.code == 0, run.text
    table = json.loads((folder / "scores.json").read_text())
    ours = table["inter" if kind in NEXT_SENTENCE else "overall"]["overall"]
    theirs = metrics(folder / "results")
    for metric in ("ss", "lms", "icat", "mc_ss", "icat_macro"):
        assert ours[metric] == pytest.approx(theirs[metric], abs=1e-9), metric
    samples = type_command("stereoset score " + " ".join(map(str, folder.rglob("samples_*.jsonl"))))
    assert samples.code == 0, samples.text
    if kind not in REPORTED:
        return
    report = type_command("stereoset report results -o report.html --tables tables --figures figures")
    assert report.code == 0, report.text
    assert "<html" in (folder / "report.html").read_text()
    assert list((folder / "tables").iterdir())
    assert list((folder / "figures").glob("*.png"))


@pytest.mark.parametrize("kind", CAUSAL)
def test_hf_and_stereoset_hf_give_the_same_table_for_causal_models(type_command, kind):
    for model in ("hf", "stereoset-hf"):
        done = type_command(
            f"stereoset run --model {model} --model_args pretrained={{{kind}}} --tasks stereoset_intra_fr "
            f"--metadata data=sample --output_path {model}"
        )
        assert done.code == 0, done.text
    one, other = metrics(type_command.folder / "hf"), metrics(type_command.folder / "stereoset-hf")
    assert [one[m] for m in ("ss", "lms", "icat")] == [other[m] for m in ("ss", "lms", "icat")]


@pytest.mark.parametrize(
    "flags",
    [
        "--apply_chat_template",
        "--apply_chat_template --system_instruction 'Answer in one sentence.'",
        "--system_instruction 'Answer in one sentence.'",
        "--limit 9",
        "--predict_only --output_path out",
        "--use_cache cache",
        "--cache_requests true",
        "--write_out",
        "--num_fewshot 1",
        "--batch_size 5",
    ],
)
def test_the_harness_flags_work_with_hf(type_command, flags):
    done = type_command(
        "stereoset run --model hf --model_args pretrained={chat} --tasks stereoset_inter_en --metadata data=sample "
        + flags
    )
    assert done.code == 0, done.text
    expected = 9 if "limit" in flags else 28
    assert "inter/en" in done.out
    assert f"{expected} " in next(line for line in done.out.splitlines() if "inter/en" in line)


FIT = "stereoset debias fit {{{}}} --data sample --level {} --settings {} -o {}"


def test_a_debiased_model_is_another_model_in_caches_notes_results_and_reports(type_command):
    """Base, debiased, base, debiased with one cache: each gets its own scores, and every file names the projections."""
    folder = type_command.folder
    fitted = type_command(FIT.format("bert", "layer11", "0,1,1,0,1", "projections"))
    assert fitted.code == 0, fitted.text
    assert "layer11 (0,1,1,0,1), fitted on 16 pairs" in fitted.out
    tasks = "genderswap_dev,stereoset_intra_de"
    run = (
        "stereoset run --model stereoset-hf --model_args pretrained={bert}%s "
        f"--tasks {tasks} --metadata data=sample --use_cache cache --log_samples --output_path %s"
    )
    tables = []
    for name in ("base", "debiased", "base again", "debiased again"):
        more = ",debias=projections" if "debiased" in name else ""
        done = type_command(run % (more, f"'results/{name}'"))
        assert done.code == 0, done.text
        assert ("are in the cache, 0 are not" in done.text) == ("again" in name)
        assert ("[layer11 (0,1,1,0,1)]" in done.out) == ("debiased" in name)
        (file,) = (folder / "results" / name).rglob("results_*.json")
        content = json.loads(file.read_text())
        tables.append(content["results"])
        assert ("debias" in content["config"]["stereoset"]) == ("debiased" in name)
    assert tables[0] == tables[2]
    assert tables[1] == tables[3]
    for task, metric in (("genderswap_dev", "s_mean,none"), ("stereoset_intra_de", "lms,none")):
        assert tables[0][task][metric] != tables[1][task][metric]
    predict = "stereoset predict {bert} -b genderswap --split dev --data sample -o "
    for more, file in ((" --debias projections", "debiased.json"), ("", "base.json")):
        done = type_command(predict + file + more)
        assert done.code == 0, done.text
    refused = type_command(predict + "base.json --debias projections")
    assert (refused.code, len(refused.mistakes())) == (2, 1)
    report = type_command(
        "stereoset report results/base results/debiased debiased.json=debiased.json -o r.html"
    )
    assert report.code == 0, report.text
    assert "[layer11 (0,1,1,0,1)]" in (folder / "r.html").read_text()


def test_a_folded_checkpoint_loads_as_it_is_and_scores_as_the_hooked_model(type_command):
    assert type_command(FIT.format("bert", "layer12", "0,1,1", "d")).code == 0
    saved = type_command("stereoset debias save {bert} d -o folded")
    assert saved.code == 0, saved.text
    assert "not in the checkpoint: the last layer's first token itself is as it was" in saved.out
    found = []
    for model in ("{bert} --debias d", "folded", "{bert}"):
        predict = f"stereoset predict {model} -b genderswap --split dev --data sample --overwrite -o p.json"
        done = type_command(predict)
        assert done.code == 0, done.text
        content = json.loads((type_command.folder / "p.json").read_text())
        found.append([score for one in content["scores"] for score in one["scores"].values()])
    hooked, folded, base = found
    assert folded == pytest.approx(hooked, abs=1e-5)
    assert base != pytest.approx(hooked, abs=1e-5)


@pytest.mark.parametrize("kind", ["roberta", "gpt2", "t5", "nsp-encoder", "nsp-decoder", "nsp-seq2seq"])
def test_every_kind_of_model_can_be_debiased(type_command, kind):
    settings = "0,1,1,0,1" if kind == "nsp-encoder" else "0,1,1,0"
    fitted = type_command(FIT.format(kind, "attn", settings, "d"))
    assert fitted.code == 0, fitted.text
    found = []
    for more in ("", "--debias d"):
        predict = f"stereoset predict {{{kind}}} -b genderswap --split dev --data sample --overwrite -o p.json {more}"
        done = type_command(predict)
        assert done.code == 0, done.text
        found.append(json.loads((type_command.folder / "p.json").read_text()))
    assert found[0]["scores"] != found[1]["scores"]


def test_the_steps_of_a_new_language(type_command):
    """plan, repair, check, review, apply and build on a translation that is at hand, then the new task."""
    folder = type_command.folder
    made = type_command("stereoset translate plan --to it --data sample")
    assert made.code == 0, made.text
    from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
    from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
    from lm_eval_stereoset.data.store import file_in

    for split in SPLITS:  # Spanish stands in for what a translator would have written
        target = file_in(folder / "stereoset-it" / "raw", split, "it")
        target.parent.mkdir(parents=True)
        target.write_bytes(file_in(STEREOSET.sample, split, "es").read_bytes())
    steps = (
        "repair --to it --data sample",
        "check --to it --data sample --json problems.json",
        "review --to it --data sample --everything",
    )
    for step in steps:
        done = type_command(f"stereoset translate {step}")
        assert done.code == 0, done.text
    assert json.loads((folder / "problems.json").read_text())
    work = folder / "stereoset-it"
    assert (work / "review.xlsx").is_file()
    rows = (work / "review.csv").read_text(encoding="utf-8-sig").splitlines()
    assert len(rows) > 28
    done = type_command("stereoset translate apply stereoset-it/review.xlsx --to it --data sample --by Ada")
    assert done.code == 0, done.text
    done = type_command("stereoset translate build --to it --data sample")
    assert done.code == 0, done.text
    assert "stereoset_intra_it" in done.out
    run = type_command(
        "stereoset run --model hf --model_args pretrained={gpt2} --tasks stereoset_it --limit 20"
    )
    assert run.code == 0, run.text
    assert "intra/it" in run.out


def test_data_is_fetched_listed_checked_and_added(type_command):
    folder, data = type_command.folder, type_command.data
    fetched = type_command("stereoset data fetch --from {shared}/upstream/stereotypes-multi -l tr -l en")
    assert fetched.code == 0, fetched.text
    listed = type_command("stereoset data list --json")
    assert listed.code == 0
    rows = {(row["split"], row["language"]): row["examples"] for row in json.loads(listed.out)}
    assert rows == {
        ("intra", "en"): 2106,
        ("inter", "en"): 2123,
        ("intra", "tr"): 2106,
        ("inter", "tr"): 2123,
    }
    assert type_command(f"stereoset data check {data}/intra/tr.jsonl {data}/inter/tr.jsonl").code == 0
    (folder / "own" / "intra").mkdir(parents=True)
    lines = (data / "intra" / "tr.jsonl").read_bytes().splitlines(keepends=True)[:30]
    (folder / "own" / "intra" / "az.jsonl").write_bytes(b"".join(lines))
    added = type_command("stereoset data add own --language az")
    assert added.code == 0, added.text
    run = type_command("stereoset run --model hf --model_args pretrained={gpt2} --tasks stereoset_intra_az")
    assert run.code == 0, run.text


def test_predict_scores_what_a_next_sentence_model_takes(type_command):
    done = type_command("stereoset predict {nsp-encoder} -l tr --data sample -o p.json")
    assert done.code == 0, done.text
    assert "intra: left out" in done.out
    written = json.loads((type_command.folder / "p.json").read_text())
    assert [key for key in written if key.endswith("sentence")] == ["intersentence"]


def test_the_next_sentence_commands(type_command, models):
    evaluated = type_command("nsp_finetune evaluate {nsp-decoder} --pairs {pairs} --json")
    assert evaluated.code == 0, evaluated.text
    assert 0 <= json.loads(evaluated.out)["all"]["accuracy"] <= 1
    short = (
        "--max-examples 32 --batch-size 8 --accumulation 1 --eval-examples 8 --test-examples 8 --tracker none"
    )
    for _ in range(2):  # the second goes on from what the first has finished
        resumed = type_command(
            f"nsp_finetune train --base {{gpt2}} --pairs {{pairs}} --output model {short} --resume"
        )
        assert resumed.code == 0, resumed.text
    refused = type_command(
        "stereoset predict {shared}/golden/models/tiny-gpt2-nsp -l en --data sample -o p.json"
    )
    command = refused.err.partition("make a model of it with `")[2].partition("`")[
        0
    ]  # what it tells us to type
    converted = type_command(command.replace("tiny-gpt2-nsp-converted", "converted"))
    assert converted.code == 0, converted.text
    predicted = type_command("stereoset predict converted -l en --split inter --data sample -o p.json")
    assert predicted.code == 0, predicted.text


def test_a_model_trained_on_short_pairs_takes_the_whole_inter_sentence_test(type_command):
    """prepare and train were typed for the fixture; the pairs of the test are longer than all that was trained."""
    short = "--max-length 12 --max-examples 16 --batch-size 8 --accumulation 1 --eval-examples 8 --test-examples 8"
    trained = type_command(
        f"stereoset nsp train --base {{gpt2}} --pairs {{pairs}} --output short --tracker none {short}"
    )
    assert trained.code == 0, trained.text
    assert "longer than --max-length 12" in trained.text
    run = type_command(
        "stereoset run --model stereoset-hf --model_args pretrained=short --tasks stereoset_inter_en "
        "--metadata data=sample"
    )
    assert run.code == 0, run.text
    assert "28 of 28" in run.out


@pytest.mark.parametrize("typed", VERBS, ids=lambda typed: typed.command)
def test_a_verb_does_what_it_is_for(type_command, models, typed):
    if typed.prepare:
        typed.prepare(type_command.folder, models)
    done = type_command(typed.command)
    assert done.code == typed.code, done.text
    for words in typed.says:
        assert words in done.out, done.text
    for name in typed.files:
        assert (type_command.folder / name).stat().st_size > 0


@pytest.mark.parametrize("command", every_command())
def test_every_verb_has_a_help(type_command, command):
    done = type_command(f"{command} --help")
    assert done.code == 0, done.text
    assert done.out.startswith("usage: ")
