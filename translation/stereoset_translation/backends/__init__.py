"""Translators behind one small interface. Adding one is adding a file here; `backends.names()` finds it.

A backend's file has
  PRICE                 what a million characters cost, None if nothing
  add_options(group)    its command line options
  create(args, source, target) -> Backend
and imports its libraries only when it is created.
"""

import argparse
import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from lm_eval_stereoset.errors import UserError

if TYPE_CHECKING:
    from stereoset_translation.memory import Memory


def count(text: str) -> int:
    """For argparse: a number from 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def amount(text: str) -> float:
    """For argparse: money or seconds."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return value


class Refused(Exception):
    """The translator will not translate this text; the others can go on."""


class Backend(ABC):
    """Used as a context manager around all calls of `translate`, which may come from several threads."""

    identity: str  # name and whatever changes the answers: the memory keeps answers by it
    batch_size: int = 1  # texts per call
    concurrency: int = 1  # calls at once
    price: float | None = None  # per million characters
    max_bytes: int | None = None  # longest text, in UTF-8
    memory: "Memory | None" = None  # set for a run: notes what is made at the service, to be removed again

    def __enter__(self) -> "Backend":
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    @abstractmethod
    def translate(self, texts: Sequence[str]) -> list[str | Refused]:
        """One answer per text, in order. UserError: no use to go on."""


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def module(name: str) -> ModuleType:
    if name not in names():
        raise UserError(f"no backend {name!r}; there are {', '.join(names())}")
    return importlib.import_module(f"{__name__}.{name}")
