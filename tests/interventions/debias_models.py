"""Small models with random weights of every architecture that projections know, and words as their tokens."""

import torch

PAIRS = [
    (f"the {noun} said that {he} {verb}", f"the {noun} said that {she} {verb}")
    for noun in ("nurse", "pilot", "cook", "judge", "clerk", "guard")
    for verb in ("slept", "sang", "left", "came")
    for he, she in (("he", "she"), ("his brother", "her sister"))
]


class Words:
    """A tokenizer with a token per word, [CLS] and [SEP] around each text."""

    pad_token_id = 0

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def __call__(self, texts, **_):
        found = [[self.ids.setdefault(word, 3 + len(self.ids)) for word in text.split()] for text in texts]
        return {"input_ids": [[1, *ids, 2] for ids in found]}


SIZE = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 32}
SIZE |= {"vocab_size": 64, "initializer_range": 0.4}


def made(name: str):
    """A model in evaluation mode, the same every time."""
    import transformers as t

    torch.manual_seed(0)
    gpt2 = {"n_embd": 24, "n_layer": 3, "n_head": 4, "vocab_size": 64, "initializer_range": 0.4}
    t5 = {"d_model": 24, "d_kv": 6, "d_ff": 32, "num_layers": 3, "num_heads": 4, "vocab_size": 64}
    distil = {"dim": 24, "n_layers": 3, "n_heads": 4, "hidden_dim": 32, "vocab_size": 64}
    makers = {
        "bert": lambda: t.BertForPreTraining(t.BertConfig(**SIZE)),
        "bert-classifier": lambda: t.BertForSequenceClassification(t.BertConfig(**SIZE, num_labels=3)),
        "roberta": lambda: t.RobertaForMaskedLM(t.RobertaConfig(**SIZE, pad_token_id=0)),
        "electra": lambda: t.ElectraForMaskedLM(t.ElectraConfig(**SIZE, embedding_size=16)),
        "distilbert": lambda: t.DistilBertForMaskedLM(t.DistilBertConfig(**distil, initializer_range=0.4)),
        "albert": lambda: t.AlbertForPreTraining(t.AlbertConfig(**SIZE, embedding_size=16)),
        "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(**gpt2)),
        "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**SIZE, num_key_value_heads=2)),
        "t5": lambda: t.T5ForConditionalGeneration(t.T5Config(**t5)),
    }
    return makers[name]().eval()


def answers(model, texts=("the nurse said that she left", "a judge sang")) -> list[torch.Tensor]:
    """All that the model says about some texts, with padding in one of them."""
    encoded = Words()(texts)["input_ids"]
    width = max(map(len, encoded))
    ids = torch.tensor([one + [0] * (width - len(one)) for one in encoded])
    inputs = {"input_ids": ids, "attention_mask": (ids != 0).long()}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.tensor([[0, 5], [0, 7]])
    with torch.inference_mode():
        output = model(**inputs, output_hidden_states=False)
    found = [value for value in output.values() if isinstance(value, torch.Tensor)]
    assert found
    return found
