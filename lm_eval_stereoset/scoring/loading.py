"""Loading a checkpoint once, with all the heads that scoring needs, none of them random."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.scoring.architecture import auto_class, check_scoring, note_heads
from lm_eval_stereoset.scoring.nsp_model import CONFIG_KEY, load_nsp_model


class Checked:
    """Stands in for a transformers Auto class: loads with it and refuses random heads."""

    def __init__(self, wrapped: Any, scoring: str):
        self.wrapped, self.scoring = wrapped, scoring

    def from_pretrained(self, name: str, **options: Any) -> Any:
        model, info = one_line(
            name, lambda: self.wrapped.from_pretrained(name, output_loading_info=True, **options)
        )
        note_heads(model, info["missing_keys"], self.scoring, str(name))
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
    revision: str = "main",
    dtype: Any = "auto",
    device: Any = None,
    trust_remote_code: bool = False,
) -> tuple[Any, Any]:
    """(model, tokenizer) ready for `score`: a hub name, a local folder, or a next-sentence model."""
    from transformers import AutoConfig, AutoTokenizer

    check_scoring(scoring)
    check_dtype(dtype)
    device = check_device(device or best_device())
    name = str(pretrained)
    hub = {"revision": revision, "trust_remote_code": trust_remote_code}
    config = one_line(name, lambda: AutoConfig.from_pretrained(name, **hub))
    if getattr(config, CONFIG_KEY, None) is not None:
        refuse_language_model_scoring(scoring, name)
        model = load_nsp_model(local_folder(name, revision), dtype, device, trust_remote_code)
        return model, model.tokenizer
    model = Checked(auto_class(config, scoring), scoring).from_pretrained(name, dtype=dtype, **hub)
    source = tokenizer or name
    words = one_line(source, lambda: AutoTokenizer.from_pretrained(source, **hub))
    return model.to(device).eval(), words


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


def files_of(*names: Any) -> list[tuple[str, int, int]]:
    """Names, sizes and times of the files in those of `names` that are folders: others, once one is written to."""
    folders = [Path(name) for name in names if isinstance(name, str) and Path(name).is_dir()]
    files = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
    return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]


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


def one_line(name: str, action: Callable[[], Any]) -> Any:
    """A checkpoint that is not there or cannot be read is the user's mistake, said in one line."""
    try:
        return action()
    except (OSError, ValueError, ImportError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{name}: cannot be loaded: {reason[:400]}") from error
