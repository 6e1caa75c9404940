"""A sweep gives what plain runs give, and runs each layer once for all settings that share what lies below it."""

from itertools import pairwise

import pytest
import torch
from debias_models import PAIRS, Words, made

from lm_eval_stereoset.interventions.fitting import fit, intervention
from lm_eval_stereoset.interventions.levels import all_settings
from lm_eval_stereoset.interventions.places import layer_names, places_of
from lm_eval_stereoset.interventions.tree import Tree

TEXTS = [one for one, _ in PAIRS[:6]]


def answered(model, texts) -> torch.Tensor:
    ids = torch.tensor(Words()(texts)["input_ids"])
    with torch.inference_mode():
        output = model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            **({"decoder_input_ids": ids[:, :2]} if model.config.is_encoder_decoder else {}),
        )
    return next(value for key, value in output.items() if "logits" in key)


def texts_of_one_length():
    by_length = {}
    for text in TEXTS:
        by_length.setdefault(len(text.split()), []).append(text)
    return list(by_length.values())


@pytest.mark.parametrize("name", ["bert", "bert-classifier", "roberta", "electra", "distilbert", "t5"])
def test_every_setting_comes_out_as_in_a_plain_run(name):
    model = made(name)
    places = places_of(model)
    directions = fit(model, Words(), places, PAIRS)
    found = [intervention(directions, setting) for setting in all_settings(tuple(places))]
    batches = texts_of_one_length()
    plain = []
    for one in found:
        with one.applied(model):
            plain.append([answered(model, batch) for batch in batches])
    with Tree(model) as tree:
        for one, expected in zip(found, plain, strict=True):
            tree.take(one)
            with one.applied(model):
                got = [answered(model, batch) for batch in batches]
            assert all(map(torch.equal, got, expected)), one.name
        # two variants of the layer before the last, nine of the last, one of every other
        assert tree.runs == len(batches) * (len(layer_names(model)) - 2 + 2 + 9)
    assert all(map(torch.equal, [answered(model, batch) for batch in batches], plain[0]))
    assert not any("forward" in vars(module) for module in model.modules())


def test_other_texts_of_the_same_shape_are_not_taken_for_these():
    model = made("bert")
    one, other = (["the nurse said that he slept"], ["the nurse said that she slept"])
    words = Words()  # the same number for the same word in both
    words([*one, *other])
    with Tree(model) as tree:
        assert tree.runs == 0
        ids = [torch.tensor(words(texts)["input_ids"]) for texts in (one, other)]
        with torch.inference_mode():
            got = [model(input_ids=i).seq_relationship_logits for i in ids]
            again = [model(input_ids=i).seq_relationship_logits for i in ids]
        assert not torch.equal(*got)
        assert all(map(torch.equal, got, again))
        assert tree.runs == 2 * 3


def test_forgetting_runs_them_again():
    model = made("bert")
    with Tree(model) as tree:
        counts = []
        for _ in range(3):
            answered(model, TEXTS[:1])
            counts.append(tree.runs)
            tree.forget()
        assert [b - a for a, b in pairwise(counts)] == [3, 3]
