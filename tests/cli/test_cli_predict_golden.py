"""The golden scores come out of `stereoset predict` as a user types it: all seven tiny checkpoints, both batch sizes.

One example in twenty; performance/golden.py runs all of them and prints the differences.
"""

import json

import numpy as np
import pytest

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.benchmarks.stereoset.example import SPLITS
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store

# checkpoint: the variant of the golden file of each split
CHECKPOINTS = {
    "tiny-bert": {"intra": "BertLM", "inter": "BertNextSentence"},
    "tiny-gpt2": {"intra": "GPT2LM", "inter": "GPT2LM_d"},
    "tiny-t5": {"intra": "T5LM", "inter": "T5LM"},
    "tiny-mt5": {"intra": "mT5LM", "inter": "mT5LM"},
    "tiny-gpt2-nsp": {"inter": "ModelNSP"},
    "tiny-t5-nsp": {"inter": "ModelNSP"},
    "tiny-mt5-nsp": {"inter": "ModelNSP"},
}
EVERY = 20  # of the examples one in so many


@pytest.fixture(scope="module")
def some_data(fetched, tmp_path_factory):
    """A data folder with some of the English examples, those with two BLANKs among them."""
    folder = tmp_path_factory.mktemp("some")
    for split in SPLITS:
        examples = store.load(STEREOSET, split, "en", fetched).examples
        chosen = [e for i, e in enumerate(examples) if i % EVERY == 0 or e.context.count("BLANK") > 1]
        path = folder / split / "en.jsonl"
        path.parent.mkdir()
        path.write_text("".join(json.dumps(e.to_dict()) + "\n" for e in chosen), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folders(shared, tmp_path_factory):
    """The checkpoints as `predict` takes them; the authors' next-sentence ones by `nsp_finetune convert`."""
    from nsp_finetune.cli import main as nsp_finetune

    golden = shared / "golden" / "models"
    found = {name: golden / name for name in CHECKPOINTS}
    for name in ("tiny-gpt2-nsp", "tiny-t5-nsp", "tiny-mt5-nsp"):
        source, found[name] = golden / name, tmp_path_factory.mktemp("nsp") / name
        arguments = [str(source / "nsp_model.pth"), "--base", str(source), "--output", str(found[name])]
        assert not nsp_finetune(["convert", *arguments])
    return found


@pytest.mark.parametrize("size", [1, 32])
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_predict_writes_the_golden_scores(folders, some_data, shared, tmp_path, name, size):
    out, variants = tmp_path / "out.json", CHECKPOINTS[name]
    split = "both" if len(variants) == 2 else "inter"
    arguments = [
        str(folders[name]),
        "--language",
        "en",
        "--split",
        split,
        "--data",
        str(some_data),
        "--exact",
    ]
    assert main(["predict", *arguments, "--batch-size", str(size), "--quiet", "-o", str(out)]) == 0
    content = json.loads(out.read_text(encoding="utf-8"))
    assert [key for key in content if key.endswith("sentence")] == [f"{split}sentence" for split in variants]
    assert (content["benchmark"], content["language"]) == ("stereoset", "en")
    for split, variant in variants.items():
        path = shared / "golden" / "scores" / f"{name}__{split}sentence__{variant}__en.json"
        golden = json.loads(path.read_text(encoding="utf-8"))
        ids = [entry["id"] for entry in content[f"{split}sentence"]]
        found = np.array([entry["score"] for entry in content[f"{split}sentence"]]).reshape(-1, 3)
        wanted = np.array([golden[id_] for id_ in ids]).reshape(-1, 3)
        assert len(found) > 100
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            order = np.sign(found[:, i] - found[:, j])
            np.testing.assert_array_equal(order, np.sign(wanted[:, i] - wanted[:, j]))


@pytest.mark.parametrize("name", ["tiny-gpt2-nsp", "tiny-t5-nsp"])
def test_an_unconverted_next_sentence_checkpoint_is_not_taken_for_the_model_beside_it(
    shared, tmp_path, capsys, name
):
    folder = shared / "golden" / "models" / name
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
    assert "stereoset nsp convert" in capsys.readouterr().err
    assert main(["predict", *arguments, "--scoring", "seq2seq" if "t5" in name else "causal"]) == 0
