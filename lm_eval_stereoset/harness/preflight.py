"""What is checked before a model answers: its arguments before it is loaded, so that a mistake costs seconds; then the
model itself, since some of the harness's would give wrong numbers, or none, without saying so."""

import difflib
import importlib.util
import inspect
import json
import logging
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_stereoset.benchmarks import registered
from lm_eval_stereoset.chat.orders import checked_count
from lm_eval_stereoset.errors import UserError, missing_package

logger = logging.getLogger(__name__)

OURS = "stereoset-hf"
HF_MODELS = ("hf", "hf-auto", "huggingface", OURS)
LOST_HEAD = ("mt5", "umt5")  # configs that say "tied" though their checkpoints hold a head of its own
METADATA = (
    "data",
    "orders",
)  # what our tasks understand, besides the options of benchmarks whose examples are made


def check(settings: Mapping[str, Any], benchmarks: tuple[str, ...]) -> None:
    """`settings`: the harness's, merged from configuration file and command line. `benchmarks`: their names, with which
    all tasks of ours begin."""
    ours = _all_tasks_begin_with(benchmarks, settings)
    if ours:
        check_metadata(settings.get("metadata"))
    _check_conversation(settings)
    _check_selection(settings, ours)
    _check_batch_size(settings.get("batch_size"))
    if settings.get("use_cache"):
        refuse_unwritable(Path(settings["use_cache"]).parent, f"--use_cache {settings['use_cache']}")
    model_args = settings.get("model_args") or {}
    if settings["model"] in HF_MODELS and isinstance(model_args, Mapping):
        check_names(model_args, settings["model"])
        _check_checkpoint(settings, model_args)


def refuse_unwritable(folder: Path, flag: str) -> None:
    """Makes the folder, as the harness does, and tries whether a file can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"{flag}: cannot be written ({error.strerror or error}); name another folder"
        ) from error


def _all_tasks_begin_with(benchmarks: tuple[str, ...], settings: Mapping[str, Any]) -> bool:
    tasks = settings.get("tasks") or []
    names = tasks.split(",") if isinstance(tasks, str) else tasks
    return all(str(name).startswith(benchmarks) for name in names)


def _check_batch_size(size: Any) -> None:
    if size is not None and not re.fullmatch(r"auto(:\d+)?|[1-9]\d*", str(size)):
        raise UserError(f"--batch_size {size}: must be a whole number of at least 1, auto, or auto:N")


def check_limit(limit: Any) -> None:
    if isinstance(limit, int | float) and not limit > 0:
        raise UserError(f"--limit {limit:g}: must be a number of examples, or a share of them below 1")


def _check_selection(settings: Mapping[str, Any], ours: bool) -> None:
    """Flags that say which examples are run; the harness fails on them later, with a traceback."""
    samples = settings.get("samples")
    check_limit(settings.get("limit"))
    if isinstance(samples, str) and not Path(samples).is_file():
        try:
            samples = json.loads(samples)
        except json.JSONDecodeError as error:
            raise UserError(
                f'--samples {samples}: neither a file nor JSON such as {{"TASK": [0, 2]}}'
            ) from error
    shots = settings.get("num_fewshot")
    if shots and ours:
        logger.warning("--num_fewshot %s is not used: these tasks have no examples in front", shots)


def _check_conversation(settings: Mapping[str, Any]) -> None:
    """Services that take conversations; the harness finds out with an assertion, after loading everything."""
    if "chat" in settings["model"] and not settings.get("apply_chat_template"):
        raise UserError(f"--model {settings['model']} takes conversations: add --apply_chat_template")


def check_metadata(metadata: Any) -> None:
    """Other tasks may have settings of their own, so unknown names are refused only if all tasks are ours."""
    if not isinstance(metadata, Mapping):
        return
    if set(metadata) <= set(METADATA):
        return
    known = [*METADATA, *(name for one in registered() if one.making for name in one.making.options)]
    if unknown := [key for key in metadata if key not in known]:
        raise UserError(
            f"--metadata {unknown[0]}=…: unknown to these tasks, which take {', '.join(known[:-1])} and {known[-1]} "
            "only (data=sample, or data=FOLDER; orders=1, 3 or 6 of the options in chat tasks; phrases=33 in "
            "nli_fairness)"
        )
    if "orders" in metadata:
        checked_count(metadata["orders"])


def known_model_args(ours: bool) -> list[str]:
    """Names that `hf` or `stereoset-hf` take by themselves; all others go on to transformers."""
    from lm_eval.models.huggingface import HFLM

    classes = [HFLM]
    if ours:
        from lm_eval_stereoset.harness.model import StereoSetHF

        classes.insert(0, StereoSetHF)
    names: dict[str, None] = {}
    for one in classes:
        parameters = inspect.signature(one.__init__).parameters.values()
        names |= {p.name: None for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"}
    return list(names)


def check_names(model_args: Iterable[str], model: str) -> None:
    """A name that is nearly a known one is a slip; transformers would take some of them without a word."""
    known = known_model_args(model == OURS)
    for name in model_args:
        close = difflib.get_close_matches(str(name), known_model_args(ours=True), 1, cutoff=0.8)
        if name not in known and close:
            raise UserError(unknown_model_arg(str(name), model))


def unknown_model_arg(name: str, model: str) -> str:
    known = known_model_args(model == OURS)
    hint = ""
    if close := difflib.get_close_matches(name, known_model_args(ours=True), 1, cutoff=0.8):
        hint = f"did you mean {close[0]}{'' if close[0] in known else f', which --model {OURS} takes'}? "
    return f"--model_args {name}=…: unknown to --model {model}; {hint}known are {', '.join(known)}"


def _check_checkpoint(settings: Mapping[str, Any], model_args: Mapping[str, Any]) -> None:
    from lm_eval_stereoset.scoring.checkpoint import one_line
    from lm_eval_stereoset.scoring.loading import check_device, check_dtype, refuse_unconverted, unconverted

    model, name = settings["model"], model_args.get("pretrained")
    if not isinstance(name, str) or not name:
        raise UserError(
            f"--model {model} needs --model_args pretrained=NAME (a name on the hub, or a folder)"
        )
    for key in ("pretrained", "tokenizer", "peft", "delta"):
        path = model_args.get(key)
        if isinstance(path, str) and path.startswith(("/", ".", "~")) and not Path(path).exists():
            raise UserError(f"{path}: no such folder ({key})")  # the hub's complaint about a path is no help
    if model == OURS:  # which says the rest itself
        refuse_unconverted(name, str(model_args.get("scoring") or "auto"))
    else:
        check_dtype(model_args.get("dtype"))
        if found := unconverted(name):
            logger.warning("%s; --model %s scores the language model beside it", found, model)
    if model_args.get("gguf_file"):
        if importlib.util.find_spec("gguf") is None:
            raise missing_package("gguf", f"the GGUF file {model_args['gguf_file']}")
        return  # reading its config takes as long as reading the model
    if model == OURS:
        return
    if settings.get("device") and ":" not in settings["device"]:
        check_device(settings["device"])  # of cuda:0 and its like the harness falls back to the CPU by itself
    from transformers import AutoConfig

    options = {
        "revision": str(model_args.get("revision") or "main"),
        "subfolder": model_args.get("subfolder") or "",
    }
    trust = bool(model_args.get("trust_remote_code") or settings.get("trust_remote_code"))
    config = one_line(name, lambda: AutoConfig.from_pretrained(name, trust_remote_code=trust, **options))
    refuse_config(config)


# The model itself


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
    from lm_eval_stereoset.scoring.nsp_settings import CONFIG_KEY

    if getattr(config, CONFIG_KEY, None) is not None:
        raise UserError("a next-sentence model made by nsp_finetune needs --model stereoset-hf")
    try:
        family = family_of(config)
    except UserError:
        return  # the harness may know an architecture that we do not
    if family == "classifier":
        raise UserError(
            f"{architecture_name(config)} is a classifier, which the harness's `hf` cannot score; use --model "
            "stereoset-hf"
        )
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
