"""The files of a checkpoint: what is wrong with them in one line, while bugs of ours stay tracebacks.

A folder is looked through before transformers reads it (`check_folder`): pipes, JSON that is not JSON, weights that
are cut off, shards that are missing. What only transformers can find is recognised by where it was raised: in the one
library call that reads the checkpoint, not in our code (`one_line`).
"""

import logging
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lm_eval_stereoset.errors import UserError, missing_package, short
from lm_eval_stereoset.files import read_json, refuse_special

OBJECTS = (  # JSON files of a checkpoint that hold an object
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
    "adapter_config.json",
)
INDEX = ".index.json"
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers")
MOST_LAYERS = 10_000  # a model is built layer by layer before its weights are looked at
PACKAGES = (
    "gguf",
    "sentencepiece",
    "tiktoken",
    "protobuf",
    "peft",
    "bitsandbytes",
    "gptqmodel",
    "sacremoses",
)
OURS = Path(__file__).resolve().parents[1]  # lm_eval_stereoset


def check_folder(name: Any, subfolder: str | None = None) -> None:
    """Raises a UserError if `name` is a local folder with a file that cannot be read as what it claims to be.

    Names on the hub are left alone: their files were checked when they were downloaded.
    """
    if not isinstance(name, str | Path):
        return
    if _looks_local(str(name)) and not Path(name).expanduser().exists():
        raise UserError(f"{name}: no such folder")
    folder = Path(name) / (subfolder or "")
    if not folder.is_dir():
        if folder.exists():
            raise UserError(
                f"{folder}: is a file, a model is a folder with config.json, weights and tokenizer"
            )
        return
    for path in sorted(folder.iterdir()):
        refuse_special(path)
        if path.name in OBJECTS or path.name.endswith(INDEX):
            if path.is_file() and not isinstance(content := read_json(path), dict):
                raise UserError(f"{path}: must be a JSON object, is {type(content).__name__}")
        elif path.suffix == ".safetensors":
            check_safetensors(path)
    for path in sorted(folder.glob(f"*{INDEX}")):
        _check_index(path)
    if (folder / "config.json").is_file():
        _check_config(folder / "config.json")
    if (path := folder / "tokenizer_config.json").is_file():
        length = read_json(path).get("model_max_length")
        if length is not None and not isinstance(length, int | float):
            raise UserError(f'{path}: "model_max_length" must be a number, is {length!r:.60}')


def _looks_local(name: str) -> bool:
    return name.startswith(("/", "./", "../", "~")) or name in (".", "..")


def check_safetensors(path: Path) -> None:
    """Opens the file's header, which names the length of everything behind it."""
    from safetensors import SafetensorError, safe_open

    refuse_special(path)
    if path.is_dir():
        raise UserError(f"{path}: is a folder, not a file of weights")
    try:
        with safe_open(path, framework="pt") as weights:
            kinds = {str(weights.get_slice(key).get_dtype()) for key in weights.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{path}: not a readable safetensors file ({error}); is it cut off, or a page or pointer saved in its "
            "place? Download it again"
        ) from error
    if kinds and not any(kind.startswith(("F", "BF")) for kind in kinds):
        raise UserError(f"{path}: holds no floating-point weights, only {', '.join(sorted(kinds))}")


def _check_index(path: Path) -> None:
    content = read_json(path)
    shards = content.get("weight_map")
    if not isinstance(shards, dict) or not all(isinstance(shard, str) for shard in shards.values()):
        raise UserError(f'{path}: "weight_map" must name a file for each weight; download it again')
    for shard in sorted(set(shards.values())):
        if Path(shard).name != shard:
            raise UserError(f"{path}: {shard!r} is not a file of this folder")
        if not (path.parent / shard).is_file():
            raise UserError(f"{path.parent}: lacks {shard}, which {path.name} names; download it again")


def _check_config(path: Path) -> None:
    config = read_json(path)
    for key, wanted in (("model_type", str), ("architectures", list)):
        value = config.get(key)
        if value is not None and not isinstance(value, wanted):
            raise UserError(f'{path}: "{key}" must be a {_PLAIN[wanted]}, is {value!r:.60}')
    if not all(isinstance(one, str) for one in config.get("architectures") or []):
        raise UserError(f'{path}: "architectures" must be a list of names')
    for key in LAYERS:
        value = config.get(key)
        if isinstance(value, int) and value > MOST_LAYERS:
            raise UserError(f'{path}: "{key}" is {value!r:.40}, no model has so many layers')
    if "text_config" in config and not isinstance(config["text_config"], dict):
        raise UserError(f'{path}: "text_config" must be an object')


_PLAIN = {str: "text", list: "list"}


def check_config(config: Any, name: str) -> None:
    """What transformers lets through and our code relies on."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    if not hasattr(text, "model_type"):
        raise UserError(
            f"{name}: config.json has a text_config, which models of type {config.model_type} have not"
        )
    for key, value in vars(config).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"{name}: config.json: {key} is {value}, which is not a finite number")
    _check_relative_distances(config, name)
    start = getattr(config, "decoder_start_token_id", None)
    if getattr(config, "is_encoder_decoder", False) is True and type(start) not in (int, type(None)):
        raise UserError(
            f"{name}: config.json: decoder_start_token_id must be a whole number, is {short(start)}"
        )


def _check_relative_distances(config: Any, name: str) -> None:
    """T5's decoder gives each distance below half the buckets a bucket of its own and shares out the rest by their
    logarithm up to max_distance. If that is no larger, the logarithms turn negative, and the numbers are no buckets."""
    distance = getattr(config, "relative_attention_max_distance", None)
    buckets = getattr(config, "relative_attention_num_buckets", None)
    if type(distance) is int and type(buckets) is int and distance <= buckets // 2:
        raise UserError(
            f"{name}: config.json: relative_attention_max_distance is {distance}, with {buckets} buckets it must be "
            f"more than {buckets // 2}; download config.json again"
        )


def decoder_start_token(config: Any) -> int:
    """What an encoder-decoder model's answer begins with; the padding token where the config does not say, as in T5."""
    for key in ("decoder_start_token_id", "pad_token_id"):
        if type(token := getattr(config, key, None)) is int:
            return token
    raise UserError(
        f"config.json of this {config.model_type} model has neither decoder_start_token_id nor pad_token_id, so it is "
        "not known what its answers begin with"
    )


def one_line(name: str, action: Callable[[], Any]) -> Any:
    """Runs `action`, one call of a library that reads the checkpoint `name`; what the library says of it is one line.

    Anything raised in our own code passes through, and so does everything if STEREOSET_DEBUG is set.
    """
    try:
        return action()
    except UserError:
        raise
    except Exception as error:
        if os.environ.get("STEREOSET_DEBUG") or not _is_of_the_checkpoint(error):
            raise
        raise UserError(_explain(name, error)) from error


def _is_of_the_checkpoint(error: Exception) -> bool:
    """Raised inside a library (or by one on the way to the checkpoint), not by a line of ours."""
    from huggingface_hub.errors import StrictDataclassError

    if isinstance(error, (OSError, ValueError, ImportError, StrictDataclassError)):
        return True
    if "unexpected keyword argument" in str(error):
        return False  # of a call, not of a file
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and OURS not in Path(place.tb_frame.f_code.co_filename).resolve().parents


def _explain(name: str, error: Exception) -> str:
    import pickle

    reason = " ".join(str(error).split())[:300]
    if isinstance(error, ImportError):
        for package in PACKAGES:
            if package in reason.lower():
                return str(missing_package(package, f"{name}: this checkpoint"))
    if isinstance(error, (pickle.UnpicklingError, EOFError)) or "weights_only" in reason:
        # torch's own text advises to switch the protection off, which nobody should
        return (
            f"{name}: its pickled weights (.bin) cannot be read: they are cut off, or hold code, which is never run; "
            "choose a checkpoint with safetensors"
        )
    if isinstance(error, (OSError, ValueError, ImportError)):
        return f"{name}: cannot be loaded: {reason}"
    return (
        f"{name}: cannot be loaded: {type(error).__name__}: {reason}; is a file of it damaged, or its config.json of "
        "another model? (STEREOSET_DEBUG=1 shows where)"
    )


def refuse_mismatched(info: dict[str, Any], name: str) -> None:
    """`info`: what from_pretrained says about loading with ignore_mismatched_sizes, which fills such weights with
    random numbers."""
    if wrong := sorted(info.get("mismatched_keys") or [], key=str):
        key, found, wanted = wrong[0]
        raise UserError(
            f"{name}: the weight {key} is {_by(found)}, by config.json it should be {_by(wanted)}"
            f"{f' ({len(wrong)} weights do not fit)' if len(wrong) > 1 else ''}; they do not belong together"
        )


def _by(shape: Any) -> str:
    return " x ".join(map(str, shape))


@contextmanager
def without_load_report() -> Iterator[None]:
    """Keeps transformers' table of missing and unexpected weights away: what matters of it is said in one line."""
    logger = logging.getLogger("transformers.modeling_utils")

    def keep(record: logging.LogRecord) -> bool:
        return "LOAD REPORT" not in record.getMessage()

    logger.addFilter(keep)
    try:
        yield
    finally:
        logger.removeFilter(keep)
