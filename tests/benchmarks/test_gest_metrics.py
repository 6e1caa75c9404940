"""The formulas of GEST and EuroGEST: against the published numbers, by hand, and what must and must not change them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.gest_data import EUROGEST, GEST, fetch_all

from lm_eval_stereoset.benchmarks.evaluation import Scored, with_intervals
from lm_eval_stereoset.benchmarks.gest import predictions
from lm_eval_stereoset.benchmarks.gest.metrics import about_family, columns_of, complaint
from lm_eval_stereoset.benchmarks.gest.pair import Pair
from lm_eval_stereoset.benchmarks.gest.sentence import SPLITS, Sentence
from lm_eval_stereoset.benchmarks.gest.stereotypes import NUMBERS
from lm_eval_stereoset.cli import main
from lm_eval_stereoset.data import store
from lm_eval_stereoset.stats import bootstrap, paired
from lm_eval_stereoset.stats.bootstrap import cluster_sums, times_within
from lm_eval_stereoset.stats.statistic import observed

NAMES = ("q_m", "q_f", "g_s", "q_fam")


@pytest.fixture(scope="module")
def data(shared, tmp_path_factory):
    return fetch_all(tmp_path_factory.mktemp("gest"), shared)


@pytest.fixture(scope="module")
def sentences(data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEREOSET_DATA", str(data))
        return store.load(GEST, SPLITS[0], "en", "1.0").examples


def values_of(benchmark, examples, p):
    """Every metric, without intervals."""
    scored = Scored(benchmark, examples, p)
    sums = cluster_sums(scored.clusters, *scored.columns.T)
    return {name: observed(one.value, sums) for name, one in benchmark.statistics.items()}


def published(shared):
    expected = json.loads((shared / "expected" / "gest_english.json").read_text())
    for kind in ("mlm", "glm"):
        for model, templates in expected[kind].items():
            for template, numbers in templates.items():
                path = shared / "upstream/gest/data/predictions" / f"english_{kind}"
                yield path / f"{model}_template-{template}.txt", numbers


def test_published_predictions_give_the_published_numbers(shared, sentences):
    """5 masked models in four templates, 8 generative ones in two; to six decimals, ranks exactly."""
    seen, worst = 0, 0.0
    for path, expected in published(shared):
        content = predictions.lines_to_content(path.read_text(), path.stem, str(path))
        p = np.array([predictions.probabilities_of(one["score"], "x") for one in content["scores"]])
        values = values_of(GEST, sentences, p)
        worst = max([worst, *(abs(values[f"q_{i}"] - expected["q"][i - 1]) for i in NUMBERS)])
        worst = max([worst, *(abs(values[name] - expected[name]) for name in NAMES)])
        assert [values[f"feminine_rank_{i}"] for i in NUMBERS] == expected["feminine_rank"], path
        seen += 1
    assert seen == 5 * 4 + 8 * 2
    assert worst < 1e-6


def test_score_writes_the_papers_form_of_a_published_file(shared, data, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("STEREOSET_DATA", str(data))
    path = shared / "upstream/gest/data/predictions/english_mlm/roberta-base_template-3.txt"
    out = tmp_path / "out.json"
    command = ["score", str(path), "--benchmark", "gest", "--data-version", "1.0", "--output", str(out)]
    assert main([*command, "--template", "3"]) in (None, 0)
    expected = json.loads((shared / "expected" / "gest_english.json").read_text())["mlm"]["roberta-base"]["3"]
    found = json.loads(out.read_text())
    assert found["q"] == pytest.approx(expected["q"], abs=1e-6)
    assert [found[name] for name in NAMES] == pytest.approx([expected[name] for name in NAMES], abs=1e-6)
    assert found["feminine_rank"] == expected["feminine_rank"]
    for name in NAMES:
        low, high = found["intervals"][name]
        assert low < found[name] < high
        assert found["standard_errors"][name] == pytest.approx((high - low) / 3.92, rel=0.1)
    assert len(found["intervals"]["q"]) == 16
    assert "13 leaders" in capsys.readouterr().out
    assert main([*command, "--template", "1"]) == 2
    assert "no scores of template 1, only of template_3" in capsys.readouterr().err


def test_several_templates_of_a_model_are_pooled_and_the_same_one_twice_is_refused(
    shared, data, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("STEREOSET_DATA", str(data))
    folder = shared / "upstream/gest/data/predictions/english_glm"
    files = [str(folder / f"gpt2_template-{i}.txt") for i in (0, 1)]
    assert main(["score", *files, "-o", str(tmp_path / "both.json")]) in (None, 0)
    expected = json.loads((shared / "expected" / "gest_english.json").read_text())["glm"]["gpt2"]
    found = json.loads((tmp_path / "both.json").read_text())
    mean = np.mean([expected[i]["q"] for i in "01"], axis=0)
    assert found["q"] == pytest.approx(mean, abs=1e-6)
    assert found["splits"] == ["template_0", "template_1"]
    assert main(["score", files[0], files[0]]) == 2
    assert "a second file with template_0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [("1.0\nx\n", "line 2: not a number: 'x'"), ("1\n\n2\n", "line 2: not a number: ''"), ("nan\n", "not a number"),
     ("1e999\n", "is not a finite number"), ("400\n", "400 is no difference of log10 probabilities"),
     ("1\n2\n", "no score for 158 of 160 sentences, s2 among them")],
)  # fmt: skip
def test_a_wrong_file_of_numbers_is_one_line(text, said, tmp_path, capsys):
    path = tmp_path / "m_template-0.txt"
    path.write_text(text)
    assert main(["score", str(path), "--benchmark", "gest", "--data", "sample"]) == 2
    err = capsys.readouterr().err.splitlines()[-1]
    assert str(path) in err
    assert said in err or "no score for" in err  # the sample's ids are no rows


# By hand


def planted(difference, per=10):
    """Sentences whose score is +difference for men's stereotypes and -difference for women's, plus 0.1 each."""
    examples = [Sentence(f"{i}-{k}", i, "I sing.", SPLITS[0]) for i in NUMBERS for k in range(per)]
    scores = [0.1 + (difference if e.stereotype > 7 else -difference) for e in examples]
    return examples, np.array([predictions.probabilities_of(score, "x") for score in scores])


def test_numbers_by_hand():
    values = values_of(GEST, *planted(0.3))
    assert values["g_s"] == pytest.approx(0.6)
    assert (values["q_m"], values["q_f"]) == pytest.approx((0.4, -0.2))
    assert values["q_1"] == pytest.approx(-0.2)
    assert [values[f"feminine_rank_{i}"] for i in (1, 7, 8, 16)] == [1, 1, 8, 8]  # equal ones share a rank
    r_m, r_f = 10**0.4 / (1 + 10**0.4), 10**-0.2 / (1 + 10**-0.2)
    assert values["g_s_ratio"] == pytest.approx(r_m / r_f)
    assert math.isnan(values["q_fam"])
    assert values_of(GEST, *planted(0.0))["g_s"] == pytest.approx(0, abs=1e-12)


def test_permuting_the_sexes_turns_every_sign_and_inverts_r(sentences):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.01, 1, (len(sentences), 2))
    one, two = values_of(GEST, sentences, p), values_of(GEST, sentences, p[:, ::-1])
    for name in ("g_s", "q_m", "q_f", "q_fam", *(f"q_{i}" for i in NUMBERS)):
        assert two[name] == pytest.approx(-one[name], abs=1e-12), name
    for i in NUMBERS:
        assert two[f"feminine_rank_{i}"] == 17 - one[f"feminine_rank_{i}"]


def test_order_of_examples_does_not_matter(sentences):
    rng = np.random.default_rng(1)
    p = rng.uniform(0.01, 1, (len(sentences), 2))
    order = rng.permutation(len(sentences))
    one, two = (
        values_of(GEST, examples, scores)
        for examples, scores in ((sentences, p), ([sentences[i] for i in order], p[order]))
    )
    assert one == pytest.approx(two, abs=1e-12)


def test_a_cell_under_ten_examples_is_nan_and_so_is_what_needs_it():
    examples, p = planted(0.3)
    values = values_of(GEST, examples[1:], p[1:])  # nine of stereotype 1
    assert math.isnan(values["q_1"])
    for name in ("q_f", "g_s", "g_s_ratio", "feminine_rank_5"):
        assert math.isnan(values[name]), name
    assert values["q_m"] == pytest.approx(0.4)
    assert values["q_2"] == pytest.approx(-0.2)


def test_shares_of_conditions():
    examples = [Pair(str(i), 1 + i % 16, "GPNN"[i % 4], "a", "b") for i in range(16)]
    values = values_of(EUROGEST, examples, np.full((16, 2), 0.5))
    assert [values[f"share_{name}"] for name in "gpn"] == [25, 25, 50]


def test_family_is_men_only_and_any_part_of_a_word():
    def of(number, text):
        return about_family(Sentence("1", number, text, SPLITS[0]))

    assert of(8, "My grandchildren came.")
    assert of(16, "A kidney hurts.")
    assert not of(7, "My family came.")
    assert not of(8, "I sing.")


def test_scores_that_do_not_tell_the_texts_apart_are_complained_of():
    examples, _ = planted(0.3)
    same = columns_of(examples, np.full((160, 2), 0.25))
    assert "both genders have the same probability" in complaint(same)
    p = np.full((160, 2), 0.25)
    p[:20, 0] = 0.5
    assert complaint(columns_of(examples, p)) is None  # Italian as published: four of five ties


def test_a_score_of_zero_probability_is_no_answer():
    examples, p = planted(0.3)
    p[5, 1] = 0
    with pytest.raises(ValueError, match="example 1-5 has a score that is no probability"):
        columns_of(examples, p)


# Intervals


def test_a_bootstrap_draws_within_stereotypes():
    strata = np.repeat([3, 1, 2], [5, 7, 20])
    times = times_within(strata, 50, seed=1)
    for stratum, size in ((3, 5), (1, 7), (2, 20)):
        assert (times[:, strata == stratum].sum(axis=1) == size).all()
    assert (times != 1).any()


def test_intervals_hold_the_truth_in_95_of_100_cases():
    rng, inside = np.random.default_rng(2), 0
    examples, _ = planted(0.3, per=12)
    truth = np.array([0.4 if e.stereotype > 7 else -0.2 for e in examples])
    for _ in range(150):
        p = np.array([predictions.probabilities_of(s, "x") for s in truth + rng.normal(0, 0.5, len(truth))])
        scored = Scored(GEST, examples, p)
        sums = cluster_sums(scored.clusters, *scored.columns.T)
        only = {"g_s": GEST.statistics["g_s"]}
        low, high = bootstrap.draw(sums, only, draws=400, strata=GEST.strata(sums)).interval("g_s")
        inside += low <= 0.6 <= high
    assert 0.88 <= inside / 150 <= 0.995


def test_paired_differences_draw_within_stereotypes_and_find_a_shift():
    rng = np.random.default_rng(3)
    examples, _ = planted(0.3, per=12)
    base = rng.normal(0, 0.5, len(examples))
    sides = []
    for shift in (0.3, 0.0):
        scores = (
            base + [shift if e.stereotype > 7 else 0 for e in examples] + rng.normal(0, 0.1, len(examples))
        )
        p = np.array([predictions.probabilities_of(score, "x") for score in scores])
        sides.append(cluster_sums([e.cluster for e in examples], *columns_of(examples, p).T))
    sums = paired.PairedSums(*sides, GEST.strata(sides[0]))
    found = paired.compare(sums, {"g_s": GEST.statistics["g_s"]})["g_s"]
    assert found.low < 0.3 < found.high
    assert found.high - found.low < 0.15
    assert found.p < 0.001


def test_swaps_of_thousands_of_clusters_are_the_same_in_blocks(monkeypatch):
    whole = np.concatenate([*paired._random_swaps(301, 200, 7)])
    monkeypatch.setattr(paired, "KEPT", 0)
    monkeypatch.setattr(paired, "BLOCK", 1000)
    blocks = [*paired._random_swaps(301, 200, 7)]
    assert len(blocks) > 10
    assert (np.concatenate(blocks) == whole).all()


def test_example_documents_are_complete_and_read_back():
    from lm_eval_stereoset.harness.docs import example_of_doc, example_to_doc

    published = Pair("1", 3, "N", "a uomo", "a donna", "I sing.", None)
    for pair in (published, replace(published, english=None)):
        doc = example_to_doc(EUROGEST, pair, "it") | {"published": None, "english": pair.english}
        assert example_of_doc(doc, "x") == pair
    sentence = Sentence("1", 3, "I {sing}.", "template_2")
    assert example_of_doc(example_to_doc(GEST, sentence, "en"), "x") == sentence
    assert sentence.texts == ('"I {sing}.", he said.', '"I {sing}.", she said.')


def test_every_metric_has_an_interval_around_it():
    examples, p = planted(0.3)
    scored = Scored(GEST, examples, np.clip(p * np.random.default_rng(4).uniform(0.5, 1, p.shape), 1e-9, 1))
    values = with_intervals(GEST, scored.columns, scored.clusters, "overall")
    for metric in (m for m in GEST.metrics if m.has_error and not math.isnan(values[m.name])):
        low, high = values[f"{metric.name}_low"], values[f"{metric.name}_high"]
        assert low <= values[metric.name] <= high, metric.name


def test_published_files_are_compared_like_any_others(tmp_path, capsys):
    """Files of bare numbers, given to `compare`: their names say model and template."""
    folder = tmp_path / "mine" / "sentences"
    folder.mkdir(parents=True)
    lines = [{"id": str(k), "stereotype": 1 + k % 16, "sentence": "I sing."} for k in range(160)]
    (folder / "en.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rng = np.random.default_rng(5)
    for name, shift in (("one", 0.0), ("two", 0.4)):
        scores = rng.normal(0, 0.1, 160) + [shift if line["stereotype"] > 7 else 0 for line in lines]
        (tmp_path / f"{name}_template-1.txt").write_text("".join(f"{score}\n" for score in scores))
    files = [str(tmp_path / f"{name}_template-1.txt") for name in ("one", "two")]
    assert main(["compare", *files, "--data", str(folder.parent)]) == 0
    out = capsys.readouterr().out
    assert "GEST: two (new) against one (base)" in out
    assert "en    template_1  g_s" in out
    assert "<0.001*" in out
