"""How the harness is bent: one of its functions is replaced while a block runs, and put back afterwards."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(owner: Any, name: str, value: Callable[..., Any]) -> Iterator[None]:
    there = name in vars(owner)  # `lm_eval.simple_evaluate` is found by the module's own __getattr__
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if there:
            setattr(owner, name, original)
        else:
            delattr(owner, name)
