"""Pairs of texts: where they differ, what any model is asked about them, what is said of how they are cut."""

import numpy as np
import pytest

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import score_with
from lm_eval_stereoset.scoring.architecture import methods_of
from lm_eval_stereoset.scoring.compare import common_beginning, differing, pair_of, stretches
from lm_eval_stereoset.scoring.questions import Candidate, Question, Settings, requests_of, texts_of
from lm_eval_stereoset.scoring.text import Tokenised


def compared(*texts, prompts=(None, None)) -> Question:
    candidates = [
        Candidate(f"c{i}", t, prompt=p) for i, (t, p) in enumerate(zip(texts, prompts, strict=True))
    ]
    return Question("compare", "e1", "", tuple(candidates))


def cut(pieces: str) -> Tokenised:
    """[CLS], tokens whose ids are the letters' own numbers, [SEP]."""
    ids = [1, *map(ord, pieces), 2]
    starts = np.array([-1, *range(len(pieces)), -1])
    return Tokenised(pieces, ids, starts, np.where(starts < 0, -1, starts + 1), starts)


# What any model is asked


@pytest.mark.parametrize(
    ("a", "b", "context", "rests"),
    [
        ('"I am tired", he said', '"I am tired", she said', '"I am tired",', (" he said", " she said")),
        ("Jsem vášnivý a milý", "Jsem vášnivá a milá", "Jsem", (" vášnivý a milý", " vášnivá a milá")),
        ("He said", "She said", "", ("He said", "She said")),  # nothing shared
        ("Ich bin Lehrer", "Ich bin Lehrerin", "Ich bin", (" Lehrer", " Lehrerin")),
        ("He said", "He said so", "He", (" said", " said so")),  # each keeps a word
        ("Same text", "Same text", "Same", (" text", " text")),
        ("One", "One more", "", ("One", "One more")),
        (" Je suis né. ", " Je suis née. ", " Je suis", (" né. ", " née. ")),
        ("a  b", "a  c", "a", ("  b", "  c")),
    ],
)
def test_texts_are_asked_from_the_first_word_on_that_they_do_not_share(a, b, context, rests):
    assert requests_of(compared(a, b)) == [(context, rest) for rest in rests]
    assert requests_of(compared(b, a)) == [(context, rest) for rest in rests[::-1]]


def test_a_prompt_is_asked_in_place_of_the_text():
    prompts = (('"I am tired.",', " he"), ('"I am tired.",', " she"))
    question = compared('"I am tired.", he said.', '"I am tired.", she said.', prompts=prompts)
    assert requests_of(question) == list(prompts)
    assert {" he", " she", '"I am tired.",'} <= set(texts_of([question]))  # the tokenizer is tried on them


# Where texts differ


def test_differing_positions_go_as_far_as_the_shorter_text():
    assert differing([1, 5, 6, 2], [1, 7, 6, 2]) == [1]
    assert differing([1, 5, 2], [1, 5, 8, 2]) == [2]
    assert common_beginning([1, 2], [1, 2, 3]) == 2


@pytest.mark.parametrize(
    ("a", "b", "of_a", "of_b"),
    [
        ("xhy", "xsy", "h", "s"),
        ("xhmhy", "xsmsy", "hmh", "sms"),  # one stretch from the first difference to the last
        ("xry", "xray", "r", "ra"),  # nothing of a's own: one token earlier
        ("ry", "ray", "r", "ra"),
        ("y", "ay", "y", "ay"),  # in front stands [CLS] only: one token later
        ("xaa", "xa", "aa", "a"),
        ("abc", "abc", "abc", "abc"),  # the same: all of it
        ("ab", "cde", "ab", "cde"),
    ],
)
def test_stretches_hold_what_differs_and_at_least_one_token_of_each(a, b, of_a, of_b):
    first, second = cut(a), cut(b)
    for one, other, wanted in ((first, second, (of_a, of_b)), (second, first, (of_b, of_a))):
        spans = stretches(one, other, "it")
        found = tuple("".join(map(chr, t.ids[slice(*s)])) for t, s in zip((one, other), spans, strict=True))
        assert found == wanted


def test_a_text_without_tokens_is_named():
    with pytest.raises(UserError, match=r"e7.*leaves nothing"):
        stretches(cut(""), cut("a"), "e7")


# Refused


def test_a_pair_has_two_candidates_that_both_have_a_prompt_or_none():
    with pytest.raises(ValueError, match="3 candidates"):
        pair_of(Question("compare", "e1", "", tuple(Candidate(str(i), "x") for i in range(3))))
    with pytest.raises(ValueError, match="the other has none"):
        pair_of(compared("a", "b", prompts=(("a", " b"), None)))


def test_a_model_that_has_a_next_sentence_head_only_is_refused_in_one_line(shared):
    from lm_eval_stereoset.scoring import load

    model, tokenizer = load(shared / "golden" / "models" / "tiny-bert", scoring="nsp")
    methods = {"follow": "nsp"}
    assert methods_of(model)["compare"] == "masked"
    with pytest.raises(UserError, match="cannot be asked which of two texts is more probable") as caught:
        score_with(methods, model, tokenizer, [compared("a", "b")], Settings())
    assert "\n" not in str(caught.value)
