"""Functions of `math` of rewritten code, of numbers that are known at run time only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from onnxwright.exporter.capture.source.expressions import MATH
from onnxwright.exporter.capture.source.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.source.session import current

# Those that give an integer of Python.
_WHOLE = ("floor", "ceil", "trunc")
_OTHER_NAMES = {"fabs": "abs"}


def math_(function: Any) -> Any:
    """A function of `math`, or what computes it at run time in its place."""
    name = getattr(function, "__name__", "")
    if current() is None or tracer() is None or name not in MATH:
        return function
    if function is not getattr(math, name):
        return function

    def computed(*args: Any) -> Any:
        if not any(_is_of_run_time(a) for a in args):
            return function(*args)
        return _computed(name, args)

    return computed


def _is_of_run_time(number: Any) -> bool:
    """Whether a number is known when the model runs only."""
    if isinstance(number, torch.Tensor):
        proxy = tracer().tensor_tracker.get(number)
        return number.numel() == 1 and proxy is not None and proxy.constant is None
    return isinstance(number, SYMBOLS) and number.node.constant is None


def _computed(name: str, args: tuple[Any, ...]) -> torch.Tensor:
    """The function of tensors without axes, which stand for numbers."""
    session = current()
    assert session is not None
    operator: Callable[..., Any] = getattr(torch, _OTHER_NAMES.get(name, name))
    found = operator(*(_as_float(a) for a in args))
    if name in _WHOLE:
        found = found.to(torch.int64)
    session.numbers.add(found)
    return found


def _as_float(number: Any) -> torch.Tensor:
    dtype = torch.get_default_dtype()
    if isinstance(number, torch.Tensor):
        number = number.reshape(())
        return number if number.dtype.is_floating_point else number.to(dtype)
    if isinstance(number, torch.SymInt):
        return torch.full((), number, dtype=torch.int64).to(dtype)
    return torch.scalar_tensor(number, dtype=dtype)
