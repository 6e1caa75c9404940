"""The command line: settings from presets and options, and mistakes in one line with exit code 2."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from nsp_small_corpus import write_corpus

from lm_eval_stereoset.cli import guarded
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.nsp_folder import save_nsp_model
from nsp_finetune.cli import main, make_parser
from nsp_finetune.settings import TrainSettings, load_settings, preset_names

ROOT = Path(__file__).resolve().parents[2]


def test_presets_hold_the_papers_settings():
    assert preset_names() == ["gpt2", "mgpt2", "mt5", "t5", "t5-de", "t5-es", "t5-fr"]
    found = {name: load_settings(name, {}) for name in preset_names()}
    steps = {name: (s.batch_size, s.accumulation, s.mixed_precision) for name, s in found.items()}
    assert steps["mgpt2"] == (4, 16, "fp16")
    assert steps["t5"] == steps["t5-de"] == steps["t5-fr"] == steps["t5-es"] == (24, 3, "no")
    assert steps["mt5"] == (8, 8, "no")
    assert (found["mgpt2"].core_lr, found["mgpt2"].head_lr, found["mt5"].core_lr) == (5e-6, 1e-3, 1e-4)
    assert all(s.max_examples == 1_000_000 and s.seed == 27 and s.max_length == 256 for s in found.values())
    assert all(s.clip == 1.0 and s.log_every == 500 and s.checkpoint_every == 0.2 for s in found.values())
    assert {name: s.prefix for name, s in found.items() if s.prefix} == {
        "t5": "binary classification: ",
        "t5-de": "binäre Klassifikation: ",
        "t5-es": "clasificación binaria: ",
        "t5-fr": "classification binaire: ",
    }


def test_command_line_goes_before_the_preset():
    arguments = make_parser().parse_args(
        [
            "train",
            "--preset",
            "t5",
            "--pairs",
            "p",
            "--output",
            "o",
            "--core-lr",
            "1e-3",
            "--no-group-by-length",
        ]
    )
    overrides = {k: v for k, v in vars(arguments).items() if k in TrainSettings.__dataclass_fields__}
    settings = load_settings(arguments.preset, overrides)
    assert (settings.core_lr, settings.group_by_length, settings.batch_size) == (1e-3, False, 24)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("batch: 4", r"line 1: unknown setting batch; did you mean batch_size\?"),
        ("batch_size: many", "batch_size must be a whole number, is 'many'"),
        ("batch_size: 0", "batch_size must be at least 1"),
        ("core_lr: -1.0", "core_lr must be a number above 0"),
        ("clip: .nan", "clip must be a number above 0"),
        ("seed: -1", "seed must be at least 0"),
        ("weight_decay: -0.1", "weight_decay must be at least 0"),
        ("tracker: paper", "tracker must be one of tensorboard, wandb, none"),
        ("a: [", "not valid YAML"),
        ("- 1", "must be a table"),
        ("just text", "must be a table"),
        ("[" * 5000, "nested too deeply"),
        ("batch_size: [1, 2]", "batch_size must be a single value"),
        ("seed: 1\nbatch_size: {a: 1}", "line 2: batch_size must be a single value"),
        ("batch_size: 1\nbatch_size: 2", "line 2: batch_size is set twice"),
        ("batch_size: " + "9" * 5000, "cannot be read"),
        ("batch_size: " + "9" * 50, "too large a number"),
        ("epochs: 1.5", "epochs must be a whole number, is '1.5'"),
        ("epochs: true", "epochs must be a whole number"),
        ("core_lr: null", "core_lr must be a number"),
        ("prefix: 5", "prefix must be a text"),
        ('prefix: "\\ud800"', "half a character"),
        ("gradient_checkpointing: maybe", "gradient_checkpointing must be true or false"),
        ("weight_decay: .inf", "weight_decay must be at least 0"),
        ("loader_workers: 100000", "loader_workers must be at most 256"),
        ("seed: 2001-13-45", "cannot be read"),
        ("seed: !!python/object/apply:os.getpid []", "must be a single value"),
        ("seed: !!python/name:os.getpid x", "could not determine a constructor"),
        ("a: &a [x]\nb: &b [*a, *a]\nseed: *b", "unknown setting a"),
    ],
)
def test_mistake_in_a_settings_file_is_named(tmp_path, yaml, message):
    (tmp_path / "own.yaml").write_text(yaml)
    with pytest.raises(UserError, match=message):
        load_settings(str(tmp_path / "own.yaml"), {})


def test_values_that_yaml_reads_otherwise_than_meant_are_understood(tmp_path):
    path = tmp_path / "own.yml"
    path.write_bytes(
        b"\xef\xbb\xbfcore_lr: 5e-6\nmixed_precision: no\nwarmup_steps: 5.0\nmax_examples: null\n"
    )
    settings = load_settings(str(path), {})
    assert (settings.core_lr, settings.mixed_precision, settings.warmup_steps) == (5e-6, "no", 5)
    assert settings.max_examples is None


def test_wrong_value_in_the_file_is_named_though_the_command_line_overrides_it(tmp_path):
    (tmp_path / "own.yaml").write_text("batch_size: many")
    with pytest.raises(UserError, match=r"own\.yaml: batch_size must be a whole number"):
        load_settings(str(tmp_path / "own.yaml"), {"batch_size": 4})


def test_settings_file_that_is_no_file_is_one_line(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.yaml")
    for preset, message in (
        (tmp_path / "pipe.yaml", "is a pipe"),
        ("/dev/zero", "is a pipe, socket or device"),
        (tmp_path, "is a folder"),
        ("no.yaml", "no such file"),
        ("x" * 5000, "no preset"),
        ("t5-d", "did you mean t5-de"),
    ):
        with pytest.raises(UserError, match=message):
            load_settings(str(preset), {})


def test_missing_package_is_named_before_the_work(bases, pairs, tmp_path, capfd, monkeypatch):
    install = 'install it with: pip install "lm-eval-stereoset[nsp]"'
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    run = ["train", "--base", bases["decoder"], "--pairs", pairs, "--output", tmp_path / "out"]
    fails_with(capfd, run, f"needs the package tensorboard; {install}, or choose --tracker none")
    monkeypatch.setitem(sys.modules, "nltk", None)
    corpus = write_corpus(tmp_path / "en.jsonl", 9)
    prepare = ["prepare", "--corpus", f"en={corpus}", "--output", tmp_path / "out", "--workers", "1"]
    fails_with(capfd, prepare, f"needs the package nltk; {install}")
    assert list(tmp_path.iterdir()) == [corpus]


def test_family_that_the_model_cannot_be_is_refused(capfd, bases, pairs, tmp_path):
    run = ["--pairs", pairs, "--output", tmp_path / "out", "--tracker", "none"]
    for base, family in (
        ("decoder", "seq2seq"),
        ("seq2seq", "decoder"),
        ("seq2seq", "encoder"),
        ("encoder", "seq2seq"),
    ):
        fails_with(capfd, ["train", "--base", bases[base], *run, "--family", family], "leave --family out")
    fails_with(
        capfd, ["train", "--base", bases["decoder"], *run, "--family", "encoder"], "from left to right"
    )


def fails_with(capfd, arguments, message):
    assert guarded("nsp_finetune", lambda: main(list(map(str, arguments)))) == 2
    error = capfd.readouterr().err
    lines = [line for line in error.splitlines() if line.startswith("nsp_finetune: ")]
    assert len(lines) == 1
    assert message in lines[0]
    assert "Traceback" not in error


def test_bad_input_is_one_line_and_exit_code_2(capfd, bases, pairs, tmp_path):
    run = ["--pairs", pairs, "--output", tmp_path / "out"]
    fails_with(capfd, ["train", *run], "which model?")
    fails_with(capfd, ["train", *run, "--preset", "t6"], "no preset 't6'; there are gpt2, ")
    fails_with(capfd, ["train", *run, "--base", tmp_path / "nowhere"], "nowhere: no such folder")
    fails_with(
        capfd, ["train", "--pairs", tmp_path, "--output", "x", "--base", bases["decoder"]], "holds no pairs"
    )
    fails_with(capfd, ["evaluate", bases["decoder"], "--pairs", pairs], "not a next-sentence model")
    fails_with(
        capfd,
        ["convert", tmp_path / "no.pth", "--base", "x", "--output", tmp_path / "y"],
        "no.pth: no such file",
    )
    fails_with(
        capfd,
        ["prepare", "--languages", "xx", "--output", tmp_path / "z"],
        "'xx': NLTK's punkt cannot split it",
    )
    assert not (tmp_path / "out").exists()


def test_evaluate_prints_accuracy_with_interval(capfd, bases, pairs, tmp_path):
    from nsp_finetune.models import new_model

    save_nsp_model(new_model(str(bases["decoder"])), tmp_path / "model")
    assert main(["evaluate", str(tmp_path / "model"), "--pairs", str(pairs), "--max-examples", "30"]) == 0
    assert "% (95 % interval " in capfd.readouterr().out


def test_help_answers_at_once():
    begin = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nsp_finetune", "train", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0
    assert "--gradient-checkpointing" in run.stdout
    for heavy in ("torch", "transformers", "datasets", "nltk", "numpy"):
        assert f"| {heavy}\n" not in run.stderr.replace("  ", " "), heavy
    assert time.perf_counter() - begin < 30
