"""A next-sentence model on disk: a folder in the transformers format (config.json, model.safetensors, tokenizer).

Its config.json has an entry "stereoset_nsp" with the fields of `NSPSettings`; models with a head keep it beside, in
nsp_head.safetensors.

Use:  model = load_nsp_model(folder); p = model.is_next_probability([("A first sentence.", "A second one.")])
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import replacing_folder
from lm_eval_stereoset.scoring.architecture import untied
from lm_eval_stereoset.scoring.checkpoint import (
    check_folder,
    check_safetensors,
    one_line,
    refuse_mismatched,
    without_load_report,
)
from lm_eval_stereoset.scoring.nsp_model import NSPModel, hidden_size, new_head
from lm_eval_stereoset.scoring.nsp_settings import CONFIG_KEY, read_settings

HEAD_FILE = "nsp_head.safetensors"


def save_nsp_model(model: NSPModel, folder: Path | str, also: Callable[[Path], None] | None = None) -> None:
    """Writes the whole folder beside its place, then renames it: it is there complete or not at all.

    `also(folder)` may put more files into it before that.
    """
    from safetensors.torch import save_file

    folder = Path(folder)
    setattr(model.core.config, CONFIG_KEY, asdict(model.settings) | {"labels": list(model.settings.labels)})
    if (
        model.tokenizer.is_fast
    ):  # the last call's cutting would be saved with it, and would cut other users' texts
        model.tokenizer.backend_tokenizer.no_truncation()
        model.tokenizer.backend_tokenizer.no_padding()
    with replacing_folder(folder) as temporary:
        model.core.save_pretrained(temporary)
        model.tokenizer.save_pretrained(temporary)
        if model.head is not None:
            state = {key: value.detach().cpu().contiguous() for key, value in model.head.state_dict().items()}
            save_file(state, temporary / HEAD_FILE, metadata={"format": "pt"})
        if also is not None:
            also(temporary)


def load_nsp_model(
    folder: Path | str, dtype: Any = "auto", device: Any = None, trust_remote_code: bool = False
) -> NSPModel:
    """A saved model, in evaluation mode. Weights come from safetensors only."""
    from transformers import AutoTokenizer

    folder = Path(folder)
    check_folder(folder)
    settings = read_settings(folder)
    if settings is None:
        raise UserError(
            f'{folder}: not a next-sentence model (its config.json has no "{CONFIG_KEY}"); '
            "`stereoset nsp train` or `convert` makes one"
        )
    core = _load_core(folder, settings.family, dtype, trust_remote_code)
    tokenizer = one_line(
        str(folder),
        lambda: AutoTokenizer.from_pretrained(str(folder), trust_remote_code=trust_remote_code),
    )
    head = new_head(settings.family, hidden_size(core.config))
    if head is not None:
        fit_head(head, _read_head(folder / HEAD_FILE), str(folder / HEAD_FILE))
        head.to(core.dtype)
    model = NSPModel(core, head, tokenizer, settings)
    return (model if device is None else model.to(device)).eval()


def _load_core(folder: Path, family: str, dtype: Any, trust_remote_code: bool) -> Any:
    from transformers import AutoModel, AutoModelForSeq2SeqLM

    loader = AutoModelForSeq2SeqLM if family == "seq2seq" else AutoModel
    options = {"trust_remote_code": trust_remote_code, "use_safetensors": True, "dtype": dtype}
    options |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
    with without_load_report():
        core, info = one_line(str(folder), lambda: loader.from_pretrained(str(folder), **options))
    refuse_mismatched(info, str(folder))
    lost = sorted(key for key in untied(core, info["missing_keys"]) if not key.startswith("pooler."))
    if lost:
        raise UserError(
            f"{folder}: lacks {len(lost)} weights of the model ({lost[0]} …), they would be random; is it complete?"
        )
    return core


def _read_head(path: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    if not path.is_file():
        raise UserError(f"{path}: no such file; the folder lacks its next-sentence head")
    check_safetensors(path)
    return load_file(path)


def fit_head(head: nn.Module, state: Mapping[str, torch.Tensor], where: str) -> None:
    """Loads a head's weights, or says in one line what does not fit."""
    wanted = {key: tuple(value.shape) for key, value in head.state_dict().items()}
    found = {key: tuple(value.shape) for key, value in state.items()}
    if wanted != found:
        key = next(key for key in sorted(wanted.keys() | found.keys()) if wanted.get(key) != found.get(key))
        raise UserError(
            f"{where}: this head does not fit the model: {key} is {found.get(key, 'missing')}, "
            f"the model needs {wanted.get(key, 'none of that name')}"
        )
    head.load_state_dict(dict(state))


def write_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """`write` fills a folder beside the place, which then gets its name: it is there complete or not at all."""
    with replacing_folder(folder) as temporary:
        write(temporary)
