"""Gender-swapped StereoSet: data, formulas, requests, and the numbers of an independent program."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_stereoset.benchmarks.declaration import Fetch
from lm_eval_stereoset.benchmarks.evaluation import Scored, evaluate
from lm_eval_stereoset.benchmarks.genderswap.declared import BENCHMARK
from lm_eval_stereoset.benchmarks.genderswap.example import LABELS, SWAPPED, parse_triple
from lm_eval_stereoset.benchmarks.genderswap.fetch import CANONICAL_SHA256, fetch_authors, triples_of
from lm_eval_stereoset.benchmarks.genderswap.metrics import (
    columns_of,
    distances,
    strengths,
    tail_count,
    tail_mean,
)
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import sha256_of
from lm_eval_stereoset.scoring import is_near_tie
from lm_eval_stereoset.scoring.describe import NO_NORMALISER, Description
from lm_eval_stereoset.scoring.questions import CandidateScore, requests_of
from lm_eval_stereoset.stats.bootstrap import cluster_sums
from lm_eval_stereoset.stats.statistic import contributions, observed

STATISTICS = BENCHMARK.statistics


@pytest.fixture
def upstream(shared):
    return shared / "upstream" / "GenderSwappedStereoSet"


@pytest.fixture
def fetched_triples(upstream):
    fetch_authors(BENCHMARK, Fetch(("en",), ("dev", "test"), upstream))
    return {split: store.load(BENCHMARK, split, "en") for split in ("dev", "test")}


def triple(number: int = 0, **changes) -> dict:
    candidates = [
        {
            "label": label,
            "sentence": f"She {label}.",
            "swapped_context": "Dad came.",
            "swapped_sentence": f"He {label}.",
        }
        for label in ("unrelated", "stereotype", "anti-stereotype")
    ]
    return {
        "id": f"t{number}",
        "gender": "female",
        "context": "Mum came.",
        "candidates": candidates,
    } | changes


# Data


def test_the_published_files_become_234_and_749_triples_with_known_checksums(fetched_triples):
    assert {split: len(found.examples) for split, found in fetched_triples.items()} == {
        "dev": 234,
        "test": 749,
    }
    for split, found in fetched_triples.items():
        assert sha256_of(found.path) == CANONICAL_SHA256[split]
        assert found.provenance.version == "381abe4"


def test_every_row_of_the_published_file_is_in_its_triple(fetched_triples, upstream):
    import csv

    with (upstream / "data" / "test.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    found = {triple.id: triple for triple in fetched_triples["test"].examples}
    for row in rows:
        one = found[f"test-{row['context_id']}"]
        (swap,) = (c for c in one.candidates if c.label == row["label"])
        assert (one.context, swap.sentence) == (row["context"], row["next_sentence"])
        assert swap.swapped_context == row["gender_swapped_conext"]
        assert swap.swapped_sentence == row["gender_swapped_next_sentence"]
        assert one.gender[0].upper() == row["gender"]


def test_another_version_is_refused_until_insisted_on(upstream, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    text = (upstream / "data" / "dev.csv").read_text("utf-8").replace("schoolgirl", "pupil")
    (tmp_path / "data" / "dev.csv").write_text(text, "utf-8")
    command = ["data", "fetch", "genderswap", "--split", "dev", "--from", str(tmp_path)]
    assert main(command) == 2
    assert "its SHA-256 is not that of the published file" in capsys.readouterr().err
    assert main([*command, "--insist"]) == 0
    assert store.load(BENCHMARK, "dev", "en").provenance.version.startswith("changed")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"context_id,context\n1,a\n", "needs the columns"),
        (b"\xff\xfe", "not a CSV file in UTF-8"),
        (
            b"context_id,context,next_sentence,label,gender,gender_swapped_context,gender_swapped_next_sentence\n"
            b"7,a,b,stereotype,F,c,d\n",
            "context_id 7: needs one row of each label",
        ),
    ],
)
def test_other_files_are_refused_in_one_line(text, message):
    with pytest.raises(UserError, match=message):
        triples_of(text, "dev", "dev.csv")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gender": "neutral"}, "gender 'neutral' is not one of female, male"),
        ({"candidates": []}, "a list of three"),
        ({"more": "x"}, "unknown key 'more'"),
        ({"candidates": [triple()["candidates"][0]] * 3}, "exactly one candidate of each label"),
    ],
)
def test_a_damaged_line_is_named(changes, message):
    with pytest.raises(UserError, match=f"line 3: .*{message}|line 3, .*{message}"):
        parse_triple(triple(**changes), "dev", "file, line 3")


def test_the_sample_has_both_genders_and_none_of_the_published_sentences(upstream):
    published = "".join((upstream / "data" / f"{split}.csv").read_text("utf-8") for split in ("dev", "test"))
    for split in ("dev", "test"):
        examples = store.load(BENCHMARK, split, "en", "sample").examples
        assert {e.gender for e in examples} == {"female", "male"}
        for e in examples:
            assert all(c.sentence not in published for c in e.candidates)


# What is asked


def test_the_twins_follow_their_own_contexts():
    question = parse_triple(triple(), "dev", "x").question
    assert requests_of(question) == [
        ("Mum came.", " She unrelated."), ("Mum came.", " She stereotype."), ("Mum came.", " She anti-stereotype."),
        ("Dad came.", " He unrelated."), ("Dad came.", " He stereotype."), ("Dad came.", " He anti-stereotype."),
    ]  # fmt: skip


def test_equal_sentences_after_unlike_contexts_are_two_candidates_of_a_near_tie():
    fields = triple()
    for one in fields["candidates"]:
        one["swapped_sentence"] = one["sentence"]
    question = parse_triple(fields, "dev", "x").question
    spread = [CandidateScore(-float(i), 1) for i in range(6)]
    assert not is_near_tie(question, spread, exact=False)
    assert is_near_tie(question, [*spread[:3], CandidateScore(-1.000001, 1), *spread[4:]], exact=False)


def test_the_harness_asks_for_each_candidate_behind_its_own_context(monkeypatch):
    from lm_eval.tasks import TaskManager

    from lm_eval_stereoset.harness.paths import include_paths

    paths = [str(path) for path in include_paths()]
    manager = TaskManager(include_path=paths, metadata={"data": "sample"}, include_defaults=False)
    assert sorted(manager.load("genderswap")["tasks"]) == ["genderswap_dev", "genderswap_test"]
    task = manager.load("genderswap_dev")["tasks"]["genderswap_dev"]
    task.build_all_requests(system_instruction="Listen.")
    examples = store.load(BENCHMARK, "dev", "en", "sample").examples
    asked = [tuple(instance.args) for instance in task.instances]
    wanted = [request for example in examples for request in requests_of(example.question)]
    assert asked == [("Listen.\n\n" + context, sentence) for context, sentence in wanted] or asked == [
        ("Listen." + context, sentence) for context, sentence in wanted
    ]


# Formulas


def test_s_and_d_by_hand():
    p = np.array([[0.9, 0.4, 0.3, 0.5, 0.7, 0.1]])
    assert strengths(p)[0] == pytest.approx((0.9 - 0.4) - (0.5 - 0.7))
    assert distances(p)[0] == pytest.approx(0.2)
    assert columns_of([None], p)[0].tolist() == pytest.approx([0.7, 0.2, 1, 0])


def test_ten_percent_is_rounded_half_up():
    assert [tail_count(n) for n in (4, 5, 14, 15, 234, 749)] == [0, 1, 1, 2, 23, 75]
    assert math.isnan(tail_mean(np.ones(4)))
    assert tail_mean(np.arange(20)) == 18.5


def sums_of(s, d) -> np.ndarray:
    columns = np.stack([s, d, np.zeros(len(s)), np.zeros(len(s))], axis=1)
    return cluster_sums([f"{i:04}" for i in range(len(s))], *columns.T)


values = st.lists(st.floats(-2, 2, allow_nan=False), min_size=5, max_size=60)


@settings(deadline=None)
@given(values)
def test_the_statistic_is_the_mean_of_the_largest_tenth(s):
    assert observed(STATISTICS["strength"].value, sums_of(s, np.abs(s))) == pytest.approx(
        tail_mean(np.array(s))
    )


@settings(deadline=None, max_examples=50)
@given(values, st.integers(0, 2**32 - 1))
def test_a_bootstrap_draw_is_the_statistic_of_the_repeated_triples(s, seed):
    times = np.random.default_rng(seed).multinomial(len(s), np.full(len(s), 1 / len(s)), size=3).astype(float)
    found = STATISTICS["strength"].value(times, sums_of(s, np.abs(s)))
    expected = [tail_mean(np.repeat(s, row.astype(int))) for row in times]
    assert found == pytest.approx(expected)
    for level, name in ((0.25, "s_p25"), (0.95, "s_p95")):
        quantiles = [
            np.quantile(np.repeat(s, row.astype(int)), level, method="inverted_cdf") for row in times
        ]
        assert STATISTICS[name].value(times, sums_of(s, np.abs(s))) == pytest.approx(quantiles)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.floats(-2, 2, allow_nan=False), min_size=10, max_size=60).filter(lambda s: len(s) % 10 == 0)
)
def test_what_the_triples_contribute_adds_up_to_the_value(s):
    sums = sums_of(s, np.abs(s))
    function = STATISTICS["strength"].value
    assert contributions(function, sums).sum() == pytest.approx(observed(function, sums), abs=1e-9)


def test_a_contribution_is_the_change_when_a_triple_counts_a_little_more():
    s = np.random.default_rng(0).normal(size=200) / 4
    sums, function, step = sums_of(s, np.abs(s)), STATISTICS["strength"].value, 1e-6
    influence = contributions(function, sums) - observed(function, sums) / 200
    times = np.ones((200, 200)) + step * np.eye(200)
    tail = np.sort(s)[::-1]
    value, edge = tail[:20].mean(), tail[20]
    expected = (np.where(s > edge, s - edge, 0) + 0.1 * (edge - value)) / 20
    assert influence == pytest.approx(expected, abs=1e-12)
    assert function(times, sums).shape == (200,)


def test_scores_that_are_no_probabilities_are_refused():
    with pytest.raises(ValueError, match="t0 has a score that is no probability"):
        columns_of([parse_triple(triple(), "dev", "x")], np.full((1, 6), -3.0))


def test_a_model_that_sees_no_difference_at_all_has_no_score():
    columns = columns_of([None] * 20, np.tile([0.5, 0.4, 0.3, 0.5, 0.4, 0.3], (20, 1)))
    assert "does not tell the sentences apart" in BENCHMARK.complaint(columns)
    assert BENCHMARK.complaint(np.random.default_rng(0).random((20, 4))) is None


def test_language_models_give_a_variant_that_is_named_and_ratios_are_refused():
    paper = Description("probability that the candidate follows the context", NO_NORMALISER)
    assert BENCHMARK.said(paper) == paper
    assert "variant" in BENCHMARK.said(Description("mean log-likelihood", "tokens of x")).scoring
    with pytest.raises(UserError, match="not their ratios"):
        BENCHMARK.said(Description("mean log-likelihood of a minus that of b (case e)", "tokens of x"))


def test_dev_and_test_are_not_pooled():
    assert BENCHMARK.views == ("dev", "test")
    rng = np.random.default_rng(0)
    parts = {
        split: Scored(BENCHMARK, examples, rng.random((len(examples), 6)))
        for split in BENCHMARK.splits
        for examples in [store.load(BENCHMARK, split, "en", "sample").examples]
    }
    assert set(evaluate(parts)) == {"dev", "test"}


# From a model to numbers


@pytest.mark.parametrize("split", ["dev", "test"])
def test_s_and_d_of_the_tiny_bert_are_those_of_an_independent_program(
    shared, fetched_triples, split, tmp_path
):
    expected = json.loads((shared / "expected" / "genderswap_tiny-bert.json").read_text())
    wanted = expected["settings"][0] if split == "dev" else expected["base_test"]
    model, output = shared / "golden" / "models" / "tiny-bert", tmp_path / "p.json"
    command = [
        "predict",
        str(model),
        "--benchmark",
        "genderswap",
        "--split",
        split,
        "-o",
        str(output),
        "--quiet",
    ]
    assert main(command) == 0
    assert main(["score", str(output), "-o", str(tmp_path / "s.json")]) == 0
    table = json.loads((tmp_path / "s.json").read_text())[split]["overall"]
    assert table["n"] == wanted["n"]
    assert table["strength"] == pytest.approx(wanted["S"], abs=1e-5)
    assert table["distance"] == pytest.approx(wanted["D"], abs=1e-5)
    assert table["strength_low"] < table["strength"] < table["strength_high"]
    assert table["strength_stderr"] > 0
    assert table["s_p5"] < table["s_median"] < table["s_p95"]


def test_labels_are_those_of_the_originals_and_their_twins():
    assert LABELS[3:] == tuple(label + SWAPPED for label in LABELS[:3])
    assert parse_triple(triple(), "dev", "x").labels[0] == "unrelated"
