"""Amazon Translate: a real boto3 client against a stand-in of the service on loopback."""

import json
import re
from collections import Counter

import pytest
from stereoset_translation.backends.aws import AmazonTranslate
from stereoset_translation.columns import get, put
from stereoset_translation.folder import Folder
from stereoset_translation.memory import Memory
from stereoset_translation.source import translated_columns
from translation_examples import english_examples, unique_strings
from translation_stand_in import pseudo

from lm_eval_stereoset.files import write_examples
from lm_eval_stereoset.scoring.questions import BLANK

FAST = ("--timeout", "0.5", "--attempts", "4", "--concurrency", "6")


@pytest.fixture
def run(translate, english, tmp_path):
    """`stereoset translate run` with Amazon into a working folder of the test."""
    return lambda *more: translate(
        "run", "--to", "it", "--backend", "aws", "--data", english, "--dir", tmp_path / "it", *FAST, *more
    )


def raw(tmp_path):
    return Folder(tmp_path / "it" / "raw", "it").read()


def test_each_unique_string_is_sent_once_and_every_text_gets_its_answer(run, amazon, english, tmp_path):
    code, _, err = run()
    assert (code, err) == (0, "")
    assert Counter(amazon.asked) == Counter(unique_strings())
    for split, examples in raw(tmp_path).items():
        for example, source in zip(examples, english_examples()[split], strict=True):
            assert example.context == pseudo(source.context, True)
            assert example.target == pseudo(source.target, True)
            assert example.target_original == source.target
            assert [c.id for c in example.candidates] == [c.id for c in source.candidates]
            for ours, theirs in zip(example.candidates, source.candidates, strict=True):
                if split == "intra":
                    assert ours.word == pseudo(theirs.word, True)
                    assert ours.sentence == example.context.replace(BLANK, ours.word)
                else:
                    assert ours.sentence == pseudo(theirs.sentence, True)


def test_terminology_is_imported_for_the_run_and_removed_after(run, amazon):
    run()
    assert amazon.calls == ["ImportTerminology", "DeleteTerminology"]
    assert amazon.terminologies == {}


def test_own_terminologies_are_used_and_stay(run, amazon):
    amazon.terminologies["mine"] = b"en,it\nsailor,marinaio\n"
    assert run("--terminology", "mine")[0] == 0
    assert list(amazon.terminologies) == ["mine"]


def test_second_run_asks_nothing_and_does_not_even_connect(run, amazon):
    run()
    amazon.asked.clear(), amazon.calls.clear()
    code, out, _ = run()
    assert code == 0
    assert (amazon.asked, amazon.calls) == ([], [])
    assert "0 strings translated" in out


def test_trial_does_not_cut_a_finished_translation_down(run, amazon, tmp_path):
    run()
    code, _, err = run("--limit", "3")
    assert code == 2
    assert "16 examples, this run would leave 3" in err
    assert len(raw(tmp_path)["intra"]) == 16


def test_no_more_requests_at_once_than_asked_for(run, amazon):
    amazon.delay = 0.02
    run("--concurrency", "3", "--limit", "4")
    assert 2 <= amazon.most_at_once <= 3


@pytest.mark.parametrize("how", ["throttle", "server error", "unavailable", "cut", "silence"])
def test_passing_trouble_is_retried_and_nothing_is_lost(run, amazon, how, tmp_path):
    troubled = set(unique_strings()[30:40:9])
    amazon.misbehave = lambda text, times: how if text in troubled and times == 0 else None
    code, _, err = run("--split", "intra", "--limit", "10")
    assert (code, err) == (0, "")
    # Only the requests that failed were sent a second time, and each text was answered exactly once.
    again = {text for text, times in Counter(amazon.asked).items() if times > 1}
    assert again == troubled
    assert set(Counter(amazon.answered).values()) == {1}
    assert set(amazon.answered) == set(amazon.asked)
    assert len(raw(tmp_path)["intra"]) == 10


@pytest.mark.parametrize("how", ["throttle", "server error", "silence", "cut"])
def test_lasting_trouble_is_one_line_and_the_next_run_goes_on(run, amazon, how):
    victim = unique_strings()[30]
    amazon.misbehave = lambda text, times: how if text == victim else None
    code, _, err = run("--attempts", "2")
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "is stored" in err or "are stored" in err
    assert "Traceback" not in err
    assert amazon.terminologies == {}  # removed after a failure too
    stored = set(amazon.answered)
    amazon.asked.clear()
    amazon.misbehave = lambda text, times: None
    assert run()[0] == 0
    assert set(amazon.asked) == set(unique_strings()) - stored


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("AWS_ACCESS_KEY_ID", "AKIAWRONG", "does not accept your credentials"),
        ("AWS_ACCESS_KEY_ID", None, "Unable to locate credentials"),
        ("AWS_DEFAULT_REGION", None, "--region"),
    ],
)
def test_wrong_or_missing_credentials_stop_before_any_text(run, amazon, monkeypatch, key, value, says):
    if value:
        monkeypatch.setenv(key, value)
    else:
        monkeypatch.delenv(key)
        if key == "AWS_ACCESS_KEY_ID":
            monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    code, out, err = run()
    assert code == 2
    assert says in err
    assert "secret-of-the-stand-in" not in out + err
    assert amazon.asked == []


def test_unsupported_language_stops_after_the_first_requests(run, amazon):
    amazon.misbehave = lambda text, times: "language"
    code, _, err = run()
    assert code == 2
    assert "does not translate from en to it" in err
    assert len(err.splitlines()) == 1
    assert len(amazon.asked) <= 6  # those under way
    assert amazon.terminologies == {}


def test_text_over_the_limit_is_refused_before_anything_is_paid(run, amazon, english):
    lengthen(english, 10_001)
    code, _, err = run()
    assert code == 2
    assert "10001 bytes, the translator takes 10000 at most" in err
    assert "inter e0 (context)" in err
    assert "--data" in err
    assert len(err.splitlines()) == 1
    assert (amazon.asked, amazon.calls) == ([], [])


def test_text_the_service_finds_too_long_does_not_stop_the_others(run, amazon, tmp_path):
    victim = unique_strings()[30]
    amazon.misbehave = lambda text, times: "too long" if text == victim else None
    code, _, err = run()
    assert code == 2
    assert "1 text was refused" in err
    assert f"in {', '.join(places(victim))}; shorten the English text" in err
    assert "--data, or take another --backend" in err
    assert len(err.splitlines()) == 1
    assert set(amazon.answered) == set(unique_strings()) - {victim}
    assert not (tmp_path / "it" / "raw").exists()  # no data set with a hole in it


def places(text):
    return [
        f"{split} {e.id} ({column})"
        for split, examples in english_examples().items()
        for e in examples
        for column in translated_columns(split)
        if get(e, column) == text
    ]


def test_refused_text_shortened_in_a_copy_of_the_data_is_all_that_is_asked_then(
    run, amazon, english, tmp_path
):
    victim = english_examples()["inter"][3].context
    amazon.misbehave = lambda text, times: "too long" if text == victim else None
    assert run()[0] == 2
    copy = tmp_path / "copy"
    for split, examples in english_examples().items():
        if split == "inter":
            examples[3] = put(examples[3], "context", "Our teacher lives.")
        write_examples(copy / split / "en.jsonl", examples)
    amazon.asked.clear()
    assert run("--data", copy)[0] == 0
    assert amazon.asked == ["Our teacher lives."]
    assert raw(tmp_path)["inter"][3].context == "Ouro teachero liveso."
    assert len(raw(tmp_path)["intra"]) == 16


def test_many_refused_texts_are_counted_and_the_first_are_named(run, amazon):
    amazon.misbehave = lambda text, times: "too long" if text.startswith("Our ") else None
    code, _, err = run()
    assert code == 2
    assert "16 texts were refused" in err
    assert "inter e4 (context) and 11 more;" in err


def test_two_people_in_one_account_do_not_remove_each_others_terminology(run, amazon, tmp_path):
    names = []

    def other_starts_and_ends():
        if not names:
            names.append(set(amazon.terminologies))
            with AmazonTranslate("en", "it") as other:
                names.append(set(amazon.terminologies) - names[0])
                assert names[1] == {other.terminology}

    amazon.after_answer = other_starts_and_ends
    assert run("--concurrency", "1")[0] == 0
    (mine,), (theirs,) = names
    assert mine != theirs
    assert all(re.fullmatch("stereoset-blank-en-it-[0-9a-f]{8}", name) for name in (mine, theirs))
    # Had it been removed with the other's, the stand-in would have translated BLANK away.
    assert all(BLANK in e.context for e in raw(tmp_path)["intra"])
    assert amazon.terminologies == {}


@pytest.mark.parametrize("there", [True, False])
def test_terminology_of_a_killed_run_is_removed_by_the_next(run, amazon, tmp_path, there):
    memory = Memory(tmp_path / "it" / "memory.sqlite", "aws", "en", "it")
    memory.note_made("stereoset-blank-en-it-dead")
    amazon.terminologies["stereoset-blank-de-fr-mine"] = b""
    if there:  # else it was killed between note and import
        amazon.terminologies["stereoset-blank-en-it-dead"] = b""
    code, _, err = run("--limit", "2")
    assert (code, err) == (0, "")
    assert list(amazon.terminologies) == ["stereoset-blank-de-fr-mine"]
    assert memory.left_behind() == []
    memory.close()


def test_blank_lost_in_spite_of_the_terminology_is_told_and_goes_to_review(
    run, amazon, translate, english, tmp_path
):
    victim = next(text for text in unique_strings() if BLANK in text)
    amazon.misbehave = lambda text, times: "lose BLANK" if text == victim else None
    code, out, err = run()
    assert code == 0
    assert "BLANK was lost in 1 texts" in out
    assert Counter(amazon.asked)[victim] == 1  # never paid for twice
    work = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    assert translate("repair", *work)[0] == 0
    code, out, err = translate("build", *work)
    assert code == 2
    assert "BLANK is missing" in err
    code, out, err = translate("review", *work)
    assert code == 0
    assert "1 examples for a person" in out


def test_empty_answer_goes_to_review_and_never_into_data(run, amazon, translate, english, tmp_path):
    victim = "calm3"
    amazon.misbehave = lambda text, times: "empty" if text == victim else None
    assert run()[0] == 0
    work = ("--to", "it", "--data", english, "--dir", tmp_path / "it")
    assert translate("repair", *work)[0] == 0
    code, out, err = translate("build", *work)
    assert (code, "a translation is empty" in err) == (2, True)
    code, out, err = translate("build", *work, "--drop-unresolved")
    assert code == 0
    assert "15 examples" in out


def test_cost_limit_is_respected_before_anything_is_sent(run, amazon):
    code, _, err = run("--price", "15", "--max-cost", "0.001")
    assert code == 2
    assert "more than --max-cost" in err
    assert amazon.calls == []


def lengthen(english, size: int) -> None:
    path = english / "inter" / "en.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n")
    first = json.loads(lines[0])
    first["context"] = "gardener " + "x" * (size - 9)
    path.write_text("\n".join([json.dumps(first), *lines[1:]]), encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--endpoint-url", "nonsense"], "Invalid endpoint: nonsense"),
        (["--timeout", "0"], "--timeout 0"),
        (["--to", "pt-BR"], "--to pt_br --target-code pt-BR"),
    ],
)
def test_mistaken_option_is_one_line_and_nothing_is_sent(run, amazon, options, says):
    code, _, err = run(*options)
    assert code == 2
    assert says in err
    assert "Traceback" not in err
    assert not amazon.asked
