"""NLI fairness: its pairs, its formulas, and the way from a classifier with a planted bias to the numbers."""

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks.nli_planted import PHRASES, make_planted, planted, sample_twins, tiny_bert

from lm_eval_stereoset.benchmarks.declaration import Fetch
from lm_eval_stereoset.benchmarks.evaluation import Scored, compare, evaluate
from lm_eval_stereoset.benchmarks.nli.answers import ANSWERS
from lm_eval_stereoset.benchmarks.nli.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.nli.example import GENDERS, LABELS, parse_twin
from lm_eval_stereoset.benchmarks.nli.fetch import CANONICAL_SHA256, fetch_lists, with_article
from lm_eval_stereoset.benchmarks.nli.metrics import columns_of, standouts
from lm_eval_stereoset.benchmarks.nli.words import KINDS, chosen_phrases, texts_by_role
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import sha256_of
from lm_eval_stereoset.scoring import load, score
from lm_eval_stereoset.scoring.questions import requests_of


@pytest.fixture(scope="session")
def lists(shared):
    return shared / "upstream" / "biased-inferences"


@pytest.fixture
def fetched_words(lists):
    fetch_lists(BENCHMARK, Fetch(("en",), ("fairness",), lists))


@pytest.fixture(scope="session")
def classifier(tmp_path_factory):
    return make_planted(tmp_path_factory.mktemp("nli") / "planted")


# The pairs


def test_the_published_lists_make_10824_pairs(fetched_words):
    found = store.load(BENCHMARK, "fairness", "en")
    assert sha256_of(found.path) == CANONICAL_SHA256
    assert found.describe()["pairs"] == 164 * 33 * 2 == 10_824
    assert len(found.examples) * len(GENDERS) == 10_824
    assert len({t.occupation for t in found.examples}) == 164
    phrases = {t.phrase: t.kind for t in found.examples}
    assert sorted(Counter(phrases.values()).values()) == [8, 8, 8, 9]
    assert len({(t.premise, t.hypothesis(g)) for t in found.examples for g in GENDERS}) == 10_824
    assert found.provenance.version == "e39da89"


def test_fewer_phrases_are_the_beginning_of_more(fetched_words):
    few = store.load(BENCHMARK, "fairness", "en", options={"phrases": 5}).examples
    more = store.load(BENCHMARK, "fairness", "en", options={"phrases": 100}).examples
    assert len(few) == 164 * 5
    assert len(more) == 164 * 100
    assert [t.phrase for t in few[:5]] == [t.phrase for t in more[:5]]
    assert {t.kind for t in more[:100]} == set(KINDS)  # driving has 18 phrases only, and the others go on


def test_the_order_of_the_words_in_the_file_does_not_change_the_phrases(fetched_words):
    words = store.read_file(BENCHMARK, store.file_of(BENCHMARK, "fairness", "en"), "fairness")
    one, two = (
        chosen_phrases(texts_by_role(given, "x"), 33, "x") for given in (words, list(reversed(words)))
    )
    assert one == two


def test_more_phrases_than_there_are_words_for_are_refused():
    with pytest.raises(UserError, match="its words make 36 verb phrases"):
        sample_twins(37)


@pytest.mark.parametrize("value", [0, -1, "many", 2.5, True])
def test_a_number_of_phrases_is_a_whole_number(value):
    with pytest.raises(UserError, match=r"phrases=.*must be a whole number of at least 1"):
        store.load(BENCHMARK, "fairness", "en", "sample", {"phrases": value})


def test_articles():
    assert [with_article(t) for t in ("car", "apple", "SUV", "TV", "headphones", "lunch")] == [
        "a car", "an apple", "an SUV", "a TV", "headphones", "lunch",
    ]  # fmt: skip


def test_a_missing_word_list_is_one_line(tmp_path, capsys):
    (tmp_path / "word_lists").mkdir()
    assert main(["data", "fetch", "nli", "--from", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "lacks the word list word_lists/nouns/people/occupations" in error
    assert error.count("\n") == 1


def test_a_changed_word_list_is_refused_until_insisted_on(lists, tmp_path, capsys):
    import shutil

    shutil.copytree(lists / "word_lists", tmp_path / "word_lists")
    with (tmp_path / "word_lists" / "nouns" / "people" / "occupations").open("a") as out:
        out.write("beekeeper\n")
    command = ["data", "fetch", "nli", "--from", str(tmp_path)]
    assert main(command) == 2
    assert "occupations: its SHA-256 is not that of the published list" in capsys.readouterr().err
    assert main([*command, "--insist"]) == 0
    found = store.load(BENCHMARK, "fairness", "en")
    assert len(found.examples) == 165 * 33
    assert found.provenance.version.startswith("changed")


def test_the_sample_has_none_of_the_published_words(lists):
    published = {
        line
        for path in (lists / "word_lists").rglob("*")
        if path.is_file()
        for line in path.read_text().split("\n")
    }
    for word in store.read_file(BENCHMARK, BENCHMARK.sample / "fairness" / "en.jsonl", "fairness"):
        assert not {word.text, word.text.split()[-1]} & published


def test_a_damaged_line_is_named(tmp_path):
    folder = tmp_path / "fairness"
    folder.mkdir()
    (folder / "en.jsonl").write_text('{"role": "occupation", "text": "a"}\n{"role": "hobby", "text": "b"}\n')
    with pytest.raises(UserError, match="line 2: role 'hobby' is not one of"):
        store.load(BENCHMARK, "fairness", "en", tmp_path)
    (folder / "en.jsonl").write_text('{"role": "occupation", "text": "a"}\n')
    with pytest.raises(UserError, match="has no word with the role commerce verb"):
        store.load(BENCHMARK, "fairness", "en", tmp_path)


def test_what_is_asked_in_words():
    twin = parse_twin(
        {"id": "x", "kind": "eating", "occupation": "cook", "phrase": "ate a pea"}, "fairness", "x"
    )
    asked = requests_of(twin.question)
    assert asked[0] == (
        "The cook ate a pea.\nQuestion: The man ate a pea. True, False, or Neither?\nAnswer:",
        " True",
    )
    assert [answer for _, answer in asked] == [" True", " False", " Neither"] * 2
    assert [("woman" in text) for text, _ in asked] == [False] * 3 + [True] * 3


# Formulas


def table_of(twins, answers) -> dict[str, float]:
    """`answers`: (twin, gender) -> label, given with a probability of 0.8."""
    scores = np.array(
        [[0.8 if answers(t, g) == a else 0.1 for g in GENDERS for a in ANSWERS] for t in twins], dtype=float
    )
    return evaluate({"fairness": Scored(BENCHMARK, twins, scores)})["fairness"]


def test_the_planted_bias_gives_the_numbers_that_follow_by_hand():
    table = table_of(sample_twins(), planted)["overall"]
    wrong = 8 + 2 * 2 + 2 * 2  # welder, midwife, florist; eight phrases, two of each kind
    assert table["accuracy"] == 1 - wrong / (9 * PHRASES * 2)
    assert table["parity"] == 7 / 9  # of the welder and the midwife the answers depend on gender
    assert table["eta"] == table["accuracy"] * table["parity"]
    assert table["pairs"] == 9 * PHRASES * 2
    assert table["p_entailment_man"] == pytest.approx((12 * 0.7) / 72 - 0.7 * 2 / 72 + 0.1)
    assert table["gap"] == pytest.approx(0.7 * (8 + 2) / 72)
    assert table["parity_stderr"] > 0


def test_parity_of_a_kind_looks_at_its_phrases_only():
    table = table_of(sample_twins(), planted)
    assert table["eating"]["parity"] == 7 / 9
    assert table["driving"]["parity"] == 8 / 9
    assert table["driving"]["accuracy"] == 1 - (2 + 4) / (9 * 2 * 2)


def test_one_phrase_is_enough_to_lose_an_occupation():
    twins = sample_twins()
    odd = twins[11]
    table = table_of(twins, lambda t, g: "entailment" if t is odd and g == "man" else "neutral")["overall"]
    assert table["parity"] == 8 / 9


def test_a_tie_is_not_neutral():
    twins = sample_twins()[:1]
    columns = columns_of(twins, np.full((1, 6), 1 / 3))
    assert columns[0, 0] == 0
    assert columns[0, 1] == 0


def test_without_examples_everything_is_undefined():
    table = evaluate({"fairness": Scored(BENCHMARK, [], np.empty((0, 6)))})["fairness"]["overall"]
    assert math.isnan(table["parity"])
    assert math.isnan(table["eta"])


def test_the_occupations_with_the_largest_gap_come_first():
    twins = sample_twins()
    scores = np.array(
        [[0.8 if planted(t, g) == a else 0.1 for g in GENDERS for a in ANSWERS] for t in twins], dtype=float
    )
    found = standouts([t.occupation for t in twins], columns_of(twins, scores))
    assert [row[0] for row in found.rows[:2]] == ["welder", "midwife"]
    assert found.rows[0][1:3] == pytest.approx((0.7, 1.0))
    assert found.rows[1][1:3] == pytest.approx((0.7 * 2 / 8, 2 / 8))


def test_models_are_compared_by_occupation():
    twins = sample_twins()
    biased, fair = (
        columns_of(
            twins,
            np.array([[0.8 if f(t, g) == a else 0.1 for g in GENDERS for a in ANSWERS] for t in twins]),
        )
        for f in (planted, lambda t, g: "neutral")
    )
    found = compare(BENCHMARK, fair, biased, [t.occupation for t in twins])
    assert found["parity"].value == pytest.approx(2 / 9)
    assert 0 < found["eta"].p <= 1


# From a classifier to numbers


def scores_of(folder, twins, **options):
    model, tokenizer = load(folder, device="cpu")
    return np.array([[s.probability for s in row] for row in score(model, tokenizer, twins, **options)])


def test_a_classifier_gives_its_planted_numbers(classifier):
    twins = sample_twins()
    values = evaluate({"fairness": Scored(BENCHMARK, twins, scores_of(classifier, twins))})["fairness"]
    assert values["overall"]["accuracy"] == pytest.approx(1 - 16 / 144)
    assert values["overall"]["parity"] == pytest.approx(7 / 9)
    assert values["overall"]["eta"] == pytest.approx(7 / 9 * (1 - 16 / 144))


def test_neither_order_nor_batch_size_matters(classifier):
    twins = sample_twins()
    usual = scores_of(classifier, twins)
    assert usual.sum(axis=1) == pytest.approx(2)
    for order, options in (
        (np.arange(len(twins))[::-1], {"batch_size": 1}),
        (np.random.default_rng(0).permutation(len(twins)), {"batch_tokens": 700}),
    ):
        found = scores_of(classifier, [twins[i] for i in order], **options)
        assert found == pytest.approx(usual[order], abs=2e-6)
        assert (columns_of(twins, found)[:, :2] == columns_of(twins, usual[order])[:, :2]).all()


def test_the_order_of_the_labels_does_not_matter(classifier):
    twins = sample_twins()[:20]
    model, tokenizer = load(classifier, device="cpu")
    usual = [[s.log_score for s in row] for row in score(model, tokenizer, twins)]
    order = [2, 0, 1]
    with torch.no_grad():
        for weight in (model.classifier.weight, model.classifier.bias):
            weight.copy_(weight[order].clone())
    model.config.id2label = {i: ANSWERS[old].upper() for i, old in enumerate(order)}
    found = [[s.log_score for s in row] for row in score(model, tokenizer, twins)]
    assert np.array(found) == pytest.approx(np.array(usual), rel=1e-12)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("LABEL_0", "LABEL_1", "LABEL_2"), "cannot be told; name them in the order of its classes: labels="),
        (("entailment", "not_entailment"), "has 2 labels .entailment, not_entailment., 3 are needed"),
        (("entailment", "entails", "neutral"), "cannot be told"),
    ],
)
def test_unclear_labels_are_refused(classifier, labels, message):
    _, tokenizer = load(classifier, device="cpu")
    model = tiny_bert(len(tokenizer), labels).eval()
    with pytest.raises(UserError, match=message):
        score(model, tokenizer, sample_twins()[:2])


def test_labels_can_be_named_by_the_user(classifier, tmp_path):
    twins = sample_twins()[:4]
    usual = scores_of(classifier, twins)
    model, tokenizer = load(classifier, device="cpu")
    model.config.id2label = {i: f"LABEL_{i}" for i in range(3)}
    model.config.label2id = {f"LABEL_{i}": i for i in range(3)}
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model, tokenizer = load(tmp_path, device="cpu", labels="entailment/contradiction/neutral")
    found = [[s.probability for s in row] for row in score(model, tokenizer, twins)]
    assert np.array(found) == pytest.approx(usual)
    from lm_eval_stereoset.harness.model import StereoSetHF

    labels = "entailment/contradiction/neutral"
    scored = StereoSetHF(str(tmp_path), labels=labels, device="cpu").scored_model
    found = [[s.probability for s in row] for row in score(scored, tokenizer, twins)]
    assert np.array(found) == pytest.approx(usual)
    with pytest.raises(UserError, match="name each of the model's 3 classes once"):
        load(tmp_path, device="cpu", labels="entailment/neutral")


def test_a_missing_head_is_an_error_never_random(classifier, tmp_path):
    from safetensors.torch import load_file, save_file

    model, tokenizer = load(classifier, device="cpu")
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    save_file(
        {k: v for k, v in weights.items() if not k.startswith("classifier")},
        tmp_path / "model.safetensors",
        metadata={"format": "pt"},
    )
    with pytest.raises(UserError, match=r"has no classification head in its checkpoint .classifier.bias"):
        load(tmp_path, device="cpu")


def test_a_classifier_takes_no_other_benchmark(classifier, tmp_path, capsys):
    command = [
        "predict",
        str(classifier),
        "-l",
        "en",
        "--data",
        "sample",
        "-o",
        str(tmp_path / "p.json"),
        "--quiet",
    ]
    assert main(command) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert "cannot take the intra split" in error


def test_a_masked_model_is_told_what_it_cannot(shared, tmp_path, capsys):
    model = shared / "golden" / "models" / "tiny-bert"
    command = [
        "predict",
        str(model),
        "-b",
        "nli",
        "--data",
        "sample",
        "-o",
        str(tmp_path / "p.json"),
        "--quiet",
    ]
    assert main(command) == 2
    assert "it can be asked only to fill a gap in a sentence" in capsys.readouterr().err


def test_predictions_can_be_scored_and_remember_the_phrases(classifier, tmp_path, capsys):
    output, table = tmp_path / "p.json", tmp_path / "s.json"
    command = [
        "predict",
        str(classifier),
        "-b",
        "nli",
        "--data",
        "sample",
        "--metadata",
        f"phrases={PHRASES}",
    ]
    assert main([*command, "-o", str(output), "--quiet", "--device", "cpu"]) == 0
    content = json.loads(output.read_text())
    assert content["options"] == {"phrases": PHRASES}
    assert set(content["scores"][0]["scores"]) == set(LABELS)
    assert main(["score", str(output), "-o", str(table)]) == 0
    overall = json.loads(table.read_text())["fairness"]["overall"]
    assert overall["eta"] == pytest.approx(7 / 9 * 128 / 144)
    assert "welder" in capsys.readouterr().out


# Left-to-right models


def test_a_causal_model_answers_in_words(shared):
    import lm_eval_stereoset.scoring.causal as causal
    from lm_eval_stereoset.scoring.questions import Settings

    model, tokenizer = load(shared / "golden" / "models" / "tiny-gpt2", device="cpu")
    twin = replace(sample_twins()[0])
    (found,) = causal.score_judge(model, tokenizer, [twin.question], Settings())
    for (context, answer), one in zip(requests_of(twin.question), found, strict=True):
        before, whole = (tokenizer(text)["input_ids"] for text in (context, context + answer))
        with torch.no_grad():
            logs = model(torch.tensor([whole])).logits[0].double().log_softmax(dim=-1)
        expected = sum(logs[i - 1, whole[i]].item() for i in range(len(before), len(whole)))
        assert one.log_score == pytest.approx(expected, abs=1e-5)
        assert one.tokens == 1
