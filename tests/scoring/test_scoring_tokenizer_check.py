"""A tokenizer that cannot read the data is refused: empty ones, those of another class, those of another model."""

import shutil

import pytest
from scoring_tiny import INTRA, byte_level, causal_model

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import load, score
from lm_eval_stereoset.scoring.loading import tokenizer_loader
from lm_eval_stereoset.scoring.tokenizer_check import refuse_useless_tokenizer

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
)
TEXTS = ["The chess player was hispanic.", "Many people live in Ethiopia."]


def without_tokenizer(source, folder):
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(*TOKENIZER_FILES))
    return folder


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-gpt2", "tiny-t5", "tiny-mt5"])
def test_a_checkpoint_without_tokenizer_files_is_refused_naming_the_way_out(shared, tmp_path, capsys, name):
    folder = without_tokenizer(shared / "golden" / "models" / name, tmp_path / name)
    arguments = [
        str(folder),
        "--language",
        "en",
        "--data",
        "sample",
        "--quiet",
        "-o",
        str(tmp_path / "out.json"),
    ]
    assert main(["predict", *arguments]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith(f"stereoset predict: {folder}: its tokenizer (")
    assert "tokenizer=…" in said
    assert "tokenizer_class=…" in said
    assert not list(tmp_path.glob("out.json"))


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-gpt2", "tiny-t5", "tiny-mt5"])
def test_real_tokenizers_pass_in_all_languages(shared, fetched, name):
    from transformers import AutoTokenizer

    from lm_eval_stereoset.data import store

    tokenizer = AutoTokenizer.from_pretrained(shared / "golden" / "models" / name)
    for language in ("en", "de", "fr", "es", "tr"):
        texts = [
            c.sentence
            for e in store.load(STEREOSET, "intra", language, fetched).examples
            for c in e.candidates
        ]
        refuse_useless_tokenizer(tokenizer, texts, name)


def test_the_wrong_class_is_refused_and_the_right_one_can_be_named(shared, tmp_path):
    """As kykim/albert-kor-base: a vocab.txt of BERT's kind, a config that leads to ALBERT's class."""
    folder = tmp_path / "albert"
    shutil.copytree(shared / "golden" / "models" / "tiny-bert", folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).chmod(0o644)
        (folder / name).unlink()
    from transformers import AlbertTokenizer

    with pytest.raises(UserError, match="knows only 0 of the"):
        refuse_useless_tokenizer(AlbertTokenizer.from_pretrained(folder), TEXTS, "albert")
    model, tokenizer = load(folder, tokenizer_class="BertTokenizerFast")
    assert tokenizer(TEXTS[0])["input_ids"].count(tokenizer.unk_token_id) == 0
    assert len(score(model, tokenizer, INTRA)) == len(INTRA)


@pytest.mark.parametrize(
    "name", ["os", "AutoTokenizer", "BertModel", "__doc__", "no such", "BertTokenizerFast.x"]
)
def test_only_tokenizer_classes_of_transformers_can_be_named(name):
    with pytest.raises(UserError, match="transformers has no tokenizer of this name"):
        tokenizer_loader(name)


def test_a_token_beyond_the_embeddings_is_one_line_that_names_it():
    tokenizer = byte_level()
    with pytest.raises(
        UserError, match=r"gives the token id \d+ \('.+'\), the model has embeddings for 60 tokens"
    ):
        score(causal_model("gpt2", vocabulary=60), tokenizer, INTRA)


def test_a_run_of_ties_is_refused_and_nothing_written(shared, tmp_path, capsys, monkeypatch):
    from lm_eval_stereoset import scoring
    from lm_eval_stereoset.scoring import CandidateScore

    same = (CandidateScore(-1.0, 1),) * 3
    monkeypatch.setattr(
        scoring, "score_with", lambda methods, model, tokenizer, examples, _: [same] * len(examples)
    )
    out = tmp_path / "out.json"
    arguments = [str(shared / "golden" / "models" / "tiny-bert"), "--language", "en", "--data", "sample"]
    assert main(["predict", *arguments, "--quiet", "-o", str(out)]) == 2
    assert (
        "in 28 of 28 examples stereotype and anti-stereotype have the very same score"
        in capsys.readouterr().err
    )
    assert list(tmp_path.glob("out*")) == []
