"""Loading a checkpoint once, with all the heads that scoring needs, none of them random."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.architecture import auto_class, check_scoring, is_classifier, note_heads
from lm_eval_stereoset.scoring.checkpoint import (
    check_config,
    check_folder,
    one_line,
    refuse_mismatched,
    without_load_report,
)
from lm_eval_stereoset.scoring.classifier import name_classes
from lm_eval_stereoset.scoring.nsp_folder import load_nsp_model
from lm_eval_stereoset.scoring.nsp_settings import CONFIG_KEY


def load_checked(from_pretrained: Callable[..., Any], name: str, scoring: str, **options: Any) -> Any:
    """A model by the `from_pretrained` of a transformers Auto class, refused if a head that scoring needs is random."""
    options = {"output_loading_info": True, "ignore_mismatched_sizes": True, **options}
    with without_load_report():
        model, info = one_line(name, lambda: from_pretrained(name, **options))
    refuse_mismatched(info, str(name))
    note_heads(model, info["missing_keys"], scoring, str(name))
    keep_untied(model)
    return model


def keep_untied(model: Any) -> None:
    """Makes a head that was loaded apart from the input embedding stay so.

    mT5's config says "tied" though its checkpoints hold both. transformers sees that on loading, but the harness
    ties weights once more afterwards, which would put the input embedding in the head's place.
    """
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    weights = [getattr(part, "weight", None) for part in (head, embedding)]
    if None not in weights and weights[0] is not weights[1]:
        model.config.tie_word_embeddings = False


def load(
    pretrained: str | Path,
    scoring: str = "auto",
    *,
    tokenizer: str | None = None,
    tokenizer_class: str | None = None,
    revision: str = "main",
    dtype: Any = "auto",
    device: Any = None,
    trust_remote_code: bool = False,
    subfolder: str | None = None,
    gguf_file: str | None = None,
    labels: str | None = None,
) -> tuple[Any, Any]:
    """(model, tokenizer) ready for `score`: a hub name, a local folder, or a next-sentence model."""
    from transformers import AutoConfig

    check_scoring(scoring)
    check_dtype(dtype)
    device = check_device(device or best_device())
    name = str(pretrained)
    check_folder(name)
    refuse_unconverted(name, scoring)
    words = tokenizer_loader(tokenizer_class)
    hub = {"revision": revision, "trust_remote_code": trust_remote_code}
    place = {key: value for key, value in (("subfolder", subfolder), ("gguf_file", gguf_file)) if value}
    config = one_line(name, lambda: AutoConfig.from_pretrained(name, **hub, **place))
    check_config(config, name)
    if getattr(config, CONFIG_KEY, None) is not None:
        refuse_labels(labels, False)
        refuse_language_model_scoring(scoring, name)
        refuse_other_tokenizer(tokenizer, tokenizer_class)
        model = load_nsp_model(
            local_folder(name, revision) / (subfolder or ""), dtype, device, trust_remote_code
        )
        return model, model.tokenizer
    from_pretrained = auto_class(config, scoring).from_pretrained
    refuse_labels(labels, is_classifier(config))
    model = load_checked(from_pretrained, name, scoring, dtype=dtype, **hub, **place)
    if labels is not None:
        name_classes(model.config, labels)
    source, place = (tokenizer, {}) if tokenizer else (name, place)
    check_folder(source)
    found = one_line(source, lambda: words.from_pretrained(source, **hub, **place))
    return model.to(device).eval(), named_by_place(found, place.get("subfolder"))


def named_by_place(tokenizer: Any, subfolder: str | None) -> Any:
    """The tokenizer, called by the folder it is from: transformers leaves the subfolder out of its name."""
    if subfolder and not tokenizer.name_or_path.endswith(f"/{subfolder}"):
        tokenizer.name_or_path = f"{tokenizer.name_or_path}/{subfolder}"
    return tokenizer


def refuse_labels(labels: str | None, is_for_classes: bool) -> None:
    if labels is not None and not is_for_classes:
        raise UserError("labels: names the classes of a classifier, which this model is not; leave it out")


def tokenizer_loader(tokenizer_class: str | None) -> Any:
    """The class to load a tokenizer with: one of transformers' own by its name, or the one that the files name."""
    import transformers

    if tokenizer_class is None:
        return transformers.AutoTokenizer
    found = getattr(transformers, str(tokenizer_class), None)
    if not (isinstance(found, type) and issubclass(found, transformers.PreTrainedTokenizerBase)):
        raise UserError(
            f"tokenizer_class={tokenizer_class}: transformers has no tokenizer of this name; it has "
            "BertTokenizerFast, GPT2TokenizerFast, T5TokenizerFast, PreTrainedTokenizerFast and many more"
        )
    return found


def refuse_other_tokenizer(*given: Any) -> None:
    if any(given):
        raise UserError(
            "tokenizer, tokenizer_class: not for next-sentence models, which bring the tokenizer of their training; "
            "leave it out"
        )


def unconverted(name: str) -> str | None:
    """What to do with a folder that holds a fine-tuned next-sentence checkpoint of the authors; None for others."""
    folder = Path(name)
    if not (folder / "nsp_model.pth").is_file():
        return None
    base = name if (folder / "config.json").is_file() else "MODEL_DIR"
    output = f"{folder.resolve().name}-converted"
    command = f"stereoset nsp convert {shlex.quote(str(folder / 'nsp_model.pth'))} --base {shlex.quote(base)}"
    return (
        f"{name}: holds nsp_model.pth, a next-sentence checkpoint in the authors' format; to score that, make a model "
        f"of it with `{command} --output {shlex.quote(output)}`"
    )


def refuse_unconverted(name: str, scoring: str) -> None:
    """Such a folder also holds the language model that the checkpoint was made from: under `auto` that would be scored
    in its place."""
    if scoring == "auto" and (found := unconverted(name)):
        raise UserError(f"{found}, or name a scoring (causal, seq2seq) for the language model beside it")


def refuse_language_model_scoring(scoring: str, name: str) -> None:
    if scoring not in ("auto", "nsp"):
        raise UserError(
            f"scoring={scoring}: {name} is a next-sentence model, which takes the inter-sentence test only; "
            "leave scoring out, or give the language model it was made from"
        )


def local_folder(name: str, revision: str) -> Path:
    """The folder of a checkpoint, downloaded from the hub when it is not a folder already."""
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    return Path(one_line(name, lambda: snapshot_download(name, revision=revision)))


def check_dtype(dtype: Any) -> None:
    import torch

    if (
        isinstance(dtype, str)
        and dtype != "auto"
        and not isinstance(getattr(torch, dtype, None), torch.dtype)
    ):
        raise UserError(f"dtype {dtype!r} is unknown; give auto, float32, bfloat16 or float16")


def check_device(device: Any) -> Any:
    """The device itself, if something can be put there."""
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"device {str(device)!r} cannot be used ({reason}); give cpu, cuda, cuda:1 or mps"
        ) from error
    return device


def best_device() -> str:
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
