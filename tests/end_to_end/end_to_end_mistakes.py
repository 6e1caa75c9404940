"""Files as users have them when something went wrong. Each function spoils something in the folder of the command."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.data.store import file_in


class RunsCode:
    """Unpickled, it leaves a file called `executed` in the folder: the proof that a file was run as code."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder / "executed"),)


def checkpoint(folder: Path, models: dict[str, Path], kind: str = "gpt2") -> Path:
    return Path(shutil.copytree(models[kind], folder / "model"))


def without_tokenizer(kind: str) -> Callable:
    def spoil(folder, models):
        model = checkpoint(folder, models, kind)
        for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
            (model / name).unlink(missing_ok=True)

    return spoil


def cut_weights(folder, models):
    weights = checkpoint(folder, models) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])


def weights_of_another_shape(folder, models):
    config = checkpoint(folder, models) / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"n_embd": 64}))


def small_embeddings(folder, models):
    """A tokenizer with more tokens than the model has rows in its embedding."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = checkpoint(folder, models)
    config = GPT2Config(vocab_size=300, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(model)


def damaged_config(folder, models):
    (checkpoint(folder, models) / "config.json").write_text('{"model_type": "gpt2", "n_embd": ')


def damaged_tokenizer(folder, models):
    (checkpoint(folder, models) / "tokenizer.json").write_text('{"version": "1.0"')


def pickled_weights(folder, models):
    model = checkpoint(folder, models)
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(pickle.dumps(RunsCode(folder)))


def hostile_cache(folder, models):
    import sqlite3

    connection = sqlite3.connect(folder / "cache_rank0.db")
    connection.execute("CREATE TABLE unnamed (key TEXT PRIMARY KEY, value BLOB)")
    connection.execute("INSERT INTO unnamed VALUES ('x', ?)", [pickle.dumps(RunsCode(folder))])
    connection.commit()
    connection.close()


def damaged_cache(folder, models):
    (folder / "cache_rank0.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


def file_in_the_way(folder, models):
    (folder / "file").write_text("not a folder")


def sample_data(folder: Path, language: str = "xx", source: str = "de") -> dict[str, Path]:
    files = {split: file_in(folder / "own", split, language) for split in SPLITS}
    for split, file in files.items():
        file.parent.mkdir(parents=True)
        file.write_bytes(file_in(STEREOSET.sample, split, source).read_bytes())
    return files


def inter_line_broken(folder, models):
    files = sample_data(folder)
    lines = files["inter"].read_bytes().splitlines(keepends=True)
    files["inter"].write_bytes(b"".join([*lines[:5], b'{"id": 3}\n', *lines[5:]]))


def labels_swapped(folder, models):
    """The published German data with stereotype and anti-stereotype exchanged everywhere."""
    from lm_eval_stereoset.benchmarks.stereoset.pickles import read_pickle
    from lm_eval_stereoset.benchmarks.stereoset.upstream import pickle_path
    from lm_eval_stereoset.files import write_examples

    swap = {"stereotype": "anti-stereotype", "anti-stereotype": "stereotype", "unrelated": "unrelated"}
    clone = models["shared"] / "upstream" / "stereotypes-multi"
    examples = [
        replace(e, candidates=tuple(replace(c, label=swap[c.label]) for c in e.candidates))
        for e in read_pickle(clone / pickle_path("intra", "de"), "intra")
    ]
    write_examples(file_in(folder / "own", "intra", "xx"), examples)


def predictions(folder, models):
    content = {
        key: [
            {"id": c["id"], "score": 0.5 + n}
            for line in _lines(split)
            for n, c in enumerate(line["candidates"])
        ]
        for key, split in (("intrasentence", "intra"), ("intersentence", "inter"))
    }
    (folder / "p.json").write_text(json.dumps(content))


def _lines(split: str) -> list[dict]:
    text = file_in(STEREOSET.sample, split, "en").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def content(text: str | bytes, name: str = "p.json") -> Callable:
    def spoil(folder, models):
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)

    return spoil


def pipe(folder, models):
    os.mkfifo(folder / "p.json")


def sample_with(total: str, count: str) -> Callable:
    """A samples file of the harness whose answers carry these numbers."""

    def spoil(folder, models):
        doc = _lines("intra")[0] | {
            "split": "intra",
            "language": "en",
            "counts": [3, 3, 3],
            "normaliser": "tokens",
        }
        row = {"doc": doc, "filtered_resps": [[total, count]] * 3}
        (folder / "samples_stereoset_intra_en.jsonl").write_text(json.dumps(row) + "\n")

    return spoil


def results_of_other_types(folder, models):
    (folder / "results").mkdir()
    (folder / "results" / "results_2026.json").write_text(
        json.dumps({"results": [1], "configs": "x", "config": 3})
    )


def cut_workbook(folder, models):
    sample_data(folder, "it", "es")
    shutil.move(folder / "own", folder / "stereoset-it" / "repaired")
    (folder / "review.xlsx").write_bytes(b"PK\x03\x04" + b"\0" * 300)


def slow_rule(folder, models):
    sample_data(folder / "raw", "it", "es")
    shutil.move(folder / "raw" / "own", folder / "in")
    (folder / "rules.yaml").write_text(
        "steps:\n  - name: slow\n    rules:\n      - name: catastrophe\n        pattern: '(.*?,?)*?X{99}$'\n"
        "        with: ''\n"
    )


def settings_with_unknown_key(folder, models):
    (folder / "own.yaml").write_text("batchsize: 4\n")


def with_predictions(then: Callable) -> Callable:
    def spoil(folder, models):
        predictions(folder, models)
        then(folder, models)

    return spoil


def english_gest(rows: list[str], name: str = "gest.csv") -> Callable:
    return content("\n".join(["sentence,stereotype", *rows, ""]), name)


def gest_versions_that_differ(folder, models):
    (folder / "clone").mkdir()
    english_gest(["I ran.,1", "I sat.,2"], "clone/gest.csv")(folder, models)
    english_gest(["I ran.,1"], "clone/gest_1.1.csv")(folder, models)
    content("from,to\nI ran.,Bežala som.\n", "sk.csv")(folder, models)


def gest_as_json(folder, models):
    """The English sentences under a name that --output may have."""
    english_gest(["I ran.,1"], "gest.json")(folder, models)
    content("from,to\nI ran.,Bežala som.\n", "sk.csv")(folder, models)


def chart_instead_of_a_sheet(folder, models):
    import openpyxl

    cut_workbook(folder, models)
    book = openpyxl.Workbook()
    book.create_chartsheet("chart")
    del book["Sheet"]
    book.save(folder / "review.xlsx")


def without_package(name: str, then: Callable) -> Callable:
    """As on a machine where it is not installed: a file of that name in the folder, which comes first, says so."""

    def spoil(folder, models):
        then(folder, models)
        raised = f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')\n"
        (folder / f"{name}.py").write_text(raised)

    return spoil


def nothing(folder, models):
    pass


def pairs(row: str) -> Callable:
    """A file of pairs whose third row is this."""

    def spoil(folder, models):
        (folder / "pairs.csv").write_text(f"first,second\nHe came.,She came.\n{row}\n")

    return spoil


def folder_with_a_thesis(folder, models):
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.tex").write_text("years of work")


def projections(
    level: str, numbers: str, kind: str = "bert", with_model: bool = False, cut: bool = False
) -> Callable:
    """A folder d with projections for BERT (of another width: "wide"), with random directions."""

    def spoil(folder, models):
        import torch

        from lm_eval_stereoset.interventions import stored
        from lm_eval_stereoset.interventions.projection import Intervention, Projection

        width = 48 if kind == "wide" else 32
        basis = torch.linalg.qr(torch.randn(width, 1).double())[0].T[None]
        module = {"sent": "head.1" if kind == "wide" else "pooler", "layer12": "encoder.layer.1"}
        one = Projection(module.get(level, "encoder.layer.0"), basis, torch.ones(1, 1).double())
        stored.save(Intervention(f"{level} ({numbers})", (one,)), folder / "d")
        if with_model:
            checkpoint(folder, models, "bert")
        if cut:
            (folder / "d" / stored.TENSORS).write_bytes(b"cut")

    return spoil
