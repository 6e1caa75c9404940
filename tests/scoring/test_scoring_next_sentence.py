"""Next-sentence heads: golden scores, what BERT is given, planted biases, bad input."""

from dataclasses import replace

import pytest
import torch
from masked_tiny import tokenizer_for
from scoring_tiny import INTER, INTRA, assert_golden, golden, inter, summary

from lm_eval_stereoset.benchmarks.stereoset.declared import BENCHMARK as STEREOSET
from lm_eval_stereoset.data import store
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import load, next_sentence, score
from lm_eval_stereoset.scoring.batching import max_positions
from lm_eval_stereoset.scoring.nsp_model import NSPModel, new_head
from lm_eval_stereoset.scoring.nsp_settings import NSPSettings


@pytest.fixture(scope="module")
def english(fetched):
    return store.load(STEREOSET, "inter", "en", fetched).examples


@pytest.fixture(scope="module")
def models(shared, tmp_path_factory):
    """tiny-bert as it is; the authors' fine-tuned checkpoints converted."""
    from nsp_finetune.convert import convert

    folders = {"tiny-bert": shared / "golden" / "models" / "tiny-bert"}
    for name in ("tiny-gpt2-nsp", "tiny-t5-nsp", "tiny-mt5-nsp"):
        source = shared / "golden" / "models" / name
        folders[name] = tmp_path_factory.mktemp("nsp") / name
        convert(source / "nsp_model.pth", str(source), folders[name])
    return {name: load(folder) for name, folder in folders.items()}


@pytest.mark.parametrize("size", [7, 64, None])
@pytest.mark.parametrize("name", ["tiny-bert", "tiny-gpt2-nsp", "tiny-t5-nsp", "tiny-mt5-nsp"])
def test_scores_equal_the_golden_ones_at_any_batch_size(models, english, shared, name, size):
    variant = "BertNextSentence" if name == "tiny-bert" else "ModelNSP"
    examples = english[::3] if size == 7 else english
    scores = score(*models[name], examples, batch_size=size, exact=size == 64)
    expected = golden(shared, name, "inter", variant)
    clear = [i for i, e in enumerate(examples) if not is_tie_of_rounding(e, expected)]
    assert_golden([scores[i] for i in clear], [examples[i] for i in clear], expected)
    assert len(examples) - len(clear) <= (name == "tiny-t5-nsp")
    for i in set(range(len(examples))) - set(clear):
        wanted = [expected[c.id] for c in examples[i].candidates]
        assert [s.probability for s in scores[i]] == pytest.approx(wanted, rel=1e-6)


def is_tie_of_rounding(example, expected) -> bool:
    """Two different candidates with equal golden scores: one pair of tiny-t5-nsp, which float32 cannot tell apart."""
    return len({expected[c.id] for c in example.candidates}) < 3


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-gpt2-nsp", "tiny-t5-nsp", "tiny-mt5-nsp"])
def test_single_inputs_and_another_order_give_the_golden_scores_too(models, english, shared, name):
    variant = "BertNextSentence" if name == "tiny-bert" else "ModelNSP"
    examples = english[::-20]
    scores = score(*models[name], examples, batch_size=1)
    assert_golden(scores, examples, golden(shared, name, "inter", variant))


def test_bert_reads_the_raw_pair_with_token_types(models):
    model, tokenizer = models["tiny-bert"]
    seen = []

    def note(_module, _arguments, keywords):
        seen.extend(zip(keywords["input_ids"].tolist(), keywords["token_type_ids"].tolist(), strict=True))

    handle = model.register_forward_pre_hook(note, with_kwargs=True)
    example = inter(2, "Is it so", "Cats.", "Cats.", "Milch")
    try:
        first, second, _ = score(model, tokenizer, [example])[0]
    finally:
        handle.remove()
    pair = tokenizer("Is it so", "Cats.")  # no dot is added to the context
    assert (pair["input_ids"], pair["token_type_ids"]) in [
        (i[: len(pair["input_ids"])], t[: len(i)]) for i, t in seen
    ]
    assert len(seen) == 2  # equal pairs run once
    assert first == second
    with torch.inference_mode():
        logits = model(**tokenizer("Is it so", "Cats.", return_tensors="pt")).seq_relationship_logits[0]
    assert first.probability == pytest.approx(float(logits.double().softmax(-1)[0]), rel=1e-5)


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-gpt2-nsp", "tiny-t5-nsp", "tiny-mt5-nsp"])
@pytest.mark.parametrize("language", ["de", "fr", "es", "tr"])
def test_other_languages_have_finite_scores(models, fetched, name, language):
    examples = store.load(STEREOSET, "inter", language, fetched).examples[::40]
    for triple in score(*models[name], examples):
        assert all(0 < s.probability < 1 for s in triple)


@pytest.mark.parametrize(("preferred", "ss"), [("stereotype", 100.0), ("anti-stereotype", 0.0)])
@pytest.mark.parametrize("family", ["bert", "encoder", "decoder", "seq2seq"])
def test_a_planted_bias_is_found(family, preferred, ss):
    examples = [
        inter(1, "The player was red.", "it is thin.", "it is asian.", "fox fox live."),
        inter(2, "people live.", "people are red.", "people are thin.", "was was it."),
    ]
    pairs = [(e.context, c.sentence) for e in examples for c in e.candidates]
    follows = torch.tensor([int(c.label == preferred) for e in examples for c in e.candidates])
    torch.manual_seed(0)
    model, tokenizer, logits_of = _fresh(family, pairs)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(80):
        logits = logits_of()
        wanted = 1 - follows if family == "bert" else follows  # BERT's class 0 is "follows"
        torch.nn.functional.cross_entropy(logits, wanted).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    assert summary(score(model, tokenizer, examples), examples)["ss"] == ss


def _fresh(family, pairs):
    """A random model of the family in training mode, its tokenizer, and its two logits of every pair."""
    from transformers import (
        AutoModel,
        BertConfig,
        BertForPreTraining,
        GPT2Config,
        T5Config,
        T5ForConditionalGeneration,
    )

    tokenizer = tokenizer_for("bert")
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    bert = BertConfig(vocab_size=len(tokenizer), **size, hidden_dropout_prob=0.0, initializer_range=0.2)
    if family == "bert":
        model = BertForPreTraining(bert)
        batch = tokenizer(*map(list, zip(*pairs, strict=True)), padding=True, return_tensors="pt")
        return model, tokenizer, lambda: model(**batch).seq_relationship_logits
    if family == "encoder":
        core = AutoModel.from_config(bert)
    elif family == "decoder":
        config = GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=64)
        core = AutoModel.from_config(config)
    else:
        config = T5Config(vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
        config.decoder_start_token_id = 0
        core = T5ForConditionalGeneration(config)
    model = NSPModel(core, new_head(family, 32), tokenizer, NSPSettings(family)).train()
    batch = model.collate(model.encode(pairs))
    return model, tokenizer, lambda: model(**batch).logits


def test_intra_is_refused_by_a_next_sentence_model(models):
    with pytest.raises(UserError, match="cannot be asked to fill a gap in a sentence"):
        score(*models["tiny-gpt2-nsp"], INTRA)


def test_a_pair_longer_than_the_positions_is_cut_longest_first_and_counted(models, caplog):
    long = inter(9, "The player was " + "people live " * 300, "Cats.", "It.", "So.")
    for name in ("tiny-bert", "tiny-gpt2-nsp"):
        model, tokenizer = models[name]
        positions = max_positions(getattr(model, "core", model))
        with caplog.at_level("WARNING"):
            found = score(model, tokenizer, [INTER[0], long])
        assert "3 of 6 pairs are longer than the model has positions" in caplog.text
        caplog.clear()
        assert next_sentence.cut_pairs(model, tokenizer, [INTER[0].question, long.question]) == 3
        (alone,) = score(model, tokenizer, [INTER[0]])
        assert [s.log_score for s in found[0]] == pytest.approx([s.log_score for s in alone], rel=1e-5)
        pairs = [(long.context, c.sentence) for c in long.candidates]
        for (_, b), one in zip(pairs, next_sentence.fitting(model, tokenizer, pairs), strict=True):
            assert len(one["input_ids"]) == positions
            whole = tokenizer(b, add_special_tokens=False)["input_ids"]
            assert whole == [i for i in one["input_ids"] if i not in tokenizer.all_special_ids][-len(whole) :]


def test_pairs_longer_than_those_of_training_go_in_whole(models, caplog):
    """A model trained with --max-length 8 has all its positions left: the setting is for training only."""
    trained, tokenizer = models["tiny-gpt2-nsp"]
    short = NSPModel(trained.core, trained.head, tokenizer, replace(trained.settings, max_length=8)).eval()
    assert max(len(one["input_ids"]) for one in short.encode([(e.context, "Cats.") for e in INTER])) <= 8
    assert score(short, tokenizer, INTER) == score(trained, tokenizer, INTER)
    assert "longer than" not in caplog.text


def test_a_prefix_that_pushes_a_pair_over_the_length_of_training_cuts_nothing(models):
    """T5's prefix is no part of the two texts, so it once escaped the count."""
    model, tokenizer = models["tiny-t5-nsp"]
    pair = (INTER[0].context, INTER[0].candidates[0].sentence)
    (whole,) = model.encode_up_to([pair], None)
    without_prefix = sum(len(tokenizer(text)["input_ids"]) for text in pair)
    limited = NSPModel(model.core, None, tokenizer, replace(model.settings, max_length=without_prefix + 1))
    assert len(whole["input_ids"]) > without_prefix + 1
    assert next_sentence.fitting(limited, tokenizer, [pair]) == [whole]


def test_the_family_answers_one_kind_of_question_only():
    assert list(next_sentence.METHODS) == ["follow"]
