"""Where the places of the paper are in each architecture, by the names of its modules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.interventions.levels import ATTN, LAYER11, LAYER12, LEVELS, SENT
from lm_eval_stereoset.interventions.projection import ALL, FIRST, base_of, width_of
from lm_eval_stereoset.scoring.identity import RANDOM
from lm_eval_stereoset.scoring.questions import Model


@dataclass(frozen=True)
class Architecture:
    layers: str  # the list of layers, below the base model
    attention: tuple[
        str, ...
    ]  # the layers that make query, key and value, below a layer; none: not to be had
    first: bool = False  # the first token stands for the whole text, and a pooler may read it


_BERT = ("attention.self.query", "attention.self.key", "attention.self.value")
_LLAMA = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
_T5 = tuple(f"layer.0.SelfAttention.{letter}" for letter in "qkv")
_ENCODER = Architecture("encoder.layer", _BERT, first=True)
_DECODER = Architecture("layers", _LLAMA)

ARCHITECTURES = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra"), _ENCODER),
    "distilbert": Architecture(
        "transformer.layer", ("attention.q_lin", "attention.k_lin", "attention.v_lin"), first=True
    ),
    "modernbert": Architecture("layers", ("attn.Wqkv",), first=True),
    "gpt2": Architecture("h", ("attn.c_attn",)),
    "bloom": Architecture("h", ("self_attention.query_key_value",)),
    "gpt_neox": Architecture("layers", ("attention.query_key_value",)),
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text"), _DECODER),
    **dict.fromkeys(("t5", "mt5", "umt5"), Architecture("encoder.block", _T5)),
}
SHARED_LAYERS = ("albert",)  # all layers are one and the same module


@dataclass(frozen=True)
class Place:
    level: str
    module: str
    positions: str  # that are projected; a text is represented by the first token, or by the mean over all
    blocks: int = 1  # heads

    @property
    def most(self) -> int:
        """Directions that settings may take out here."""
        return 2 if self.level in (LAYER11, LAYER12) else 1


def places_of(model: Model) -> dict[str, tuple[Place, ...]]:
    """{level: its own places} for the levels that the model has, the pooler first."""
    base = base_of(model)
    kind = base.config.get_text_config().model_type
    pooler = _pooler_of(model, base)
    found: dict[str, tuple[Place, ...]] = {SENT: (Place(SENT, pooler, ALL),)} if pooler else {}
    if kind in SHARED_LAYERS or (kind not in ARCHITECTURES and pooler):
        return found
    if kind not in ARCHITECTURES:
        raise UserError(
            f"it is not known where the layers of models of type {kind!r} are; projections can be fitted to "
            f"{', '.join(ARCHITECTURES)}"
        )
    known = ARCHITECTURES[kind]
    names = dict(base.named_modules())
    layers = layer_names(model)
    if len(layers) < 2:
        raise UserError(
            f"the model has {len(layers)} layer; projections need the last one and the one before it"
        )
    before, last = layers[-2:]
    found[LAYER12] = (Place(LAYER12, last, FIRST if known.first else ALL),)
    found[LAYER11] = (Place(LAYER11, before, ALL),)
    size = head_size(base)
    found[ATTN] = tuple(
        Place(ATTN, f"{before}.{part}", ALL, width_of(names[f"{before}.{part}"], model) // size)
        for part in known.attention
    )
    return found


def needed(places: Mapping[str, tuple[Place, ...]], level: str, model: Model) -> None:
    """Refuses a level that the model does not have."""
    if level in places:
        return
    base = base_of(model)
    kind = base.config.get_text_config().model_type
    if kind in SHARED_LAYERS:
        why = "its layers share their weights, so that no layer of its own can be changed"
    elif level == SENT:
        why = "it has no pooler (or none in its checkpoint)"
    else:
        why = "it is not known where its layers are"
    have = ", ".join(name for name in LEVELS if name in places) or "none"
    raise UserError(
        f"--level {level}: a model of type {kind} ({type(base).__name__}) does not have this level, {why}; "
        f"it has {have}"
    )


def layer_names(model: Model) -> list[str]:
    """Of the layers, from the input outwards; none where it is not known where they are."""
    base = base_of(model)
    kind = base.config.get_text_config().model_type
    if kind in SHARED_LAYERS or kind not in ARCHITECTURES:
        return []
    layers = ARCHITECTURES[kind].layers
    return [f"{layers}.{number}" for number in range(len(base.get_submodule(layers)))]


def head_size(base: Any) -> int:
    config = base.config.get_text_config()
    for name in ("head_dim", "d_kv"):
        if isinstance(size := getattr(config, name, None), int):
            return size
    return config.hidden_size // config.num_attention_heads


def _pooler_of(model: Model, base: Any) -> str | None:
    """What gives the text's one vector to the head: BERT's pooler, ALBERT's, the head of nsp_finetune's encoders."""
    if hasattr(model, "core"):
        return "head.1" if model.settings.family == "encoder" else None
    random = any("pooler" in key for key in getattr(model, RANDOM, ()))  # not in the checkpoint
    if getattr(base, "pooler", None) is None or random:
        return None
    return "pooler_activation" if hasattr(base, "pooler_activation") else "pooler"
