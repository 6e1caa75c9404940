"""What projections do to vectors and to models, and that nothing of it is left afterwards."""

import pytest
import torch
from debias_models import PAIRS, Words, answers, made
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.interventions.fitting import fit, intervention
from lm_eval_stereoset.interventions.folding import fold
from lm_eval_stereoset.interventions.levels import ATTN, LAYER11, LAYER12, OWN, SENT, Setting, all_settings
from lm_eval_stereoset.interventions.places import places_of
from lm_eval_stereoset.interventions.projection import ALL, FIRST, Intervention, Projection
from lm_eval_stereoset.scoring.identity import identity_of, weights_of


def fitted(model, level, numbers, pooled=True, **options):
    directions = fit(model, Words(), places_of(model), PAIRS)
    return intervention(directions, Setting(level, numbers, pooled), **options)


@st.composite
def projections(draw, hard=False, positions=ALL):
    blocks, width = draw(st.integers(1, 4)), draw(st.integers(2, 9))
    count = draw(st.integers(1, min(2, width)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    made = [
        torch.linalg.qr(torch.randn(width, count, generator=generator).double())[0].T for _ in range(blocks)
    ]
    weights = torch.rand(blocks, count, generator=generator, dtype=torch.float64)
    return Projection("x", torch.stack(made), torch.ones_like(weights) if hard else weights, positions)


def vectors(projection, number=0):
    generator = torch.Generator().manual_seed(number)
    return torch.randn(3, 5, projection.width, generator=generator, dtype=torch.float64)


@settings(max_examples=60, deadline=None)
@given(projections(hard=True))
def test_a_hard_projection_leaves_nothing_along_its_basis_and_is_idempotent(projection):
    once = projection(vectors(projection))
    blocks = once.unflatten(-1, (projection.basis.shape[0], -1))
    assert torch.einsum("...bd,bkd->...bk", blocks, projection.basis).abs().max() < 1e-12
    assert torch.allclose(projection(once), once, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(projections())
def test_a_weighted_projection_takes_out_its_share_and_nothing_else(projection):
    before, after = vectors(projection), projection(vectors(projection))
    blocks = [one.unflatten(-1, (projection.basis.shape[0], -1)) for one in (before, after)]
    along, left = (torch.einsum("...bd,bkd->...bk", one, projection.basis) for one in blocks)
    assert torch.allclose(left, along * (1 - projection.weights), atol=1e-12)
    removed = torch.einsum("...bk,bkd->...bd", along * projection.weights, projection.basis)
    assert torch.allclose(blocks[0] - blocks[1], removed, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(projections())
def test_the_matrix_does_the_same(projection):
    before = vectors(projection)
    assert torch.allclose(before @ projection.matrix, projection(before), atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(projections(positions=FIRST))
def test_first_token_only_means_that_the_others_keep_every_bit(projection):
    before = vectors(projection)
    kept = before.clone()
    after = projection.of_output(before)
    assert torch.equal(after[:, 1:], before[:, 1:])
    assert torch.equal(before, kept)  # nothing is changed in place
    assert not torch.equal(after[:, 0], before[:, 0])


def test_half_precision_is_projected_in_float32():
    torch.manual_seed(0)
    basis = torch.linalg.qr(torch.randn(32, 1).double())[0].T[None]
    projection = Projection("x", basis, torch.ones(1, 1).double())
    hidden = torch.randn(4, 32)
    half = projection(hidden.bfloat16())
    assert half.dtype == torch.bfloat16
    assert torch.equal(half, projection(hidden.bfloat16().float()).bfloat16())


EVERY = ("bert", "bert-classifier", "roberta", "electra", "distilbert", "gpt2", "llama", "t5")


@pytest.mark.parametrize("name", EVERY)
def test_every_setting_of_every_architecture_changes_the_answers_and_leaves_no_trace(name):
    model = made(name)
    before, weights = answers(model), weights_of(model)
    places = places_of(model)
    directions = fit(model, Words(), places, PAIRS)
    seen = {weights}
    for setting in list(all_settings(tuple(places)))[1::7]:
        with intervention(directions, setting).applied(model):
            assert any(not torch.equal(a, b) for a, b in zip(answers(model), before, strict=True)), setting
            seen.add(weights_of(model))
    assert len(seen) == 1 + len(list(all_settings(tuple(places)))[1::7])
    assert all(map(torch.equal, answers(model), before))
    assert weights_of(model) == weights
    assert not any(module._forward_hooks for module in model.modules())


def test_the_hooks_go_also_when_the_block_fails():
    model = made("bert")
    before = answers(model)
    with pytest.raises(ZeroDivisionError), fitted(model, SENT, (0,)).applied(model):
        _ = 1 / 0
    assert all(map(torch.equal, answers(model), before))


def test_nothing_is_left_along_the_basis_inside_the_model():
    model = made("bert")
    made_here = fitted(model, ATTN, (0, 1, 0, 1, 0))
    kept = {}
    with made_here.applied(model):
        for one in made_here.projections:
            model.bert.get_submodule(one.module).register_forward_hook(
                lambda _m, _i, out, name=one.module: kept.setdefault(name, out)
            )
        answers(model)
    for one in made_here.projections:
        output = kept[one.module]
        output = output[:, 0] if one.positions == FIRST else output
        blocks = output.double().unflatten(-1, (one.basis.shape[0], -1))
        assert torch.einsum("...bd,bkd->...bk", blocks, one.basis).abs().max() < 1e-4, one.module
    assert len(kept) == 6  # query, key, value, two layers, the pooler


@settings(max_examples=6, deadline=None)
@given(st.permutations(range(6)))
def test_the_order_of_hooks_does_not_matter(order):
    model, made_here = _bert_with_attention()
    shuffled = Intervention("x", tuple(made_here.projections[i] for i in order))
    with made_here.applied(model):
        expected = answers(model)
    with shuffled.applied(model):
        assert all(map(torch.equal, answers(model), expected))
    assert shuffled.fingerprint == made_here.fingerprint


def _bert_with_attention(cache={}):  # noqa: B006  once for all examples
    if not cache:
        model = made("bert")
        cache["it"] = model, fitted(model, ATTN, (0, 1, 1, 0, 1))
    return cache["it"]


@pytest.mark.parametrize("numbers", [(0,), (1,)])
def test_folded_and_hooked_agree_at_the_pooler(numbers):
    model = made("bert")
    _folded_is_hooked(model, fitted(model, SENT, numbers), "seq_relationship_logits")
    classifier = made("bert-classifier")
    _folded_is_hooked(classifier, fitted(classifier, SENT, numbers), "logits")


@pytest.mark.parametrize("numbers", [(0, 1, 0), (1, 0, 1)])
def test_folded_and_hooked_agree_at_the_last_layer(numbers):
    model = made("bert")
    _folded_is_hooked(model, fitted(model, LAYER12, numbers), "seq_relationship_logits")


@pytest.mark.parametrize("name", ["bert", "distilbert", "gpt2", "llama", "t5"])
def test_folded_and_hooked_agree_at_query_key_and_value(name):
    model = made(name)
    directions = fit(model, Words(), places_of(model), PAIRS)
    alone = Intervention("attention alone", tuple(one.projection(False, 1) for one in directions[ATTN]))
    _folded_is_hooked(model, alone, None)


def _folded_is_hooked(model, found, key):
    index = None if key is None else list(_outputs(model)).index(key)
    before = answers(model)
    with found.applied(model):
        hooked = answers(model)
    fold(model, found)
    after = answers(model)
    for i in range(len(after)) if index is None else (index,):
        assert torch.allclose(after[i], hooked[i], atol=1e-5), (after[i] - hooked[i]).abs().max()
        assert not torch.allclose(after[i], before[i], atol=1e-4)


def _outputs(model):
    ids = torch.tensor([[1, 3, 2]])
    with torch.inference_mode():
        return {k: v for k, v in model(input_ids=ids).items() if isinstance(v, torch.Tensor)}


@pytest.mark.parametrize(
    ("name", "level"),
    [("bert", LAYER11), ("gpt2", LAYER12), ("distilbert", LAYER12)],
)
def test_what_cannot_be_folded_exactly_is_refused_and_nothing_is_changed(name, level):
    model = made(name)
    places = places_of(model)
    setting = next(s for s in all_settings(tuple(places)) if s.level == level)
    found = intervention(fit(model, Words(), places, PAIRS), setting)
    before = weights_of(model)
    with pytest.raises(UserError, match=r"cannot be folded.*--debias DIR"):
        fold(model, found)
    assert weights_of(model) == before


def test_the_pooler_loses_the_levels_direction_or_its_own():
    model = made("bert")
    directions = fit(model, Words(), places_of(model), PAIRS)
    for level, numbers, source in (
        (LAYER12, (0, 1, 1), LAYER12),
        (LAYER11, (0, 1, 1, 0, 1), LAYER11),
        (ATTN, (0, 1, 1, 0, 1), LAYER11),
    ):
        pooler = intervention(directions, Setting(level, numbers)).projections[-1]
        assert torch.equal(pooler.basis, directions[source][0].basis[:, :1])
        assert torch.equal(pooler.weights, directions[SENT][0].ratios)
        own = intervention(directions, Setting(level, numbers), pooler=OWN)
        assert torch.equal(own.projections[-1].basis, directions[SENT][0].basis)
        assert own.name.endswith(") own")


def test_a_module_that_is_not_there_is_an_error_and_no_hook_stays():
    model = made("bert")
    found = fitted(model, SENT, (0,))
    lost = Intervention("x", (*found.projections, Projection("encoder.layer.7", *_basis(24))))
    with pytest.raises(UserError, match=r"encoder\.layer\.7, which BertModel does not have"):
        lost.attach(model)
    assert not any(module._forward_hooks for module in model.modules())


def test_a_basis_of_another_width_is_an_error():
    model = made("bert")
    for module in ("encoder.layer.1", "pooler", "encoder.layer.1.attention.self.query"):
        with pytest.raises(UserError, match="32 numbers wide, the module's output 24"):
            Intervention("x", (Projection(module, *_basis(32)),)).attach(model)
    with pytest.raises(UserError, match="32 numbers wide"):
        Projection("x", *_basis(32)).of_output(torch.zeros(1, 2, 24))


def _basis(width):
    return torch.eye(width, dtype=torch.float64)[None, :1], torch.ones(1, 1, dtype=torch.float64)


def test_the_same_projections_apply_under_another_head():
    """Fitted on BERT with its pre-training heads, applied to a classifier with the same layers below."""
    base, classifier = made("bert"), made("bert-classifier")
    classifier.bert.load_state_dict(base.bert.state_dict())
    found = fitted(base, LAYER12, (0, 0, 0))
    with found.applied(classifier):
        assert not torch.equal(answers(classifier)[0], answers(made("bert-classifier"))[0])


def test_identity_knows_the_projections_and_nothing_else():
    model = made("bert")
    one, other = fitted(model, SENT, (0,)), fitted(model, SENT, (1,))
    plain = identity_of(model, None, {}).scope
    scopes = []
    for found in (one, other, one):
        with found.applied(model):
            scopes.append(identity_of(model, None, {}).scope)
    assert scopes[0] == scopes[2]
    assert len({plain, *scopes}) == 3
    model.bert.pooler.register_forward_hook(lambda *_: None)  # a hook that says nothing of itself
    assert identity_of(model, None, {}).scope != identity_of(model, None, {}).scope
