"""Damaged checkpoints, as `stereoset predict` meets them: one line each, exit code 2, and nothing in them runs."""

import json
import os
import pickle
import shutil
import struct
from pathlib import Path

import pytest

from lm_eval_stereoset.cli import main
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.checkpoint import one_line


def write(name, content):
    return lambda folder: (folder / name).write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )


def cut(name, length):
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:length])


def config(**changes):
    def change(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def fifo(name):
    def make(folder):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return make


def index(content):
    def make(folder):
        (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps(content))

    return make


def without_last_column(folder):
    from safetensors.torch import load_file, save_file

    state = load_file(folder / "model.safetensors")
    key = "bert.embeddings.word_embeddings.weight"
    save_file(state | {key: state[key][:, :-1].contiguous()}, folder / "model.safetensors", {"format": "pt"})


class Hostile:
    def __reduce__(self):
        return os.mkdir, (os.environ["HOSTILE_MARK"],)


def hostile(zipped):
    def make(folder):
        import torch

        (folder / "model.safetensors").unlink()
        if zipped:
            torch.save({"weight": Hostile()}, folder / "pytorch_model.bin")
        else:
            (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Hostile()))

    return make


NESTED = "[" * 50_000 + "]" * 50_000
DAMAGES = {
    "weights cut": (cut("model.safetensors", 5000), "model.safetensors: not a readable safetensors file"),
    "weights empty": (write("model.safetensors", b""), "model.safetensors: not a readable safetensors file"),
    "header garbage": (
        write("model.safetensors", struct.pack("<Q", 8) + b"\xff" * 20),
        "model.safetensors: not a readable safetensors file",
    ),
    "header too long": (write("model.safetensors", struct.pack("<Q", 2**62) + b"{}"), "header too large"),
    "wrong shape": (without_last_column, "word_embeddings.weight is 3000 x"),
    "weights a pipe": (fifo("model.safetensors"), "is a pipe, socket or device"),
    "config a pipe": (fifo("config.json"), "is a pipe, socket or device"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "cannot be loaded"),
    "shard missing": (
        index({"metadata": {}, "weight_map": {"a": "model-00002-of-00002.safetensors"}}),
        "lacks model-00002-of-00002.safetensors",
    ),
    "shard outside": (
        index({"metadata": {}, "weight_map": {"a": "../../x"}}),
        "is not a file of this folder",
    ),
    "index a list": (index([1]), "must be a JSON object"),
    "index without map": (index({}), '"weight_map" must name a file'),
    "config cut": (cut("config.json", 30), "config.json: not valid JSON"),
    "config null": (write("config.json", "null"), "config.json: must be a JSON object"),
    "config nested": (write("config.json", NESTED), "nested too deeply"),
    "config digits": (write("config.json", '{"vocab_size": ' + "9" * 5000 + "}"), "too many digits"),
    "size a list": (config(hidden_size=[1]), "hidden_size"),
    "size huge": (config(hidden_size=10**12), "cannot be loaded"),
    "size beyond": (config(hidden_size=10**30), "cannot be loaded"),
    "no heads": (config(num_attention_heads=0), "ZeroDivisionError"),
    "a million layers": (config(num_hidden_layers=10**6), "no model has so many layers"),
    "other layers": (config(num_hidden_layers=7), "lacks weights of the model itself"),
    "type a list": (config(model_type=["bert"]), '"model_type" must be a text'),
    "architectures of numbers": (config(architectures=[1]), '"architectures" must be a list of names'),
    "text_config": (config(text_config={"a": 1}), "text_config"),
    "activation": (config(hidden_act="none such"), "cannot be loaded"),
    "tokenizer cut": (cut("tokenizer.json", 3000), "tokenizer.json: not valid JSON"),
    "tokenizer of nothing": (write("tokenizer.json", "{}"), "cannot be loaded"),
    "tokenizer nested": (write("tokenizer.json", NESTED), "nested too deeply"),
    "tokenizer config": (write("tokenizer_config.json", '{"tokenizer_class": [1]}'), "cannot be loaded"),
    "special tokens": (write("special_tokens_map.json", "[1]"), "must be a JSON object"),
    "hostile pickle": (hostile(zipped=False), "hold code, which is never run"),
    "hostile archive": (hostile(zipped=True), "hold code, which is never run"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_one_line(shared, tmp_path, capsys, monkeypatch, damage):
    folder, mark = tmp_path / "model", tmp_path / "it ran"
    monkeypatch.setenv("HOSTILE_MARK", str(mark))
    shutil.copytree(shared / "golden" / "models" / "tiny-bert", folder)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    make, message = DAMAGES[damage]
    make(folder)
    out = tmp_path / "out.json"
    assert (
        main(["predict", str(folder), "--language", "en", "--data", "sample", "--quiet", "-o", str(out)]) == 2
    )
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith(f"stereoset predict: {folder}")
    assert message in said
    assert not out.exists()
    assert not mark.exists()


@pytest.mark.parametrize("name", ["./nomodel", "/no/model", "../nomodel"])
def test_a_folder_that_is_not_there_is_called_so(tmp_path, capsys, name):
    arguments = [name, "--language", "en", "--data", "sample", "-o", str(tmp_path / "out.json")]
    assert main(["predict", *arguments]) == 2
    assert f"stereoset predict: {name}: no such folder" in capsys.readouterr().err


def nsp(**changes):
    return lambda folder: config(
        stereoset_nsp=json.loads((folder / "config.json").read_text())["stereoset_nsp"] | changes
    )(folder)


NSP_DAMAGES = {
    "head cut": (cut("nsp_head.safetensors", 200), "nsp_head.safetensors: not a readable safetensors file"),
    "head missing": (
        lambda folder: (folder / "nsp_head.safetensors").unlink(),
        "lacks its next-sentence head",
    ),
    "head a pipe": (fifo("nsp_head.safetensors"), "is a pipe, socket or device"),
    "core cut": (cut("model.safetensors", 5000), "model.safetensors: not a readable safetensors file"),
    "core incomplete": (config(n_layer=5), "they would be random"),
    "settings a list": (config(stereoset_nsp=[1]), "must be an object"),
    "family": (nsp(family="x"), "family must be one of"),
    "length a text": (nsp(max_length="x"), "max_length must be a whole number"),
    "labels": (nsp(labels=5), "labels must be two texts"),
    "prefix": (nsp(prefix=5), "prefix must be a text"),
}


@pytest.fixture(scope="module")
def converted(shared, tmp_path_factory):
    from nsp_finetune.convert import convert

    source, folder = shared / "golden" / "models" / "tiny-gpt2-nsp", tmp_path_factory.mktemp("nsp") / "model"
    convert(source / "nsp_model.pth", str(source), folder)
    return folder


@pytest.mark.parametrize("damage", NSP_DAMAGES)
def test_a_damaged_next_sentence_model_is_one_line(converted, tmp_path, capsys, damage):
    folder = tmp_path / "model"
    shutil.copytree(converted, folder)
    make, message = NSP_DAMAGES[damage]
    make(folder)
    arguments = [str(folder), "--language", "en", "--split", "inter", "--data", "sample", "--quiet"]
    assert main(["predict", *arguments, "-o", str(tmp_path / "out.json")]) == 2
    assert message in capsys.readouterr().err.strip().splitlines()[-1]


def test_a_bug_of_ours_stays_a_traceback():
    def ours():
        return {}["a key that our code forgot"]

    assert "lm_eval_stereoset" in str(Path(one_line.__code__.co_filename))
    with pytest.raises(UserError, match="cannot be loaded: no weights"):
        one_line("model", lambda: (_ for _ in ()).throw(OSError("no weights")))
    code = compile("def bug():\n    return {}['forgotten']", one_line.__code__.co_filename, "exec")
    space: dict = {}
    exec(code, space)
    with pytest.raises(KeyError):
        one_line("model", space["bug"])
    with pytest.raises(TypeError):
        one_line("model", lambda: json.loads("{}", no_such_option=1))


def test_a_missing_package_is_named_with_its_pip_command():
    def gguf():
        raise ImportError("Loading a GGUF checkpoint in PyTorch, requires both PyTorch and GGUF>=0.10.0")

    with pytest.raises(UserError, match="pip install gguf"):
        one_line("model", gguf)


def test_a_config_without_a_start_token_falls_back_to_padding_and_then_is_one_line():
    from types import SimpleNamespace

    from lm_eval_stereoset.scoring.checkpoint import decoder_start_token

    assert decoder_start_token(SimpleNamespace(decoder_start_token_id=3, pad_token_id=0)) == 3
    assert decoder_start_token(SimpleNamespace(pad_token_id=0)) == 0
    with pytest.raises(UserError, match="neither decoder_start_token_id nor pad_token_id"):
        decoder_start_token(SimpleNamespace(model_type="t5", pad_token_id=None))


def test_a_number_in_the_config_that_is_not_finite_is_one_line():
    from transformers import T5Config

    from lm_eval_stereoset.scoring.checkpoint import check_config

    config = T5Config()
    check_config(config, "model")
    config.dropout_rate = float("nan")
    with pytest.raises(UserError, match="dropout_rate is nan"):
        check_config(config, "model")


def test_relative_distances_that_do_not_fit_their_buckets_are_refused():
    """Half of the buckets are for single distances, so the largest distance must lie beyond them: 12 with 32 buckets
    gives bucket numbers that the table does not have."""
    from transformers import T5Config

    from lm_eval_stereoset.scoring.checkpoint import check_config

    check_config(T5Config(), "model")
    with pytest.raises(UserError, match=r"relative_attention_max_distance is 12.*more than 16"):
        check_config(T5Config(relative_attention_max_distance=12), "model")
