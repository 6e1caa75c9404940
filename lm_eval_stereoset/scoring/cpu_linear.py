"""Matrix products on the CPU by whichever of torch's two libraries is faster on this machine.

torch multiplies float32 matrices with MKL, which on processors other than Intel's leaves half of their speed
unused (measured on an AMD EPYC: 119 against 265 GFLOP/s a core); its other library, oneDNN, has no such
preference. Both are plain float32 arithmetic, and agree to its last bits; results record which one was used. The
environment variable STEREOSET_MATMUL names one (onednn or torch), where two runs must agree to the last bit.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from lm_eval_stereoset.errors import UserError

SMALLEST = 256 * 256  # weights below this gain nothing
CHOICES = ("auto", "onednn", "torch")  # of STEREOSET_MATMUL; torch: whatever torch takes by itself
WORTH_IT = 1.25  # how much faster oneDNN must be; well above noise, so that the choice is the same every time


_usual_only: ContextVar[bool] = ContextVar("_usual_only", default=False)


def fast_linear(device: torch.device) -> AbstractContextManager:
    """While open, large float32 layers run with oneDNN, if that is faster here. No gradients inside."""
    return OneDNNLinear() if library_of(device) == "onednn" and not _usual_only.get() else nullcontext()


def library_of(device: torch.device) -> str:
    """What large float32 layers are multiplied with on this device, in words that results record."""
    choice = chosen()
    if device.type != "cpu":
        return "torch"
    return choice if choice != "auto" else "onednn" if one_dnn_is_faster() else "torch"


def chosen() -> str:
    choice = os.environ.get("STEREOSET_MATMUL") or "auto"
    if choice not in CHOICES:
        raise UserError(f"STEREOSET_MATMUL={choice}: must be one of {', '.join(CHOICES)}")
    if choice == "onednn" and one_dnn_seconds() is None:
        raise UserError("STEREOSET_MATMUL=onednn: this build of torch has no oneDNN; leave it out")
    return choice


@contextmanager
def usual_linear() -> Iterator[None]:
    """While open, fast_linear changes nothing: for what must come out to the last bit as in any other program."""
    before = _usual_only.set(True)
    try:
        yield
    finally:
        _usual_only.reset(before)


class OneDNNLinear(TorchFunctionMode):
    def __torch_function__(self, func: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.linear and _suits(*args[:2]):
            bias = args[2] if len(args) > 2 else kwargs.get("bias")
            return _one_dnn(args[0], args[1], bias)
        if (
            func is torch.addmm
            and not kwargs
            and _suits(args[1], args[2])
            and args[0].shape == args[2].shape[1:]
        ):
            return _one_dnn(args[1], args[2].t(), args[0])  # GPT-2's Conv1D
        return func(*args, **kwargs)


def _suits(x: Any = None, weight: Any = None) -> bool:
    return (
        isinstance(weight, torch.Tensor)
        and weight.numel() >= SMALLEST
        and type(weight) in (torch.Tensor, torch.nn.Parameter)
        and x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and x.numel() > 0
        and not torch.is_autocast_enabled("cpu")
    )


def _one_dnn(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    # oneDNN reads a bias as if its numbers lay side by side, whatever its stride says (torch 2.13)
    bias = None if bias is None else bias.contiguous()
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


@lru_cache(maxsize=1)
def one_dnn_is_faster() -> bool:
    """Measured once a process, in some 20 milliseconds; False where the operator is not there."""
    other = one_dnn_seconds()
    if other is None:
        return False
    x, weight = torch.ones(256, 768), torch.ones(768, 768)
    with torch.inference_mode():
        default = _best_of(lambda: torch.nn.functional.linear(x, weight))
    return default > WORTH_IT * other


@lru_cache(maxsize=1)
def one_dnn_seconds() -> float | None:
    """Of one product; None where the operator is not there."""
    if not (torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled):
        return None
    x, weight = torch.ones(256, 768), torch.ones(768, 768)
    try:
        with torch.inference_mode():
            return _best_of(lambda: _one_dnn(x, weight, None))
    except (RuntimeError, AttributeError, NotImplementedError):
        return None


def _best_of(action: Callable[[], Any], times: int = 7) -> float:
    action()
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        durations.append(time.perf_counter() - start)
    return min(durations)
