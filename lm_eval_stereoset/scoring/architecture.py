"""Which family a checkpoint belongs to, which heads it really has, and so which method answers which question."""

import logging
from collections.abc import Iterable
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.identity import RANDOM

logger = logging.getLogger(__name__)

SCORINGS = ("auto", "masked", "causal", "seq2seq", "nsp", "classifier")
FAMILIES = ("masked", "causal", "seq2seq")
SUPPORTED = (
    "masked language models (BERT, RoBERTa, XLM-R, ALBERT, ELECTRA generators, DistilBERT, ModernBERT, DeBERTa, "
    "FlauBERT, CamemBERT, …), causal ones (GPT-2, GPT-NeoX, Llama, Qwen, Mistral, BLOOM, …), encoder-decoders "
    "(T5, mT5, UL2, BART, …), next-sentence models made by nsp_finetune and sequence classifiers"
)
LANGUAGE_MODEL_KINDS = (
    "fill",
    "follow",
    "whole",
    "compare",
)  # of questions, that every language model answers
HEADS = "stereoset_heads"  # attribute that load() leaves on a model: the heads whose weights were in the file


def check_scoring(scoring: str) -> None:
    if scoring not in SCORINGS:
        raise UserError(f"scoring {scoring!r} is unknown; choose one of {', '.join(SCORINGS)}")


def family_of(config: Any) -> str:
    """masked, causal, seq2seq or classifier, from a checkpoint's config."""
    from transformers.models.auto import modeling_auto as auto

    if is_classifier(config):
        return "classifier"
    kind = getattr(config, "model_type", None)
    remote = getattr(config, "auto_map", None) or {}  # models that bring their own code
    if getattr(config, "is_encoder_decoder", False):
        if kind in auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES or "AutoModelForSeq2SeqLM" in remote:
            return "seq2seq"
    elif _is_masked(config, kind, auto) or "AutoModelForMaskedLM" in remote:
        return "masked"
    elif kind in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES or "AutoModelForCausalLM" in remote:
        return "causal"
    raise UserError(f"{architecture_name(config)} is not supported; supported are {SUPPORTED}")


def is_classifier(config: Any) -> bool:
    """Whether the checkpoint was saved with a head that gives a text, or a pair of texts, a label."""
    names = getattr(config, "architectures", None) or []
    return bool(names) and all(str(name).endswith("ForSequenceClassification") for name in names)


def _is_masked(config: Any, kind: str | None, auto: Any) -> bool:
    if getattr(config, "is_decoder", False):
        return False
    names = " ".join(getattr(config, "architectures", None) or [])
    if kind in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and ("ForCausalLM" in names or "LMHeadModel" in names):
        return "WithLMHeadModel" in names  # XLM and FlauBERT call their masked-LM class so
    return kind in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES


def architecture_name(config: Any) -> str:
    kind = getattr(config, "model_type", None) or "no model_type"
    names = getattr(config, "architectures", None)
    return f"the architecture {' / '.join(names)} ({kind})" if names else f"the model type {kind!r}"


def has_next_sentence_class(config: Any) -> bool:
    """Whether the type has one class with both a masked-LM and a next-sentence head (BERT's relatives)."""
    from transformers.models.auto import modeling_auto as auto

    kind = getattr(config, "model_type", None)
    return (
        kind in auto.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES
        and kind in auto.MODEL_FOR_PRETRAINING_MAPPING_NAMES
        and kind in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    )


def auto_class(config: Any, scoring: str = "auto") -> Any:
    """The transformers class to load a checkpoint with: one class for all heads that scoring may need."""
    import transformers

    family = family_of(config)
    if scoring in (*FAMILIES, "classifier") and scoring != family:
        raise UserError(
            f"scoring={scoring} does not go with {architecture_name(config)}, which is scored as {family}; "
            "leave scoring out, or choose another checkpoint"
        )
    if scoring == "nsp" and not (family == "masked" and has_next_sentence_class(config)):
        raise UserError(
            f"scoring=nsp: {architecture_name(config)} has no next-sentence head; fine-tune one with "
            "`stereoset nsp train`, or leave scoring out"
        )
    if family == "masked" and has_next_sentence_class(config):
        return transformers.AutoModelForPreTraining
    return {
        "masked": transformers.AutoModelForMaskedLM,
        "causal": transformers.AutoModelForCausalLM,
        "seq2seq": transformers.AutoModelForSeq2SeqLM,
        "classifier": transformers.AutoModelForSequenceClassification,
    }[family]


def note_heads(model: Any, missing: Iterable[str], scoring: str, name: str) -> None:
    """Leaves on the model which heads were in its checkpoint; without the needed one it is an error.

    `missing`: parameters that were not in the checkpoint, so transformers filled them with random numbers.
    """
    missing = untied(model, missing)
    about_pairs = {key for key in missing if "seq_relationship" in key or "pooler" in key}
    in_core = {key for key in missing - about_pairs if not _of_head(model, key)}
    in_head = missing - about_pairs - in_core
    if is_classifier(model.config):
        in_head = missing - in_core  # a pooler belongs to it
    if in_core:
        raise UserError(
            f"{name}: the checkpoint lacks weights of the model itself ({_some(in_core)}), they would be random; "
            "is it complete, and of the architecture that its config names?"
        )
    if is_classifier(model.config):
        _note_classifier(model, in_head, name)
        return
    heads = set() if in_head else {"lm"}
    if _has_pair_head(model) and not about_pairs:
        heads.add("nsp")
    needed = {"nsp"} if scoring == "nsp" else {"lm", "nsp"} if scoring == "auto" else {"lm"}
    if not heads & needed:
        kind = "next-sentence" if scoring == "nsp" else "language-model"
        raise UserError(
            f"{name}: {architecture_name(model.config)} has no {kind} head in its checkpoint "
            f"({_some(in_head or about_pairs)}); its scores would be random. Choose a checkpoint that has one"
            f"{' (of ELECTRA the generator)' if model.config.model_type == 'electra' else ''}"
        )
    setattr(model, HEADS, frozenset(heads))
    setattr(model, RANDOM, frozenset(missing))


def _note_classifier(model: Any, missing: set[str], name: str) -> None:
    if missing:
        raise UserError(
            f"{name}: {architecture_name(model.config)} has no classification head in its checkpoint "
            f"({_some(missing)}); its answers would be random. Choose a checkpoint that has one, or train one with "
            "`stereoset nsp nli`"
        )
    setattr(model, HEADS, frozenset({"labels"}))
    setattr(model, RANDOM, frozenset())


def untied(model: Any, missing: Iterable[str]) -> set[str]:
    """Missing parameters that share their values with none that was loaded."""
    missing = set(missing)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    loaded = {id(value) for key, value in parameters.items() if key not in missing}
    return {key for key in missing if key in parameters and id(parameters[key]) not in loaded}


def _of_head(model: Any, key: str) -> bool:
    if hasattr(model, model.base_model_prefix):
        return not key.startswith(model.base_model_prefix + ".")
    return key.startswith("lm_head.")  # T5 keeps its encoder and decoder beside its head


def _has_pair_head(model: Any) -> bool:
    return hasattr(getattr(model, "cls", None), "seq_relationship")


def _some(keys: Iterable[str]) -> str:
    keys = sorted(keys)
    return ", ".join(keys[:2]) + (f" and {len(keys) - 2} more" if len(keys) > 2 else "")


def refuse_prompt_learning(model: Any) -> None:
    """Adapters that put learned tokens in front of each input (prompt tuning, p-tuning, prefix tuning) shift the
    positions that are read, by a number that depends on the adapter's kind."""
    for config in getattr(model, "peft_config", None) or {}:
        adapter = model.peft_config[config]
        if getattr(adapter, "is_prompt_learning", False):
            kind = getattr(adapter.peft_type, "value", adapter.peft_type)
            raise UserError(
                f"peft: adapters of the kind {kind} put learned tokens in front of the text, which scoring cannot "
                "account for; adapters that change weights (LoRA, IA3, …) can be scored"
            )


def methods_of(model: Any, scoring: str = "auto") -> dict[str, str]:
    """{kind of question: family that answers it} for a loaded model; a kind that it cannot take is left out."""
    from lm_eval_stereoset.scoring.nsp_model import NSPModel

    check_scoring(scoring)
    refuse_prompt_learning(model)
    if isinstance(model, NSPModel):
        if scoring in FAMILIES:
            raise UserError(f"scoring={scoring}: this is a next-sentence model; leave scoring out")
        return {"follow": "nsp"}
    family = family_of(model.config)
    if family == "classifier" or type(model).__name__.endswith("ForSequenceClassification"):
        if scoring not in ("auto", "classifier"):
            raise UserError(f"scoring={scoring}: this is a classifier; leave scoring out")
        return {"judge": "classifier"}
    heads = getattr(model, HEADS, None)
    if heads is None:  # loaded by the user: trust the class
        heads = {"lm"} if model.get_output_embeddings() is not None else set()
        heads |= {"nsp"} if _has_pair_head(model) else set()
    if scoring in (*FAMILIES, "classifier") and (scoring != family or "lm" not in heads):
        raise UserError(f"scoring={scoring} does not go with {type(model).__name__}; leave scoring out")
    if scoring == "nsp" and "nsp" not in heads:
        raise UserError(
            f"scoring=nsp: {type(model).__name__} has no next-sentence head; fine-tune one with "
            "`stereoset nsp train`, or leave scoring out"
        )
    methods = dict.fromkeys(LANGUAGE_MODEL_KINDS, family) if "lm" in heads else {}
    if "lm" in heads and family == "causal":
        methods["judge"] = family  # asked in words
    if scoring in ("auto", "nsp") and "nsp" in heads:
        methods["follow"] = "nsp"
    if not methods:
        raise UserError(f"{type(model).__name__} has no language-model head; load it with one")
    return methods
