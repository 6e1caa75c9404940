"""The plan: strings, characters and cost, with and without sending identical strings once."""

from stereoset_translation.plan import describe, duration, make
from translation_examples import english_examples


def test_intra_sentences_are_not_sent_and_repeated_targets_count_once():
    plan = make(english_examples())
    assert plan.strings == {"intra": 16 * 5, "inter": 16 * 5}
    assert len(plan.unique) == len(set(plan.unique)) == 8 + 16 + 48 + 16 + 48
    assert "The gardener we met in town was calm0, number 0." not in plan.unique


def test_real_english_data_measured(published):
    plan = make({split: published(split, "en") for split in ("intra", "inter")}, price=15.0)
    assert plan.strings == {"intra": 10_530, "inter": 10_615}
    assert plan.characters == {"intra": 150_182, "inter": 378_096}
    assert len(plan.unique) == 13_084
    assert plan.unique_characters == 468_353
    assert round(plan.cost(plan.unique_characters), 2) == 7.03
    assert round(plan.cost(sum(plan.characters.values())), 2) == 7.92


def test_what_is_stored_is_not_planned_again():
    everything = make(english_examples()).unique
    plan = make(english_examples(), stored=everything[:100])
    assert plan.missing == everything[100:]


def test_time_follows_the_measured_speed():
    plan = make(english_examples(), strings_per_second=2.0)
    assert plan.seconds == 136 / 2
    assert "1 min 8 s (measured in earlier runs)" in describe(plan)
    assert duration(3723) == "1 h 2 min"


def test_plan_command_sends_and_writes_nothing(translate, english, tmp_path):
    code, out, err = translate(
        "plan", "--to", "it", "--data", english, "--dir", tmp_path / "it", "--price", "20"
    )
    assert (code, err) == (0, "")
    assert "136" in out
    assert "at 20 per million" in out
    assert not (tmp_path / "it").exists()


def test_english_to_english_is_a_mistake(translate, english, tmp_path):
    code, _, err = translate("plan", "--to", "en", "--data", english)
    assert code == 2
    assert "another language" in err
