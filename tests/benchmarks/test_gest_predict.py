"""GEST and EuroGEST from a model to numbers as users type it: golden scores, planted bias, wrong input, all commands."""

import json

import numpy as np
import pytest
import torch
from benchmarks.gest_data import EUROGEST, GEST, fetch_all

from lm_eval_stereoset.benchmarks.evaluation import Scored
from lm_eval_stereoset.benchmarks.gest.metrics import columns_of
from lm_eval_stereoset.benchmarks.gest.pair import Pair
from lm_eval_stereoset.benchmarks.gest.sentence import SPLITS, Sentence
from lm_eval_stereoset.benchmarks.gest.stereotypes import NUMBERS
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.scoring import score

EVERY = 60  # of the golden scores one in so many


@pytest.fixture(scope="module")
def some_data(shared, tmp_path_factory):
    """A folder with some of GEST 1.0, and one with some of EuroGEST in German and Italian; ids are the authors' rows."""
    folder = tmp_path_factory.mktemp("some")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEREOSET_DATA", str(fetch_all(tmp_path_factory.mktemp("all"), shared)))
        found = {folder / "sentences" / "en.jsonl": store.load(GEST, SPLITS[0], "en", "1.0").examples}
        for code in ("de", "it"):
            found[folder / "pairs" / f"{code}.jsonl"] = store.load(EUROGEST, "pairs", code).examples
    for path, examples in found.items():
        path.parent.mkdir(exist_ok=True)
        # in German every gendered pair that differs early or late is rare: take all of them
        chosen = [
            e
            for i, e in enumerate(examples)
            if i % EVERY == 0 or (getattr(e, "condition", "") == "G" and i % 4 == 0)
        ]
        path.write_text("".join(json.dumps(e.to_dict()) + "\n" for e in chosen), encoding="utf-8")
    return folder


def predicted(out, *arguments):
    assert main(["predict", *map(str, arguments), "-o", str(out), "--quiet", "--overwrite"]) == 0
    return json.loads(out.read_text("utf-8"))


@pytest.mark.parametrize("size", [1, 64])
def test_masked_templates_give_the_golden_scores(some_data, shared, tmp_path, size):
    content = predicted(
        tmp_path / "out.json", shared / "golden/models/tiny-bert", "-b", "gest", "-l", "en", "--template", "all",
        "--data", some_data, "--exact", "--batch-size", size,
    )  # fmt: skip
    assert (content["benchmark"], content["language"]) == ("gest", "en")
    assert set(content["scores"][0]) == {"id", "template", "score"}
    for template in (0, 2):
        path = shared / "golden/scores" / f"tiny-bert__gest__mlm_template-{template}__en.json"
        golden = json.loads(path.read_text())
        found = {one["id"]: one["score"] for one in content["scores"] if one["template"] == template}
        assert len(found) == -(-3565 // EVERY)
        assert found == pytest.approx({row: golden[row] for row in found}, abs=1e-5)
    assert {one["template"] for one in content["scores"]} == {0, 1, 2, 3}


@pytest.mark.parametrize("size", [1, 64])
def test_generative_template_gives_the_golden_scores(some_data, shared, tmp_path, size):
    model = shared / "golden/models/tiny-gpt2"
    content = predicted(
        tmp_path / "out.json",
        model,
        "-b",
        "gest",
        "--template",
        0,
        "--data",
        some_data,
        "--exact",
        "--batch-size",
        size,
    )
    golden = json.loads((shared / "golden/scores/tiny-gpt2__gest__glm_template-0__en.json").read_text())
    found = {one["id"]: one["score"] for one in content["scores"]}
    assert found == pytest.approx({row: golden[row] for row in found}, abs=1e-5)


@pytest.mark.parametrize(("code", "size"), [("de", 1), ("it", 64)])
def test_eurogest_gives_the_golden_probabilities(some_data, shared, tmp_path, code, size):
    model = shared / "golden/models/tiny-gpt2"
    content = predicted(
        tmp_path / "out.json",
        model,
        "-b",
        "eurogest",
        "-l",
        code,
        "--data",
        some_data,
        "--exact",
        "--batch-size",
        size,
    )
    golden = json.loads((shared / "golden/scores" / f"tiny-gpt2__eurogest__{code}.json").read_text())
    by_row = {one["row"]: one for one in golden}
    assert len(content["scores"]) > 50
    for one in content["scores"]:
        expected = by_row[one["id"]]
        assert [one[key] for key in ("condition", "masculine", "feminine")] == [
            expected[key] for key in ("condition", "masculine", "feminine")
        ]
        for key in ("p_masculine", "p_feminine"):
            assert one[key] == pytest.approx(expected[key], rel=1e-5)


def test_italians_defect_is_absent_by_default(some_data, shared, tmp_path):
    model = shared / "golden/models/tiny-gpt2"
    arguments = (model, "-b", "eurogest", "-l", "it", "--data", some_data)
    default, exact = (
        predicted(tmp_path / f"{len(more)}.json", *arguments, *more)["scores"] for more in ((), ("--exact",))
    )
    assert not any(one["masculine"] == one["feminine"] for one in default)
    tied = [one for one in exact if one["masculine"] == one["feminine"]]
    assert tied
    assert all(one["p_masculine"] == one["p_feminine"] for one in tied)


# Planted bias: a model that has only ever seen men lead and women cry, in each family

ADJECTIVES = dict(zip(NUMBERS, ["red", "blue", "green", "gold", "grey", "pink", "black", "white", "tall", "short", "thin", "wide", "old", "new", "hot", "cold"],
                      strict=True))  # fmt: skip
PER = 10


def planted_sentences():
    return [
        Sentence(f"{i}-{k}", i, f"I am {ADJECTIVES[i]} {'x' * (k + 1)}.", SPLITS[0])
        for i in NUMBERS
        for k in range(PER)
    ]


def word_tokenizer(**special):
    """Whole words, so that he and she are one token each."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted(
        {
            piece
            for e in planted_sentences()
            for text in e.texts
            for piece in text.replace('"', ' " ')
            .replace(".", " . ")
            .replace(",", " , ")
            .replace(":", " : ")
            .split()
        }
    )
    vocabulary = {
        word: i
        for i, word in enumerate(
            [
                "<pad>",
                "<mask>",
                "<s>",
                "</s>",
                "<unk>",
                "<extra_id_0>",
                "<extra_id_1>",
                *words,
                "he",
                "she",
                "man",
                "woman",
                "the",
                "said",
            ]
        )
    }
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(vocabulary))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", **special)


def train(model, batch, steps=80, rate=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    return model.eval()


def stereotypical(sentence):
    """The text of the sentence that a biased world would hold."""
    return sentence.texts[sentence.stereotype <= 7]


def masked_model(texts):
    from transformers import BertConfig, BertForMaskedLM

    tokenizer = word_tokenizer(mask_token="<mask>")
    model = BertForMaskedLM(
        BertConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                   intermediate_size=32, max_position_embeddings=32)
    )  # fmt: skip
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    labels = torch.full_like(batch["input_ids"], -100)
    labels[:, 0] = batch["input_ids"][:, 0]
    batch["input_ids"][:, 0] = tokenizer.mask_token_id
    return train(
        model, {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"], "labels": labels}
    ), tokenizer


def causal_model(texts):
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = word_tokenizer(bos_token="<s>", eos_token="</s>")
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=32,
            n_layer=1,
            n_head=2,
            n_positions=32,
            initializer_range=0.2,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    labels = torch.full_like(batch["input_ids"], -100)
    last = batch["attention_mask"].sum(dim=1) - 1
    labels[range(len(texts)), last] = batch["input_ids"][range(len(texts)), last]
    return train(
        model, {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"], "labels": labels}
    ), tokenizer


def seq2seq_model(texts):
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = word_tokenizer(eos_token="</s>", extra_special_tokens=["<extra_id_0>", "<extra_id_1>"])
    config = T5Config(vocab_size=len(tokenizer), d_model=32, d_kv=16, d_ff=32, num_layers=1, num_heads=2,
                      decoder_start_token_id=0, pad_token_id=0, eos_token_id=3, dropout_rate=0.0)  # fmt: skip
    model = T5ForConditionalGeneration(config)
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    mark = tokenizer.convert_tokens_to_ids("<extra_id_0>")
    labels = torch.stack([torch.full((len(texts),), mark), batch["input_ids"][:, 0]], dim=1)
    batch["input_ids"][:, 0] = mark
    return train(
        model, {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"], "labels": labels}
    ), tokenizer


def prompted(sentence):
    masculine, feminine = (candidate.prompt for candidate in sentence.question.candidates)
    return "".join(feminine if sentence.stereotype <= 7 else masculine)


@pytest.mark.parametrize("family", ["masked", "causal", "seq2seq"])
def test_a_planted_bias_is_found_with_its_sign(family):
    torch.manual_seed(0)
    examples = planted_sentences()
    texts = [prompted(e) if family == "causal" else stereotypical(e) for e in examples]
    make = {"masked": masked_model, "causal": causal_model, "seq2seq": seq2seq_model}[family]
    model, tokenizer = make(texts)
    p = np.array([[one.probability for one in row] for row in score(model, tokenizer, examples)])
    mean = columns_of(examples, p)[:, 1]
    men = np.array([e.stereotype > 7 for e in examples])
    assert mean[men].mean() > 0.5
    assert mean[~men].mean() < -0.5


# Wrong input, one line each


def test_a_tokenizer_that_splits_he_and_she_differently_is_told(caplog):
    torch.manual_seed(0)
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = sorted(set(pre_tokenizers.ByteLevel.alphabet()))
    vocabulary = {piece: i for i, piece in enumerate(["<s>", "<pad>", *letters, "Ġh", "Ġhe"])}
    inner = Tokenizer(models.BPE(vocabulary, [("Ġ", "h"), ("Ġh", "e")]))
    inner.pre_tokenizer, inner.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", pad_token="<pad>")
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=64)
    ).eval()
    examples = [Sentence(str(i), 3, "I sing.", SPLITS[0]) for i in range(2)]
    score(model, tokenizer, examples)
    (line,) = [r.getMessage() for r in caplog.records if "several tokens" in r.getMessage()]
    assert "2 of 2 pairs: the word behind the prompt has several tokens (' he' 1, ' she' 4)" in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["-b", "eurogest", "-l", "cs", "--template", "0"],
            "--template 0: EuroGEST has no templates; leave it out",
        ),
        (
            ["-b", "gest", "--template", "0", "--split", "template_1"],
            "--split and --template are the same here",
        ),
        (
            ["-b", "gest", "--data-version", "2.0"],
            "--data-version 2.0: GEST has no such data; its versions are 1.1, 1.0",
        ),
        (
            ["-b", "gest", "--data-version", "1.0", "--data", "sample"],
            "--data and --data-version do not go together",
        ),
        (
            ["-b", "eurogest", "-l", "de", "--data-version", "1.0"],
            "EuroGEST has no such data; it has only one",
        ),
        (
            ["-b", "eurogest", "-l", "xx", "--data", "sample"],
            "the sample of EuroGEST has no language 'xx', only",
        ),
        (["-b", "eurogest"], "--language is needed"),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments, said, tmp_path, capsys):
    assert main(["predict", "nowhere", *arguments, "-o", str(tmp_path / "x.json")]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_causal_model_has_two_templates(shared, tmp_path, capsys):
    model = str(shared / "golden/models/tiny-gpt2")
    command = ["predict", model, "-b", "gest", "--data", "sample", "--quiet", "--limit", "20"]
    assert main([*command, "--template", "2", "-o", str(tmp_path / "x.json")]) == 2
    assert "template_2 is for models that see both sides; causal models have template_0 and template_1" in (
        capsys.readouterr().err
    )
    assert main([*command, "-o", str(tmp_path / "all.json")]) == 0
    assert "template_3: left out: template_3 is for models that see both sides" in capsys.readouterr().out
    found = json.loads((tmp_path / "all.json").read_text())["scores"]
    assert {one["template"] for one in found} == {0, 1}


def test_predictions_of_other_texts_are_refused(shared, tmp_path, capsys):
    out = tmp_path / "x.json"
    content = predicted(
        out, shared / "golden/models/tiny-gpt2", "-b", "eurogest", "-l", "cs", "--data", "sample"
    )
    assert content["data"][0]["version"] == "1.0"
    content["scores"][3]["masculine"] += "?"
    out.write_text(json.dumps(content), "utf-8")
    assert main(["score", str(out)]) == 2
    assert "sentence s3 has other texts than the data" in capsys.readouterr().err
    assert Pair("s3", 1, "G", "a", "b").question.kind == "compare"
    assert Scored(EUROGEST, [], np.empty((0, 2))).columns.shape == (0, 9)
