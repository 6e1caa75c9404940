"""Tiny masked models of every supported type, with tokenizers whose pieces are known by name."""

import json
from functools import cache

import torch

WORDS = ("The", "chess", "player", "was", "asian", "fox", "are", "red", "people", "live", "thin", "it", "is")
STEMS = ("His", "his", "Fox", "Cats", "un")  # begin longer words
ENDS = ("panic", "es", "able")
SPECIAL = {
    "bert": ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    "roberta": ("<pad>", "<unk>", "<s>", "</s>", "<mask>"),
}
# model type: (how the tokenizer marks word boundaries, names of the special tokens)
KINDS = {
    "bert": ("wordpiece", "bert"),
    "electra": ("wordpiece", "bert"),
    "distilbert": ("wordpiece", "bert"),
    "roberta": ("byte-level", "roberta"),
    "modernbert": ("byte-level", "bert"),
    "deberta": ("byte-level", "bert"),
    "xlm-roberta": ("sentencepiece", "roberta"),
    "camembert": ("sentencepiece", "roberta"),
    "albert": ("sentencepiece", "bert"),
    "deberta-v2": ("sentencepiece", "bert"),
    "flaubert": ("end of word", "flaubert"),
}


def piece(marking: str, text: str, starts_word: bool, starts_text: bool, ends_word: bool) -> str:
    """The name of a piece of text under each way of marking word boundaries."""
    if marking == "wordpiece":
        return text if starts_word else "##" + text
    if marking == "byte-level":
        return "Ġ" + text if starts_word and not starts_text else text
    if marking == "sentencepiece":
        return "▁" + text if starts_word else text
    return text.lower() + ("</w>" if ends_word else "")


@cache
def tokenizer_for(kind: str, folder=None):
    marking, names = KINDS[kind]
    if marking == "end of word":
        return _flaubert()
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = SPECIAL[names]
    first = {"wordpiece": ("",), "byte-level": ("", "Ġ"), "sentencepiece": ("▁",)}[marking]
    later = "##" if marking == "wordpiece" else ""
    pieces = [*special, *(mark + w for w in (*WORDS, *STEMS) for mark in first), *(later + e for e in ENDS)]
    letters = [chr(i) for i in range(33, 127)] + ["ñ", "▁", "Ġ", "ñandu"]
    pieces = list(dict.fromkeys([*pieces, ".", "?", "!", *letters]))
    if marking == "wordpiece":
        made = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.decoder = decoders.WordPiece()
    else:
        made = Tokenizer(models.Unigram([(p, -10.0 if len(p) == 1 else -1.0) for p in pieces], unk_id=1))
        byte = marking == "byte-level"
        made.pre_tokenizer = (
            pre_tokenizers.ByteLevel(add_prefix_space=False) if byte else pre_tokenizers.Metaspace()
        )
        made.decoder = decoders.ByteLevel() if byte else decoders.Metaspace()
    begin, end = special[2], special[3]
    made.post_processor = processors.TemplateProcessing(
        f"{begin} $A {end}",
        f"{begin} $A {end} $B:1 {end}:1",
        [(begin, pieces.index(begin)), (end, pieces.index(end))],
    )
    mask = AddedToken(special[4], lstrip=marking != "wordpiece", special=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token=special[0],
        unk_token=special[1],
        cls_token=begin,
        sep_token=end,
        mask_token=mask,
    )


def _flaubert():
    """FlauBERT's own tokenizer class, written in Python, which knows no offsets."""
    import tempfile
    from pathlib import Path

    from transformers import FlaubertTokenizer

    pieces = ["<s>", "</s>", "<pad>", "<unk>", "<special0>", "<special1>"]
    letters = "abcdefghijklmnopqrstuvwxyz.?!'"
    pieces += [*letters, *(c + "</w>" for c in letters)]
    merges: dict[tuple[str, str], None] = {}
    ending = {*WORDS, *ENDS, "Fox", "Cats"}
    for word in dict.fromkeys([*WORDS, *STEMS, *ENDS]):
        for closed in {word in ending, word not in STEMS}:
            parts = list(word.lower())
            parts[-1] += "</w>" if closed else ""
            while len(parts) > 1:
                merges[parts[0], parts[1]] = None
                parts = [parts[0] + parts[1], *parts[2:]]
                pieces.append(parts[0])
    folder = Path(tempfile.mkdtemp())
    vocabulary = {p: i for i, p in enumerate(dict.fromkeys(pieces))}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    lines = ["#version", *(f"{a} {b} 1" for a, b in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return FlaubertTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), do_lowercase=True)


def masked_model(kind: str, vocabulary: int, seed: int = 0):
    """Random weights, large enough that every position matters."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    options = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 64,
        "initializer_range": 0.3,
    }
    if kind == "distilbert":
        options = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64}
        options["initializer_range"] = 0.3
    if kind == "flaubert":
        options = {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64, "pad_index": 2}
        options |= {"embed_init_std": 0.3, "init_std": 0.3, "bos_index": 0, "eos_index": 1, "unk_index": 3}
    if kind in ("albert", "electra"):
        options["embedding_size"] = 16
    if kind.startswith("deberta"):
        options |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    if kind == "modernbert":
        options |= {"global_attn_every_n_layers": 2, "local_attention": 8}
    special = {} if kind == "flaubert" else {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    if kind == "modernbert":
        special |= {"cls_token_id": 2, "sep_token_id": 3}
    torch.manual_seed(seed)
    config = AutoConfig.for_model(kind, vocab_size=vocabulary, **options, **special)
    return AutoModelForMaskedLM.from_config(config).eval()
