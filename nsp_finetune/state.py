"""The state of a run in files that hold numbers and nothing else, so that a checkpoint cannot run code.

accelerate's save_state pickles the optimiser and every registered object, and its load_state unpickles the
registered ones without protection (seen in 1.15). Here the weights and AdamW's moments are safetensors and the few
remaining numbers JSON. Everything is read and checked before anything in memory changes.

model.safetensors      every weight, under its name in the model
optimizer.safetensors  "step:NAME", "exp_avg:NAME" and "exp_avg_sq:NAME" for every weight that has had a gradient
state.json             how far the learning rate schedule is, and the loss scaler's numbers in fp16

No random states: the order of the pairs and the dropout of each batch are seeded anew from the step's number.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_stereoset.data.fields import is_finite
from lm_eval_stereoset.errors import UserError
from lm_eval_stereoset.files import read_json, write_json

if TYPE_CHECKING:
    import torch

WEIGHTS, MOMENTS, STATE = "model.safetensors", "optimizer.safetensors", "state.json"
KEYS = ("step", "exp_avg", "exp_avg_sq")  # what AdamW keeps for a weight
SCALER = {"scale": float, "growth_factor": float, "backoff_factor": float,
          "growth_interval": int, "_growth_tracker": int}  # fmt: skip

Tensors = dict[str, "torch.Tensor"]


def write_state(folder: Path, model: Any, optimizer: Any, scheduler: Any, scaler: Any) -> None:
    from safetensors.torch import save_file

    save_file({name: _on_disk(value) for name, value in trained_tensors(model).items()}, folder / WEIGHTS)
    moments = {
        f"{key}:{name}": _on_disk(value)
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }
    save_file(moments, folder / MOMENTS)
    numbers = None if scaler is None else {key: scaler.state_dict()[key] for key in SCALER}
    write_json(folder / STATE, {"schedule_steps": scheduler.last_epoch, "scaler": numbers})


def read_state(folder: Path, model: Any, optimizer: Any, scheduler: Any, scaler: Any) -> None:
    """Puts what `write_state` wrote into the objects given, or raises a UserError and changes nothing."""
    import torch

    wanted, weights = trained_tensors(model), read_tensors(folder / WEIGHTS)
    _check_tensors(weights, wanted, str(folder / WEIGHTS))
    moments = read_tensors(folder / MOMENTS)
    _check_tensors(moments, _wanted_moments(model, moments), str(folder / MOMENTS))
    steps, numbers = _parse_state(read_json(folder / STATE), scaler is not None, str(folder / STATE))
    with torch.no_grad():
        for name, value in wanted.items():
            value.copy_(weights[name])
    optimizer.load_state_dict(_optimizer_state(model, optimizer, moments))
    set_schedule(optimizer, scheduler, steps)
    if scaler is not None:
        scaler.load_state_dict(numbers)


def trained_tensors(model: Any) -> Tensors:
    """Parameters and saved buffers, each once: tied weights have one name."""
    saved = model.state_dict()
    buffers = {name: value for name, value in model.named_buffers() if name in saved}
    return dict(model.named_parameters()) | buffers


def read_tensors(path: Path) -> Tensors:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (
        SafetensorError,
        OSError,
        KeyError,
        ValueError,
    ) as error:  # KeyError: a type that torch does not have
        raise UserError(f"{path}: not a readable safetensors file ({error}); is it cut off?") from error


def set_schedule(optimizer: Any, scheduler: Any, steps: int) -> None:
    """The learning rates after so many steps; they follow from the number of steps alone."""
    scheduler.last_epoch, scheduler._step_count = steps, steps + 1
    rates = [base * rate(steps) for base, rate in zip(scheduler.base_lrs, scheduler.lr_lambdas, strict=True)]
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    scheduler._last_lr = rates


def _on_disk(value: "torch.Tensor") -> "torch.Tensor":
    return value.detach().cpu().contiguous()


def _wanted_moments(model: Any, found: Mapping[str, Any]) -> Tensors:
    """For each weight all three, or none if it has never had a gradient (torch keeps none then)."""
    import torch

    wanted: Tensors = {}
    for name, parameter in model.named_parameters():
        if any(f"{key}:{name}" in found for key in KEYS):
            wanted |= {"step:" + name: torch.zeros(()), "exp_avg:" + name: parameter}
            wanted["exp_avg_sq:" + name] = parameter
    return wanted


def _check_tensors(found: Mapping[str, Any], wanted: Mapping[str, Any], where: str) -> None:
    """The same names, shapes and types, and nothing but numbers."""
    if found.keys() != wanted.keys():
        name = min(found.keys() ^ wanted.keys())
        fault = "is missing" if name in wanted else "has no place in this model"
        raise UserError(f"{where}: {name} {fault}; is it a checkpoint of this run?")
    for name, value in found.items():
        have, need = (tuple(value.shape), value.dtype), (tuple(wanted[name].shape), wanted[name].dtype)
        if have != need:
            raise UserError(
                f"{where}: {name} is {have}, the model needs {need}; is it a checkpoint of this run?"
            )
        if not value.isfinite().all():
            raise UserError(f"{where}: {name} holds something that is not a finite number")


def _parse_state(state: Any, with_scaler: bool, where: str) -> tuple[int, dict[str, Any] | None]:
    """(steps of the schedule, numbers of the loss scaler)."""
    if not isinstance(state, dict) or set(state) != {"schedule_steps", "scaler"}:
        raise UserError(f'{where}: must be an object with "schedule_steps" and "scaler"')
    steps, numbers = state["schedule_steps"], state["scaler"]
    if type(steps) is not int or not 0 <= steps < 2**53:
        raise UserError(f"{where}: schedule_steps must be a whole number, is {str(steps)[:40]!r}")
    if (numbers is not None) != with_scaler:
        raise UserError(f"{where}: fits another --mixed-precision than this run's")
    if numbers is not None and not _is_scaler(numbers):
        raise UserError(f"{where}: scaler must hold the numbers {', '.join(SCALER)}")
    return steps, numbers


def _is_scaler(numbers: Any) -> bool:
    return (
        isinstance(numbers, dict)
        and set(numbers) == set(SCALER)
        and all(type(numbers[name]) is kind for name, kind in SCALER.items())
        and all(is_finite(value) and value >= 0 for value in numbers.values())
    )


def _optimizer_state(model: Any, optimizer: Any, moments: Tensors) -> dict[str, Any]:
    """The state dict that `optimizer.load_state_dict` takes: weights are numbered in the order of its groups."""
    state = optimizer.state_dict()
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    numbered = {}
    for number, parameter in enumerate(parameters):
        name = names[id(parameter)]
        if f"step:{name}" in moments:
            numbered[number] = {key: moments[f"{key}:{name}"] for key in KEYS}
    return state | {"state": numbered}
