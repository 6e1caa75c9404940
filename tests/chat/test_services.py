"""A service on loopback with scripted personalities, asked by `stereoset run` as a user types it: each gives exactly
the metrics that follow by hand."""

import json
import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from chat.stand_in_service import Hang, Raw, Service, Status

from lm_eval_stereoset.cli import main
from lm_eval_stereoset.harness import chat_planning

pytest.importorskip("tenacity", reason="needs the client for services: pip install lm-eval-stereoset[api]")

STEREOTYPE, ANTI, UNRELATED = "stereotype", "anti-stereotype", "unrelated"
LIMIT = 8  # 4 examples of each split, one of each bias type: 24 questions in 3 orders


@pytest.fixture(scope="module")
def service():
    made = Service()
    yield made
    made.close()


@pytest.fixture
def ask(service, tmp_path, monkeypatch, capsys):
    """The values of one task, what was printed, and the exit code."""
    from lm_eval.tasks import TaskManager
    from tenacity import wait_none

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lm_eval_stereoset.cli.run.share_logging", lambda: None)
    monkeypatch.setattr("lm_eval.tasks.TaskManager", partial(TaskManager, include_defaults=False))
    monkeypatch.setattr("lm_eval.models.api_models.wait_exponential", lambda **_: wait_none())

    def call(
        personality, *more, task="stereoset_chat_en", concurrent=8, timeout=30, limit=LIMIT, metadata=""
    ):
        service.becomes(personality)
        monkeypatch.setattr(sys, "argv", list(sys.argv))
        arguments = [
            *(
                "run",
                "--model",
                "local-chat-completions",
                "--apply_chat_template",
                "--tasks",
                task,
                "--limit",
                str(limit),
            ),
            "--model_args",
            f"model=stand-in,base_url={service.url},num_concurrent={concurrent},timeout={timeout},max_retries=3",
            *(
                "--metadata",
                f"data=sample{metadata}",
                "--output_path",
                str(tmp_path / "out"),
                "--log_samples",
                *more,
            ),
        ]
        with ThreadPoolExecutor(
            1
        ) as thread:  # the client starts an event loop; a browser's may be running in this one
            code = thread.submit(main, arguments).result()
        printed = capsys.readouterr()
        found = sorted((tmp_path / "out").rglob("results_*.json"))
        values = {}
        if found:
            content = json.loads(found[-1].read_text("utf-8"))["results"][task]
            values = {key.partition(",")[0]: value for key, value in content.items()}
        return values, printed.out + printed.err, code

    return call


def close(values, **expected):
    for name, value in expected.items():
        if isinstance(value, float) and math.isnan(value):
            assert math.isnan(values[name]), name
        else:
            assert values[name] == pytest.approx(value, abs=1e-9), name


SHARES = ("answered", "refused", "neither", "unreadable", "failed")


def shares(**some):
    return {name: float(some.get(name, 0)) for name in SHARES}


NAN = float("nan")
UNDEFINED = {"ss": NAN, "lms": NAN, "icat": NAN, "position": NAN, "agreement": NAN, "stable": 0.0}
ALL_STEREOTYPE = {
    "ss": 100.0,
    "lms": 100.0,
    "icat": 0.0,
    "position": 0.0,
    "agreement": 100.0,
    "stable": 100.0,
}


@pytest.mark.parametrize("concurrent", [1, 8])
def test_always_a(ask, concurrent):
    """Each candidate stands in each place once, so all are named equally often: balance, and no preference at all."""
    values, printed, code = ask(lambda question: "(a)", concurrent=concurrent)
    assert code == 0
    close(
        values,
        ss=50.0,
        lms=200 / 3,
        icat=200 / 3,
        position=100.0,
        agreement=0.0,
        stable=0.0,
        **shares(answered=100),
    )
    close(values, letter_a=100.0, letter_b=0.0, letter_c=0.0, n_answered=LIMIT, n_preferring=LIMIT)
    assert "the place of a candidate decides more than the candidate" in " ".join(printed.split())
    lines = [line for line in printed.splitlines() if re.match(r"(lang|en)  ", line)]
    header, row = ([cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines)
    shown = dict(zip(header, row, strict=True))
    assert shown["examples answered"] == shown["examples with a preference"] == str(LIMIT)


def test_always_the_stereotype(ask):
    values, _, _ = ask(lambda question: question.letter(STEREOTYPE))
    close(values, **ALL_STEREOTYPE, **shares(answered=100), stable_ss=100.0, ss_stderr=0.0, ss_gender=100.0)


def test_always_the_anti_stereotype(ask):
    values, _, _ = ask(lambda question: f"**({question.letter(ANTI)})**")
    expected = ALL_STEREOTYPE | {"ss": 0.0}
    close(values, **expected, **shares(answered=100), stable_ss=0.0, ss_inter=0.0, ss_intra=0.0)


def test_always_nonsense(ask):
    values, _, _ = ask(lambda question: f"The answer is {question.letter(UNRELATED).upper()}")
    close(
        values,
        ss=NAN,
        lms=0.0,
        icat=NAN,
        position=0.0,
        agreement=100.0,
        n_preferring=0,
        **shares(answered=100),
    )


def test_refuses_everything(ask):
    values, printed, code = ask(lambda question: "I'm sorry, but I can't choose between these sentences.")
    close(values, **UNDEFINED, **shares(refused=100), refused_gender=100.0, n_answered=0)
    assert "only 0.0 % of the answers name one of the candidates" in " ".join(printed.split())
    assert code == 0  # a refusal is a result


def test_refuses_one_kind_of_bias(ask):
    """Gender is refused, the rest is the stereotype: a quarter of the answers is missing, and the table says so."""

    def personality(question):
        return (
            "Das kann ich nicht beantworten, tut mir leid."
            if question.bias_type == "gender"
            else question.letter(STEREOTYPE)
        )

    values, printed, _ = ask(personality, task="stereoset_chat_de")
    close(
        values,
        **(ALL_STEREOTYPE | {"stable": 75.0}),
        **shares(answered=75, refused=25),
        refused_gender=100.0,
        refused_race=0.0,
    )
    close(values, ss_gender=NAN, ss_race=100.0, n_answered=6)
    assert "de (both): only 75.0 % of the answers name one of the candidates" in " ".join(printed.split())


def test_answers_in_another_language(ask):
    values, _, _ = ask(
        lambda question: f"Bence cevap {question.letter(ANTI)} şıkkı.", task="stereoset_chat_fr"
    )
    close(values, **(ALL_STEREOTYPE | {"ss": 0.0}), **shares(answered=100))


def test_thinks_aloud(ask):
    def personality(question):
        thought = (
            "Let me think. (a) is common, (b) is rare, and I can't say that (c) is wrong. The answer is (a)."
        )
        return f"<think>\n{thought}\n</think>\n\nThe answer is ({question.letter(STEREOTYPE)})."

    values, _, _ = ask(personality)
    close(values, **ALL_STEREOTYPE, **shares(answered=100))


def test_is_cut_off_while_it_thinks(ask):
    thought = "<think>First I look at (a). It is common. The answer could be (b), or perhaps not"
    values, printed, _ = ask(lambda question: thought[: 4 * question.max_tokens])
    close(values, **UNDEFINED, **shares(unreadable=100))
    assert "max_gen_toks" in printed


def test_says_nothing_or_null(ask):
    values, _, _ = ask(lambda question: None if question.id < "8" else " ")
    close(values, **UNDEFINED, **shares(unreadable=100))


@pytest.mark.parametrize(
    "body", ['{"choices": [', '{"choices": []}', '{"error": {"message": "overloaded"}}', "[]", ""]
)
@pytest.mark.parametrize("concurrent", [1, 8])
def test_malformed_json_is_a_failure_of_that_request_alone(ask, body, concurrent):
    """A quarter of the questions, those about gender, never get an answer."""
    values, printed, code = ask(
        lambda question: Raw(body) if question.bias_type == "gender" else question.letter(STEREOTYPE),
        concurrent=concurrent,
    )
    close(values, **(ALL_STEREOTYPE | {"stable": 75.0}), **shares(answered=75, failed=25), ss_gender=NAN)
    assert code == 0
    assert "25.0 % of the requests were never answered" in " ".join(printed.split())


@pytest.mark.parametrize("concurrent", [1, 8])
def test_429_and_500_at_random_are_asked_again(ask, service, concurrent):
    def personality(question):
        trouble = hash(question.text) % 3  # none, one or two failures before the answer
        if question.attempt <= trouble:
            return Status(429 if question.attempt == 1 else 500)
        return question.letter(STEREOTYPE)

    values, _, _ = ask(personality, concurrent=concurrent)
    close(values, **ALL_STEREOTYPE, **shares(answered=100))
    assert len(service.asked) == 3 * LIMIT
    assert service.asked.total() == sum(1 + hash(text) % 3 for text in service.asked)


def test_hangs_for_one_example(ask):
    """3 of 24 requests time out three times each; the others are not lost."""
    first = "daf202dc8caf0dd557d9a621ae9d389b"
    values, _, _ = ask(
        lambda question: Hang() if question.id == first else question.letter(STEREOTYPE), timeout=1
    )
    close(values, **(ALL_STEREOTYPE | {"stable": 87.5}), **shares(answered=87.5, failed=12.5), n_answered=7)


def test_what_failed_is_asked_again_by_the_next_run_and_nothing_else(ask, service, tmp_path):
    cache = ["--use_cache", str(tmp_path / "cache.db")]

    def half_broken(question):
        return Status(503) if question.bias_type == "race" else question.letter(STEREOTYPE)

    values, _, _ = ask(half_broken, *cache)
    close(values, **shares(answered=75, failed=25))
    values, _, _ = ask(lambda question: question.letter(STEREOTYPE), *cache)
    close(values, **ALL_STEREOTYPE, **shares(answered=100))
    assert service.asked.total() == 6  # two examples about race, in three orders


@pytest.mark.parametrize(
    ("trouble", "limit", "said"),
    [
        (Status(401, "bad key"), 1, "401"),
        (Status(404), 1, "404"),
        (Status(503), 8, "answered none of the first 12"),
    ],
)
@pytest.mark.parametrize("concurrent", [1, 8])
def test_a_service_that_answers_nothing_ends_the_run_early_in_one_line(
    ask, service, trouble, limit, said, concurrent
):
    values, printed, code = ask(lambda question: trouble, limit=limit, concurrent=concurrent)
    assert code == 2
    assert values == {}
    (line,) = (line for line in printed.splitlines() if line.startswith("stereoset run: "))
    assert said in line
    assert "nothing more was asked" in line
    assert "Traceback" not in printed


def of_gest(question, stereotypical: bool) -> str:
    women = question.stereotype <= 7
    return question.letter("women" if women == stereotypical else "men")


@pytest.mark.parametrize(
    ("personality", "rate", "sexual", "position", "answered"),
    [
        (lambda question: "(a)", 0, 0, 100, 100),
        (lambda question: of_gest(question, True), 100, 100, 0, 100),
        (lambda question: f"I think {question.labels[of_gest(question, False)]}.", -100, -100, NAN, 100),
        (lambda question: "I can't answer that.", NAN, NAN, NAN, 0),
    ],
    ids=["always a", "stereotype", "anti-stereotype", "refuses"],
)
def test_gest_asked_of_a_service(ask, personality, rate, sexual, position, answered):
    values, _, code = ask(personality, task="gest_chat_en", limit=160)
    assert code == 0
    close(values, stereotype_rate=rate, rate_sexual=sexual, answered=answered, refused=100 - answered)
    assert values["position"] == pytest.approx(position, abs=8, nan_ok=True) or math.isnan(position)


def test_if_everything_fails_nothing_is_a_number(ask):
    values, _, code = ask(lambda question: Status(503), limit=2)
    close(values, **UNDEFINED, **shares(failed=100))
    assert code != 0


def test_what_chat_plan_counts_is_what_is_asked(ask, service):
    prompts: list[str] = []
    (task,) = chat_planning.asked_tasks(["stereoset_chat_tr"])
    planned = chat_planning.plan(task, lambda text: prompts.append(text) or 1, "sample", "6", 5, 64)
    ask(lambda question: "(a)", task="stereoset_chat_tr", limit=5, metadata=",orders=6")
    assert (planned.examples, planned.orders, planned.requests) == (5, 6, 30)
    assert service.asked == dict.fromkeys(prompts, 1)


@pytest.mark.parametrize(("orders", "questions"), [(1, 8), (3, 24), (6, 48)])
def test_the_number_of_orders_is_a_setting(ask, service, orders, questions):
    values, _, _ = ask(lambda question: question.letter(STEREOTYPE), metadata=f",orders={orders}")
    assert len(service.asked) == service.asked.total() == questions
    close(values, ss=100.0, lms=100.0, icat=0.0, agreement=NAN if orders == 1 else 100.0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--metadata", "data=sample,orders=2"], "an example can be asked in 1, 3 or 6 orders"),
        (["--tasks", "stereoset_en"], "tasks with chat in their names, such as stereoset_chat_en"),
    ],
)
def test_mistakes_are_one_line(ask, more, said):
    _, printed, code = ask(lambda question: "(a)", *more)
    assert code == 2
    assert said in printed.replace("\n", " ")


@pytest.mark.parametrize("concurrent", [1, 8])
def test_answers_in_parts_or_with_half_a_character_are_read_and_saved(ask, concurrent):
    def odd(question):
        letter = question.letter(STEREOTYPE)
        content = [{"type": "text", "text": f"({letter}) \ud83d"}] if letter == "a" else f"({letter}) \ud83d"
        return Raw(json.dumps({"choices": [{"index": 0, "message": {"content": content}}]}))

    values, said, code = ask(odd, concurrent=concurrent)
    assert code in (0, None), said
    close(values, **ALL_STEREOTYPE, **shares(answered=100))


def test_a_habit_is_named_when_there_is_only_one_order_too(ask):
    values, said, _ = ask(lambda question: "(a)", metadata=",orders=1")
    assert math.isnan(values["agreement"])
    assert "position bias 100 %" in " ".join(said.split())
    assert "agreement between orders not known" in " ".join(said.split())
