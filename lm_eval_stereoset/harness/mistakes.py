"""Errors of the harness and of transformers that are known to be the user's mistake, in one line.

Each is recognised by what it says or by where it was raised. Everything else is a bug, ours or theirs, and keeps its
traceback.
"""

import re
import sqlite3
import traceback
from collections.abc import Mapping
from typing import Any

from lm_eval_stereoset.harness.preflight import HF_MODELS, unknown_model_arg

# Modules of the harness that raise when arguments are wrong
ARGUMENTS = ("lm_eval.config.evaluate_config", "lm_eval._cli.")


def explain(error: Exception, settings: Mapping[str, Any]) -> str | None:
    """The line for the user; None if the error is not known to be theirs."""
    for recognise in (_tasks, _model, _model_arg, _chat_template, _cache, _arguments, _loading):
        if (message := recognise(error, settings)) is not None:
            return message
    return None


def _tasks(error: Exception, settings: Mapping[str, Any]) -> str | None:
    if not isinstance(error, ValueError) or not str(error).startswith("Tasks not found"):
        return None
    return f"{error}; `stereoset ls` shows our tasks, `lm_eval ls tasks` all others"


def _model(error: Exception, settings: Mapping[str, Any]) -> str | None:
    if isinstance(error, ValueError) and str(error).startswith("Attempted to load model "):
        return f"--model {settings['model']}: {error}"
    if isinstance(error, NotImplementedError) and _raised_in(error).startswith("lm_eval.models."):
        return f"--model {settings['model']} cannot do what these tasks and flags ask for: {error}"
    # packages that a model needs, and settings that it refuses
    if isinstance(error, ImportError | ValueError) and _raised_in(error).startswith("lm_eval.models."):
        return f"--model {settings['model']}: {error}"
    return None


def _model_arg(error: Exception, settings: Mapping[str, Any]) -> str | None:
    found = re.search(r"(unexpected|multiple values for) keyword argument '(\w+)'", str(error))
    if not isinstance(error, TypeError) or not found or found[2] not in (settings.get("model_args") or {}):
        return None
    name = found[2]
    if found[1] != "unexpected":
        return f"--model_args {name}=…: the harness gives this itself; say --{name} instead"
    if settings["model"] in HF_MODELS:
        return unknown_model_arg(name, settings["model"])
    return f"--model_args {name}=…: unknown to --model {settings['model']} ({error})"


def _chat_template(error: Exception, settings: Mapping[str, Any]) -> str | None:
    from jinja2 import TemplateError

    if not settings.get("apply_chat_template"):
        return None
    if isinstance(error, TemplateError):
        return f"--apply_chat_template: the tokenizer's template does not take this conversation: {error}"
    if isinstance(error, ValueError) and "chat_template is not set" in str(error):
        return "--apply_chat_template: the model's tokenizer has no chat template; leave the flag out"
    if isinstance(error, ValueError) and _raised_in(error) == "lm_eval.api.model":
        return f"--apply_chat_template: {error}"
    return None


def _cache(error: Exception, settings: Mapping[str, Any]) -> str | None:
    raised_there = isinstance(error, OSError) and _raised_in(error).startswith("sqlitedict")
    if settings.get("use_cache") and (isinstance(error, sqlite3.Error) or raised_there):
        return f"--use_cache {settings['use_cache']}: {error}"
    return None


def _arguments(error: Exception, settings: Mapping[str, Any]) -> str | None:
    if isinstance(error, ValueError | FileNotFoundError) and _raised_in(error).startswith(ARGUMENTS):
        return str(error)
    if isinstance(error, AssertionError) and str(error).startswith("Elements of --samples"):
        return str(error)
    if isinstance(error, TypeError) and "EvaluatorConfig.__init__()" in str(error) and settings.get("config"):
        return f"--config {settings['config']}: a setting that the harness does not know: {error}"
    return None


def _loading(error: Exception, settings: Mapping[str, Any]) -> str | None:
    """Whatever goes wrong inside transformers' from_pretrained is about the files that the user has named."""
    from safetensors import SafetensorError

    if not isinstance(error, OSError | ValueError | ImportError | RuntimeError | KeyError | SafetensorError):
        return None
    if not any(
        function == "from_pretrained" and module.startswith("transformers.")
        for module, function in _way(error)
    ):
        return None
    name = (settings.get("model_args") or {}).get("pretrained") or settings["model"]
    return f"{name}: cannot be loaded: {' '.join(str(error).split())[:400]}"


def _way(error: Exception) -> list[tuple[str, str]]:
    """(module, function) from the outermost to where the error was raised."""
    return [
        (frame.f_globals.get("__name__") or "", frame.f_code.co_name)
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]


def _raised_in(error: Exception) -> str:
    way = _way(error)
    return way[-1][0] if way else ""
