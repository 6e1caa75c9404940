"""A tiny BERT that is taught a bias: whether a sentence is the next one depends on its gender, and on nothing else.

The right projection takes the bias away; one in a random direction does not.
"""

import math

import pytest
import torch
from debias_models import Words

from lm_eval_stereoset.benchmarks.genderswap.metrics import strengths, tail_mean
from lm_eval_stereoset.interventions.fitting import fit, intervention
from lm_eval_stereoset.interventions.levels import LAYER12, SENT, Setting
from lm_eval_stereoset.interventions.places import places_of
from lm_eval_stereoset.interventions.projection import Intervention, Projection

NOUNS = ("nurse", "pilot", "cook", "judge", "clerk", "guard", "baker", "tailor")
VERBS = ("slept", "sang", "left", "came", "ate", "ran")
GENDERS = ("he", "she")


def sentence(gender: str, noun: str, verb: str) -> str:
    return f"the {noun} said that {gender} {verb}"


def logits(model, words, texts) -> torch.Tensor:
    ids = torch.tensor(words(texts)["input_ids"])
    return model(input_ids=ids, attention_mask=torch.ones_like(ids)).seq_relationship_logits


@pytest.fixture(scope="module")
def biased():
    """Trained on six of the nouns: "he" is the next sentence, "she" is not."""
    from transformers import BertConfig, BertForPreTraining

    torch.manual_seed(0)
    size = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
    model = BertForPreTraining(
        BertConfig(vocab_size=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **size)
    )
    words = Words()
    texts = [sentence(gender, noun, verb) for noun in NOUNS[:6] for verb in VERBS for gender in GENDERS]
    target = torch.tensor([0, 1] * (len(texts) // 2))
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(logits(model, words, texts), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2
    return model.eval(), words


def strength(model, words) -> float:
    """S over triples of the two nouns that it was not trained on: stereotype "he", anti-stereotype "she"."""
    texts = [
        [sentence(g, noun, verb) for g in ("he", "she", "she", "he")] for noun in NOUNS[6:] for verb in VERBS
    ]
    with torch.inference_mode():
        p = [logits(model, words, four).softmax(-1)[:, 0].tolist() for four in texts]
    rows = [[he, she, math.nan, swapped_he, swapped_she, math.nan] for he, she, swapped_he, swapped_she in p]
    return tail_mean(strengths(torch.tensor(rows).numpy()))


def pairs():
    return [(sentence("he", noun, verb), sentence("she", noun, verb)) for noun in NOUNS[:6] for verb in VERBS]


@pytest.mark.parametrize(("level", "numbers"), [(SENT, (0,)), (LAYER12, (0, 1, 0))])
def test_the_right_projection_takes_the_bias_away_and_a_random_one_does_not(biased, level, numbers):
    model, words = biased
    before = strength(model, words)
    assert before > 1  # of at most 2
    right = intervention(fit(model, words, places_of(model), pairs()), Setting(level, numbers))
    with right.applied(model):
        assert abs(strength(model, words)) <= 0.2 * before
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        with turned(right, generator).applied(model):
            assert strength(model, words) > 0.5 * before
    assert strength(model, words) == before


def turned(right: Intervention, generator: torch.Generator) -> Intervention:
    """The same places, with random directions."""
    return Intervention(
        "random",
        tuple(
            Projection(
                one.module,
                torch.linalg.qr(torch.randn(*one.basis.shape[1:], generator=generator).double().T)[0].T[None],
                one.weights,
                one.positions,
            )
            for one in right.projections
        ),
    )
