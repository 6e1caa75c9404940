"""Limits are checked before any result is read; every mistake is one line that names the place and the way out."""

import pytest

from lm_eval_stereoset.decisions.limits import limit_of, parse_flag, read_config
from lm_eval_stereoset.errors import UserError


def test_a_flag_says_the_same_as_a_file(tmp_path):
    path = tmp_path / "gate.yaml"
    path.write_text(
        "limits:\n"
        "  - {metric: ss, within: 5, languages: [en, de], split: overall, certainty: beyond doubt}\n"
        "  - {metric: icat, at_least: 65, certainty: at all}\n"
        "  - {metric: icat, no_worse_than: base_predictions.json, by: 2}\n"
        "  - {metric: lms, at_most: 90, bias_type: gender, models: gpt2, benchmark: stereoset}\n",
        "utf-8",
    )
    flags = [
        "ss within 5 of 50 languages=en,de split=overall certainty='beyond doubt'",
        "icat at least 65 certainty='at all'",
        "icat no worse than base_predictions.json by more than 2",
        "lms at most 90 bias_type=gender models=gpt2 benchmark=stereoset",
    ]
    assert [parse_flag(text) for text in flags] == read_config(path)


def test_within_means_of_the_ideal():
    assert limit_of({"metric": "ss", "within": 5}, "here").demand == "within 5 of 50"


def test_a_base_is_looked_for_beside_the_configuration_too(tmp_path, monkeypatch):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "base.json").write_text("{}", "utf-8")
    config = tmp_path / "config" / "gate.yaml"
    config.write_text("limits: [{metric: icat, no_worse_than: base.json}]", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert read_config(config)[0].no_worse_than == str(tmp_path / "config" / "base.json")
    monkeypatch.chdir(config.parent)
    assert read_config(config)[0].no_worse_than == "base.json"


MISTAKES = {
    "iact at least 65": "no metric 'iact'; did you mean icat?",
    "icat at least 101": "cannot be met: ICAT lies between 0 and 100",
    "icat at most -1": "cannot be met",
    "ss within 4 of 120": "cannot be met: SS lies between 0 and 100",
    "ss within 50": "is met by every model",
    "icat at least 0": "is met by every model",
    "ss within -1": "within -1 is negative",
    "icat no worse than base.json by more than -2": "by -2 is negative",
    "ties within 5": "has no ideal",
    "ties no worse than base.json": "has no ideal",
    "icat at least many": "must be a number",
    "icat at least nan": "must be a number",
    "icat at least inf": "must be a number",
    "icat atleast 65": "not understood; write",
    "icat at least 65 and more": "not understood",
    "icat at least 65 split=inta": "no split 'inta'; did you mean intra",
    "icat at least 65 bias_type=gendr": "no group 'gendr'; did you mean gender?",
    "icat at least 65 benchmark=stereoste": "no benchmark 'stereoste'; did you mean stereoset",
    "icat at least 65 certainty=sure": "certainty 'sure'; there are beyond doubt, at all, proven",
    "icat at least 65 languges=de": "unknown key 'languges'; did you mean languages?",
    "icat at least 65 languages=": "languages must be a list",
    "icat at least 65 split='intra": "No closing quotation",
}


@pytest.mark.parametrize(("flag", "message"), MISTAKES.items())
def test_mistakes_in_flags(flag, message):
    with pytest.raises(UserError) as raised:
        parse_flag(flag)
    assert message in str(raised.value)
    assert flag in str(raised.value)


FILES = {
    "": "needs a list 'limits'",
    "limits: []": "needs a list 'limits'",
    "limit: [{metric: ss, within: 5}]": "needs a list 'limits'",
    "limits: [{metric: ss, within: 5}]\nlimts: 3": "unknown key 'limts'",
    "limits: [ss]": "limit 1: must be a mapping",
    "limits: [{within: 5}]": "limit 1: names no metric",
    "limits: [{metric: ss}]": "needs exactly one of within, at_least, at_most, no_worse_than, has none",
    "limits: [{metric: ss, within: 5, at_most: 60}]": "has within, at_most",
    "limits: [{metric: ss, within: true}]": "within must be a number, is True",
    "limits: [{metric: ss, within: .nan}]": "within must be a number, is nan",
    "limits: [{metric: ss, within: 5, languages: [no]}]": "quote them if in doubt",
    "limits: [{metric: ss, at_most: 60, of: 50}]": "'of' goes with 'within' only",
    "limits: [{metric: ss, at_most: 60, by: 5}]": "'by' goes with 'no_worse_than' only",
    "limits: [{metric: ss, within: 5, group: gender, bias_type: race}]": "group and bias_type are the same",
    "limits: [{metric: ss, within: 5}, {metric: ss, 1: 2}]": "limit 2: unknown key 1",
    "limits: [{metric: ss": "not valid YAML",
    "limits: !!python/object/apply:os.getcwd []": "not valid YAML",
}


@pytest.mark.parametrize(("content", "message"), FILES.items())
def test_mistakes_in_files(content, message, tmp_path):
    path = tmp_path / "gate.yaml"
    path.write_text(content, "utf-8")
    with pytest.raises(UserError) as raised:
        read_config(path)
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(path))
