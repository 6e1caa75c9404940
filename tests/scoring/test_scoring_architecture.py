"""Which checkpoints are recognised as what, and that no head is ever random."""

import json

import pytest
import torch
from masked_tiny import masked_model, tokenizer_for
from scoring_tiny import INTER, INTRA, causal_model, seq2seq_model
from transformers import AutoConfig

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring import load, score
from lm_eval_stereoset.scoring.architecture import family_of, methods_of

BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def bert(cls_name: str, folder, **changes):
    import transformers

    tokenizer = tokenizer_for("bert")
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(tokenizer), **BERT, **changes)
    getattr(transformers, cls_name)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("model_type", "family"),
    [
        *((kind, "masked") for kind in ("bert", "roberta", "xlm-roberta", "albert", "electra", "distilbert")),
        *(
            (kind, "masked")
            for kind in ("modernbert", "deberta", "deberta-v2", "flaubert", "camembert", "xlm")
        ),
        *((kind, "causal") for kind in ("gpt2", "gpt_neox", "llama", "qwen2", "qwen3", "mistral", "bloom")),
        *((kind, "seq2seq") for kind in ("t5", "mt5", "umt5", "bart", "mbart")),
    ],
)
def test_family_of_a_config(model_type, family):
    assert family_of(AutoConfig.for_model(model_type)) == family


def test_an_architecture_name_decides_where_a_type_has_several():
    assert family_of(AutoConfig.for_model("bert", architectures=["BertForMaskedLM"])) == "masked"
    assert family_of(AutoConfig.for_model("bert", is_decoder=True)) == "causal"
    assert family_of(AutoConfig.for_model("flaubert", architectures=["FlaubertWithLMHeadModel"])) == "masked"
    assert family_of(AutoConfig.for_model("roberta", architectures=["RobertaForCausalLM"])) == "causal"


def test_an_unsupported_architecture_is_one_line_naming_it_and_what_is_supported():
    with pytest.raises(
        UserError, match=r"ViTModel \(vit\) is not supported; supported are .*BERT.*GPT-2.*T5"
    ):
        family_of(AutoConfig.for_model("vit", architectures=["ViTModel"]))


def test_bert_takes_both_tests_from_one_checkpoint_loaded_once(tmp_path, monkeypatch):
    import transformers

    bert("BertForPreTraining", tmp_path)
    loads = []
    original = transformers.PreTrainedModel.from_pretrained.__func__

    def counted(cls, *args, **kwargs):
        loads.append(cls.__name__)
        return original(cls, *args, **kwargs)

    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", classmethod(counted))
    model, tokenizer = load(tmp_path)
    assert methods_of(model) == {"fill": "masked", "follow": "nsp", "whole": "masked", "compare": "masked"}
    assert len(score(model, tokenizer, [*INTRA, *INTER])) == 6
    assert loads == ["BertForPreTraining"]


def test_a_next_sentence_head_is_found_though_the_config_does_not_name_it(tmp_path):
    bert("BertForPreTraining", tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text()) | {"architectures": ["BertForMaskedLM"]}
    path.write_text(json.dumps(config))
    assert methods_of(load(tmp_path)[0]) == {
        "fill": "masked",
        "follow": "nsp",
        "whole": "masked",
        "compare": "masked",
    }


def test_a_missing_next_sentence_head_is_never_used(tmp_path):
    bert("BertForMaskedLM", tmp_path)
    model, _ = load(tmp_path)
    assert methods_of(model) == {"fill": "masked", "follow": "masked", "whole": "masked", "compare": "masked"}
    with pytest.raises(UserError, match="no next-sentence head"):
        load(tmp_path, "nsp")


@pytest.mark.parametrize("scoring", ["auto", "masked"])
def test_a_missing_masked_head_is_an_error(tmp_path, scoring):
    bert("BertModel", tmp_path)
    with pytest.raises(UserError, match=r"language-model head in its checkpoint \(cls.predictions.* random"):
        load(tmp_path, scoring)


def test_a_classifier_judges_pairs_and_nothing_else(tmp_path):
    bert("BertForSequenceClassification", tmp_path)
    model, tokenizer = load(tmp_path)
    assert methods_of(model) == {"judge": "classifier"}
    with pytest.raises(UserError, match="cannot be asked to fill a gap in a sentence"):
        score(model, tokenizer, INTRA)
    with pytest.raises(UserError, match="scoring=masked does not go with"):
        load(tmp_path, "masked")


def test_a_checkpoint_with_a_next_sentence_head_only_takes_inter_only(tmp_path):
    bert("BertForNextSentencePrediction", tmp_path)
    model, tokenizer = load(tmp_path)
    assert methods_of(model) == {"follow": "nsp"}
    assert len(score(model, tokenizer, INTER)) == 3
    with pytest.raises(UserError, match="cannot be asked to fill a gap in a sentence"):
        score(model, tokenizer, INTRA)
    with pytest.raises(UserError, match="language-model head"):
        load(tmp_path, "masked")


def test_an_electra_discriminator_is_refused_with_a_hint(tmp_path):
    from transformers import ElectraConfig, ElectraForPreTraining

    ElectraForPreTraining(ElectraConfig(vocab_size=300, embedding_size=16, **BERT)).save_pretrained(tmp_path)
    with pytest.raises(UserError, match="of ELECTRA the generator"):
        load(tmp_path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: causal_model("llama", tie_word_embeddings=False),
        lambda: masked_model("roberta", 300),
    ],
)
def test_a_dropped_head_is_an_error(tmp_path, make):
    from safetensors.torch import load_file, save_file

    make().save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    weights = load_file(path)
    save_file({k: v for k, v in weights.items() if "lm_head" not in k}, path, {"format": "pt"})
    with pytest.raises(UserError, match=r"no language-model head in its checkpoint \(lm_head"):
        load(tmp_path)


def test_tied_heads_are_not_taken_for_missing(tmp_path):
    for number, model in enumerate(
        (
            causal_model("gpt2"),
            seq2seq_model("bart"),
            masked_model("distilbert", 300),
            masked_model("albert", 300),
        )
    ):
        folder = tmp_path / str(number)
        model.save_pretrained(folder)
        tokenizer_for("bert").save_pretrained(folder)
        assert load(folder)[0].stereoset_heads == {"lm"}


@pytest.mark.parametrize(
    ("make", "lost"),
    [
        (lambda: masked_model("bert", 300), "layer.1."),
        (lambda: causal_model("llama"), "layers.1."),
        (lambda: seq2seq_model("t5"), "decoder.block.1."),
    ],
)
def test_lost_layers_are_an_error(tmp_path, make, lost):
    from safetensors.torch import load_file, save_file

    make().save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    weights = load_file(path)
    save_file({k: v for k, v in weights.items() if lost not in k}, path, {"format": "pt"})
    with pytest.raises(UserError, match="lacks weights of the model itself"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("nsp", "gpt2.* has no next-sentence head"),
        ("masked", "scoring=masked does not go with .*gpt2.* scored as causal"),
        ("mlm", "scoring 'mlm' is unknown; choose one of auto, masked"),
    ],
)
def test_scoring_that_does_not_fit_is_refused(tmp_path, scoring, message):
    causal_model("gpt2").save_pretrained(tmp_path)
    with pytest.raises(UserError, match=message):
        load(tmp_path, scoring)
    with pytest.raises(UserError, match=message.replace("gpt2", "GPT2").replace(r" scored as causal", "")):
        score(causal_model("gpt2"), None, INTRA, scoring=scoring)


def test_an_unknown_case_is_refused():
    with pytest.raises(UserError, match="case 'z' is unknown; the cases are orig, b, c, d, e, f"):
        score(causal_model("gpt2"), None, INTRA, case="z")


def test_a_checkpoint_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(UserError, match="no such folder") as error:
        load(tmp_path / "nothing")
    assert "\n" not in str(error.value)
