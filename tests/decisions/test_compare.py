"""`stereoset compare`: the numbers of the report's paired tests, and no comparison of what does not belong together."""

import json

import pytest
from decisions_predictions import sample_predictions

from lm_eval_stereoset.benchmarks.evaluation import compare
from lm_eval_stereoset.files import write_json
from lm_eval_stereoset.report.inputs import load
from lm_eval_stereoset.stats.paired import holm

BERT, MBERT = (
    f"bert-base-{kind}_BertLM_BertNextSentence_en.json" for kind in ("cased", "multilingual-cased")
)
GPT2 = "gpt2_GPT2LM_GPT2LM_{}_en.json"


def test_every_number_is_that_of_the_paired_test(typed, published, real_data):
    code, out, _ = typed("compare", published / BERT, published / MBERT, "--json")
    rows = json.loads(out)
    assert code == 0
    assert [(row["split"], row["metric"]) for row in rows[:3]] == [
        ("overall", m) for m in ("ss", "lms", "icat")
    ]
    assert len(rows) == 9
    base, new = (load([str(published / name)])[0] for name in (BERT, MBERT))
    one, two = new.parts["intra"], base.parts["intra"]
    expected = compare(new.benchmark, one.columns, two.columns, one.clusters)
    for row in rows[3:6]:
        difference = expected[row["metric"]]
        assert row["difference"] == pytest.approx(row["new_value"] - row["base_value"])
        assert [row[key] for key in ("low", "high", "p")] == pytest.approx(
            [difference.low, difference.high, difference.p]
        )
        assert row["examples"] == 2106


def test_holm_is_over_all_new_models(typed, published, real_data):
    names = [f"{key}={published / GPT2.format(key)}" for key in ("c", "d")]
    flags = ("--other-method", "--json")
    _, out, err = typed("compare", published / BERT, published / MBERT, *names, *flags)
    rows = [row for row in json.loads(out) if (row["split"], row["metric"]) == ("inter", "icat")]
    assert [row["new"] for row in rows] == ["bert-base-multilingual-cased", "c", "d"]
    assert {row["family"] for row in rows} == {3}
    assert [row["p_adjusted"] for row in rows] == pytest.approx(holm([row["p"] for row in rows]))
    assert "compared although of other method" in err


@pytest.mark.parametrize("kind", ["d", "c"])
def test_results_of_another_method_are_refused(typed, published, real_data, kind):
    code, out, err = typed("compare", published / BERT, published / GPT2.format(kind))
    assert (code, out) == (2, "")
    assert "other method: scored as 'BertLM' and 'GPT2LM'" in err
    assert "--other-method" in err


def test_two_models_each_with_a_tokenizer_of_its_own_are_compared(typed, tmp_path):
    files = {}
    for name, unit in (
        ("base", "tokens of /one, two"),
        ("new", "tokens of x/y"),
        ("bytes", "bytes of the text"),
    ):
        scoring = {
            split: {"scoring": "mean log-likelihood", "normaliser": unit} for split in ("intra", "inter")
        }
        head = {"benchmark": "stereoset", "language": "en", "model": name, "scoring": scoring}
        files[name] = sample_predictions(tmp_path / f"{name}.json")
        write_json(files[name], head | json.loads(files[name].read_text("utf-8")) | head)
    assert typed("compare", files["base"], files["new"], "--data", "sample")[0] == 0
    code, _, err = typed("compare", files["base"], files["bytes"], "--data", "sample")
    assert code == 2
    assert "other method: normalised by 'tokens' and 'bytes of the text'" in err


def test_what_both_sides_have_decides_and_not_what_one_has_besides(typed, tmp_path):
    """A base of both splits and a new model of one: the other split's way of scoring is no objection."""
    way = {"intra": {"scoring": "one way"}, "inter": {"scoring": "another way"}}
    head = {"benchmark": "stereoset", "language": "en", "scoring": way}
    both = sample_predictions(tmp_path / "both.json")
    content = json.loads(both.read_text("utf-8")) | head
    write_json(both, content | {"model": "both"})
    one = tmp_path / "one.json"
    intra = {key: value for key, value in content.items() if key != "intersentence"}
    write_json(one, intra | {"model": "one", "scoring": {"intra": way["intra"]}})
    code, out, err = typed("compare", both, one, "--data", "sample", "--json")
    assert code == 0, err
    assert {row["split"] for row in json.loads(out)} == {"intra"}


def predictions(path, source, **head):
    content = json.loads(source.read_text("utf-8"))
    path.write_text(json.dumps({"benchmark": "stereoset", "language": "en"} | head | content), "utf-8")
    return path


def test_results_of_other_data_are_refused(typed, published, real_data, tmp_path):
    data = [{"split": "intra", "sha256": "0" * 64}]
    other = predictions(tmp_path / "new.json", published / MBERT, model="new", data=data)
    code, out, err = typed("compare", published / BERT, other)
    assert (code, out) == (2, "")
    assert "other data: new, en: intra: the predictions were made from other data" in err
    code, out, err = typed("compare", published / BERT, other, "--other-data")
    assert code == 0
    assert "compared although of other data" in err


def test_only_one_side_has_a_language(typed, published, real_data):
    turkish = published / "bert-base-multilingual-cased_BertLM_BertNextSentence_tr.json"
    code, _, err = typed("compare", published / BERT, turkish)
    assert code == 2
    assert "nothing to compare: StereoSet in en: only the base has it" in err


def test_equal_names_are_told_apart_by_their_files(typed, published, real_data, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        predictions(tmp_path / folder / "p.json", published / MBERT, model="same")
    code, out, _ = typed("compare", tmp_path / "one", tmp_path / "two", "--json")
    rows = json.loads(out)
    assert code == 0
    assert (rows[0]["base"], rows[0]["new"]) == (str(tmp_path / "one"), str(tmp_path / "two"))
    assert all(row["difference"] == 0 and row["p"] == 1 for row in rows)


def test_scores_without_answers_have_a_difference_only(typed, published, real_data, tmp_path):
    scores = tmp_path / "scores_en.json"
    assert typed("score", published / MBERT, "-l", "en", "-o", scores)[0] == 0
    code, out, _ = typed("compare", published / BERT, scores, "--json")
    row = json.loads(out)[0]
    assert code == 0
    assert row["difference"] == pytest.approx(-4.33, abs=0.01)
    assert row["p"] is None


def test_tables_for_people_fit_and_are_escaped(typed, published, real_data, tmp_path):
    code, out, _ = typed("compare", published / BERT, published / MBERT)
    assert code == 0
    assert max(map(len, out.splitlines()[:12])) <= 100
    assert "-4.33 [-6.24, -2.40]" in out
    output = tmp_path / "c.md"
    code, _, _ = typed("compare", f"a|b={published / BERT}", published / MBERT, "--markdown", "-o", output)
    assert "a\\|b" in output.read_text("utf-8")


def test_sides_that_share_no_split_are_one_line(typed, shared):
    files = [
        shared / f"upstream/gest/data/predictions/english_mlm/bert-base-uncased_template-{n}.txt"
        for n in (0, 1)
    ]
    assert typed("data", "fetch", "gest", "--from", shared / "upstream" / "gest")[0] == 0
    code, out, err = typed("compare", *files)
    assert (code, out) == (2, "")
    assert "nothing to compare" in err


def test_several_models_in_one_folder_are_one_line(typed, published, real_data):
    code, _, err = typed("compare", published, published / BERT)
    assert code == 2
    assert "holds several models" in err


def test_an_output_never_takes_the_place_of_an_input(typed, published, real_data, tmp_path):
    mine = predictions(tmp_path / "mine.json", published / MBERT, model="mine")
    before = mine.read_bytes()
    assert typed("compare", published / BERT, mine, "-o", mine)[0] == 2
    assert mine.read_bytes() == before
