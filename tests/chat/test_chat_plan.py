"""stereoset chat-plan: requests, tokens and money of a run, typed as users type it."""

import json

import pytest

from lm_eval_stereoset.cli import main


@pytest.fixture
def typed(capsys):
    def call(line: str) -> tuple[int, str, str]:
        code = main(["chat-plan", *line.split()])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


SERVICE = "--model openai-chat-completions --model_args model=x --metadata data=sample"


def test_requests_are_examples_times_orders_and_groups_are_their_tasks(typed):
    code, out, _ = typed(f"{SERVICE} --tasks stereoset_chat,stereoset_chat_en --json")
    tasks = json.loads(out)["tasks"]
    assert code == 0
    assert [one["task"] for one in tasks] == [
        f"stereoset_chat_{code}" for code in ("en", "de", "fr", "es", "tr")
    ]
    assert all((one["examples"], one["orders"], one["requests"]) == (56, 3, 168) for one in tasks)


def test_money_is_tokens_times_prices(typed):
    _, out, _ = typed(
        f"{SERVICE},orders=1 --tasks stereoset_chat_intra_de --price-in 3 --price-out 10 --json"
    )
    found = json.loads(out)
    (one,) = found["tasks"]
    assert one["requests"] == 28
    assert (one["tokens_out"], one["tokens_out_most"]) == (28 * 5, 28 * 64)
    assert found["money"]["least"] == pytest.approx((3 * one["tokens_in"] + 10 * 28 * 5) / 1e6, abs=1e-6)
    assert found["money"]["most"] == pytest.approx((3 * one["tokens_in"] + 10 * 28 * 64) / 1e6, abs=1e-6)


def test_longer_answers_a_system_instruction_and_a_limit_count(typed):
    _, plain, _ = typed(f"{SERVICE} --tasks stereoset_chat_en --limit 4 --json")
    more = "--gen_kwargs max_gen_toks=1024 --system_instruction Think!"
    _, more, _ = typed(f"{SERVICE} --tasks stereoset_chat_en --limit 4 {more} --json")
    (plain,), (more,) = (json.loads(text)["tasks"] for text in (plain, more))
    assert plain["requests"] == more["requests"] == 12
    assert more["tokens_out_most"] == 12 * 1024
    assert more["tokens_in"] == plain["tokens_in"] + 12 * 2  # "Think!" is six bytes


def test_a_share_as_a_limit_is_rounded_as_the_harness_does(typed):
    _, out, _ = typed(f"{SERVICE} --tasks stereoset_chat_en --limit 0.1 --json")
    assert json.loads(out)["tasks"][0]["examples"] == 6  # of 56


def test_a_tokenizer_counts_with_the_chat_template(typed, tmp_path):
    import tokenizers
    import transformers

    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
    messages = "{% for m in messages %}user : {{ m.content }} {% endfor %}"
    tokenizer.chat_template = messages + "{% if add_generation_prompt %}bot :{% endif %}"
    tokenizer.save_pretrained(tmp_path)
    _, out, _ = typed(
        f"{SERVICE},orders=1 --tasks stereoset_chat_intra_en --limit 1 --tokenizer {tmp_path} --json"
    )
    from lm_eval_stereoset import benchmarks
    from lm_eval_stereoset.harness.documents import documents

    _, docs = documents(benchmarks.find("stereoset_chat"), "en", ["intra"], "sample", 1)
    assert json.loads(out)["tasks"][0]["tokens_in"] == len(docs[0]["prompts"][0].split()) + 4


def test_the_table_ends_with_the_sum_and_the_money(typed):
    _, out, _ = typed(f"{SERVICE} --tasks stereoset_chat --price-in 0.15 --price-out 0.6 --currency €")
    assert "together" in out
    assert "840" in out
    assert "money: €" in out
    assert "data: sample 1.0" in out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--tasks stereoset_en", "not a task that asks in words"),
        ("--tasks nothing", "not a task that asks in words"),
        ("--tasks stereoset_chat_en --price-in 1", "give both --price-in and --price-out"),
        ("--tasks stereoset_chat_en --price-in -1 --price-out 1", "prices are numbers from 0 up"),
        ("--tasks stereoset_chat_en --price-in nan --price-out 1", "prices are numbers from 0 up"),
        ("--tasks stereoset_chat_en --metadata orders=2", "1, 3 or 6 orders"),
        ("--tasks stereoset_chat_en --metadata order=3", "unknown to these tasks"),
        ("--tasks stereoset_chat_en --metadata orders", "is not name=value"),
        ("--tasks stereoset_chat_en --limit 0", "must be a number of examples"),
        ("--tasks stereoset_chat_en --gen_kwargs max_gen_toks=0", "a whole number of at least 1"),
        ("--tasks stereoset_chat_en --metadata data=sample --tokenizer /nowhere", "/nowhere"),
    ],
)
def test_mistakes_are_one_line(typed, line, said):
    code, out, err = typed(line)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1
