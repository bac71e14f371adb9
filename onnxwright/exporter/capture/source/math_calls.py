"""Functions of the module `math` of numbers that are known at run time only, or of dynamic sizes.

Python computes them with a `float`: a size would become that of the example, a value is unknown.
In rewritten code they are operators of the model on a double, as Python's numbers are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from onnxwright.exporter.capture.source.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.unknown_numbers import is_unknown


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


def _isqrt(n: Any) -> Any:
    root = torch.sqrt(n.to(torch.float64)).to(torch.int64)
    root = root - (root * root > n).to(torch.int64)  # a double has not all digits
    return root + ((root + 1) * (root + 1) <= n).to(torch.int64)


def _comb(n: Any, k: Any) -> Any:
    found = torch.ones((), dtype=torch.int64)
    for i in range(k):
        found = found * (n - i).clamp(min=0) // (i + 1)
    return found


# Functions of integers, which give integers.
_OF_INTEGERS: dict[Any, Callable[..., Any]] = {
    math.gcd: torch.gcd, math.lcm: torch.lcm, math.isqrt: _isqrt,
}  # fmt: skip
# PyTorch has these for symbolic numbers.
_OF_SYMBOLS = (math.floor, math.ceil, math.trunc)


def math_(function: Any, *args: Any) -> Any:
    """`math.sqrt(x)` and the like; any other function is called as it is."""
    session = current()
    is_own = getattr(function, "__module__", None) == "math" and session is not None
    if is_own and tracer() is not None:
        found = _of_several(function, *args)
        if found is not None and session is not None:
            session.numbers.add(found)
            return found
    own = _FUNCTIONS.get(function) if is_own else None
    if own is None or session is None or tracer() is None or not any(map(_is_open, args)):
        return function(*args)
    if function in _OF_SYMBOLS and isinstance(args[0], SYMBOLS):
        return function(*args)
    result = own(*map(_as_double, args))
    session.numbers.add(result)
    return result


def _of_several(function: Any, *args: Any) -> Any:
    """Functions of integers, and of a list; None for others, and where Python knows the result."""
    if function is math.fsum and len(args) == 1 and isinstance(args[0], (list, tuple)):
        parts = [] if hasattr(args[0], "rows") else list(args[0])
        return sum(map(_as_double, parts)) if any(map(_is_open, parts)) else None
    if not any(map(_is_open, args)):
        return None
    if function is math.comb and len(args) == 2 and isinstance(args[1], int):
        return _comb(_as_whole(args[0]), args[1])
    own = _OF_INTEGERS.get(function)
    if own is None or (len(args) != 2 and function is not math.isqrt):
        return None
    return own(*map(_as_whole, args))


def _as_whole(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.reshape(()).to(torch.int64)
    return torch.full((), value, dtype=torch.int64)


def _is_open(value: Any) -> bool:
    """Whether a number is symbolic, or a tensor that is known at run time only."""
    if isinstance(value, SYMBOLS):
        return value.node.constant is None
    return isinstance(value, torch.Tensor) and is_unknown(value)


def _as_double(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.reshape(()).to(torch.float64)
    if isinstance(value, torch.SymInt):
        return torch.full((), value, dtype=torch.int64).to(torch.float64)
    return torch.scalar_tensor(value, dtype=torch.float64)
