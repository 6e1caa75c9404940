"""stereoset predict: the published format, agreement with the golden scores, bad input, what it never overwrites."""

import json
import shutil

import pytest

from lm_eval_stereoset.benchmarks.prediction_files import head_of
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store


@pytest.fixture
def golden_models(shared):
    return shared / "golden" / "models"


def run(*arguments) -> int:
    return main(["predict", *map(str, arguments), "--quiet"])


def read(path) -> dict[str, dict[str, float]]:
    content = json.loads(path.read_text(encoding="utf-8"))
    lists = {key: entries for key, entries in content.items() if key not in head_of(content)}
    return {key: {entry["id"]: entry["score"] for entry in entries} for key, entries in lists.items()}


def test_it_writes_the_golden_scores_in_the_published_format(golden_models, real_data, shared, tmp_path):
    out = tmp_path / "out.json"
    assert run(golden_models / "tiny-bert", "--language", "en", "--exact", "-o", out) == 0
    found = read(out)
    assert list(found) == ["intrasentence", "intersentence"]
    for key, variant in (("intrasentence", "BertLM"), ("intersentence", "BertNextSentence")):
        path = shared / "golden" / "scores" / f"tiny-bert__{key}__{variant}__en.json"
        assert found[key] == pytest.approx(json.loads(path.read_text()), rel=1e-5)
    order = [c.id for e in store.load(STEREOSET, "intra", "en").examples for c in e.candidates]
    assert list(found["intrasentence"]) == order
    assert sorted(p.name for p in tmp_path.glob("*.json*")) == ["out.json"]


@pytest.mark.parametrize("split", ["intra", "inter"])
def test_stereoset_score_reads_it(golden_models, tmp_path, capsys, split):
    out = tmp_path / "out.json"
    arguments = ("--language", "de", "--split", split, "--data", "sample")
    assert run(golden_models / "tiny-gpt2", *arguments, "-o", out) == 0
    assert list(read(out)) == [f"{split}sentence"]
    capsys.readouterr()
    assert main(["score", str(out), "--language", "de", "--data", "sample"]) == 0
    assert "SS" in capsys.readouterr().out


def test_score_and_report_need_no_flag_for_what_the_file_says(golden_models, tmp_path, capsys, monkeypatch):
    """Language, model, method and data; also a folder of the user's, as long as it is where it was."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(STEREOSET.sample, tmp_path / "mine")
    for data in ("sample", "mine"):
        arguments = ("--language", "tr", "--split", "inter", "--data", data, "--limit", "5")
        assert run(golden_models / "tiny-bert", *arguments, "-o", f"{data}.json") == 0
        assert main(["score", f"{data}.json"]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert f"inter/tr: data {data}" in out
        assert "probability that the candidate follows the context" in out
        assert "only 5 of 28 examples" in out
    assert main(["report", "sample.json", "-o", "report.html"]) == 0
    assert "1 model in 1 language (tr)" in capsys.readouterr().out
    (tmp_path / "mine").rename(tmp_path / "moved")
    assert main(["score", "mine.json"]) == 2
    assert "which is not here; say where it is with --data DIR" in capsys.readouterr().err
    assert main(["score", "mine.json", "--data", "moved"]) == 0


def test_the_bar_ends_at_the_number_of_examples(golden_models, tmp_path, capsys):
    for model in ("tiny-bert", "tiny-gpt2", "tiny-t5"):
        arguments = [
            "--language",
            "de",
            "--data",
            "sample",
            "--limit",
            "6",
            "-o",
            str(tmp_path / f"{model}.json"),
        ]
        assert main(["predict", str(golden_models / model), *arguments]) == 0
        bars = [
            line for line in capsys.readouterr().err.replace("\r", "\n").splitlines() if "scoring:" in line
        ]
        assert "| 12/12 [" in bars[-1]
        assert all("/12 [" in bar for bar in bars)


def test_case_changes_the_scores(golden_models, tmp_path):
    found = []
    for case in ("d", "e"):
        out = tmp_path / f"{case}.json"
        run(
            golden_models / "tiny-gpt2",
            "--language",
            "en",
            "--split",
            "inter",
            "--data",
            "sample",
            "--case",
            case,
            "-o",
            out,
        )
        found.append(read(out))
    assert found[0] != found[1]


def test_equal_ids_in_both_splits_keep_their_own_scores(golden_models, tmp_path):
    for split in ("intra", "inter"):
        (tmp_path / "mine" / split).mkdir(parents=True)
        examples = store.load(STEREOSET, split, "en", "sample").examples[:6]
        lines = [json.dumps(e.to_dict() | {"id": str(i)}) for i, e in enumerate(examples)]
        (tmp_path / "mine" / split / "en.jsonl").write_text("\n".join(lines))
    arguments = (golden_models / "tiny-bert", "--language", "en", "--data", tmp_path / "mine")
    for split in ("both", "inter"):
        assert run(*arguments, "--split", split, "-o", tmp_path / f"{split}.json") == 0
    both, alone = (read(tmp_path / f"{split}.json")["intersentence"] for split in ("both", "inter"))
    assert both == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "z"], "case 'z' is unknown"),
        (["--scoring", "nsp"], "has no next-sentence head"),
        (["--scoring", "mlm"], "scoring 'mlm' is unknown"),
        (["--batch-size", "0"], "batch_size must be a whole number of at least 1"),
        (["--dtype", "foo"], "dtype 'foo' is unknown"),
        (["--device", "foo"], "device 'foo' cannot be used"),
        (["--tokenizer", "nowhere/nothing"], "nowhere/nothing: cannot be loaded"),
        (["--data", "nowhere"], "no file"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(golden_models, tmp_path, capsys, arguments, message):
    out = tmp_path / "out.json"
    data = [] if "--data" in arguments else ["--data", "sample"]
    assert run(golden_models / "tiny-gpt2", "--language", "en", *data, *arguments, "-o", out) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("stereoset predict: ")
    assert message in said
    assert not out.exists()


def test_a_folder_as_output_is_refused(golden_models, tmp_path, capsys):
    assert run(golden_models / "tiny-gpt2", "--language", "en", "-o", tmp_path) == 2
    assert "is a folder" in capsys.readouterr().err


def test_next_sentence_checkpoints_are_predicted(golden_models, shared, real_data, tmp_path):
    from nsp_finetune.convert import convert

    source = golden_models / "tiny-gpt2-nsp"
    convert(source / "nsp_model.pth", str(source), tmp_path / "nsp")
    out = tmp_path / "out.json"
    assert run(tmp_path / "nsp", "--language", "en", "--split", "inter", "--exact", "-o", out) == 0
    golden = shared / "golden" / "scores" / "tiny-gpt2-nsp__intersentence__ModelNSP__en.json"
    assert read(out)["intersentence"] == pytest.approx(json.loads(golden.read_text()), rel=1e-5)


def test_a_model_in_a_subfolder_is_the_one_in_that_folder(golden_models, tmp_path):
    for name in ("tiny-gpt2", "tiny-bert"):
        shutil.copytree(golden_models / name, tmp_path / "all" / name)
    outputs = [tmp_path / "direct.json", tmp_path / "sub.json"]
    assert sample(golden_models / "tiny-bert", outputs[0]) == 0
    assert sample(tmp_path / "all", outputs[1], "--subfolder", "tiny-bert") == 0
    texts = [output.read_text(encoding="utf-8") for output in outputs]
    places = [str(golden_models / "tiny-bert"), str(tmp_path / "all" / "tiny-bert")]
    for text, place in zip(texts, places, strict=True):
        assert json.loads(text)["model"] == place
        assert f"tokens of {place}," in text
    assert texts[0].replace(places[0], "MODEL") == texts[1].replace(places[1], "MODEL")


# what is written, and what never is


@pytest.fixture
def model(golden_models, tmp_path):
    """A checkpoint that may be damaged."""
    return shutil.copytree(golden_models / "tiny-gpt2", tmp_path / "model")


def sample(model, out, *more, split="intra"):
    return run(model, "--language", "en", "--split", split, "--data", "sample", "-o", out, *more)


def test_the_head_of_the_file_says_what_it_is_from(model, tmp_path):
    out = tmp_path / "out.json"
    assert sample(model, out) == 0
    about = head_of(json.loads(out.read_text()))
    assert about["model"] == str(model)
    assert about["language"] == "en"
    assert about["data"][0]["sha256"] == store.load(STEREOSET, "intra", "en", "sample").provenance.sha256
    assert about["identity"]["settings"]["scoring"]["fill"] == "causal"
    assert about["identity"]["dtype"] == "torch.float32"
    assert about["identity"]["packages"]["transformers"]


@pytest.mark.parametrize(
    "name", ["config.json", "model.safetensors", "tokenizer.json", "data.jsonl", "link.json"]
)
@pytest.mark.parametrize("more", [[], ["--overwrite"]])
def test_its_own_inputs_are_never_overwritten(model, tmp_path, capsys, name, more):
    data = tmp_path / "mine" / "intra" / "en.jsonl"
    data.parent.mkdir(parents=True)
    shutil.copy(store.load(STEREOSET, "intra", "en", "sample").path, data)
    (model / "link.json").symlink_to(model / "config.json")
    target = data if name == "data.jsonl" else model / name
    before = target.read_bytes()
    arguments = ("--language", "en", "--split", "intra", "--data", tmp_path / "mine", "-o", target, *more)
    assert run(model, *arguments) == 2
    assert "which is an input" in capsys.readouterr().err
    assert target.read_bytes() == before


def test_the_note_of_a_data_file_is_not_overwritten(model, tmp_path):
    data = tmp_path / "mine" / "intra" / "en.jsonl"
    data.parent.mkdir(parents=True)
    shutil.copy(store.load(STEREOSET, "intra", "en", "sample").path, data)
    store.about_file(data).write_text("{}")
    out = data.with_suffix(".json")
    run(model, "--language", "en", "--split", "intra", "--data", tmp_path / "mine", "-o", out)
    assert store.about_file(data).read_text() == "{}"


def test_the_same_command_again_scores_nothing_and_changes_nothing(model, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out.json"
    assert sample(model, out) == 0
    before = out.read_bytes()
    monkeypatch.setattr("lm_eval_stereoset.scoring.score_with", None)  # a call would fail
    assert sample(model, out) == 0
    assert "holds these predictions already" in capsys.readouterr().out
    assert out.read_bytes() == before


def test_predictions_of_another_model_or_setting_are_replaced_only_when_asked(
    model, golden_models, tmp_path, capsys
):
    out = tmp_path / "out.json"
    assert sample(model, out, split="inter") == 0
    before = out.read_bytes()
    for other, more in (
        (golden_models / "tiny-bert", []),
        (model, ["--case", "e"]),
        (model, ["--dtype", "bfloat16"]),
    ):
        assert sample(other, out, *more, split="inter") == 2
        assert "--overwrite" in capsys.readouterr().err.splitlines()[-1]
        assert out.read_bytes() == before
    assert sample(model, out, "--case", "e", "--overwrite", split="inter") == 0
    assert out.read_bytes() != before
    assert head_of(json.loads(out.read_text()))["identity"]["settings"]["case"] == "e"


def test_a_file_that_is_not_ours_is_replaced_only_when_asked(model, tmp_path, capsys):
    out = tmp_path / "thesis.json"
    out.write_text("years of work")
    assert sample(model, out) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert out.read_text() == "years of work"
    assert not list(tmp_path.glob("*.part"))


def test_files_of_others_beside_the_output_are_kept(model, tmp_path, capsys):
    name = "out.json.part"
    (tmp_path / name).write_text('{"mine": 1}\n')
    assert sample(model, tmp_path / "out.json") == 2
    assert name in capsys.readouterr().err.splitlines()[-1]
    assert (tmp_path / name).read_text() == '{"mine": 1}\n'
