"""Tensors that hold a number computed from sizes: the number is followed as a size.

`torch.as_tensor(x.shape[0] / 2)` makes torch take the number of the example inputs, and
`x[:length]` with a tensor `length` reads its value.  Within `SizeTensors` the first is an operator
of the dynamic number, and the second a slice to a symbolic size, as for a number that never was a
tensor.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_SYMBOLS = (torch.SymInt, torch.SymFloat)
_MAKERS = (torch.tensor, torch.as_tensor, torch.scalar_tensor, torch.asarray)
_T = torch.Tensor


def _divided(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    found = operator.truediv(a, b)
    if rounding_mode is None:
        return found
    return math.floor(found) if rounding_mode == "floor" else torch.sym_int(found)


def _reversed(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: function(b, a)


def _rounded(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`ceil` and the like: of a float a float, of an integer itself."""
    return lambda a: a if _is_integer(a) else torch.sym_float(function(a))


# Functions of tensors -> the same of numbers, with the rest of the arguments as they are.
_RULES: dict[Any, Callable[..., Any]] = {}
for _names, _function in (
    (("add", "__add__", "__radd__"), operator.add),
    (("sub", "__sub__"), operator.sub),
    (("__rsub__",), _reversed(operator.sub)),
    (("mul", "__mul__", "__rmul__", "multiply"), operator.mul),
    (("div", "true_divide", "divide", "__truediv__", "__div__"), _divided),
    (("__rtruediv__", "__rdiv__"), _reversed(operator.truediv)),
    (("floor_divide", "__floordiv__"), operator.floordiv),
    (("__rfloordiv__",), _reversed(operator.floordiv)),
    (("remainder", "__mod__"), operator.mod),
    (("neg", "__neg__"), operator.neg),
    (("ceil",), _rounded(math.ceil)),
    (("floor",), _rounded(math.floor)),
    (("trunc", "fix"), _rounded(torch.sym_int)),
    (("sqrt",), torch.sym_sqrt),
    (("clone", "detach", "contiguous", "squeeze", "cpu"), lambda a: a),
    (("float", "double"), torch.sym_float),
    (("long", "int"), torch.sym_int),
):
    for _name in _names:
        for _home in (torch, _T):
            _found = getattr(_home, _name, None)
            if callable(_found):
                _RULES[_found] = _function

_READS = {getattr(_T, name) for name in ("item", "__index__", "tolist") if hasattr(_T, name)}


class SizeTensors(TorchFunctionMode):  # type: ignore[misc]
    """While it lasts, numbers that follow from sizes stay symbolic where they pass a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[int, tuple[Any, Any]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch, and follow the numbers in its arguments."""
        kwargs = kwargs or {}
        if func in _MAKERS and args and isinstance(args[0], _SYMBOLS):
            return self._made(func, args[0], kwargs)
        if not self._numbers:
            return func(*args, **kwargs)
        if func in _READS and args and not kwargs:
            number = self._number(args[0])
            if number is not None:
                return number
        if func in (_T.__getitem__, _T.__setitem__):
            return func(args[0], self._sliced(args[1]), *args[2:], **kwargs)
        result = func(*args, **kwargs)
        self._follow(func, args, kwargs, result)
        return result

    def _made(self, func: Any, number: Any, kwargs: dict[str, Any]) -> Any:
        """A tensor of a dynamic number."""
        whole = _is_integer(number) and func is not torch.scalar_tensor
        default = torch.int64 if whole else torch.get_default_dtype()
        dtype = kwargs.get("dtype") or default
        result = torch.scalar_tensor(number, dtype=dtype, device=kwargs.get("device"))
        self._remember(result, number)
        return result

    def _remember(self, tensor: Any, number: Any) -> None:
        """Know a tensor's number, in the kind of the tensor's type."""
        if tensor.dtype.is_floating_point:
            number = torch.sym_float(number)
        elif tensor.dtype in (torch.int64, torch.int32) and not _is_integer(number):
            number = torch.sym_int(number)
        elif tensor.dtype not in (torch.int64, torch.int32):
            return
        key = id(tensor)
        gone = weakref.ref(tensor, lambda _: self._numbers.pop(key, None))
        self._numbers[key] = (gone, number)

    def _number(self, value: Any) -> Any:
        """The number of a tensor, if it follows from sizes; None otherwise."""
        known = self._numbers.get(id(value)) if isinstance(value, torch.Tensor) else None
        return known[1] if known is not None and known[0]() is value else None

    def _sliced(self, index: Any) -> Any:
        """An index whose tensors are numbers where these are known."""
        if isinstance(index, tuple):
            return tuple(self._sliced(part) for part in index)
        if isinstance(index, slice):
            return slice(*(self._bound(p) for p in (index.start, index.stop, index.step)))
        return index

    def _bound(self, value: Any) -> Any:
        number = self._number(value)
        return value if number is None else number

    def _follow(self, func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """Know the number of a result whose operands have known numbers."""
        if not isinstance(result, torch.Tensor) or result.ndim or id(result) in self._numbers:
            return
        if not any(self._number(a) is not None for a in args):
            return
        if func is _T.to:
            self._remember(result, self._number(args[0]))
            return
        rule = _RULES.get(func)
        operands = [self._bound(a) for a in args]
        if rule is None or any(isinstance(a, torch.Tensor) for a in operands):
            return
        try:
            self._remember(result, rule(*operands, **kwargs))
        except (TypeError, ValueError, NotImplementedError, AttributeError):
            return


def _is_integer(number: Any) -> bool:
    return isinstance(number, (int, torch.SymInt)) and not isinstance(number, bool)
