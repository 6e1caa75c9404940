"""Rankings that rounding could decide are decided by the example alone, whatever else is in its batch."""

import pytest
import torch
from scoring_tiny import INTER, INTRA, asked, byte_level, causal_model, inter, intra

from lm_eval_stereoset import scoring
from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import (
    CandidateScore,
    Settings,
    is_near_tie,
    load,
    next_sentence,
    score,
    score_with,
)


def triple(*logs, tokens=1):
    return tuple(CandidateScore(log * tokens, tokens) for log in logs)


@pytest.mark.parametrize(
    ("logs", "exact", "near"),
    [
        ((-3.0, -2.0, -1.0), False, False),
        ((-3.0, -2.0, -3.0), False, True),
        ((-3.0, -2.0, -3.0 - 5e-5), False, True),
        ((-3.0, -2.0, -3.0 - 7e-5), False, False),
        ((-1e-5, -1.1e-5, -1.0), False, False),  # probabilities near 1: what is relative counts
        ((-1e-7, -2e-7, -1.0), False, False),
        ((-1e-7, -2e-7, -1.0), True, True),  # two steps of float32 apart, rounded there
    ],
)
def test_what_a_near_tie_is(logs, exact, near):
    assert is_near_tie(INTRA[0].question, triple(*logs), exact) is near
    assert is_near_tie(INTRA[0].question, triple(*logs, tokens=7), exact) is near  # means, not sums


def test_equal_candidates_tie_by_right():
    example = inter(1, "So it is.", "Cats.", "Cats.", "Milch.")
    assert not is_near_tie(example.question, triple(-2.0, -2.0, -1.0), False)
    assert is_near_tie(example.question, triple(-2.0, -2.0, -2.0), False)


def test_only_near_ties_are_scored_again_each_alone(monkeypatch):
    """A family whose results depend on the batch by 1e-6, as all do."""
    calls = []

    def noisy(model, tokenizer, examples, settings):
        calls.append(([e.id for e in examples], settings.batch_size, settings.case))
        noise = 0.0 if len(examples) == 1 else 1e-6
        logs = {"e1": (-1.0, -2.0, -3.0), "e2": (-2.0, -2.0 + noise, -3.0), "e3": (-1.0, -5.0 - noise, -5.0)}
        return [triple(*logs[e.id]) for e in examples]

    monkeypatch.setattr(scoring, "method_for", lambda family, kind: noisy)
    questions = [example.question for example in INTRA]
    settings = Settings(case="c", batch_size=64)
    found = score_with({"fill": "any"}, causal_model("gpt2"), byte_level(), questions, settings)
    assert calls == [(["e1", "e2", "e3"], 64, "c"), (["e2"], 1, "c"), (["e3"], 1, "c")]
    assert [[s.log_score for s in t] for t in found] == [[-1, -2, -3], [-2, -2, -3], [-1, -5, -5]]


def test_near_ties_of_a_real_head_have_the_same_bits_in_any_batch(shared, fetched):
    model, tokenizer = load(shared / "golden" / "models" / "tiny-bert")
    with torch.no_grad():
        model.cls.seq_relationship.weight /= 1000  # scores of all candidates lie close together
    examples = store.load(STEREOSET, "inter", "en", fetched).examples[:150]
    found = [score(model, tokenizer, examples, batch_size=size) for size in (1, 7, 64)]
    near = [
        i
        for i, example in enumerate(examples)
        if all(is_near_tie(example.question, scores[i], False) for scores in found)
    ]
    assert len(near) > 20
    for other in found[1:]:
        assert [other[i] for i in near] == [found[0][i] for i in near]
        assert [ranking(scores) for scores in other] == [ranking(scores) for scores in found[0]]


def ranking(scores):
    logs = [s.log_score for s in scores]
    return [(a > b) - (a < b) for a in logs for b in logs]


def test_exact_probabilities_are_rounded_to_float32_as_the_authors_program_does(shared):
    """Two candidates at 1 - 1e-9 and 1 - 2e-9 tie there; the default tells them apart."""
    model, tokenizer = load(shared / "golden" / "models" / "tiny-bert")
    with torch.no_grad():
        model.cls.seq_relationship.bias += torch.tensor([30.0, 0.0])
    exact = asked(next_sentence.METHODS["follow"])(model, tokenizer, INTER[:1], Settings(exact=True))[0]
    assert [s.probability for s in exact] == [1.0, 1.0, 1.0]
    default = asked(next_sentence.METHODS["follow"])(model, tokenizer, INTER[:1], Settings())[0]
    assert len({s.log_score for s in default}) == 3
    assert all(-1e-9 < s.log_score < 0 for s in default)


def test_a_probability_that_float32_rounds_to_0_stays_a_number(shared):
    model, tokenizer = load(shared / "golden" / "models" / "tiny-bert")
    with torch.no_grad():
        model.cls.seq_relationship.bias += torch.tensor([-200.0, 0.0])
    exact = score(model, tokenizer, INTER[:1], exact=True)[0]
    assert len({s.log_score for s in exact}) == 1
    assert exact[0].probability == pytest.approx(0.0, abs=1e-290)
    default = score(model, tokenizer, INTER[:1])[0]
    assert len({s.log_score for s in default}) == 3


def test_a_score_that_is_not_a_number_is_refused_naming_the_candidate(shared):
    model, tokenizer = load(shared / "golden" / "models" / "tiny-bert")
    with torch.no_grad():
        model.cls.seq_relationship.bias += torch.nan
    with pytest.raises(
        UserError, match="example e1, candidate 1-stereotype: the model's score is not a finite"
    ):
        score(model, tokenizer, INTER)


def test_a_word_that_leaves_no_token_is_refused_with_exact_too(shared):
    model, tokenizer = load(shared / "golden" / "models" / "tiny-t5")
    examples = [intra(1, "The player was BLANK.", "\u200b", "asian", "fox")]
    with pytest.raises(UserError, match="the tokenizer leaves nothing of"):
        score(model, tokenizer, examples, exact=True)
