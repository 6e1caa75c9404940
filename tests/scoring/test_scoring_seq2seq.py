"""Encoder-decoders: golden scores, what the encoder sees and the decoder is asked, bad input."""

import copy
import random

import numpy as np
import pytest
import torch
from scoring_tiny import (
    INTER,
    INTRA,
    SEQ2SEQ,
    asked,
    assert_golden,
    byte_level,
    golden,
    inter,
    intra,
    questions_of,
    sentinels,
    seq2seq_model,
    summary,
    train,
)

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import seq2seq
from lm_eval_stereoset.scoring.encoder_decoder import Query, decoder_log_probabilities
from lm_eval_stereoset.scoring.questions import Settings

GOLDEN = (("tiny-t5", "T5LM"), ("tiny-mt5", "mT5LM"))


@pytest.fixture(scope="module")
def golden_models(shared):
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    folders = {name: shared / "golden" / "models" / name for name, _ in GOLDEN}
    return {
        name: (AutoModelForSeq2SeqLM.from_pretrained(f).eval(), AutoTokenizer.from_pretrained(f))
        for name, f in folders.items()
    }


@pytest.fixture(scope="module")
def english(fetched):
    return {split: store.load(STEREOSET, split, "en", fetched).examples for split in ("intra", "inter")}


def tokenizer_for(kind: str):
    return byte_level(mask=True) if kind in ("bart", "mbart") else sentinels()


def plain(model, query: Query) -> list[float]:
    """The plain computation: one query, no padding, no cache, all logits, float64 softmax."""
    with torch.inference_mode():
        output = model(
            input_ids=torch.tensor([query.encoder]),
            decoder_input_ids=torch.tensor([query.decoder]),
            use_cache=False,
        )
    logs = torch.log_softmax(output.logits[0].double(), dim=-1)
    first = len(query.decoder) - len(query.targets)
    return [float(logs[first + i, token]) for i, token in enumerate(query.targets)]


# The authors' numbers


@pytest.mark.parametrize(("name", "variant"), GOLDEN)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_intra_equals_the_golden_scores_at_any_batch_size(
    golden_models, english, shared, name, variant, size
):
    examples = english["intra"][:: {1: 40, 7: 8, 64: 1}[size]]
    scores = asked(seq2seq.METHODS["fill"])(
        *golden_models[name], examples, Settings(exact=True, batch_size=size)
    )
    assert_golden(scores, examples, golden(shared, name, "intra", variant))


@pytest.mark.parametrize(("name", "variant"), GOLDEN)
@pytest.mark.parametrize(("size", "exact"), [(1, True), (7, True), (64, True), (64, False)])
def test_inter_equals_the_golden_scores_in_both_modes(
    golden_models, english, shared, name, variant, size, exact
):
    examples = english["inter"][:: {1: 20, 7: 8, 64: 1}[size]]
    scores = asked(seq2seq.METHODS["follow"])(
        *golden_models[name], examples, Settings(exact=exact, batch_size=size)
    )
    assert_golden(scores, examples, golden(shared, name, "inter", variant))


@pytest.mark.parametrize(("name", "variant"), GOLDEN)
def test_default_intra_equals_the_golden_scores_wherever_the_inputs_are_the_same(
    golden_models, english, shared, name, variant
):
    model, tokenizer = golden_models[name]
    examples = english["intra"][::5]
    exact, owners = seq2seq.sentinel_steps_exact(model, tokenizer, questions_of(examples), Settings())
    correct, own = seq2seq.sentinel_steps(model, tokenizer, questions_of(examples))
    same = {
        owner
        for owner in range(3 * len(examples))
        if [q for q, o in zip(exact, owners, strict=True) if o == owner]
        == [q for q, o in zip(correct, own, strict=True) if o == owner]
    }
    assert 0.9 < len(same) / (3 * len(examples)) < 1
    scores = asked(seq2seq.METHODS["fill"])(model, tokenizer, examples, Settings())
    expected = golden(shared, name, "intra", variant)
    for owner in same:
        candidate = examples[owner // 3].candidates[owner % 3]
        assert scores[owner // 3][owner % 3].probability == pytest.approx(expected[candidate.id], rel=1e-5)


def test_exact_begins_with_the_most_probable_token_whatever_the_batch(golden_models, english):
    model, tokenizer = golden_models["tiny-mt5"]
    texts = [e.context.replace("BLANK", "<extra_id_0>") for e in english["intra"][::20]]
    encoders = [tuple(ids) for ids in tokenizer(texts)["input_ids"]]
    with torch.inference_mode():
        wanted = [
            int(
                model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([[0]]))
                .logits[0, 0]
                .argmax()
            )
            for ids in encoders
        ]
    assert seq2seq.most_probable_first(model, encoders, 0, Settings()) == wanted
    assert seq2seq.most_probable_first(model, encoders, 0, Settings(batch_size=5)) == wanted


# What the encoder sees and what the decoder is asked


def pieces(tokenizer, ids) -> list[str]:
    return tokenizer.convert_ids_to_tokens(list(ids))


def test_sentinel_words_are_shown_token_by_token_in_front_of_the_gap():
    tokenizer, model = sentinels(), seq2seq_model("t5")
    queries, owners = seq2seq.sentinel_steps(model, tokenizer, questions_of(INTRA))
    mark = tokenizer.convert_tokens_to_ids("<extra_id_0>")
    filled = [e.context.replace("BLANK", c.word) for e in INTRA for c in e.candidates]
    longest = 0
    for owner, text in enumerate(filled):
        own = [q for q, o in zip(queries, owners, strict=True) if o == owner]
        word = [q.targets[0] for q in own]
        longest = max(longest, len(word))
        whole = tokenizer(text)["input_ids"]
        begin = own[0].encoder.index(mark)
        assert whole[begin : begin + len(word)] == word, "ids as they are in the sentence"
        for step, query in enumerate(own):
            gap = query.encoder.index(mark)
            assert list(query.encoder[:gap]) == whole[:begin] + word[:step]
            assert query.encoder[gap + 1 :] == own[0].encoder[begin + 1 :]
            assert query.decoder == (model.config.decoder_start_token_id, mark)
    assert longest > 2
    # the three candidates' first steps are one and the same encoder input
    starts = [
        next(q.encoder for q, o in zip(queries, owners, strict=True) if o == owner) for owner in range(3)
    ]
    assert len(set(starts)) == 1


def test_two_gaps_have_a_sentinel_each():
    tokenizer, model = sentinels(), seq2seq_model("t5")
    example = intra(1, "Cats have BLANK and BLANK claws!", "sharp", "thin", "fox")
    queries, _ = seq2seq.sentinel_steps(model, tokenizer, questions_of([example]))
    marks = [t for t in pieces(tokenizer, queries[0].encoder) if t.startswith("<extra")]
    assert marks == ["<extra_id_0>", "<extra_id_1>"]
    assert len(asked(seq2seq.METHODS["fill"])(model, tokenizer, [example], Settings())[0]) == 3


def test_a_word_glued_to_its_neighbour_is_read_as_the_sentence_has_it():
    tokenizer, model = sentinels(), seq2seq_model("t5")
    example = intra(1, "Grandmothers BLANKed it.", "dislik", "lik", "claw")
    queries, owners = seq2seq.sentinel_steps(model, tokenizer, questions_of([example]))
    for owner, candidate in enumerate(example.candidates):
        whole = tokenizer(candidate.sentence)["input_ids"]
        own = [q for q, o in zip(queries, owners, strict=True) if o == owner]
        read = [q.targets[0] for q in own]
        start = len(own[0].encoder[: own[0].encoder.index(tokenizer.convert_tokens_to_ids("<extra_id_0>"))])
        assert whole[start : start + len(read)] == read


def test_mask_models_are_given_the_sentence_up_to_the_gap():
    tokenizer, model = byte_level(mask=True), seq2seq_model("bart")
    queries, owners = seq2seq.mask_steps(model, tokenizer, questions_of(INTRA))
    for owner in range(9):
        candidate = INTRA[owner // 3].candidates[owner % 3]
        whole = tokenizer(INTRA[owner // 3].context.replace("BLANK", candidate.word))["input_ids"]
        own = [q for q, o in zip(queries, owners, strict=True) if o == owner]
        begin = own[0].encoder.index(tokenizer.mask_token_id)
        for step, query in enumerate(own):
            gap = query.encoder.index(tokenizer.mask_token_id)
            assert gap == begin + step
            assert list(query.encoder) == [*whole[:gap], tokenizer.mask_token_id, *whole[begin + len(own) :]]
            assert list(query.decoder) == [model.config.decoder_start_token_id, *whole[:gap]]
            assert query.targets == (whole[gap],)
        word = tokenizer.decode([q.targets[0] for q in own]).strip()
        assert word == candidate.word


def test_mask_answers_read_the_candidate_and_the_end():
    tokenizer, model = byte_level(mask=True), seq2seq_model("bart")
    for query, candidate in zip(
        seq2seq.mask_answers(model, tokenizer, questions_of(INTER)),
        [c for e in INTER for c in e.candidates],
        strict=True,
    ):
        assert tokenizer.decode(query.targets) == f" {candidate.sentence}</s>"
        assert pieces(tokenizer, query.encoder)[-2:] == ["<mask>", "</s>"]
        assert query.decoder[0] == model.config.decoder_start_token_id


def test_mbart_decoders_begin_with_the_language_that_ends_the_labels():
    """mBART puts </s> and the language behind a text and the language in front of its decoder."""
    tokenizer, model = byte_level(mask=True), seq2seq_model("mbart")
    assert seq2seq.shifted(model, [7, 8, 1, 399]) == (399, 7, 8, 1)
    assert seq2seq.shifted(seq2seq_model("bart"), [0, 7, 8, 1]) == (1, 0, 7, 8)
    assert len(asked(seq2seq.METHODS["follow"])(model, tokenizer, INTER, Settings())) == len(INTER)


@pytest.mark.parametrize("kind", SEQ2SEQ)
@pytest.mark.parametrize("size", [1, 64])
def test_scores_equal_the_plain_computation(kind, size):
    tokenizer, model = tokenizer_for(kind), seq2seq_model(kind)
    make = seq2seq.mask_steps if kind in ("bart", "mbart") else seq2seq.sentinel_steps
    queries, owners = make(model, tokenizer, questions_of(INTRA))
    logs = [plain(model, query)[0] for query in queries]
    scores = asked(seq2seq.METHODS["fill"])(model, tokenizer, INTRA, Settings(batch_size=size))
    for owner in range(9):
        wanted = np.mean([np.exp(log) for log, o in zip(logs, owners, strict=True) if o == owner])
        assert scores[owner // 3][owner % 3].probability == pytest.approx(wanted, rel=1e-5)
    answers = seq2seq.mask_answers if kind in ("bart", "mbart") else seq2seq.sentinel_answers
    wanted = [
        np.exp(np.mean(plain(model, query))) for query in answers(model, tokenizer, questions_of(INTER))
    ]
    scores = asked(seq2seq.METHODS["follow"])(model, tokenizer, INTER, Settings(batch_size=size))
    assert [s.probability for triple in scores for s in triple] == pytest.approx(wanted, rel=1e-5)


def test_a_bias_behind_the_head_is_not_forgotten():
    """BART adds one to its logits; a reader of hidden states alone would miss it."""
    tokenizer, model = byte_level(mask=True), seq2seq_model("bart")
    model.final_logits_bias.copy_(torch.randn(1, model.config.vocab_size))
    query = seq2seq.mask_answers(model, tokenizer, questions_of(INTER))[0]
    found = decoder_log_probabilities(model, [query], Settings())[0]
    assert found.tolist() == pytest.approx(plain(model, query), rel=1e-5)


def test_each_encoder_input_runs_once_and_the_beginning_of_its_answers_too():
    tokenizer, model = sentinels(), seq2seq_model("t5")
    encoded, decoded = [], []
    model.get_encoder().register_forward_pre_hook(
        lambda _, a, k: encoded.append(k["input_ids"].shape[0]), with_kwargs=True
    )
    model.get_decoder().register_forward_pre_hook(
        lambda _, a, k: decoded.append(tuple(k["input_ids"].shape)), with_kwargs=True
    )
    asked(seq2seq.METHODS["follow"])(model, tokenizer, INTER, Settings())
    longest = max(len(tokenizer(c.sentence)["input_ids"]) - 1 for e in INTER for c in e.candidates)
    assert encoded == [1, 3]  # one for the comparison of the head
    assert decoded[1:] == [(3, 2), (9, longest)]


def test_order_of_examples_does_not_matter(golden_models, english):
    for function, split in (
        (asked(seq2seq.METHODS["fill"]), "intra"),
        (asked(seq2seq.METHODS["follow"]), "inter"),
    ):
        examples = english[split][:100]
        shuffled = random.Random(1).sample(examples, len(examples))
        once = function(*golden_models["tiny-t5"], examples, Settings())
        again = function(*golden_models["tiny-t5"], shuffled, Settings())
        by_id = {e.id: s for e, s in zip(shuffled, again, strict=True)}
        assert [by_id[e.id] for e in examples] == once


# A planted bias


@pytest.mark.parametrize(("preferred", "ss"), [("stereotype", 100.0), ("anti-stereotype", 0.0)])
@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_a_planted_bias_is_found(kind, preferred, ss):
    tokenizer = tokenizer_for(kind)
    scale = {"initializer_factor": 0.3} if kind == "t5" else {"init_std": 0.05}
    model = seq2seq_model(kind, **scale)
    intras = [
        intra(i, f"The {x} was BLANK.", "asian", "thin", "fox") for i, x in enumerate(["player", "people"])
    ]
    inters = [
        inter(i, f"{x} live.", "Cats have claws.", "It is so.", "Kaffee!")
        for i, x in enumerate(["Cats", "It"])
    ]
    if kind == "t5":
        steps, owners = seq2seq.sentinel_steps(model, tokenizer, questions_of(intras))
        answers = seq2seq.sentinel_answers(model, tokenizer, questions_of(inters))
    else:
        steps, owners = seq2seq.mask_steps(model, tokenizer, questions_of(intras))
        answers = seq2seq.mask_answers(model, tokenizer, questions_of(inters))
    # the preferred candidate three times as often as the other, the unrelated one never
    weight = {preferred: 3, "unrelated": 0}
    lessons = [(q, o) for q, o in zip(steps, owners, strict=True)] + list(zip(answers, range(6), strict=True))
    batches = []
    for query, owner in lessons:
        label = ("stereotype", "anti-stereotype", "unrelated")[owner % 3]
        labels = torch.full((1, len(query.decoder)), -100)
        labels[0, -len(query.targets) :] = torch.tensor(query.targets)
        inputs = {
            "input_ids": torch.tensor([query.encoder]),
            "decoder_input_ids": torch.tensor([query.decoder]),
        }
        batches += [{**inputs, "labels": labels}] * weight.get(label, 1)
    train(model, random.Random(0).sample(batches, len(batches)), 12 * len(batches), 3e-3)
    for examples, function in (
        (intras, asked(seq2seq.METHODS["fill"])),
        (inters, asked(seq2seq.METHODS["follow"])),
    ):
        result = summary(function(model, tokenizer, examples, Settings()), examples)
        assert (result["ss"], result["lms"]) == (ss, 100.0)


# Bad input


def test_a_tokenizer_without_sentinel_and_mask_is_refused():
    with pytest.raises(UserError, match=r"neither the sentinel <extra_id_0> nor a mask token"):
        asked(seq2seq.METHODS["fill"])(
            seq2seq_model("t5"), sentinels(with_sentinels=False), INTRA, Settings()
        )


@pytest.mark.parametrize(("kind", "tokenizer"), [("t5", sentinels()), ("bart", byte_level(mask=True))])
def test_a_tokenizer_without_an_end_token_is_refused_on_inter(kind, tokenizer):
    """The end counts in the score: without it T5 has nothing to look up, and BART would leave it out silently."""
    tokenizer = copy.deepcopy(tokenizer)  # others use it, too
    tokenizer.eos_token = None
    model = seq2seq_model(kind, len(tokenizer))
    with pytest.raises(UserError, match=r"no end token.*eos_token"):
        asked(seq2seq.METHODS["follow"])(
            model, tokenizer, [inter(0, "One", "Two.", "Three.", "Four.")], Settings()
        )


def test_a_text_longer_than_the_models_positions_is_refused_by_name():
    long = inter(7, "The chess player was thin, " * 30, "hispanic", "asian", "fox")
    with pytest.raises(UserError, match=r"example e7, .* has \d+ tokens, the model has 128 positions"):
        asked(seq2seq.METHODS["follow"])(
            seq2seq_model("bart"), byte_level(mask=True), [*INTER, long], Settings()
        )


def test_exact_refuses_a_model_that_answers_with_the_end(monkeypatch):
    monkeypatch.setattr(seq2seq, "most_probable_first", lambda _, encoders, *rest: [1] * len(encoders))
    with pytest.raises(UserError, match=r"example e1, .*: the model answers the gap with </s> at once"):
        asked(seq2seq.METHODS["fill"])(seq2seq_model("t5"), sentinels(), INTRA[:1], Settings(exact=True))
