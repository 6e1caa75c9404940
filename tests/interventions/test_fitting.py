"""What is fitted, on which pairs, and where; checked against an independent program on the golden model."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from debias_models import PAIRS, Words, made

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.interventions.fitting import fit, principal
from lm_eval_stereoset.interventions.levels import (
    ATTN,
    LAYER11,
    LAYER12,
    LEVELS,
    SENT,
    Setting,
    all_settings,
    parse_setting,
)
from lm_eval_stereoset.interventions.pairs import paired, read_pairs
from lm_eval_stereoset.interventions.places import Place, needed, places_of


def test_the_paper_has_seventy_four_settings_and_the_base():
    found = [setting.name for setting in all_settings(LEVELS)]
    assert len(found) == len(set(found)) == 75
    assert found[:4] == ["base", "sent (0)", "sent (1)", "layer12 (0,0,0)"]
    assert {"layer11 (0,1,1,0,1)", "attn (1,1,1,1,1)"} <= set(found)
    by_level = [sum(name.startswith(level) for name in found) for level in LEVELS]
    assert by_level == [2, 8, 32, 32]


def test_a_setting_switches_on_all_places_nearer_to_the_output():
    def on(level, numbers):
        return [
            (place, choice.weighted, choice.directions)
            for place, choice in Setting(level, numbers).choices.items()
        ]

    assert on(SENT, (1,)) == [(SENT, True, 1)]
    assert on(LAYER12, (0, 1, 1)) == [(LAYER12, False, 2), (SENT, True, 1)]
    assert on(ATTN, (1, 0, 0, 1, 0)) == [
        (ATTN, False, 1), (LAYER11, True, 1), (LAYER12, False, 2), (SENT, False, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["0,1", "0,1,2", "", "a,b,c", "0,1,1,0"])
def test_settings_that_do_not_fit_the_level_are_refused(text):
    with pytest.raises(UserError, match="layer12 takes 3 numbers, each 0 or 1: n12,c12,n_p"):
        parse_setting(LAYER12, text, pooled=True)
    with pytest.raises(UserError, match="no pooler"):
        parse_setting(LAYER12, "0,1,1", pooled=False)


def test_pca_without_centring():
    """Three differences in a plane: 4 times as much along the first axis as along the second."""
    differences = np.array([[2.0, 0, 0], [-2, 0, 0], [0, 1, 0], [0, 1, 0]])
    found = principal(Place(LAYER11, "x", "all"), differences)
    assert found.ratios[0].tolist() == pytest.approx([0.8, 0.2])
    assert found.basis[0].numpy() == pytest.approx(np.eye(3)[:2])
    turned = principal(Place(LAYER11, "x", "all"), differences * [[-1], [1], [1], [-1]])
    assert turned.ratios[0].tolist() == pytest.approx([0.8, 0.2])  # the order within a pair does not matter


def test_heads_are_fitted_one_by_one():
    differences = np.array([[1.0, 0, 0, 3], [2.0, 0, 0, -1]])
    found = principal(Place(ATTN, "x", "all", blocks=2), differences)
    assert found.basis[:, 0].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_sentence_is_the_mean_over_its_own_tokens_whatever_stands_beside_it(name):
    """By hand: every sentence alone, without padding."""
    model, words = made(name), Words()
    base = model.encoder if name == "t5" else model.base_model
    place = places_of(model)[LAYER11][0]
    rows = []
    for pair in PAIRS:
        for ids in words(pair)["input_ids"]:
            with torch.inference_mode():
                states = base(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
            rows.append(states[2][0].double().mean(dim=0).numpy())
    rows = np.array(rows).reshape(len(PAIRS), 2, -1)
    by_hand = principal(place, rows[:, 0] - rows[:, 1])
    found = fit(model, words, {LAYER11: (place,)}, PAIRS)[LAYER11][0]
    assert found.ratios.tolist()[0] == pytest.approx(by_hand.ratios.tolist()[0], abs=1e-6)
    assert torch.allclose(found.basis, by_hand.basis, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "has", "first"),
    [
        ("bert", LEVELS, "first"),
        ("roberta", LEVELS[1:], "first"),
        ("electra", LEVELS[1:], "first"),
        ("distilbert", LEVELS[1:], "first"),
        ("gpt2", LEVELS[1:], "all"),
        ("llama", LEVELS[1:], "all"),
        ("t5", LEVELS[1:], "all"),
        ("albert", (SENT,), None),
    ],
)
def test_levels_that_an_architecture_has(name, has, first):
    model = made(name)
    found = places_of(model)
    assert tuple(found) == has
    for level in set(LEVELS) - set(has):
        why = "share their weights" if name == "albert" else "has no pooler"
        with pytest.raises(UserError, match=why):
            needed(found, level, model)
    if first:
        assert found[LAYER12][0].positions == first
        assert found[LAYER12][0].module.rpartition(".")[2] == "2"
        assert found[LAYER11][0].module.rpartition(".")[2] == "1"
        assert all(f"{found[LAYER11][0].module}." in place.module for place in found[ATTN])
        heads = {"gpt2": [12], "llama": [4, 2, 2]}.get(name, [4, 4, 4])
        assert [place.blocks for place in found[ATTN]] == heads


def test_a_pooler_with_random_weights_is_no_place():
    model = made("bert")
    model.stereoset_random = frozenset({"bert.pooler.dense.weight"})
    assert SENT not in places_of(model)


def test_shares_of_variance_on_the_golden_model(shared, own_data_folder):
    from lm_eval_stereoset.benchmarks import find
    from lm_eval_stereoset.data import store
    from lm_eval_stereoset.interventions.fitting import fit
    from lm_eval_stereoset.scoring import load

    expected = json.loads((shared / "expected" / "genderswap_tiny-bert.json").read_text())["fit"]
    benchmark = find("genderswap")
    from lm_eval_stereoset.benchmarks.declaration import Fetch

    benchmark.sources["authors"].fetch(
        benchmark, Fetch(("en",), ("test",), shared / "upstream" / "GenderSwappedStereoSet")
    )
    pairs = benchmark.pairs(store.load(benchmark, "test", "en").examples)
    assert len(pairs) == expected["pairs"]
    model, tokenizer = load(shared / "golden" / "models" / "tiny-bert")
    found = fit(model, tokenizer, places_of(model), pairs)
    for level, place in ((SENT, "pooler"), (LAYER12, "last"), (LAYER11, "prev")):
        ratios = found[level][0].ratios[0].tolist()
        assert ratios == pytest.approx(expected["ratios"][place][: len(ratios)], abs=1e-6)


# Pairs


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_pairs_are_read_from_csv_once_each(tmp_path):
    text = '\ufefffirst,second\nEr kam.,Sie kam.\n"Er, der Arzt.","Sie, die Ärztin."\n\nEr kam.,Sie kam.\n'
    assert read_pairs(written(tmp_path / "p.csv", text)) == [
        ("Er kam.", "Sie kam."),
        ("Er, der Arzt.", "Sie, die Ärztin."),
    ]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("a,b\nx,y\nz,z\n", "row 3: both sentences are 'z'"),
        ("a,b\nx,y\nz,\n", "row 3: only one sentence.*same length"),
        ("a,b\nx,y\nz\n", "row 3: 1 columns"),
        ("a,b\nx,y\nz,z,z\n", "row 3: 3 columns"),
        ("a,b\n", "no pairs"),
        ("", "no pairs"),
        ('a,b\n"x,y\n', "not a CSV file"),
    ],
)
def test_pairs_that_are_none_are_one_line(tmp_path, rows, says):
    with pytest.raises(UserError, match=says):
        read_pairs(written(tmp_path / "p.csv", rows))


def test_lists_of_different_length_are_refused():
    with pytest.raises(UserError, match="2 sentences on one side, 1 on the other"):
        paired(["a", "b"], ["c"])
    with pytest.raises(UserError, match="pair 2: both"):
        paired(["a", "b"], ["c", "b"])
    assert paired(["a", "a"], ["b", "b"]) == [("a", "b")]


def test_pairs_that_the_model_sees_no_difference_in_are_refused():
    model = made("bert")
    with pytest.raises(UserError, match="too few pairs"):
        fit(model, Words(), places_of(model), PAIRS[:1])
    same = [(one, one + " ") for one, _ in PAIRS]
    with pytest.raises(UserError, match="differ in 0 directions"):
        fit(model, Words(), {SENT: places_of(model)[SENT]}, same)


def test_the_largest_share_comes_first():
    found = fit(made("bert"), Words(), places_of(made("bert")), PAIRS)
    for level in (LAYER12, LAYER11):
        assert all(a >= b for a, b in pairwise(found[level][0].ratios[0].tolist()))
