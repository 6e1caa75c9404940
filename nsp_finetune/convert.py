"""The authors' fine-tuned checkpoints (`nsp_model.pth`) as folders that `stereoset run` takes.

stereoset nsp convert CHECKPOINT.pth --base MODEL_DIR --output DIR
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import refuse_special
from lm_eval_stereoset.scoring.nsp_folder import fit_head, save_nsp_model
from lm_eval_stereoset.scoring.nsp_model import NSPModel
from nsp_finetune.models import new_model

if TYPE_CHECKING:
    import torch

# What the authors' program puts before each family's pair at test time, whatever the language of training.
TEST_PREFIX = {"t5": "binary classification: "}
EMBEDDINGS = ("wte.weight", "shared.weight", "embed_tokens.weight", "embeddings.word_embeddings.weight")
# Buffers that older versions of transformers saved with GPT-2; they hold no weights.
BUFFERS = (".attn.bias", ".attn.masked_bias", ".crossattention.bias", ".crossattention.masked_bias")


def convert(checkpoint: Path, base: str, output: Path, prefix: str | None = None) -> NSPModel:
    """Writes `output`; the result answers as the authors' program does for a batch of one."""
    core_state, head_state = split_state(read_authors_state(checkpoint), str(checkpoint))
    model = new_model(base, pair="tokenizer", rows=embedding_rows(core_state))
    settings = model.settings
    if prefix is None:
        prefix = TEST_PREFIX.get(model.core.config.model_type, "")
    label_step = 2 if settings.family == "seq2seq" else 1
    fit_core(model.core, core_state, str(checkpoint))
    if model.head is not None:
        fit_head(model.head, head_state, str(checkpoint))
    converted = NSPModel(
        model.core,
        model.head,
        model.tokenizer,
        dataclasses.replace(settings, pair="tokenizer", prefix=prefix, label_step=label_step),
    )
    save_nsp_model(converted, output)
    return converted


def read_authors_state(checkpoint: Path) -> Mapping[str, "torch.Tensor"]:
    """The tensors of a checkpoint. Only weights are unpickled: nothing in the file can run."""
    import torch

    refuse_special(checkpoint)
    if not checkpoint.is_file():
        raise UserError(f"{checkpoint}: {'is a folder' if checkpoint.is_dir() else 'no such file'}")
    try:
        saved: Any = torch.load(checkpoint, map_location="cpu", weights_only=True)
    except Exception as error:  # a pickle that is cut off or refused can raise nearly anything
        # torch's own text advises to switch the protection off, which nobody should
        raise UserError(
            f"{checkpoint}: not a checkpoint of weights alone: cut off, of another kind, or with code in it, which is "
            f"refused ({type(error).__name__})"
        ) from error
    state = saved.get("model_state_dict", saved) if isinstance(saved, dict) else None
    if not isinstance(state, dict) or not state:
        raise UserError(f"{checkpoint}: no weights in it (expected a dict with model_state_dict)")
    for key, value in state.items():
        if not isinstance(key, str) or not isinstance(value, torch.Tensor):
            raise UserError(
                f"{checkpoint}: the entry {str(key)[:80]!r} of its model_state_dict is not a weight"
            )
        if not key.endswith(BUFFERS) and not _is_weight(value):
            raise UserError(
                f"{checkpoint}: {key} does not hold finite numbers as a weight does; is it damaged?"
            )
    return state


def _is_weight(value: "torch.Tensor") -> bool:
    import torch

    plain = value.layout == torch.strided and value.device.type == "cpu" and value.is_floating_point()
    return plain and bool(value.isfinite().all())


def split_state(state: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Core and head, without the prefixes of DataParallel and of the authors' class."""
    core, head = {}, {}
    for key, value in state.items():
        key = key.removeprefix("module.")
        if key.startswith("core_model."):
            core[key.removeprefix("core_model.")] = value
        elif key.startswith("nsp_head."):
            head[key.removeprefix("nsp_head.")] = value
        else:
            raise UserError(f"{where}: unknown entry {key!r}; expected core_model.… and nsp_head.…")
    if not core:
        raise UserError(f"{where}: has no core_model.… entries; is it the head alone?")
    return core, head


def embedding_rows(core_state: Mapping[str, Any]) -> int:
    for key in EMBEDDINGS:
        if key in core_state and core_state[key].dim() == 2:
            return core_state[key].shape[0]
    raise UserError("the checkpoint has no token embeddings that are known (wte, shared, embed_tokens)")


def fit_core(core: Any, state: Mapping[str, Any], where: str) -> None:
    """Every weight of the model comes from the checkpoint and the other way round, or it is an error."""
    wanted = core.state_dict()
    state = {key: value for key, value in state.items() if not key.endswith(BUFFERS) or key in wanted}
    for key, value in state.items():
        if key not in wanted:
            raise UserError(f"{where}: {key} has no place in the base model; is --base the right model?")
        if value.shape != wanted[key].shape:
            raise UserError(
                f"{where}: {key} is {tuple(value.shape)}, the base model has {tuple(wanted[key].shape)}; "
                "is --base the right model?"
            )
    if missing := sorted(set(wanted) - set(state)):
        raise UserError(f"{where}: lacks {missing[0]} ({len(missing)} weights missing); is it cut off?")
    untie(core, state)
    core.load_state_dict(state)
    for key, value in core.state_dict().items():
        if not value.equal(state[key].to(value.dtype)):
            raise UserError(f"{where}: {key} differs from a weight that the base model shares it with")


def untie(core: Any, state: Mapping[str, Any]) -> None:
    """An output layer that the base model shares with its embeddings, but the checkpoint does not, gets its own."""
    import torch

    output, embedding = core.get_output_embeddings(), core.get_input_embeddings()
    if output is None or output.weight is not embedding.weight:
        return
    if not torch.equal(state["lm_head.weight"], state[next(key for key in EMBEDDINGS if key in state)]):
        output.weight = torch.nn.Parameter(output.weight.detach().clone())
        core.config.tie_word_embeddings = False
