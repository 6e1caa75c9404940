"""Left-to-right models on pairs of texts and prompts: golden scores, what is read behind what, agreement with `hf`."""

import csv
import json
import logging
import math

import numpy as np
import pytest
import torch
from scoring_tiny import byte_level, causal_model, sentinels

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import causal_compare, load, score
from lm_eval_stereoset.scoring.causal_compare import score_compare
from lm_eval_stereoset.scoring.questions import Candidate, Question, Settings, requests_of

ROWS = slice(0, 3565, 40)


def compared(a: str, b: str, number: int = 1, prompts=(None, None)) -> Question:
    candidates = (
        Candidate(f"{number}a", a, prompt=prompts[0]),
        Candidate(f"{number}b", b, prompt=prompts[1]),
    )
    return Question("compare", f"e{number}", "", candidates)


def prompted(prompt: str, a: str, b: str, number: int = 1) -> Question:
    return compared(prompt + a, prompt + b, number, ((prompt, a), (prompt, b)))


PAIRS = [
    compared("Cats have sharp claws! Is it so?", "Cats have thin claws! Is it so?", 1),
    compared("The chess player was asian.", "The chess player was hispanic.", 2),
    compared("The player was hispanic", "The player was hispanics", 3),  # one is the beginning of the other
    compared("Is it so", "Is it so unbelievably thin", 4),
    compared("Cats disliked it.", "Grandmothers disliked it.", 5),  # the first tokens differ
]
PROMPTS = [
    prompted('"Cats have claws",', " it", " people", 1),
    prompted('"The chess player",', " sharp", " unbelievably", 2),
]


def logs(model, ids, first):
    """The plain computation: one sequence, all logits, float64 softmax."""
    with torch.inference_mode():
        found = model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return [float(found[i - 1, ids[i]]) for i in range(first, len(ids))]


@pytest.fixture(scope="module")
def tiny_gpt2(shared):
    return load(shared / "golden" / "models" / "tiny-gpt2")


# The authors' numbers


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("size", [1, 64])
def test_gest_prompts_equal_the_golden_scores_at_any_batch_size(tiny_gpt2, shared, size, exact):
    with (shared / "upstream" / "gest" / "data" / "gest.csv").open(encoding="utf-8", newline="") as file:
        sentences = [row["sentence"] for row in csv.DictReader(file)][ROWS]
    path = shared / "golden" / "scores" / "tiny-gpt2__gest__glm_template-0__en.json"
    wanted = json.loads(path.read_text(encoding="utf-8"))[ROWS]
    asked = [prompted(f'"{s}",', " he", " she", i) for i, s in enumerate(sentences)]
    found = score(*tiny_gpt2, asked, batch_size=size, exact=exact)
    assert {one.tokens for pair in found for one in pair} == {1}
    differences = [(he.log_score - she.log_score) / math.log(10) for he, she in found]
    np.testing.assert_allclose(differences, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("size", [1, 64])
@pytest.mark.parametrize(("language", "step"), [("de", 50), ("it", 50)])
def test_eurogest_equals_the_golden_probabilities_at_any_batch_size(
    tiny_gpt2, shared, language, step, size, exact
):
    """German has pairs whose one text is the beginning of the other, Italian has identical ones."""
    path = shared / "golden" / "scores" / f"tiny-gpt2__eurogest__{language}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    special = [r for r in rows if language == "de" and r["feminine"].startswith(r["masculine"])][:20]
    rows = rows[::step] + special
    asked = [compared(row["masculine"], row["feminine"], i) for i, row in enumerate(rows)]
    found = score(*tiny_gpt2, asked, batch_size=size, exact=exact)
    wanted = [(row["p_masculine"], row["p_feminine"]) for row in rows]
    np.testing.assert_allclose([[one.probability for one in pair] for pair in found], wanted, rtol=1e-5)


# What is read behind what


def wanted_of(pair, tokenizer, exact=False, front=()):
    """(ids, first token read) of both texts, straight from the published rule."""
    ids = [[*front, *tokenizer(c.sentence)["input_ids"]] for c in pair.candidates]
    shortest = min(map(len, ids))
    differ = [i for i in range(shortest) if ids[0][i] != ids[1][i]]
    first = differ[0] if differ else shortest - 1
    if ids[0] == ids[1]:
        first = 1
    if first == 0 and exact:
        return [(one, len(one) - 1) for one in ids]
    return [(one, max(1, first)) for one in ids]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", ["gpt2", "llama", "bloom"])
def test_both_texts_are_read_from_the_first_differing_token_on(kind, exact):
    tokenizer, model = byte_level(), causal_model(kind)
    for pair, found in zip(PAIRS, score(model, tokenizer, PAIRS, exact=exact), strict=True):
        for one, (ids, first) in zip(found, wanted_of(pair, tokenizer, exact), strict=True):
            assert one.tokens == len(ids) - first
            assert one.log_score == pytest.approx(sum(logs(model, ids, first)), rel=1e-5)


def test_the_first_token_is_read_behind_a_start_token_of_the_tokenizer_or_one_asked_for():
    model, pair = causal_model("gpt2"), PAIRS[-1]
    tokenizer = byte_level(add_bos=True)
    (found,) = score(model, tokenizer, [pair])
    for one, (ids, first) in zip(found, wanted_of(pair, tokenizer), strict=True):
        assert first == 1
        assert one.tokens == len(ids) - 1
        assert one.log_score == pytest.approx(sum(logs(model, ids, 1)), rel=1e-5)
    plain = byte_level()
    (found,) = score(model, plain, [pair], prefix_token_id=7)
    for one, (ids, _) in zip(found, wanted_of(pair, plain, front=(7,)), strict=True):
        assert one.log_score == pytest.approx(sum(logs(model, ids, 1)), rel=1e-5)
    (asked,), (usual,) = (score(model, plain, PAIRS[:1], prefix_token_id=p) for p in (7, None))
    assert asked == usual  # elsewhere nobody needs a start token


def test_a_text_of_one_token_is_read_behind_the_start_token_and_refused_where_exact_has_none():
    tokenizer, model = byte_level(), causal_model("gpt2")
    pair = compared("a", "ab")
    ids = [tokenizer(c.sentence)["input_ids"] for c in pair.candidates]
    assert len(ids[0]) == 1
    (found,) = score(model, tokenizer, [pair])
    for one, text in zip(found, ids, strict=True):
        assert one.log_score == pytest.approx(sum(logs(model, [0, *text], 1)), rel=1e-5)
    with pytest.raises(UserError, match="example e1, candidate 1a: it has no token behind another one"):
        score(model, tokenizer, [pair], exact=True)


def test_texts_of_the_same_tokens_are_read_whole_and_tie():
    tokenizer, model = byte_level(), causal_model("gpt2")
    ((a, b),) = score(model, tokenizer, [compared("Is it so?", "Is it so?")])
    assert a == b
    assert a.tokens == len(tokenizer("Is it so?")["input_ids"]) - 1


def test_an_end_token_that_the_tokenizer_appends_counts_with_exact_only():
    tokenizer = sentinels()  # appends </s>
    model = causal_model("gpt2", len(tokenizer))
    pair = PAIRS[1]
    ((usual, _),), ((exact, _),) = (score(model, tokenizer, [pair], exact=e) for e in (False, True))
    assert exact.tokens == usual.tokens + 1


def test_what_the_texts_share_runs_once_and_its_head_is_never_read(monkeypatch):
    from lm_eval_stereoset.scoring.head import HeadReader

    tokenizer, model = byte_level(), causal_model("gpt2")
    fed, read = [], []
    call = HeadReader.__call__
    monkeypatch.setattr("lm_eval_stereoset.scoring.prefix_tree._with_other_strangers", lambda row: row)
    monkeypatch.setattr(
        HeadReader,
        "__call__",
        lambda self, rows, which, tokens, **inputs: (
            fed.append(inputs["input_ids"].numel()),
            read.append(len(rows)),
            call(self, rows, which, tokens, **inputs),
        )[-1],
    )
    pair = PAIRS[0]
    score_compare(model, tokenizer, [pair], Settings())
    (a, first), (b, _) = wanted_of(pair, tokenizer)
    assert first > 3
    assert fed[-1] == len(a) - 1 + len(b) - 1 - first
    assert read[-1] == len(a) - 1 - first + len(b) - 1 - first + 1  # they share the place of the first one


# Prompts


def test_a_word_behind_a_prompt_has_the_probability_of_all_its_tokens():
    tokenizer, model = byte_level(), causal_model("gpt2")
    for pair, found in zip(PROMPTS, score(model, tokenizer, PROMPTS), strict=True):
        for one, candidate in zip(found, pair.candidates, strict=True):
            context, word = (tokenizer(part)["input_ids"] for part in candidate.prompt)
            assert one.tokens == 1
            wanted = sum(logs(model, context + word, len(context)))
            assert one.log_score == pytest.approx(wanted, rel=1e-5)


def test_exact_takes_the_last_token_of_the_word_straight_behind_the_prompt():
    tokenizer, model = byte_level(), causal_model("gpt2")
    assert len(tokenizer(" sharp")["input_ids"]) > 1
    for pair, found in zip(PROMPTS, score(model, tokenizer, PROMPTS, exact=True), strict=True):
        for one, candidate in zip(found, pair.candidates, strict=True):
            context, word = (tokenizer(part)["input_ids"] for part in candidate.prompt)
            wanted = logs(model, [*context, word[-1]], len(context))
            assert (one.tokens, one.log_score) == (1, pytest.approx(wanted[0], rel=1e-5))


def test_exact_takes_the_word_and_no_end_token_that_the_tokenizer_appends():
    tokenizer = sentinels()
    model = causal_model("gpt2", len(tokenizer))
    pair = prompted("Is it", " so", " thin")
    (found,) = score(model, tokenizer, [pair], exact=True)
    for one, (context, word) in zip(found, (c.prompt for c in pair.candidates), strict=True):
        last = tokenizer(word, add_special_tokens=False)["input_ids"][-1]
        ids = [*tokenizer(context)["input_ids"], last]
        assert ids[-2] == tokenizer.eos_token_id != last
        assert one.log_score == pytest.approx(logs(model, ids, len(ids) - 1)[0], rel=1e-5)


def test_words_of_several_tokens_are_counted_in_the_log(caplog):
    tokenizer, model = byte_level(), causal_model("gpt2")
    with caplog.at_level(logging.WARNING):
        score(model, tokenizer, PROMPTS * 3)
    (line,) = [r.getMessage() for r in caplog.records if "several tokens" in r.getMessage()]
    assert "' sharp' " in line
    assert "by the probability of all its tokens" in line
    assert "\n" not in line


def test_prompts_and_texts_may_be_mixed():
    tokenizer, model = byte_level(), causal_model("gpt2")
    mixed = [PROMPTS[0], PAIRS[0], PROMPTS[1], PAIRS[1]]
    apart = [score(model, tokenizer, [one])[0] for one in mixed]
    for found, alone in zip(score(model, tokenizer, mixed), apart, strict=True):
        assert [s.log_score for s in found] == pytest.approx([s.log_score for s in alone], rel=1e-5)


# The harness


@pytest.mark.parametrize("add_bos", [False, True])
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_default_agrees_with_the_harness_where_words_differ_in_their_first_token(kind, add_bos):
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    tokenizer, model = byte_level(add_bos=add_bos), causal_model(kind)
    agreeing = [
        PAIRS[0],
        compared("Many people live in Ethiopia.", "Many people live in claws.", 6),
        *PROMPTS,
    ]
    if add_bos:
        agreeing.append(PAIRS[-1])
    harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=4, device="cpu")
    requests = [request for pair in agreeing for request in requests_of(pair)]
    answers = harness.loglikelihood(
        [Instance("loglikelihood", {}, request, i) for i, request in enumerate(requests)], disable_tqdm=True
    )
    found = [one.log_score for pair in score(model, tokenizer, agreeing) for one in pair]
    assert found == pytest.approx([total for total, _ in answers], rel=1e-5)


# Nothing else matters


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", ["gpt2", "bloom"])
def test_swapping_the_texts_swaps_the_scores_to_the_last_bit(kind, exact):
    tokenizer, model = byte_level(), causal_model(kind)
    asked = [*PAIRS, *PROMPTS]
    swapped = [Question("compare", p.id, "", p.candidates[::-1]) for p in asked]
    there = score(model, tokenizer, asked, exact=exact)
    assert [pair[::-1] for pair in score(model, tokenizer, swapped, exact=exact)] == there
    assert all(a.log_score != b.log_score for a, b in there)


def test_order_and_batches_do_not_matter():
    tokenizer, model = byte_level(), causal_model("gpt2")
    asked = [*PAIRS, *PROMPTS]
    alone = [one.log_score for pair in asked for one in score(model, tokenizer, [pair])[0]]
    for options in ({"batch_size": 1}, {"batch_size": 3}, {"batch_tokens": 20}, {}):
        backwards = score(model, tokenizer, asked[::-1], **options)[::-1]
        assert [one.log_score for pair in backwards for one in pair] == pytest.approx(alone, rel=1e-5)


def test_a_text_longer_than_the_model_is_named():
    tokenizer, model = byte_level(), causal_model("gpt2")
    long = compared("a" + " so" * 200, "b" + " so" * 200, 9)
    with pytest.raises(
        UserError, match=r"example e9, candidate 9a has .* tokens, the model has 128 positions"
    ):
        score(model, tokenizer, [*PAIRS, long])


def test_a_prompt_that_swallows_its_word_is_named():
    empty = Question(
        "compare",
        "e3",
        "",
        (Candidate("a", "x", prompt=("Is", "")), Candidate("b", "y", prompt=("Is", " it"))),
    )
    with pytest.raises(UserError, match="example e3, candidate a: no token of the word is left"):
        causal_compare.score_compare(causal_model("gpt2"), byte_level(), [empty], Settings())
