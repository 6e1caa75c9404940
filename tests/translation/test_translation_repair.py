"""Repair rules: the German ones replay the published data; generic ones; mistakes in rules."""

import json
from collections import Counter

import pytest
import yaml
from stereoset_translation import rules
from stereoset_translation.columns import get, put, rebuilt
from stereoset_translation.folder import Folder
from stereoset_translation.repair import repair, strip_punctuation
from translation_examples import inter, intra

from lm_eval_stereoset.benchmarks.stereoset.example import read_examples
from lm_eval_stereoset.benchmarks.stereoset.words import candidate_word
from lm_eval_stereoset.errors import UserError


@pytest.fixture
def german(shared):
    return shared / "translation" / "raw_translations"


def rules_of(*content, name="step"):
    return rules.parse(yaml.safe_dump({"steps": [{"name": name, "rules": list(content)}]}), "test.yaml")


def repaired(example, *content):
    split = "inter" if example.candidates[0].word is None else "intra"
    return repair({split: [example]}, rules_of(*content)).data[split][0]


def test_german_rules_give_the_known_problem_counts(translate, german, tmp_path):
    report = tmp_path / "report.json"
    code, out, err = translate(
        "repair", "--language", "de", "--input", german, "--output", tmp_path / "out", "--report", report
    )
    assert (code, err) == (0, "")
    counts = [(row["intra"], row["inter"]) for row in json.loads(report.read_text(encoding="utf-8"))]
    assert counts == [(562, 535), (378, 352), (57, 49), (43, 41)]
    for row in json.loads(report.read_text(encoding="utf-8")):
        assert set(row) == {"step", "intra", "inter"}
        assert f"{row['step']}" in out
    repaired = Folder(tmp_path / "out", "de").read()
    assert {split: len(examples) for split, examples in repaired.items()} == {"intra": 2106, "inter": 2123}


def test_german_rules_with_manual_fixes_give_the_published_data(
    translate, german, shared, published, tmp_path
):
    out = tmp_path / "out"
    fixes = shared / "translation" / "manual_fixes"
    report = tmp_path / "report.json"
    code, _, err = translate(
        "repair", "--language", "de", "--input", german, "--output", out, "--manual-fixes", fixes,
        "--report", report,
    )  # fmt: skip
    assert (code, err) == (0, "")
    for split, number in (("intra", 2103), ("inter", 2123)):
        examples = read_examples(out / split / "de.jsonl", split)
        assert len(examples) == number
        assert examples == published(split, "de")  # ids, order, labels and every text
    last = json.loads(report.read_text(encoding="utf-8"))[-1]
    assert (last["intra"], last["inter"]) == (5, 5)


def test_every_change_is_recorded_so_that_the_record_replays_the_repair(translate, german, shared, tmp_path):
    out = tmp_path / "out"
    translate(
        "repair", "--language", "de", "--input", german, "--output", out,
        "--manual-fixes", shared / "translation" / "manual_fixes",
    )  # fmt: skip
    raw = {e.id: e for examples in Folder(german, "de").read().values() for e in examples}
    dropped = 0
    for line in (out / "de.changes.jsonl").read_text(encoding="utf-8").split("\n")[:-1]:
        change = json.loads(line)
        if change["column"] is None:
            del raw[change["example"]]
            dropped += 1
            continue
        example = raw[change["example"]]
        assert get(example, change["column"]) == change["before"] != change["after"]
        assert change["rule"]
        raw[change["example"]] = put(example, change["column"], change["after"])
    assert dropped == 3
    final = {e.id: e for examples in Folder(out, "de").read().values() for e in examples}
    assert raw == final


def test_candidate_words_of_english_are_the_published_ones(published):
    english = published("intra", "en")
    words = [(candidate_word(e.context, c.sentence), c.word) for e in english for c in e.candidates]
    assert len(words) == 2106 * 3
    assert all(ours == theirs for ours, theirs in words)


def test_replacements_act_in_their_order_on_every_column():
    example = intra(1, "Der Mover war BLANK.", "mover", ("a Mover", "b", "c"))
    after = repaired(example, {"name": "r", "replace": {"Mover": "Packer", "a Packer": "ein Packer"}})
    assert after.context == "Der Packer war BLANK."
    assert after.candidates[0].word == "ein Packer"
    assert after.candidates[0].sentence == "Der Packer war ein Packer."
    assert after.target == "mover"


def test_limits_of_a_rule_hold():
    example = inter(1, "Der Mover kam.", "Mover", ("Mover", "b", "c"))
    act = {"name": "r", "replace": {"Mover": "X"}}
    assert repaired(example, act | {"columns": ["target"]}).context == "Der Mover kam."
    assert repaired(example, act | {"splits": ["intra"]}) == example
    assert repaired(example, act | {"examples": ["other"]}) == example
    assert repaired(example, act | {"when": {"target_missing": True}}) == example
    assert repaired(example, act | {"when": {"target": "Mover"}}) != example


def test_closest_word_takes_the_inflected_form_without_punctuation():
    example = inter(1, "Er traf den Physikern, oft.", "Physiker", ("a", "b", "c"))
    closest = {"name": "c", "closest_word": {"cutoff": 0.4}}
    # The upper-cased comparison finds Physiker within Physikern already: nothing to repair.
    assert repaired(example, closest) == example
    example = inter(1, "Die russischen, alten Bücher.", "Russe", ("a", "b", "c"))
    assert repaired(example, closest).target == "russischen"
    skip = {"name": "c", "closest_word": {"cutoff": 0.4, "skip": ["Russe"]}}
    assert repaired(example, skip) == example
    assert repaired(example, {"name": "c", "closest_word": {"cutoff": 0.95}}) == example


def test_closest_word_is_never_the_blank():
    example = intra(1, "Die BLANK gehen.", "KLAN", ("a", "b", "c"))
    assert repaired(example, {"name": "c", "closest_word": {"cutoff": 0.4}}) == example


def test_closest_word_for_single_words_only_leaves_longer_targets_to_a_person():
    example = inter(1, "Kapverdische Lieder.", "Kap Verde", ("a", "b", "c"))
    assert repaired(example, {"name": "c", "closest_word": {"cutoff": 0.4}}).target == "Kapverdische"
    only = {"name": "c", "closest_word": {"cutoff": 0.4, "single_words_only": True}}
    assert repaired(example, only) == example


def test_generic_rules_mend_what_every_language_has():
    example = rebuilt(
        intra(1, 'Türkiye"de blank\u00a0bir denizci.', "denizciler", ("cesur.", "«kibar»", "masa"))
    )
    after = repair({"intra": [example]}, rules.load("xx")).data["intra"][0]
    assert after.context == "Türkiye'de BLANK bir denizci."
    assert [c.word for c in after.candidates] == ["cesur", "kibar", "masa"]
    assert after.candidates[0].sentence == "Türkiye'de cesur bir denizci."
    assert after.target == "denizci"


def included(*steps):
    return rules.parse(yaml.safe_dump({"include": "generic", "steps": list(steps)}), "my.yaml")


def test_file_that_includes_the_generic_rules_adds_to_them():
    replace = {"name": "r", "replace": {"Türkiye'de denizci": "Denizci"}}  # sees what they have cleaned
    example = intra(1, 'Türkiye"de\u00a0denizci blank.', "x", ("cesur.", "b", "c"))
    after = repair({"intra": [example]}, included({"name": "replacement rules", "rules": [replace]}))
    assert after.data["intra"][0].context == "Denizci BLANK."
    assert after.data["intra"][0].candidates[0].sentence == "Denizci cesur."
    alone = rules_of(replace, name="replacement rules")
    assert repair({"intra": [example]}, alone).data["intra"][0] == example


def test_steps_of_a_file_that_includes_the_generic_rules_come_in_its_order():
    rule = {"name": "r", "replace": {"a": "b"}}
    made = included(
        {"name": "first", "rules": [rule]}, {"name": "closest word", "rules": [rule]}, {"name": "mine", "rules": [rule]}
    )  # fmt: skip
    assert [step.name for step in made.steps] == [
        "first", "replacement rules", "closest word", "mine", "sentences",
    ]  # fmt: skip
    assert [r.name for r in made.steps[2].rules] == ["closest word of the context", "r"]


def test_german_rules_are_without_the_generic_ones():
    assert [step.name for step in rules.load("de").steps] == [
        "replacement rules", "closest word", "Mann and Kommandant rules",
    ]  # fmt: skip
    generic = {rule.name for step in rules.load("generic").steps for rule in step.rules}
    german = {rule.name for step in rules.load("de").steps for rule in step.rules}
    assert "no-break spaces" in generic - german


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"include": "german", "steps": []}, "include can only be generic, not 'german'"),
        ({"inlcude": "generic", "steps": []}, "unknown key 'inlcude'"),
        (
            {
                "include": "generic",
                "steps": [{"name": n, "rules": []} for n in ("sentences", "closest word")],
            },
            "earlier in generic.yaml",
        ),
        (
            {
                "include": "generic",
                "steps": [{"name": "sentences", "rules": [{"name": "r", "set": "x"}] * 2}],
            },
            "the same name",
        ),
    ],
)
def test_mistake_in_including_is_named(content, says):
    with pytest.raises(UserError, match=says):
        rules.parse(yaml.safe_dump(content), "my.yaml")


def test_rule_does_not_drop_what_a_person_has_corrected(translate, german, shared, tmp_path):
    out = tmp_path / "out"
    command = ("repair", "--language", "de", "--input", german, "--output", out)
    translate(*command)
    fixes = ("--manual-fixes", shared / "translation" / "manual_fixes")
    translate(*command[:-1], tmp_path / "other", *fixes)
    left = {e.id for e in Folder(tmp_path / "other", "de").read()["intra"]}
    folder = Folder(out, "de")
    dropped = next(e for e in folder.read()["intra"] if e.id not in left)
    text = folder.file("intra").read_text(encoding="utf-8")
    old = json.dumps(dropped.to_dict(), ensure_ascii=False)
    new = json.dumps(put(dropped, "context", "Von Hand: BLANK.").to_dict(), ensure_ascii=False)
    folder.file("intra").write_text(text.replace(old, new), encoding="utf-8")
    _, said, _ = translate(*command, *fixes)
    assert "2 examples dropped" in said
    (after,) = [e for e in folder.read()["intra"] if e.id == dropped.id]
    assert after.context == "Von Hand: BLANK."


def test_blank_is_restored_only_where_none_is_left():
    example = intra(1, "A blank page was BLANK.", "page", ("a", "b", "c"))
    assert repair({"intra": [example]}, rules.load("xx")).data["intra"][0] == example


def test_text_of_punctuation_only_is_not_stripped_to_nothing():
    assert strip_punctuation("¿qué?") == "qué"
    assert strip_punctuation("...") == "..."


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"replace": {"a": "b"}}, "needs a name"),
        ({"name": "r"}, "exactly one of"),
        ({"name": "r", "replace": {"a": "b"}, "keep": "a"}, "exactly one of"),
        ({"name": "r", "replace": {"a": "b"}, "columms": ["word"]}, "unknown key 'columms'"),
        ({"name": "r", "replace": {"a": "b"}, "columns": ["words"]}, "columns must be a list"),
        ({"name": "r", "replace": {"a": True}}, "in quotes"),
        ({"name": "r", "replace": {"": "b"}}, "empty text"),
        ({"name": "r", "regex": {"(": "b"}}, "not a regular expression"),
        ({"name": "r", "regex": {"a": "\\1"}}, "does not go with"),
        ({"name": "r", "closest_word": {"cutoff": 2}}, "cutoff"),
        ({"name": "r", "closest_word": {"cutoff": 0.4, "skip": "sé"}}, "skip must be a list"),
        ({"name": "r", "set": "b", "examples": "a1"}, "examples must be a list"),
        ({"name": "r", "set": "b", "when": {"target_missing": "true"}}, "true or false"),
        ({"name": "r", "rebuild_sentences": False}, "can only be true"),
        (
            {"name": "r", "manual_fixes": [{"file": "a", "split": "intra", "columns": {"a": "b"}}]},
            "the column",
        ),
        ({"name": "r", "replace": {"a": "b"}, "when": {"targt": "x"}}, "unknown key 'targt'"),
    ],
)
def test_mistake_in_a_rule_is_named(content, says):
    with pytest.raises(UserError, match=says):
        rules_of(content)


def test_broken_rules_file_is_one_line(translate, german, tmp_path):
    (tmp_path / "my.yaml").write_text("steps: [", encoding="utf-8")
    code, _, err = translate(
        "repair", "--language", "de", "--input", german, "--output", tmp_path / "o", "--rules", tmp_path / "my.yaml"
    )  # fmt: skip
    assert code == 2
    assert "not valid YAML" in err
    assert len(err.splitlines()) == 1


def test_sheet_of_another_data_set_is_refused(translate, german, tmp_path, shared):
    fixes = tmp_path / "fixes"
    fixes.mkdir()
    for sheet in (shared / "translation" / "manual_fixes").glob("*.csv"):
        text = sheet.read_text(encoding="utf-8").replace("3118bf7047f875346b25cde17bb75a8b", "0" * 32)
        (fixes / sheet.name).write_text(text, encoding="utf-8")
    code, _, err = translate(
        "repair", "--language", "de", "--input", german, "--output", tmp_path / "o", "--manual-fixes", fixes
    )
    assert code == 2
    assert "row 2" in err
    assert "no intra example has the id" in err
    assert not (tmp_path / "o").exists()


def test_output_into_the_input_is_refused(translate, german):
    code, _, err = translate("repair", "--language", "de", "--input", german, "--output", german)
    assert code == 2
    assert "choose another" in err


def test_own_files_in_the_output_folder_are_not_overwritten(translate, german, tmp_path):
    out = tmp_path / "out"
    (out / "intra").mkdir(parents=True)
    (out / "intra" / "de.jsonl").write_text("mine", encoding="utf-8")
    code, _, err = translate("repair", "--language", "de", "--input", german, "--output", out)
    assert code == 2
    assert "was not written by this command" in err
    assert (out / "intra" / "de.jsonl").read_text(encoding="utf-8") == "mine"


def test_one_split_alone_can_be_repaired(translate, german, tmp_path):
    only = tmp_path / "in" / "inter"
    only.mkdir(parents=True)
    (only / "de.jsonl").write_bytes((german / "inter" / "de.jsonl").read_bytes())
    report = tmp_path / "report.json"
    code, _, _ = translate(
        "repair", "--language", "de", "--input", tmp_path / "in", "--output", tmp_path / "out", "--report", report
    )  # fmt: skip
    assert code == 0
    assert [row["inter"] for row in json.loads(report.read_text(encoding="utf-8"))] == [535, 352, 49, 41]


def test_rules_name_rows_by_ids_that_exist(shared, german):
    named = Counter()
    ids = {e.id for examples in Folder(german, "de").read().values() for e in examples}
    for step in rules.load("de").steps:
        for rule in step.rules:
            named.update(rule.examples or ())
    assert len(named) == 6
    assert set(named) <= ids
