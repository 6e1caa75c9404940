"""Masked models on pairs of texts: golden scores, what is masked and read where, what runs once."""

import csv
import json
import logging
import math

import numpy as np
import pytest
import torch
from masked_tiny import KINDS, masked_model, tokenizer_for

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import load, score
from lm_eval_stereoset.scoring.head import GatheredHead
from lm_eval_stereoset.scoring.masked_compare import comparing_reads, score_compare
from lm_eval_stereoset.scoring.questions import Candidate, Question, Settings

TEMPLATES = {0: ('He said: "{}"', 'She said: "{}"'), 2: ('"{}", he said.', '"{}", she said.')}
ROWS = slice(0, 3565, 40)


def compared(a: str, b: str, number: int = 1) -> Question:
    return Question("compare", f"e{number}", "", (Candidate(f"{number}a", a), Candidate(f"{number}b", b)))


def gest(shared, template: int) -> list[Question]:
    path = shared / "upstream" / "gest" / "data" / "gest.csv"
    with path.open(encoding="utf-8", newline="") as file:
        sentences = [row["sentence"] for row in csv.DictReader(file)]
    he, she = TEMPLATES[template]
    return [compared(he.format(s), she.format(s), i) for i, s in enumerate(sentences)][ROWS]


def log10_differences(scores) -> list[float]:
    return [(a.log_score / a.tokens - b.log_score / b.tokens) / math.log(10) for a, b in scores]


@pytest.fixture(scope="module")
def tiny_bert(shared):
    return load(shared / "golden" / "models" / "tiny-bert")


PAIRS = [
    compared("The chess player was asian.", "The fox player was asian.", 1),
    compared("The chess player was red.", "The fox player is red.", 2),  # two differences
    compared("people live", "Cats live", 3),  # FlauBERT, WordPiece: one token against one or more
    compared("The player was thin.", "The player was thines.", 4),  # one more token
    compared("The player was Hispanic.", "The player was Foxes.", 5),
    compared("Cats are red.", "chess Cats are red.", 6),  # one text lacks a token
]


# The authors' numbers


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("size", [1, 64])
@pytest.mark.parametrize("template", TEMPLATES)
def test_gest_equals_the_golden_scores_at_any_batch_size(tiny_bert, shared, template, size, exact):
    path = shared / "golden" / "scores" / f"tiny-bert__gest__mlm_template-{template}__en.json"
    wanted = json.loads(path.read_text(encoding="utf-8"))[ROWS]
    found = score(*tiny_bert, gest(shared, template), batch_size=size, exact=exact)
    np.testing.assert_allclose(log10_differences(found), wanted, rtol=0, atol=1e-5)


# What is masked, and read


def plain(model, tokenizer, pair: Question):
    """GEST's rule, written down plainly, for a pair of as many tokens: one text at a time, all logits."""
    ids = [tokenizer(c.sentence)["input_ids"] for c in pair.candidates]
    assert len(ids[0]) == len(ids[1])
    where = [i for i, (x, y) in enumerate(zip(*ids, strict=True)) if x != y]
    for text in ids:
        line = [tokenizer.mask_token_id if i in where else token for i, token in enumerate(text)]
        with torch.inference_mode():
            logs = model(torch.tensor([line])).logits[0].double().log_softmax(-1)
        yield sum(float(logs[i, text[i]]) for i in where), len(where)


@pytest.mark.parametrize("kind", KINDS)
def test_every_architecture_masks_all_differing_positions_at_once_and_reads_its_own_tokens(kind):
    tokenizer = tokenizer_for(kind)
    model = masked_model(kind, len(tokenizer))
    even = [p for p in PAIRS if len({len(tokenizer(c.sentence)["input_ids"]) for c in p.candidates}) == 1]
    assert len(even) >= 2
    for exact in (False, True):
        for pair, found in zip(even, score(model, tokenizer, even, exact=exact), strict=True):
            for one, (total, tokens) in zip(found, plain(model, tokenizer, pair), strict=True):
                assert one.tokens == tokens
                assert one.log_score == pytest.approx(total, abs=2e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta", "albert"])
def test_the_two_texts_of_a_pair_are_one_input_once_masked(kind, monkeypatch):
    tokenizer = tokenizer_for(kind)
    model = masked_model(kind, len(tokenizer))
    fed, read = [], []
    pairs = PAIRS[:2]

    def spy(self, store, rows, which, tokens, **inputs):
        fed.extend(tuple(line[line != tokenizer.pad_token_id].tolist()) for line in inputs["input_ids"])
        read.extend(zip(rows[which].tolist(), tokens.tolist(), strict=True))
        return call(self, store, rows, which, tokens, **inputs)

    call = GatheredHead.read
    monkeypatch.setattr(GatheredHead, "read", spy)
    score_compare(model, tokenizer, pairs, Settings(batch_size=64))
    assert len(fed) == len(set(fed)) == 2
    assert sorted(line.count(tokenizer.mask_token_id) for line in fed) == [1, 2]
    assert len(read) == 2 * (1 + 2)  # the head sees the masked positions only
    assert len({row for row, _ in read}) == 1 + 2


def masked_inputs(kind, pair, exact=False):
    """Each input in pieces, with (position, piece read there, text) of its reads."""
    tokenizer = tokenizer_for(kind)
    reads = comparing_reads(tokenizer, [pair], exact)
    pieces = tokenizer.convert_ids_to_tokens
    found = {}
    for source, position, token, owner in zip(
        reads.source, reads.position, reads.token, reads.owner, strict=True
    ):
        found.setdefault(" ".join(pieces(list(reads.inputs[source]))), []).append(
            (position, pieces(token), owner)
        )
    return found


def test_texts_of_different_token_counts_are_compared_by_pseudo_log_likelihood_of_what_differs():
    assert masked_inputs("bert", compared("The player was Hispanic.", "The player was red.")) == {
        "[CLS] The player was [MASK] [MASK] . [SEP]": [(4, "His", 0)],
        "[CLS] The player was His [MASK] . [SEP]": [(5, "##panic", 0)],
        "[CLS] The player was [MASK] . [SEP]": [(4, "red", 1)],
    }


def test_a_longer_form_of_the_same_word_is_compared_from_the_last_token_that_both_have():
    assert masked_inputs("bert", compared("The Fox is thin.", "The Foxes is thin.")) == {
        "[CLS] The [MASK] is thin . [SEP]": [(2, "Fox", 0)],
        "[CLS] The [MASK] [MASK] is thin . [SEP]": [(2, "Fox", 1)],
        "[CLS] The Fox [MASK] is thin . [SEP]": [(3, "##es", 1)],
    }


def test_a_word_that_only_one_text_begins_with_is_compared_with_the_first_word_of_the_other():
    assert masked_inputs("bert", compared("Cats are red", "The Cats are red")) == {
        "[CLS] [MASK] are red [SEP]": [(1, "Cats", 0)],
        "[CLS] [MASK] Cats are red [SEP]": [(1, "The", 1)],
        "[CLS] The [MASK] are red [SEP]": [(2, "Cats", 1)],
    }


def test_exact_zips_texts_of_different_token_counts_to_the_shorter_one():
    pair = compared("The player was Hispanic.", "The player was red.")
    assert masked_inputs("bert", pair, exact=True) == {
        "[CLS] The player was [MASK] [MASK] [MASK] [SEP]": [(4, "His", 0), (5, "##panic", 0), (6, ".", 0)],
        "[CLS] The player was [MASK] [MASK] [MASK]": [(4, "red", 1), (5, ".", 1), (6, "[SEP]", 1)],
    }


def test_texts_of_the_same_tokens_tie_and_the_log_says_so(caplog):
    tokenizer = tokenizer_for("bert")
    model = masked_model("bert", len(tokenizer))
    unknown = compared("The player was £.", "The player was §.")
    with caplog.at_level(logging.WARNING):
        ((a, b),) = score(model, tokenizer, [unknown])
    assert a == b
    assert a.tokens == 5
    assert "1 of 1 pairs: the tokenizer gives both texts the same tokens, so they tie" in caplog.text


@pytest.mark.parametrize(
    ("exact", "said"), [(False, "pseudo-log-likelihood"), (True, "as in the authors' program")]
)
def test_pairs_of_different_token_counts_are_counted_in_the_log_once(caplog, exact, said):
    tokenizer = tokenizer_for("bert")
    model = masked_model("bert", len(tokenizer))
    with caplog.at_level(logging.WARNING):
        score(model, tokenizer, [*PAIRS, *PAIRS], exact=exact)
    lines = [r.getMessage() for r in caplog.records if "different numbers of tokens" in r.getMessage()]
    assert len(lines) == 1
    assert said in lines[0]
    assert lines[0].startswith("4 of 12 pairs")


# Nothing else matters


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", ["bert", "roberta", "flaubert"])
def test_swapping_the_texts_swaps_the_scores_to_the_last_bit(kind, exact):
    tokenizer = tokenizer_for(kind)
    model = masked_model(kind, len(tokenizer))
    swapped = [Question("compare", p.id, "", p.candidates[::-1]) for p in PAIRS]
    there = score(model, tokenizer, PAIRS, exact=exact)
    back = score(model, tokenizer, swapped, exact=exact)
    assert [pair[::-1] for pair in back] == there
    assert len({one.log_score for pair in there for one in pair}) == 2 * len(PAIRS)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_order_and_batches_do_not_matter(kind):
    tokenizer = tokenizer_for(kind)
    model = masked_model(kind, len(tokenizer))
    alone = [one.log_score for pair in PAIRS for one in score(model, tokenizer, [pair])[0]]
    for options in ({"batch_size": 1}, {"batch_size": 3}, {"batch_tokens": 20}, {}):
        backwards = score(model, tokenizer, PAIRS[::-1], **options)[::-1]
        assert [one.log_score for pair in backwards for one in pair] == pytest.approx(alone, rel=1e-5)


def test_a_damaged_model_is_one_line_that_names_the_pair():
    tokenizer = tokenizer_for("bert")
    model = masked_model("bert", len(tokenizer))
    with torch.no_grad():
        model.get_output_embeddings().weight.fill_(float("nan"))
    with pytest.raises(UserError, match=r"example e1, candidate 1a.*not a finite number"):
        score(model, tokenizer, PAIRS)


def test_a_text_longer_than_the_model_is_named():
    tokenizer = tokenizer_for("bert")
    model = masked_model("bert", len(tokenizer))
    long = compared("fox " * 80, "red " + "fox " * 79, 9)
    with pytest.raises(UserError, match=r"example e9.* has 82 tokens, the model has 64 positions"):
        score(model, tokenizer, [*PAIRS, long])
