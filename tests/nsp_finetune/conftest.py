"""A small corpus with something to learn in it, its pairs, and tiny untrained models of each family."""

import os
import shutil
from pathlib import Path

import pytest
from nsp_small_corpus import TOPICS, write_corpus


@pytest.fixture(autouse=True)
def one_accelerator_at_a_time(monkeypatch):
    from accelerate.state import AcceleratorState

    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    yield
    AcceleratorState._reset_state(True)


@pytest.fixture(scope="session")
def punkt(shared: Path) -> Path:
    os.environ["NLTK_DATA"] = str(shared / "nltk_data")
    import nltk

    nltk.data.path.insert(0, os.environ["NLTK_DATA"])
    return shared / "nltk_data"


@pytest.fixture(scope="session")
def pairs(punkt: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from nsp_finetune.corpus import resolve
    from nsp_finetune.prepare import PrepareSettings, prepare

    folder = tmp_path_factory.mktemp("pairs")
    corpus = write_corpus(folder / "en.jsonl", 80)
    prepare(PrepareSettings(tuple(resolve([f"en={corpus}"], [])), folder / "out", held_out=0.1, workers=1))
    return folder / "out"


def word_tokenizer(pair: str | None, **special: str):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = sorted(
        {word for topic in TOPICS.values() for word in topic.split()} | {"the", "and", "saw", "a", "."}
    )
    vocabulary = [*dict.fromkeys(special.values()), "[UNK]", "0", "1", *words]
    ids = {word: number for number, word in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if pair is not None:
        used = [(word, ids[word]) for word in special.values() if word in pair]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=pair.split(" $B")[0], pair=pair, special_tokens=used
        )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", **special)


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of untrained models: decoder (GPT-2 without padding token), seq2seq (T5), encoder (RoBERTa)."""
    import torch
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        RobertaConfig,
        RobertaForMaskedLM,
        T5Config,
        T5ForConditionalGeneration,
    )

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("bases")
    made = {}
    tokenizer = word_tokenizer(None, eos_token="<|end|>")
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=24, n_layer=1, n_head=2)
    made["decoder"] = (GPT2LMHeadModel(config), tokenizer)
    tokenizer = word_tokenizer("$A </s> $B </s>", pad_token="<pad>", eos_token="</s>")
    config = T5Config(
        vocab_size=len(tokenizer), d_model=24, d_kv=12, d_ff=48, num_layers=1, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    made["seq2seq"] = (T5ForConditionalGeneration(config), tokenizer)
    tokenizer = word_tokenizer("<s> $A </s> $B </s>", bos_token="<s>", pad_token="<pad>", eos_token="</s>")
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48,
        max_position_embeddings=66, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    made["encoder"] = (RobertaForMaskedLM(config), tokenizer)
    for family, (model, tokenizer) in made.items():
        model.save_pretrained(folder / family)
        tokenizer.save_pretrained(folder / family)
    return {family: folder / family for family in made}


@pytest.fixture(scope="session")
def finished(bases: dict[str, Path], pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of a short text-to-text run; its checkpoints are in the folder with .run beside it."""
    from accelerate.state import AcceleratorState
    from nsp_runs import short

    from nsp_finetune.train import train

    os.environ["ACCELERATE_USE_CPU"] = "true"
    folder = tmp_path_factory.mktemp("finished") / "model"
    train(short(bases, "seq2seq"), pairs, folder)
    AcceleratorState._reset_state(True)
    return folder


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """A run whose model was lost after its last checkpoint."""
    shutil.copytree(finished.with_name("model.run"), tmp_path / "model.run")
    return tmp_path / "model"
