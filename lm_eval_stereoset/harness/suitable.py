"""Models of the harness that would give wrong numbers, or none, without saying so."""

import logging
from collections.abc import Sequence
from typing import Any

from lm_eval_stereoset.errors import UserError

logger = logging.getLogger(__name__)

LOST_HEAD = ("mt5", "umt5")  # configs that say "tied" though their checkpoints hold a head of its own


def refuse_unsuitable(lm: Any) -> None:
    """`lm`: a model that has been loaded. `stereoset-hf` takes them all, so only the harness's own are looked at."""
    from lm_eval.models.huggingface import HFLM

    if not isinstance(lm, HFLM) or hasattr(lm, "describe_kind"):
        return
    refuse_config(lm.config)
    head, embedding = (
        getattr(part, "weight", None)
        for part in (lm.model.get_output_embeddings(), lm.model.get_input_embeddings())
    )
    if getattr(lm.config, "model_type", None) in LOST_HEAD and head is embedding:
        raise UserError(
            "mT5 under --model hf: the harness (0.4.13) puts the input embedding in the place of the model's output "
            "head, so its scores would be wrong; use `stereoset run --model stereoset-hf`"
        )


def refuse_lost_start(lm: Any, contexts: Sequence[str]) -> None:
    """Under `hf` a prefix_token_id of one's own can cost a request the start token that its tokenizer would add.

    The harness (0.4.13, HFLM.tok_encode) leaves it out where a text begins with what the prefix token decodes to: that
    is every text if it decodes to nothing.
    """
    from lm_eval.models.huggingface import HFLM

    prefix = getattr(lm, "custom_prefix_token_id", None)
    if prefix is None or not isinstance(lm, HFLM) or hasattr(lm, "describe_kind"):
        return
    tokenizer = lm.tokenizer
    text = tokenizer.decode(prefix)
    adds = tokenizer("a")["input_ids"] != tokenizer("a", add_special_tokens=False)["input_ids"]
    if (
        adds
        and prefix != tokenizer.bos_token_id
        and any(context.startswith(text) for context in contexts if context)
    ):
        raise UserError(
            f"prefix_token_id={prefix} ({text!r}) under --model hf: the harness would take the start of some texts for "
            "this token and leave out their start token; use --model stereoset-hf"
        )


def refuse_config(config: Any) -> None:
    """What can be told before the weights are loaded."""
    from lm_eval_stereoset.scoring.architecture import architecture_name, family_of
    from lm_eval_stereoset.scoring.nsp_model import CONFIG_KEY

    if getattr(config, CONFIG_KEY, None) is not None:
        raise UserError("a next-sentence model made by nsp_finetune needs --model stereoset-hf")
    try:
        family = family_of(config)
    except UserError:
        return  # the harness may know an architecture that we do not
    if family == "masked":
        raise UserError(
            f"{architecture_name(config)} is a masked language model, which the harness's `hf` cannot score; use "
            "--model stereoset-hf"
        )


def refuse_without_words(lm: Any, with_template: bool) -> None:
    """For tasks that ask in words: models that say nothing, and a chat model that is not addressed as one."""
    from lm_eval.models.huggingface import HFLM

    if getattr(lm, "is_masked", False):
        raise UserError(
            "a masked or next-sentence model says nothing, so it cannot be asked in words; take the tasks without "
            "`chat` in their names, such as stereoset_en"
        )
    if not isinstance(lm, HFLM) or with_template:
        return
    if getattr(getattr(lm, "tokenizer", None), "chat_template", None):
        logger.warning(
            "the model has a chat template, but --apply_chat_template was not given: it takes the question for a text "
            "to go on with, and most answers will be unreadable"
        )
