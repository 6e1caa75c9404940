"""StereoSet as people have adapted it: the layout of the original, words found by comparing, names side by side."""

import json

import pytest

from lm_eval_stereoset.benchmarks.stereoset.original import filled_in, stretch, words_of
from lm_eval_stereoset.cli import main

WORDS = [
    # the context filled in, also without spaces, from right to left, glued to an ending, twice
    ("He is BLANK today.", "He is tall today.", "tall"),
    ("BLANK came.", "The old man came.", "The old man"),
    ("他是BLANK。", "他是老师。", "老师"),
    ("הוא BLANK מאוד", "הוא גבוה מאוד", "גבוה"),
    ("그는 BLANK이다", "그는 학생이다", "학생"),
    ("He is BLANK and BLANK.", "He is tall and tall.", "tall"),
    # not the context filled in
    ("He is BLANK today.", "He was tall today.", None),
    ("He is BLANK and BLANK.", "He is tall and kind.", None),
    ("He is BLANK.", "He is .", None),
    ("He is BLANK today.", "He is today.", None),
]


@pytest.mark.parametrize(("context", "sentence", "word"), WORDS)
def test_a_word_is_what_turns_the_context_into_the_sentence(context, sentence, word):
    assert filled_in(context, sentence) == word


STRETCHES = [
    (["Ela era alta.", "Ela era baixa.", "Ela era pedra."], "Ela era BLANK.", ["alta", "baixa", "pedra"]),
    (["He ran home.", "He walked home.", "He quickly ran home."], "He BLANK home.", ["ran", "walked", "quickly ran"]),
    # whole words: what two words share is no frame
    (["He is unable.", "He is unkind.", "He is unlit."], "He is BLANK.", ["unable", "unkind", "unlit"]),
    # never empty: the stretch grows until each sentence has something in it
    (["He is.", "He is tall.", "He is old."], "He BLANK.", ["is", "is tall", "is old"]),
    (["a", "b c", "d"], "BLANK", ["a", "b c", "d"]),
    (["a", "a", "a"], "BLANK", ["a", "a", "a"]),
    (["คนดีมาก", "คนเลวมาก", "คนหินมาก"], "คนBLANKมาก", ["ดี", "เลว", "หิน"]),
    # a literal BLANK in the sentences cannot be part of a frame
    (["BLANK is tall", "BLANK is old", "BLANK is big"], "BLANK", ["BLANK is tall", "BLANK is old", "BLANK is big"]),
]  # fmt: skip


@pytest.mark.parametrize(("sentences", "frame", "words"), STRETCHES)
def test_a_frame_is_what_the_sentences_share(sentences, frame, words):
    assert stretch(sentences) == (frame, words)


def test_one_sentence_of_another_frame_is_enough():
    frame, words = words_of("He is BLANK.", ["He is tall.", "He is old.", "He was big."])
    assert (frame, words) == ("He BLANK.", ["is tall", "is old", "was big"])


def entry(number: int, context: str, sentences: list[str]) -> dict:
    labels = ("stereotype", "anti-stereotype", "unrelated")
    return {
        "id": f"e{number}", "target": "cook", "bias_type": "profession", "context": context,
        "sentences": [
            {"id": f"e{number}-{label}", "sentence": text, "gold_label": label, "labels": [{"label": label}]}
            for label, text in zip(labels, sentences, strict=True)
        ],
    }  # fmt: skip


def original(path, **changes):
    """12 examples of each split; every third intra example has a frame of its own."""
    intra = [
        entry(
            i, f"The cook of house {i} was BLANK.",
            [f"The cook of house {i} {'is' if i % 3 == 0 else 'was'} {word}." for word in ("fat", "thin", "paper")],
        )
        for i in range(12)
    ]  # fmt: skip
    inter = [
        entry(
            100 + i, f"The cook of house {i} came in.", [f"He was {w}." for w in ("fat", "thin", "a paper")]
        )
        for i in range(12)
    ]
    path.write_text(
        json.dumps({"version": "1.0", "data": {"intrasentence": intra, "intersentence": inter} | changes})
    )
    return path


@pytest.fixture
def typed(capsys):
    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_file_of_the_original_layout_becomes_tasks(typed, tmp_path, own_data_folder):
    file = original(tmp_path / "dev.json")
    code, out, _ = typed("data", "add", file, "--language", "xx")
    assert code == 0
    assert "stereoset_intra_xx, stereoset_inter_xx, stereoset_xx" in out
    code, out, _ = typed("data", "check", own_data_folder / "intra" / "xx.jsonl")
    assert code == 0
    assert "     4  the sentences are not the context filled in, but share a frame of their own" in out


def test_several_data_sets_of_a_language_live_side_by_side(typed, tmp_path, own_data_folder):
    file = original(tmp_path / "dev.json")
    assert typed("data", "add", file, "--language", "xx")[0] == 0
    before = (own_data_folder / "intra" / "xx.jsonl").read_bytes()
    code, out, _ = typed("data", "add", file, "--language", "xx", "--name", "mine")
    assert code == 0
    assert "stereoset_intra_xx_mine, stereoset_inter_xx_mine, stereoset_xx_mine" in out
    assert typed("data", "add", file, "--language", "en", "--name", "mine")[0] == 0  # beside a built-in one
    assert (own_data_folder / "intra" / "xx.jsonl").read_bytes() == before
    names = {path.stem for path in (own_data_folder / "tasks").glob("*.yaml")}
    assert {"stereoset_intra_xx", "stereoset_intra_xx_mine", "stereoset_intra_en_mine"} <= names


@pytest.mark.parametrize("name", ["Mine", "my set", "../x", "", "a_b"])
def test_a_name_must_fit_into_names_of_tasks(typed, tmp_path, name):
    code, _, err = typed("data", "add", original(tmp_path / "dev.json"), "--language", "xx", "--name", name)
    assert code == 2
    assert f"--name {name}" in err


def broken(change):
    good = entry(0, "He is BLANK.", ["He is a.", "He is b.", "He is c."])
    return {"intrasentence": [change(good)]}


MISTAKES = {
    "a sentence too few": (
        broken(lambda e: e | {"sentences": e["sentences"][:2]}), "sentences must be a list of three",
    ),
    "a label too many": (
        broken(lambda e: e | {"sentences": [s | {"gold_label": "stereotype"} for s in e["sentences"]]}),
        "needs exactly one candidate of each label",
    ),
    "no gold label": (
        broken(lambda e: e | {"sentences": [{"id": s["id"], "sentence": s["sentence"]} for s in e["sentences"]]}),
        "gold_label is missing",
    ),
    "no BLANK": (broken(lambda e: e | {"context": "He is."}), "context has no BLANK"),
    "unknown bias type": (broken(lambda e: e | {"bias_type": "age"}), "bias_type 'age'"),
    "not a list": ({"intrasentence": {"a": 1}}, "must be a list of examples"),
    "an example twice": ({"intrasentence": broken(lambda e: e)["intrasentence"] * 2}, "duplicate id e0"),
    "a text in place of an example": ({"intrasentence": ["x"]}, "expected a JSON object"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_name_file_split_and_example(typed, tmp_path, own_data_folder, mistake):
    changes, message = MISTAKES[mistake]
    code, _, err = typed("data", "add", original(tmp_path / "dev.json", **changes), "--language", "xx")
    assert code == 2
    assert "dev.json, intrasentence" in err or "dev.json: intrasentence" in err
    assert message in err
    assert not list(own_data_folder.rglob("*.jsonl"))


@pytest.mark.parametrize("content", ["[]", '{"data": []}', '{"data": {}}', '{"intrasentence": []}'])
def test_other_files_are_one_line(typed, tmp_path, content):
    path = tmp_path / "dev.json"
    path.write_text(content)
    code, _, err = typed("data", "add", path, "--language", "xx")
    assert code == 2
    assert "not in the layout of the original StereoSet" in err


def test_a_frame_must_be_that_of_the_sentences(typed, tmp_path, own_data_folder):
    typed("data", "add", original(tmp_path / "dev.json"), "--language", "xx")
    path = own_data_folder / "intra" / "xx.jsonl"
    path.write_text(
        path.read_text().replace('"frame": "The cook of house 0 is BLANK."', '"frame": "He is BLANK."')
    )
    code, out, _ = typed("data", "check", path)
    assert code == 1
    assert "is not the sentence of candidate e0-stereotype" in out


def test_masked_models_read_the_frame_and_causal_ones_the_sentences(typed, tmp_path, own_data_folder):
    from lm_eval_stereoset.benchmarks.stereoset.data import load
    from lm_eval_stereoset.scoring.questions import requests_of

    typed("data", "add", original(tmp_path / "dev.json"), "--language", "xx")
    first = load("intra", "xx").examples[0]
    assert first.context == "The cook of house 0 was BLANK."
    assert first.question.context == "The cook of house 0 is BLANK."
    assert requests_of(first.question)[0] == ("", "The cook of house 0 is fat.")


@pytest.mark.parametrize(("kind", "model"), [("stereoset-hf", "tiny-bert"), ("hf", "tiny-gpt2")])
def test_examples_with_a_frame_run_in_the_harness_and_without(
    typed, shared, tmp_path, kind, model, monkeypatch
):
    monkeypatch.setattr("lm_eval_stereoset.cli.run.share_logging", lambda: None)
    typed("data", "add", original(tmp_path / "dev.json"), "--language", "xx")
    folder = shared / "golden" / "models" / model
    code, out, _ = typed(
        "run", "--model", kind, "--model_args", f"pretrained={folder}", "--tasks", "stereoset_intra_xx", "--device",
        "cpu", "--output_path", tmp_path / "results", "--log_samples",
    )  # fmt: skip
    assert code in (0, None)
    assert "12 of 12" in out
    predictions = tmp_path / "p.json"
    code, _, _ = typed(
        "predict", folder, "-l", "xx", "--split", "intra", "-o", predictions, "--device", "cpu"
    )
    assert code == 0
    (samples,) = (tmp_path / "results").rglob("samples_*.jsonl")
    tables = []
    for file in (samples, predictions):
        assert typed("score", file, "-o", tmp_path / f"{file.suffix[1:]}.scores.json")[0] == 0
        tables.append(
            json.loads((tmp_path / f"{file.suffix[1:]}.scores.json").read_text())["intra"]["overall"]["lms"]
        )
    assert tables[0] == tables[1]


def test_brazilian_portuguese_gives_what_its_author_prints(typed, shared):
    """LM, SS and ICAT of the original StereoSet are our mc_lms, mc_ss and icat_micro."""
    from lm_eval_stereoset.report.inputs import load

    clone = shared / "upstream" / "stereoset-ptbr"
    assert typed("data", "fetch", "ptbr", "--from", clone)[0] == 0
    _, out, _ = typed("data", "list", "--json")
    assert [(row["split"], row["language"], row["version"]) for row in json.loads(out)] == [
        ("intra", "pt", "94a101a"), ("inter", "pt", "94a101a"),
    ]  # fmt: skip
    expected = json.loads((shared / "expected" / "stereoset_ptbr_results.json").read_text())
    names = {"LM Score": "mc_lms", "SS Score": "mc_ss", "ICAT Score": "icat_micro"}
    splits = {"intrasentence": "intra", "intersentence": "inter", "overall": "overall"}
    compared = 0
    for model, tables in expected.items():
        file = clone / "predictions" / f"predictions_{model}.json"
        (run,) = load([f"{model}:pt={file}"])
        for split, groups in tables.items():
            for group, values in (groups if "overall" in groups else {"overall": groups}).items():
                for theirs, ours in names.items():
                    assert round(run.value(splits[split], group, ours), 2) == values[theirs]
                    compared += 1
    assert compared >= 2 * 3 * 11


def test_a_changed_file_is_refused(typed, tmp_path, own_data_folder):
    (tmp_path / "clone" / "data").mkdir(parents=True)
    original(tmp_path / "clone" / "data" / "dev_ptbr.json")
    code, _, err = typed("data", "fetch", "ptbr", "--from", tmp_path / "clone")
    assert code == 2
    assert "SHA-256 is not that of the published file" in err
    assert typed("data", "fetch", "ptbr", "--from", tmp_path / "clone", "--insist")[0] == 0
    assert "changed, sha256:" in (own_data_folder / "intra" / "pt.about.json").read_text()
    assert typed("data", "fetch", "ptbr", "--language", "de", "--from", tmp_path / "clone")[0] == 2


def test_portuguese_is_in_no_group(typed):
    from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK
    from lm_eval_stereoset.harness.yaml_tasks import task_files

    files = task_files(BENCHMARK)
    assert {"stereoset_pt.yaml", "stereoset_intra_pt.yaml", "stereoset_inter_pt.yaml"} <= set(files)
    assert not any("_pt" in text for name, text in files.items() if name.startswith("_"))
