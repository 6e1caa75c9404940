"""A base model from the hub or a folder, made into a next-sentence model with a fresh head."""

from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.architecture import untied
from lm_eval_stereoset.scoring.batching import max_positions
from lm_eval_stereoset.scoring.checkpoint import (
    check_folder,
    one_line,
    refuse_mismatched,
    without_load_report,
)
from lm_eval_stereoset.scoring.nsp_model import NSPModel, hidden_size, new_head
from lm_eval_stereoset.scoring.nsp_settings import NSPSettings

PAD_TOKEN = "<|pad|>"


def new_model(
    base: str,
    *,
    family: str | None = None,
    pair: str | None = None,
    prefix: str = "",
    max_length: int = 256,
    gguf_file: str | None = None,
    rows: int | None = None,
    dtype: Any = "float32",
) -> NSPModel:
    """`rows`: embedding rows of a checkpoint that will be loaded into it; otherwise they grow as needed."""
    config = load_config(base, gguf_file)
    tokenizer = load_tokenizer(base, gguf_file)
    family = family or guess_family(config)
    check_family(family, config)
    core = load_core(base, family, dtype=dtype, **_gguf(gguf_file))
    if gguf_file is not None:  # its weights are plain ones by now, and are to be saved as such
        core.hf_quantizer = None
        core.config.__dict__.pop("quantization_config", None)
    if tokenizer.pad_token_id is None:
        tokenizer.add_special_tokens({"pad_token": PAD_TOKEN})
    have = core.get_input_embeddings().weight.shape[0]
    needed = max(len(tokenizer), have) if rows is None else rows
    if needed < len(tokenizer):
        raise UserError(
            f"the checkpoint has {needed} embedding rows, the tokenizer of {base} {len(tokenizer)} tokens"
        )
    if needed != have:
        core.resize_token_embeddings(needed, mean_resizing=False)
    core.config.pad_token_id = tokenizer.pad_token_id
    settings = NSPSettings(
        family=family,
        pair=pair or ("concatenate" if family == "decoder" else "tokenizer"),
        prefix=prefix,
        max_length=usable_length(core, max_length),
    )
    head = new_head(family, hidden_size(core.config))
    return NSPModel(core, None if head is None else head.to(core.dtype), tokenizer, settings)


def load_core(base: str, family: str, **options: Any) -> Any:
    """The model without a head of ours; a checkpoint that lacks weights would have random ones in their place."""
    from transformers import AutoModel, AutoModelForSeq2SeqLM

    loader = AutoModelForSeq2SeqLM if family == "seq2seq" else AutoModel
    options |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
    with without_load_report():
        core, info = one_line(base, lambda: loader.from_pretrained(base, **options))
    refuse_mismatched(info, base)
    # a pooler is not used: our head takes its place
    lost = sorted(key for key in untied(core, info["missing_keys"]) if not key.startswith("pooler."))
    if lost:
        raise UserError(f"{base}: lacks {len(lost)} weights of the model ({lost[0]} …); is it complete?")
    return core


def load_config(base: str, gguf_file: str | None = None) -> Any:
    from transformers import AutoConfig

    if looks_like_a_folder(base) and not Path(base).is_dir():
        raise UserError(f"{base}: no such folder")
    check_folder(base)
    return one_line(base, lambda: AutoConfig.from_pretrained(base, **_gguf(gguf_file)))


def load_tokenizer(base: str, gguf_file: str | None = None) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(base, **_gguf(gguf_file))
    except Exception as error:  # a missing tokenizer shows as OSError, ValueError, TypeError, … by class
        raise UserError(
            f"{base}: has no tokenizer that loads ({type(error).__name__}); put its tokenizer.json and "
            "tokenizer_config.json into the model's folder"
        ) from error
    if len(tokenizer) < 3 or not tokenizer("a b", add_special_tokens=False)["input_ids"]:
        raise UserError(f"{base}: its tokenizer is empty; put tokenizer.json into the model's folder")
    return tokenizer


def guess_family(config: Any) -> str:
    """Text to text if the config says so, decoder if transformers knows it only as a causal model."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    if getattr(config, "is_encoder_decoder", False):
        return "seq2seq"
    if config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return "encoder"
    if config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "decoder"
    raise UserError(
        f"a model of type {config.model_type!r} is neither a decoder, an encoder nor text to text; "
        "say --family if you know better"
    )


def check_family(family: str, config: Any) -> None:
    """A family that the architecture cannot be: it would not load, or read a token that has seen nothing."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    kind = config.model_type
    if (family == "seq2seq") != bool(getattr(config, "is_encoder_decoder", False)):
        raise UserError(f"a model of type {kind!r} cannot be of the family {family}; leave --family out")
    causal = kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if family == "encoder" and causal:
        raise UserError(
            f"a model of type {kind!r} reads from left to right: its first token, which an encoder's head reads, has "
            "seen nothing of the pair; choose --family decoder"
        )


def usable_length(core: Any, max_length: int) -> int:
    """No more tokens than the model has positions (T5's are relative and have no end)."""
    positions = max_positions(core)
    return max_length if positions is None else min(max_length, positions)


def looks_like_a_folder(base: str) -> bool:
    return base.startswith((".", "/", "~")) or base.count("/") > 1


def _gguf(gguf_file: str | None) -> dict[str, str]:
    return {} if gguf_file is None else {"gguf_file": gguf_file}
