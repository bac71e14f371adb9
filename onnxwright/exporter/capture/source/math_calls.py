"""Functions of the module `math` of numbers that are known at run time only, or of dynamic sizes.

Python computes them with a `float`: a size would become that of the example, a value is unknown.
In rewritten code they are operators of the model on a double, as Python's numbers are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.model_lines import model_line
from onnxwright.exporter.capture.number_forms import as_tensor
from onnxwright.exporter.capture.source.errors import CannotRewriteError
from onnxwright.exporter.capture.source.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.unknown_numbers import is_unknown
from onnxwright.exporter.places import line_of


def _whole(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(x).to(torch.int64)


def _log(x: Any, base: Any = None) -> Any:
    return torch.log(x) if base is None else torch.log(x) / torch.log(base)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    math.sqrt: torch.sqrt, math.exp: torch.exp, math.expm1: torch.expm1, math.log: _log,
    math.log2: torch.log2, math.log10: torch.log10, math.log1p: torch.log1p, math.pow: torch.pow,
    math.sin: torch.sin, math.cos: torch.cos, math.tan: torch.tan, math.asin: torch.asin,
    math.acos: torch.acos, math.atan: torch.atan, math.atan2: torch.atan2, math.sinh: torch.sinh,
    math.cosh: torch.cosh, math.tanh: torch.tanh, math.fabs: torch.abs, math.fmod: torch.fmod,
    math.hypot: torch.hypot, math.erf: torch.erf, math.erfc: torch.erfc,
    math.degrees: torch.rad2deg, math.radians: torch.deg2rad, math.copysign: torch.copysign,
    math.isnan: torch.isnan, math.isinf: torch.isinf, math.isfinite: torch.isfinite,
    math.floor: _whole(torch.floor), math.ceil: _whole(torch.ceil), math.trunc: _whole(torch.trunc),
}  # fmt: skip


# PyTorch has these for symbolic numbers.
_OF_SYMBOLS = (math.floor, math.ceil, math.trunc)


def math_(function: Any, *args: Any) -> Any:
    """`math.sqrt(x)` and the like; any other function is called as it is.

    Raises:
        CannotRewriteError: a function without an operator is called with a number that is known at
            run time only.
    """
    session = current()
    is_own = getattr(function, "__module__", None) == "math"
    if not is_own:
        return bound(function)(*args)
    if session is None or tracer() is None or not any(map(_is_open, args)):
        return function(*args)
    own = _FUNCTIONS.get(function)
    if function in _OF_SYMBOLS and isinstance(args[0], SYMBOLS):
        return function(*args)
    if function is math.gcd and len(args) == 2:
        result = torch.gcd(*map(_as_whole, args))
    elif own is not None:
        result = own(*map(_as_double, args))
    elif any(isinstance(arg, (torch.Tensor, *SYMBOLS)) and is_unknown(arg) for arg in args):
        reason = f"`math.{function.__name__}` of a number that is known at run time only"
        advice = "compute it with operators of PyTorch, or of a number that Python knows"
        raise CannotRewriteError(reason, line_of(*model_line()), advice)
    else:
        return function(*args)
    session.numbers.add(result)
    return result


def _as_whole(value: Any) -> Any:
    return as_tensor(value, torch.int64).reshape(())


def _is_open(value: Any) -> bool:
    """Whether a number is symbolic, or a tensor that is known at run time only."""
    if isinstance(value, SYMBOLS):
        return value.node.constant is None
    return isinstance(value, torch.Tensor) and is_unknown(value)


def _as_double(value: Any) -> Any:
    value = as_tensor(value) if isinstance(value, torch.SymInt) else value
    return as_tensor(value, torch.float64).reshape(())
