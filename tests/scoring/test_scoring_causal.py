"""Left-to-right models: golden scores, what is read where, agreement with the harness, bad input."""

import random

import numpy as np
import pytest
import torch
from scoring_tiny import (
    CAUSAL,
    INTER,
    INTRA,
    asked,
    assert_golden,
    byte_level,
    causal_model,
    golden,
    inter,
    intra,
    sentinels,
    summary,
    train,
)

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import causal, prefix_tree
from lm_eval_stereoset.scoring.head import HeadReader
from lm_eval_stereoset.scoring.questions import CASES, Settings


@pytest.fixture(scope="module")
def tiny_gpt2(shared):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = shared / "golden" / "models" / "tiny-gpt2"
    return AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def english(fetched):
    return {split: store.load(STEREOSET, split, "en", fetched).examples for split in ("intra", "inter")}


def mean_log(model, ids, first=1):
    """The plain computation: one sequence, all logits, float64 softmax."""
    with torch.inference_mode():
        logits = model(torch.tensor([ids])).logits[0].double()
    logs = torch.log_softmax(logits, dim=-1)
    return float(np.mean([logs[i - 1, ids[i]] for i in range(first, len(ids))]))


# The authors' numbers


@pytest.mark.parametrize("size", [1, 7, 64])
def test_intra_equals_the_golden_scores_at_any_batch_size(tiny_gpt2, english, shared, size):
    examples = english["intra"]
    scores = asked(causal.METHODS["fill"])(*tiny_gpt2, examples, Settings(exact=True, batch_size=size))
    assert_golden(scores, examples, golden(shared, "tiny-gpt2", "intra", "GPT2LM"))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_inter_equals_the_golden_scores_at_any_batch_size(tiny_gpt2, english, shared, case, size):
    examples = english["inter"] if size == 64 else english["inter"][::10]
    scores = asked(causal.METHODS["follow"])(
        *tiny_gpt2, examples, Settings(case=case, exact=True, batch_size=size)
    )
    assert_golden(scores, examples, golden(shared, "tiny-gpt2", "inter", f"GPT2LM_{case}"))


def test_default_of_case_d_has_nothing_to_correct_and_equals_the_golden_scores(tiny_gpt2, english, shared):
    scores = asked(causal.METHODS["follow"])(*tiny_gpt2, english["inter"][:300], Settings())
    assert_golden(scores, english["inter"][:300], golden(shared, "tiny-gpt2", "inter", "GPT2LM_d"))


def test_exact_mgpt_starts_with_a_piece_scores_its_end_token_and_counts_one_token_too_many_for_the_context():
    tokenizer = sentinels()  # appends </s>, splits the start text into pieces
    model = causal_model("gpt2", len(tokenizer))
    start = tokenizer("<|endoftext|>")["input_ids"][0]

    def exact_logs(ids):
        return [mean_log(model, [start, ids[0]])] + [
            mean_log(model, ids[: i + 1], i) for i in range(1, len(ids))
        ]

    for example, found in zip(
        INTRA, asked(causal.METHODS["fill"])(model, tokenizer, INTRA, Settings(exact=True)), strict=True
    ):
        for candidate, score in zip(example.candidates, found, strict=True):
            ids = tokenizer(candidate.sentence)["input_ids"]
            assert ids[-1] == tokenizer.eos_token_id
            assert score.tokens == len(ids)
            assert score.log_score == pytest.approx(sum(exact_logs(ids)), rel=1e-5)
    for example, found in zip(
        INTER, asked(causal.METHODS["follow"])(model, tokenizer, INTER, Settings(exact=True)), strict=True
    ):
        context = example.context if example.context[-1] in ".!?" else example.context + "."
        n = len(tokenizer(context)["input_ids"])  # </s> included
        for candidate, score in zip(example.candidates, found, strict=True):
            ids = tokenizer(f"{context} {candidate.sentence}")["input_ids"]
            assert score.tokens == len(ids) - n
            assert score.log_score == pytest.approx(sum(exact_logs(ids)[n:]), rel=1e-5)


# The harness's numbers


@pytest.mark.parametrize("add_bos", [False, True])
@pytest.mark.parametrize("kind", ["gpt2", "llama", "bloom"])
def test_default_agrees_with_the_log_likelihoods_of_the_harness(kind, add_bos):
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    tokenizer, model = byte_level(add_bos=add_bos), causal_model(kind)
    harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=4, device="cpu")

    def sums(pairs):
        requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
        return [value for value, _ in harness.loglikelihood(requests, disable_tqdm=True)]

    scores = asked(causal.METHODS["fill"])(model, tokenizer, INTRA, Settings())
    wanted = sums([("", c.sentence) for e in INTRA for c in e.candidates])
    assert [s.log_score for triple in scores for s in triple] == pytest.approx(wanted, rel=1e-5)
    scores = asked(causal.METHODS["follow"])(model, tokenizer, INTER, Settings())
    dotted = ["Many people live in Ethiopia.", "Is it so.", "Kaffee mit Milch!"]
    wanted = sums([(a, " " + c.sentence) for a, e in zip(dotted, INTER, strict=True) for c in e.candidates])
    assert [s.log_score for triple in scores for s in triple] == pytest.approx(wanted, rel=1e-5)


# What is read where


def reads_of(monkeypatch, run) -> list[tuple[tuple[int, ...], int]]:
    """Every (tokens that a position sees, token read there) of the packed passes, from masks and positions."""
    seen = []
    call = HeadReader.__call__

    def spy(self, rows, which, tokens, **inputs):
        if "position_ids" in inputs:
            ids, length = inputs["input_ids"], inputs["input_ids"].shape[1]
            for row, token in zip(rows[which].tolist(), tokens.tolist(), strict=True):
                line, position = divmod(row, length)
                visible = inputs["attention_mask"][line, 0, position] == 0
                path = ids[line][visible]
                assert inputs["position_ids"][line][visible].tolist() == list(range(len(path)))
                seen.append((tuple(path.tolist()), token))
        return call(self, rows, which, tokens, **inputs)

    monkeypatch.setattr(HeadReader, "__call__", spy)
    run()
    return seen


@pytest.mark.parametrize("kind", ["gpt2", "llama", "qwen2", "mistral", "gpt_neox"])
def test_every_token_is_read_behind_exactly_its_own_sentence(monkeypatch, kind):
    """The word ends its sentence, begins it, stands inside; words of several tokens share their first ones."""
    tokenizer, model = byte_level(), causal_model(kind)
    monkeypatch.setattr(
        prefix_tree, "_with_other_strangers", lambda row: row
    )  # the self-test's own sentences
    seen = reads_of(monkeypatch, lambda: asked(causal.METHODS["fill"])(model, tokenizer, INTRA, Settings()))
    wanted = set()
    for sentence in (c.sentence for e in INTRA for c in e.candidates):
        ids = (tokenizer.bos_token_id, *tokenizer(sentence)["input_ids"])
        wanted |= {(ids[:i], ids[i]) for i in range(1, len(ids))}
    assert set(seen) == wanted


def test_case_d_reads_the_candidate_only_and_its_context_runs_once(monkeypatch):
    tokenizer, model = byte_level(), causal_model("gpt2")
    monkeypatch.setattr(
        prefix_tree, "_with_other_strangers", lambda row: row
    )  # the self-test's own sentences
    fed = []
    model.transformer.register_forward_pre_hook(lambda _, args: fed.append(args[0].numel()))
    seen = reads_of(
        monkeypatch, lambda: asked(causal.METHODS["follow"])(model, tokenizer, INTER[:1], Settings())
    )
    ids = [tokenizer(f"{INTER[0].context} {c.sentence}")["input_ids"] for c in INTER[0].candidates]
    n = len(tokenizer(INTER[0].context)["input_ids"])
    probe = {(tuple(s[:i]), s[i]) for s in ids for i in range(1, len(s))}  # the self-test reads all positions
    wanted = {(tuple(s[:i]), s[i]) for s in ids for i in range(n, len(s))}
    assert wanted <= set(seen) <= probe
    last_pass = seen[-sum(len(s) - n for s in ids) :]
    assert set(last_pass) == wanted
    assert fed[-1] == len({tuple(s[:i]) for s in ids for i in range(1, len(s))})


# Packed rows against plain ones


@pytest.mark.parametrize("kind", CAUSAL)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_packed_rows_give_what_plain_passes_give(kind, attention, monkeypatch):
    tokenizer, model = byte_level(), causal_model(kind)
    if kind == "gemma2" and attention == "sdpa":
        attention = "eager"  # its attention has a soft cap, which sdpa lacks
    model.set_attn_implementation(attention)
    layouts = []
    read = prefix_tree._read
    monkeypatch.setattr(
        prefix_tree, "_read", lambda m, rows, *rest: layouts.append(rows) or read(m, rows, *rest)
    )
    scores = asked(causal.METHODS["fill"])(model, tokenizer, INTRA, Settings())
    for example, triple in zip(INTRA, scores, strict=True):
        for candidate, score in zip(example.candidates, triple, strict=True):
            ids = [tokenizer.bos_token_id, *tokenizer(candidate.sentence)["input_ids"]]
            assert score.log_score / score.tokens == pytest.approx(mean_log(model, ids), rel=1e-5)
    packed = any(len(row.members) > 1 for row in layouts[-1])
    assert packed == (kind != "bloom"), "BLOOM takes no positions; all others share beginnings"


def test_a_window_shorter_than_the_texts_is_respected():
    tokenizer, model = byte_level(), causal_model("mistral", sliding_window=5)
    scores = asked(causal.METHODS["fill"])(model, tokenizer, INTRA, Settings())
    ids = [tokenizer.bos_token_id, *tokenizer(INTRA[2].candidates[0].sentence)["input_ids"]]
    assert len(ids) > 6
    assert scores[2][0].log_score / scores[2][0].tokens == pytest.approx(mean_log(model, ids), rel=1e-5)


def test_a_model_that_misreads_packed_rows_is_given_plain_ones(monkeypatch):
    """As if its attention ignored our mask: the self-test notices, and the scores stay right."""
    tokenizer, model = byte_level(), causal_model("llama")
    wanted = asked(causal.METHODS["fill"])(model, tokenizer, INTRA, Settings())
    inner = prefix_tree.tree_inputs

    def without_mask(*args):
        inputs = inner(*args)
        length = inputs["input_ids"].shape[1]
        inputs["attention_mask"] = (
            torch.full((length, length), -1e9).triu(1).expand_as(inputs["attention_mask"])
        )
        return inputs

    monkeypatch.setattr(prefix_tree, "tree_inputs", without_mask)
    found = asked(causal.METHODS["fill"])(model, tokenizer, INTRA, Settings())
    for a, b in zip(wanted, found, strict=True):
        assert [s.log_score for s in a] == pytest.approx([s.log_score for s in b], rel=1e-5)


def test_pack_rows_lays_every_sequence_out_whatever_the_capacity():
    generator = random.Random(0)
    sequences = sorted({tuple(generator.choices(range(3), k=generator.randint(2, 9))) for _ in range(200)})
    for capacity in (1, 8, 30, 10**6):
        found = {}
        for row in prefix_tree.pack_rows(sequences, capacity):
            for index, path in row.members:
                assert tuple(row.ids[path]) == sequences[index][:-1]
                assert row.depth[path].tolist() == list(range(len(path)))
                if len(path):
                    sees = [j for j in range(path[-1] + 1) if path[-1] < row.end[j]]
                    assert sees == path.tolist()
                found[index] = True
        assert len(found) == len(sequences)


def test_order_and_neighbours_of_examples_do_not_matter(tiny_gpt2, english):
    examples = english["intra"][:200]
    shuffled = random.Random(1).sample(examples, len(examples))
    once = asked(causal.METHODS["fill"])(*tiny_gpt2, examples, Settings())
    again = asked(causal.METHODS["fill"])(*tiny_gpt2, shuffled, Settings())
    by_id = {e.id: s for e, s in zip(shuffled, again, strict=True)}
    assert [by_id[e.id] for e in examples] == once
    few = asked(causal.METHODS["fill"])(*tiny_gpt2, examples[:20], Settings(batch_size=3))
    for a, b in zip(few, once, strict=False):
        assert [s.log_score for s in a] == pytest.approx([s.log_score for s in b], rel=1e-5)


def test_the_model_is_left_as_it_was():
    model = causal_model("gpt2")
    before = [type(module) for module in model.modules()]
    asked(causal.METHODS["fill"])(model, byte_level(), INTRA, Settings())
    assert [type(module) for module in model.modules()] == before


# A planted bias


@pytest.mark.parametrize(("preferred", "ss"), [("stereotype", 100.0), ("anti-stereotype", 0.0)])
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_planted_bias_is_found(kind, preferred, ss):
    tokenizer = byte_level()
    model = causal_model(kind, initializer_range=0.05)
    intras = [
        intra(i, f"The {x} was BLANK.", "asian", "thin", "fox") for i, x in enumerate(["player", "people"])
    ]
    inters = [
        inter(i, f"{x} live.", "Cats have claws.", "It is so.", "Kaffee!")
        for i, x in enumerate(["Cats", "Fox"])
    ]
    other = "anti-stereotype" if preferred == "stereotype" else "stereotype"
    texts = [e.candidate(preferred).sentence for e in intras] * 3 + [
        e.candidate(other).sentence for e in intras
    ]
    texts += [f"{e.context} {e.candidate(preferred).sentence}" for e in inters] * 3
    texts += [f"{e.context} {e.candidate(other).sentence}" for e in inters]
    batch = tokenizer([tokenizer.bos_token + text for text in texts], return_tensors="pt", padding=True)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    train(
        model,
        [{"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"], "labels": labels}],
        60,
    )
    for examples, function in (
        (intras, asked(causal.METHODS["fill"])),
        (inters, asked(causal.METHODS["follow"])),
    ):
        result = summary(function(model, tokenizer, examples, Settings()), examples)
        assert (result["ss"], result["lms"]) == (ss, 100.0)


# Bad input


def test_a_text_longer_than_the_models_positions_is_refused_by_name():
    long = intra(7, "The chess player was BLANK, " * 30, "hispanic", "asian", "fox")
    with pytest.raises(UserError, match=r"e7.*tokens, the model has 128 positions"):
        asked(causal.METHODS["fill"])(causal_model("gpt2"), byte_level(), [*INTRA, long], Settings())


def test_a_text_that_just_fits_is_scored():
    tokenizer = byte_level()
    ids = tokenizer("Cats " * 200)["input_ids"][:128]
    model = causal_model("gpt2")
    example = intra(8, tokenizer.decode(ids).replace("Cats", "BLANK", 1), "Cats", "Cats", "Cats")
    length = len(tokenizer(example.candidates[0].sentence)["input_ids"])
    assert length == 128
    score = asked(causal.METHODS["fill"])(model, tokenizer, [example], Settings())[0][0]
    assert score.tokens == length


def test_an_unknown_case_is_refused():
    with pytest.raises(UserError, match="case 'g' is unknown"):
        Settings(case="g")


def test_a_tokenizer_without_start_token_is_refused():
    with pytest.raises(UserError, match="neither a BOS nor an EOS"):
        asked(causal.METHODS["fill"])(causal_model("gpt2"), byte_level(bos=False), INTRA, Settings())
