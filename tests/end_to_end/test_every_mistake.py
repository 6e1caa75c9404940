"""Every mistake that is known to happen, typed: one line that names it and the way out, exit code 2, nothing lost."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from end_to_end_mistakes import (
    chart_instead_of_a_sheet,
    content,
    cut_weights,
    cut_workbook,
    damaged_cache,
    damaged_config,
    damaged_tokenizer,
    file_in_the_way,
    folder_with_a_thesis,
    gest_as_json,
    gest_versions_that_differ,
    hostile_cache,
    inter_line_broken,
    labels_swapped,
    nothing,
    pairs,
    pickled_weights,
    pipe,
    predictions,
    projections,
    results_of_other_types,
    sample_with,
    settings_with_unknown_key,
    slow_rule,
    small_embeddings,
    weights_of_another_shape,
    with_predictions,
    without_package,
    without_tokenizer,
)

RUN = "stereoset run --tasks stereoset_intra_en --metadata data=sample --model"
PREDICT = "stereoset predict {} --language en --data sample -o out.json"
GATE = "stereoset gate M:en=p.json --data sample --config gate.yaml"
PUBLISH = "stereoset publish M:en=p.json --data sample --partial --model-card README.md"
GEST = "stereoset gest-mt score sk.csv --language sk --data"
SCORE = "stereoset score p.json --language en --data sample"


@dataclass(frozen=True)
class Mistake:
    name: str
    command: str
    says: tuple[str, ...]
    spoil: Callable = nothing
    absent: tuple[str, ...] = ("out.json", "out.json.part")  # what must not be there afterwards
    code: int = 2


def of_checkpoints(name: str, spoil: Callable, *says: str) -> list[Mistake]:
    """A spoilt checkpoint, under both commands that load one."""
    return [
        Mistake(f"predict: {name}", PREDICT.format("model"), says, spoil),
        Mistake(f"run: {name}", f"{RUN} stereoset-hf --model_args pretrained=model", says, spoil),
    ]


MISTAKES = [
    *of_checkpoints("BERT without tokenizer", without_tokenizer("bert"), "tokenizer"),
    *of_checkpoints("T5 without tokenizer", without_tokenizer("t5"), "tokenizer"),
    *of_checkpoints("GPT-2 without tokenizer", without_tokenizer("gpt2"), "tokenizer"),
    *of_checkpoints("cut weights", cut_weights, "model"),
    *of_checkpoints("weights of another shape", weights_of_another_shape, "model"),
    *of_checkpoints("tokenizer larger than the embeddings", small_embeddings, "tokenizer", "300"),
    *of_checkpoints("damaged config", damaged_config, "config.json"),
    *of_checkpoints("damaged tokenizer", damaged_tokenizer, "tokenizer"),
    *of_checkpoints("weights that run code", pickled_weights, "model"),
    Mistake(
        "hf without tokenizer",
        f"{RUN} hf --model_args pretrained=model",
        ("tokenizer",),
        without_tokenizer("gpt2"),
    ),
    Mistake("predict: no such folder", PREDICT.format("./nomodel"), ("./nomodel", "no such folder")),
    Mistake(
        "run: no such folder", f"{RUN} stereoset-hf --model_args pretrained=./nomodel", ("no such folder",)
    ),
    Mistake("hf: no such folder", f"{RUN} hf --model_args pretrained=./nomodel", ("no such folder",)),
    Mistake("hf: a BERT", f"{RUN} hf --model_args pretrained={{bert}}", ("stereoset-hf",)),
    Mistake(
        "unknown model_arg",
        f"{RUN} stereoset-hf --model_args pretrained={{gpt2}},scorring=causal",
        ("scorring", "scoring"),
    ),
    Mistake(
        "hf: unknown model_arg",
        f"{RUN} hf --model_args pretrained={{gpt2}},dtipe=float32",
        ("dtipe", "dtype"),
    ),
    *(
        Mistake(
            f"{verb}: a next-sentence checkpoint in the authors' format",
            command,
            (
                "stereoset nsp convert",
                "tiny-gpt2-nsp/nsp_model.pth --base",
                "--output tiny-gpt2-nsp-converted",
            ),
        )
        for verb, command in (
            ("predict", PREDICT.format("{shared}/golden/models/tiny-gpt2-nsp")),
            ("run", f"{RUN} stereoset-hf --model_args pretrained={{shared}}/golden/models/tiny-gpt2-nsp"),
        )
    ),
    Mistake("unknown model", f"{RUN} stereoset-hff --model_args pretrained={{gpt2}}", ("stereoset-hff",)),
    Mistake(
        "unknown task",
        "stereoset run --model hf --model_args pretrained={gpt2} --tasks stereoset_intra_xx",
        ("stereoset_intra_xx",),
    ),
    Mistake(
        "output path below a file",
        f"{RUN} hf --model_args pretrained={{gpt2}} --output_path file/results",
        ("file/results",),
        file_in_the_way,
    ),
    Mistake(
        "cache that runs code",
        f"{RUN} hf --model_args pretrained={{gpt2}} --use_cache cache",
        ("cache",),
        hostile_cache,
    ),
    Mistake(
        "ours: cache that runs code",
        f"{RUN} stereoset-hf --model_args pretrained={{gpt2}} --use_cache cache",
        ("cache",),
        hostile_cache,
    ),
    Mistake(
        "damaged cache",
        f"{RUN} stereoset-hf --model_args pretrained={{gpt2}} --use_cache cache",
        ("cache",),
        damaged_cache,
    ),
    Mistake(
        "ours with a chat template",
        f"{RUN} stereoset-hf --model_args pretrained={{chat}} --apply_chat_template",
        ("apply_chat_template",),
    ),
    Mistake(
        "chat template that is not there",
        f"{RUN} hf --model_args pretrained={{gpt2}} --apply_chat_template",
        ("template",),
    ),
    Mistake(
        "next-sentence model on intra",
        f"{RUN} stereoset-hf --model_args pretrained={{nsp-decoder}}",
        ("inter",),
    ),
    Mistake(
        "predict: unknown language",
        "stereoset predict {gpt2} --language xx --data sample -o out.json",
        ("xx",),
    ),
    Mistake(
        "predict: unknown scoring", PREDICT.format("{gpt2}") + " --scoring caussal", ("caussal", "causal")
    ),
    Mistake(
        "predict over its data",
        "stereoset predict {gpt2} --language xx --split intra --data own -o own/intra/xx.jsonl",
        ("own/intra/xx.jsonl",),
        inter_line_broken,
        (),
    ),
    Mistake(
        "predict over a file of the model",
        "stereoset predict model --language en --data sample -o model/config.json",
        ("config.json",),
        without_tokenizer("gpt2"),
        (),
    ),
    Mistake("ls: unknown language", "stereoset ls -l xx", ("xx", "en, de")),
    Mistake("ls: unknown benchmark", "stereoset ls stereosett", ("stereosett", "stereoset")),
    Mistake(
        "nsp: a language that punkt lacks",
        "stereoset nsp prepare --corpus hu=corpus.jsonl --output out",
        ("'hu'", "--splitter sentencex"),
        content('{"id": 1, "text": "Egy."}', "corpus.jsonl"),
        ("out",),
    ),
    Mistake(
        "nsp: unknown splitter",
        "stereoset nsp prepare --corpus de=corpus.jsonl --output out --splitter spacy",
        ("spacy", "sentencex"),
        content('{"id": 1, "text": "Eins."}', "corpus.jsonl"),
        ("out",),
    ),
    Mistake("score: not JSON", SCORE, ("p.json", "not valid JSON"), content('{"intrasentence": [')),
    Mistake(
        "score: too many digits",
        SCORE,
        ("digits",),
        content('{"intrasentence": [{"id": "x", "score": ' + "1" * 5000 + "}]}"),
    ),
    Mistake("score: nested deeply", SCORE, ("nested",), content("[" * 20_000)),
    Mistake(
        "score: lone surrogate",
        SCORE,
        ("surrogate",),
        content('{"intrasentence": [{"id": "\\ud800", "score": 1}]}'),
    ),
    Mistake("score: NaN", SCORE, ("finite",), content('{"intrasentence": [{"id": "x", "score": NaN}]}')),
    Mistake("score: a pipe", SCORE, ("pipe",), pipe),
    Mistake("score: a device", "stereoset score /dev/zero --language en --data sample", ("device",)),
    Mistake("score over its input", SCORE + " -o p.json", ("p.json",), predictions, ()),
    Mistake(
        "score: positive log-likelihood",
        "stereoset score samples_stereoset_intra_en.jsonl",
        ("line 1",),
        sample_with("3.5", "False"),
    ),
    Mistake(
        "score: negative count",
        "stereoset score samples_stereoset_intra_en.jsonl",
        ("line 1",),
        sample_with("-3.5", "-2"),
    ),
    Mistake(
        "score: zero count",
        "stereoset score samples_stereoset_intra_en.jsonl",
        ("line 1",),
        sample_with("-3.5", "0"),
    ),
    Mistake(
        "report over its input",
        "stereoset report M:en=p.json --data sample -o p.json",
        ("p.json",),
        predictions,
        (),
    ),
    Mistake(
        "report: results of other types",
        "stereoset report results -o out.html",
        ("results_2026.json",),
        results_of_other_types,
        ("out.html",),
    ),
    Mistake(
        "report: a pipe",
        "stereoset report M:en=p.json --data sample -o out.html",
        ("pipe",),
        pipe,
        ("out.html",),
    ),
    Mistake(
        "data add: inter broken",
        "stereoset data add own --language xx",
        ("line 6",),
        inter_line_broken,
        ("../data/intra",),
    ),
    Mistake(
        "data check: labels swapped",
        "stereoset data check own/intra/xx.jsonl",
        ("label",),
        labels_swapped,
        (),
        1,
    ),
    Mistake(
        "data add: labels swapped",
        "stereoset data add own --language xx",
        ("label",),
        labels_swapped,
        ("../data/intra",),
    ),
    Mistake("data: no such clone", "stereoset data fetch --from nowhere", ("nowhere",)),
    Mistake(
        "translate apply: cut workbook",
        "stereoset translate apply review.xlsx --to it --by Ada",
        ("review.xlsx",),
        cut_workbook,
    ),
    Mistake(
        "translate repair: slow rule",
        "stereoset translate repair --to it --input in --output fixed --rules rules.yaml --data sample",
        ("catastrophe",),
        slow_rule,
        ("fixed",),
    ),
    Mistake(
        "train: unknown setting",
        "nsp_finetune train --preset own.yaml --base {gpt2} --pairs {pairs} --output m",
        ("batchsize", "batch_size"),
        settings_with_unknown_key,
        ("m",),
    ),
    Mistake(
        "train: without tokenizer",
        "nsp_finetune train --base model --pairs {pairs} --output m",
        ("tokenizer",),
        without_tokenizer("gpt2"),
        ("m",),
    ),
    Mistake(
        "train: into its model",
        "nsp_finetune train --base model --pairs {pairs} --output model",
        ("model",),
        without_tokenizer("gpt2"),
        (),
    ),
    Mistake(
        "train: no pairs",
        "nsp_finetune train --base {gpt2} --pairs . --output m",
        ("pairs",),
        nothing,
        ("m",),
    ),
    Mistake(
        "prepare: a pipe", "nsp_finetune prepare --corpus en=p.json --output m", ("p.json",), pipe, ("m",)
    ),
    *(
        Mistake(f"debias fit: {name}", f"stereoset debias fit {command} -o d", says, spoil, ("d",))
        for name, command, says, spoil in (
            (
                "equal pairs",
                "{bert} --level sent --settings 0 --pairs pairs.csv",
                ("row 3", "both"),
                pairs("a,a"),
            ),
            (
                "half a pair",
                "{bert} --level sent --settings 0 --pairs pairs.csv",
                ("row 3", "length"),
                pairs("a,"),
            ),
            (
                "a level it lacks",
                "{roberta} --level sent --settings 0 --data sample",
                ("pooler", "layer11"),
                nothing,
            ),
            (
                "n_p without pooler",
                "{gpt2} --level layer12 --settings 0,1,1 --data sample",
                ("n_p",),
                nothing,
            ),
            (
                "settings of another level",
                "{bert} --level sent --settings 0,1 --data sample",
                ("n_p",),
                nothing,
            ),
            ("no such pairs", "{bert} --level sent --settings 0 --pairs no.csv", ("no.csv",), nothing),
        )
    ),
    Mistake(
        "debias fit: somebody's folder",
        "stereoset debias fit {bert} --level sent --settings 0 -o mine",
        ("mine", "does not hold projections"),
        folder_with_a_thesis,
    ),
    Mistake(
        "debias save: cannot be folded",
        "stereoset debias save {bert} d -o out",
        ("folded", "--debias"),
        projections("layer11", "0,0,0,0,0"),
        ("out",),
    ),
    Mistake(
        "debias save: onto the model",
        "stereoset debias save model d -o model",
        ("input",),
        projections("sent", "0", with_model=True),
    ),
    Mistake(
        "predict: projections of another width",
        PREDICT.format("{nsp-encoder}") + " --debias d",
        ("wide",),
        projections("sent", "0", kind="wide"),
    ),
    Mistake(
        "run: projections of a deeper model",
        f"{RUN} stereoset-hf --model_args pretrained={{gpt2}},debias=d",
        ("encoder.layer.1", "does not have"),
        projections("layer12", "0,0,0"),
    ),
    Mistake(
        "run: projections that are not there",
        f"{RUN} stereoset-hf --model_args pretrained={{bert}},debias=./d",
        ("d", "not a folder with projections"),
    ),
    Mistake(
        "predict: damaged projections",
        PREDICT.format("{bert}") + " --debias d",
        ("damaged",),
        projections("sent", "0", cut=True),
    ),
    Mistake(
        "hf: debias",
        f"{RUN} hf --model_args pretrained={{gpt2}},debias=d",
        ("debias", "stereoset-hf"),
        projections("sent", "0"),
    ),
    Mistake(
        "convert: runs code",
        "nsp_finetune convert model/pytorch_model.bin --base {gpt2} --output m",
        ("pytorch_model.bin",),
        pickled_weights,
        ("m",),
    ),
    Mistake(
        "evaluate: not a next-sentence model",
        "nsp_finetune evaluate {gpt2} --pairs {pairs}",
        ("next-sentence",),
    ),
    Mistake("gate: no such file", GATE, ("gate.yaml", "no such file"), predictions),
    *(
        Mistake(
            f"gate: {name}",
            GATE,
            ("gate.yaml", says),
            with_predictions(content(f"limits:\n- {{metric: {limit}}}\n", "gate.yaml")),
        )
        for name, limit, says in (
            ("unknown metric", "sss, within: 5", "did you mean ss"),
            ("an impossible date", "ss, within: 2026-13-45", "cannot be read"),
            ("400 digits", "ss, within: 1" + "0" * 400, "must be a number"),
            ("5,000 digits", "ss, within: 1" + "0" * 5000, "cannot be read"),
            ("a limit given twice", "ss, within: 5, within: 50", "twice"),
            ("runs code", "!!python/object/apply:os.mkdir [executed], within: 5", "not valid YAML"),
        )
    ),
    Mistake(
        "gate: a name that is too long",
        GATE,
        ("xxx", "too long"),
        with_predictions(
            content(f"limits: [{{metric: ss, by: 1, no_worse_than: {'x' * 5000}}}]", "gate.yaml")
        ),
    ),
    Mistake(
        "gate over its input",
        f"{GATE} --junit gate.yaml",
        ("gate.yaml",),
        with_predictions(content("limits: [{metric: ss, within: 5}]", "gate.yaml")),
    ),
    Mistake(
        "compare over its input",
        "stereoset compare M:en=p.json N:en=p.json --data sample -o p.json",
        ("p.json",),
        predictions,
    ),
    Mistake("compare: a pipe", "stereoset compare M:en=p.json N:en=p.json --data sample", ("pipe",), pipe),
    Mistake("publish over its input", PUBLISH.replace("README.md", "p.json"), ("p.json",), predictions),
    Mistake(
        "publish: the sample unasked",
        PUBLISH.replace(" --partial", ""),
        ("--partial",),
        predictions,
        ("README.md",),
    ),
    *(
        Mistake(
            f"publish: {name}",
            f"{PUBLISH} --eval-results .",
            ("README.md", says),
            with_predictions(content(f"---\n{front}\n---\n# Mine\n", "README.md")),
            (".eval_results",),
        )
        for name, front, says in (
            ("an impossible date", "date: 2026-13-45", "cannot be read"),
            ("nested deeply", "date: " + "[" * 600, "nested"),
            ("model-index of another type", "model-index: [{name: x, results: {a: 3}}]", "model-index"),
        )
    ),
    Mistake("gest-mt over its data", f"{GEST} gest.json -o gest.json", ("gest.json",), gest_as_json),
    Mistake(
        "gest-mt: two versions that differ", f"{GEST} clone", ("gest_1.1.csv",), gest_versions_that_differ
    ),
    Mistake(
        "gest-mt: unknown language", f"{GEST} gest.json".replace(" sk --", " xx --"), ("'xx'",), gest_as_json
    ),
    Mistake(
        "gest-mt: a pipe", "stereoset gest-mt score p.json --language sk --data gest.csv", ("pipe",), pipe
    ),
    Mistake("completion: unknown shell", "stereoset completion tcsh", ("tcsh",)),
    Mistake("unknown verb", "stereoset scoer p.json", ("scoer", "score")),
    Mistake("report: name too long", "stereoset report " + "x" * 5000, ("xxx",)),
    Mistake("score: name too long", f"stereoset score {'x' * 5000} -l en --data sample", ("xxx",)),
    Mistake(
        "translate apply: a chart",
        "stereoset translate apply review.xlsx --to it --by Ada",
        ("review.xlsx",),
        chart_instead_of_a_sheet,
    ),
    Mistake(
        "translate apply: without openpyxl",
        "stereoset translate apply review.xlsx --to it --by Ada",
        ("openpyxl", "pip install"),
        without_package("openpyxl", cut_workbook),
    ),
    Mistake(
        "translate run: without boto3",
        "stereoset translate run --to it --backend aws --data sample",
        ("boto3", "pip install"),
        without_package("boto3", nothing),
    ),
]


def files_in(folder) -> dict[str, str]:
    """{file: checksum} of what the user had; a pipe has no content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".db"  # SQLite may touch a cache that it opens
    }


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
def test_a_mistake_is_one_line_and_nothing_is_lost(type_command, models, mistake):
    folder = type_command.folder
    mistake.spoil(folder, models)
    before = files_in(folder)
    done = type_command(mistake.command, seconds=60)
    assert done.code == mistake.code, done.text
    if mistake.code == 2:
        assert len(done.mistakes()) == 1, done.text
    shown = done.mistakes()[0] if mistake.code == 2 else done.out
    for word in mistake.says:
        assert word in shown, done.text
    after = files_in(folder)
    assert {name: after.get(name) for name in before} == before  # every file of the user's is as it was
    assert not (folder / "executed").exists()
    for name in mistake.absent:
        assert not (folder / name).exists(), name
