"""Tensors that hold a number computed from sizes: the number is followed as a size.

`torch.as_tensor(x.shape[0] / 2)` makes torch take the number of the example inputs, and
`x[:length]` with a tensor `length` reads its value.  Within `SizeTensors` the first is an operator
of the dynamic number, and the second a slice to a symbolic size, as for a number that never was a
tensor.  Numbers that a module keeps as tensors (buffers that are not saved, as the strides of an
audio codec) are known where they are computed with sizes.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

_SYMBOLS = (torch.SymInt, torch.SymFloat)
_MAKERS = (torch.tensor, torch.as_tensor, torch.scalar_tensor, torch.asarray)
_T = torch.Tensor


@dataclass(frozen=True)
class _Ratio:
    """A number of a float tensor that is a quotient of integers: rounded without floats.

    Fields:
        over: an integer or a symbolic one.
        under: an integer above 0.
    """

    over: Any
    under: int

    def value(self) -> Any:
        """As a float."""
        return torch.sym_float(self.over) if self.under == 1 else self.over / self.under


def _ratio(number: Any) -> _Ratio | None:
    """A number as a quotient of integers; None if it is not one."""
    if isinstance(number, _Ratio):
        return number
    if _is_integer(number):
        return _Ratio(number, 1)
    return _Ratio(int(number), 1) if isinstance(number, float) and number.is_integer() else None


def _plain(number: Any) -> Any:
    """A number of Python, or a symbolic one."""
    return number.value() if isinstance(number, _Ratio) else number


def _exact(name: str) -> Callable[[Any, Any], Any]:
    """`add`, `sub` or `mul`, of quotients exactly."""
    function = getattr(operator, name)

    def computed(a: Any, b: Any) -> Any:
        one, two = _ratio(a), _ratio(b)
        if (isinstance(a, _Ratio) or isinstance(b, _Ratio)) and one and two:
            if name == "mul":
                return _Ratio(one.over * two.over, one.under * two.under)
            if one.under == two.under:
                return _Ratio(function(one.over, two.over), one.under)
            over = function(one.over * two.under, two.over * one.under)
            return _Ratio(over, one.under * two.under)
        return function(_plain(a), _plain(b))

    return computed


def _of_plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*map(_plain, args))


def _divided(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    whole = _is_integer(a) and _is_integer(b)
    if whole and (rounding_mode == "floor" or (rounding_mode and _is_positive(a, b))):
        return a // b
    one, two = _ratio(a), _ratio(b)
    if rounding_mode is None and one and two and isinstance(two.over, int) and two.over > 0:
        return _Ratio(one.over * two.under, one.under * two.over)
    found = operator.truediv(_plain(a), _plain(b))
    if rounding_mode is None:
        return found
    return math.floor(found) if rounding_mode == "floor" else torch.sym_int(found)


def _ceil(number: Any) -> Any:
    if isinstance(number, _Ratio):
        return _Ratio(-(-number.over // number.under), 1)
    return number if _is_integer(number) else torch.sym_float(math.ceil(number))


def _floor(number: Any) -> Any:
    if isinstance(number, _Ratio):
        return _Ratio(number.over // number.under, 1)
    return number if _is_integer(number) else torch.sym_float(math.floor(number))


def _whole(number: Any) -> Any:
    """Without what is behind the point."""
    if isinstance(number, _Ratio):
        if number.under == 1:
            return number.over
        if _is_positive(number.over, number.under):
            return number.over // number.under
    return torch.sym_int(_plain(number))


def _is_positive(a: Any, b: Any) -> bool:
    """Whether a division of sizes has the same result however it is rounded down."""
    return bool(statically_known_true(a >= 0) and statically_known_true(b > 0))


def _reversed(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: function(b, a)


def _truncated(number: Any) -> Any:
    return number if _is_integer(number) else _Ratio(_whole(number), 1)


# Functions of tensors -> the same of numbers, with the rest of the arguments as they are.
_RULES: dict[Any, Callable[..., Any]] = {}
for _names, _function in (
    (("add", "__add__", "__radd__"), _exact("add")),
    (("sub", "__sub__"), _exact("sub")),
    (("__rsub__",), _reversed(_exact("sub"))),
    (("mul", "__mul__", "__rmul__", "multiply"), _exact("mul")),
    (("div", "true_divide", "divide", "__truediv__", "__div__"), _divided),
    (("__rtruediv__", "__rdiv__"), _reversed(_divided)),
    (("floor_divide", "__floordiv__"), _of_plain(operator.floordiv)),
    (("__rfloordiv__",), _of_plain(_reversed(operator.floordiv))),
    (("remainder", "__mod__"), _of_plain(operator.mod)),
    (("neg", "__neg__"), lambda a: _exact("mul")(a, -1)),
    (("maximum",), _of_plain(torch.sym_max)),
    (("minimum",), _of_plain(torch.sym_min)),
    (("lt", "less", "__lt__"), _of_plain(operator.lt)),
    (("le", "less_equal", "__le__"), _of_plain(operator.le)),
    (("gt", "greater", "__gt__"), _of_plain(operator.gt)),
    (("ge", "greater_equal", "__ge__"), _of_plain(operator.ge)),
    (("ceil",), _ceil),
    (("floor",), _floor),
    (("trunc", "fix"), _truncated),
    (("sqrt",), _of_plain(torch.sym_sqrt)),
    (("clone", "detach", "contiguous", "squeeze", "cpu"), lambda a: a),
    (("float", "double"), lambda a: _ratio(a) or torch.sym_float(a)),
    (("long", "int"), _whole),
):
    # The same in place: `add_`, `+=`.
    _in_place = [f"__i{n[2:]}" if n.startswith("__") else f"{n}_" for n in _names]
    for _name in (*_names, *_in_place):
        for _home in (torch, _T):
            _found = getattr(_home, _name, None)
            if callable(_found):
                _RULES[_found] = _function

# Functions whose integer arguments are sizes or places: a tensor among them is read.
_SIZED = {
    getattr(home, name)
    for home, names in (
        (_T, ("view", "reshape", "expand", "repeat", "tile", "new_zeros", "new_ones", "new_full",
              "new_empty", "narrow", "unflatten", "split", "as_strided", "unfold", "roll")),
        (torch, ("zeros", "ones", "full", "empty", "arange", "linspace", "rand", "randn", "reshape",
                 "tile", "narrow", "split", "as_strided", "roll")),
        (functional, ("pad",)),
    )
    for name in names
}  # fmt: skip
_SIZED_MAKERS = {
    getattr(torch, name)
    for name in ("zeros", "ones", "full", "empty", "arange", "linspace", "rand", "randn")
}
_WHOLE = (torch.int64, torch.int32)
_READS = {
    getattr(_T, name) for name in ("item", "__index__", "__bool__", "tolist") if hasattr(_T, name)
}


@dataclass(frozen=True)
class _Known:
    """What is known of a tensor, until something is written to it.

    Fields:
        tensor: gives the tensor, while there is one.
        version: how often it was written to when its number was known.
        number: the number.
    """

    tensor: Callable[[], Any]
    version: int
    number: Any


def _version(tensor: Any) -> int:
    """How often a tensor, or a view of its memory, has been written to."""
    return 0 if tensor.is_inference() else int(tensor._version)


class SizeTensors(TorchFunctionMode):  # type: ignore[misc]
    """While it lasts, numbers that follow from sizes stay symbolic where they pass a tensor.

    Args:
        model: the module that is captured; None to know no tensors that it keeps.
    """

    def __init__(self, model: torch.nn.Module | None = None) -> None:
        super().__init__()
        self._numbers: dict[int, _Known] = {}
        self._kept = [] if model is None else _kept_numbers(model)
        # The versions that tensors which modules keep had when they were first seen.
        self._versions = WeakIdKeyDictionary()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch, and follow the numbers in its arguments."""
        kwargs = kwargs or {}
        if func in _MAKERS and args and isinstance(args[0], _SYMBOLS):
            return self._made(func, args[0], kwargs)
        if func is torch.istft and isinstance(kwargs.get("length"), torch.SymInt):
            return _inverse_of_length(*args, **kwargs)
        if not self._numbers and not self._kept and func not in _RULES:
            return func(*args, **kwargs)
        if func in _READS and args and not kwargs:
            number = self._number(args[0])
            if number is not None:
                return bool(_plain(number)) if func is _T.__bool__ else _plain(number)
        if func in (_T.__getitem__, _T.__setitem__):
            return func(args[0], self._sliced(args[1]), *args[2:], **kwargs)
        if func in _SIZED:
            # The tensor that is given a size stays one, though its value may be known.
            first = args[:1] if func not in _SIZED_MAKERS else ()
            rest = map(self._read, args[len(first) :])
            return func(*first, *rest, **{k: self._read(v) for k, v in kwargs.items()})
        operands = [a if (n := self._number(a)) is None else n for a in args]
        result = func(*args, **kwargs)
        self._follow(func, args, operands, kwargs, result)
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
            number = _ratio(number) or torch.sym_float(number)
        elif tensor.dtype in _WHOLE and not _is_integer(number):
            number = _whole(number)
        elif tensor.dtype not in (*_WHOLE, torch.bool):
            return
        key = id(tensor)
        gone = weakref.ref(tensor, lambda _: self._numbers.pop(key, None))
        self._numbers[key] = _Known(gone, _version(tensor), number)

    def _number(self, value: Any) -> Any:
        """The number of a tensor, if it follows from sizes or is kept; None otherwise."""
        if not isinstance(value, torch.Tensor) or value.ndim:
            return None
        known = self._numbers.get(id(value))
        if known is not None and known.tensor() is value:
            return known.number if known.version == _version(value) else None
        if self._kept and value.dtype in _WHOLE:
            for home, name, number in self._kept:
                if home._buffers.get(name) is value:
                    first = self._versions.setdefault(value, _version(value))
                    return number if first == _version(value) else None
        return None

    def _read(self, value: Any) -> Any:
        """An argument with numbers in the place of tensors where these are known."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(self._read, value)) if type(value) in (tuple, list) else value
        return self._bound(value)

    def _sliced(self, index: Any) -> Any:
        """An index whose tensors are numbers where these are known."""
        if isinstance(index, tuple):
            return tuple(self._sliced(part) for part in index)
        if isinstance(index, slice):
            return slice(*(self._bound(p) for p in (index.start, index.stop, index.step)))
        return index

    def _bound(self, value: Any) -> Any:
        number = self._number(value)
        return value if number is None else _plain(number)

    def _follow(
        self, func: Any, args: Any, operands: Any, kwargs: dict[str, Any], result: Any
    ) -> None:
        """Know the number of a result whose operands have known numbers."""
        if not isinstance(result, torch.Tensor) or result.ndim or self._number(result) is not None:
            return
        if not any(isinstance(n, _SYMBOLS) or n is not a for n, a in zip(operands, args)):
            return
        if func is _T.to:
            self._remember(result, operands[0])
            return
        rule = _RULES.get(func)
        if rule is None or any(isinstance(a, torch.Tensor) for a in operands):
            return
        try:
            self._remember(result, rule(*operands, **kwargs))
        except (TypeError, ValueError, NotImplementedError, AttributeError):
            return


def _kept_numbers(model: torch.nn.Module) -> list[tuple[torch.nn.Module, str, int]]:
    """Integers that modules keep as buffers that are not saved, so that they are not state."""
    return [
        (module, name, int(buffer))
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
        and name in module._non_persistent_buffers_set
        and not buffer.ndim
        and buffer.dtype in _WHOLE
        and type(buffer) in (torch.Tensor, torch.nn.Buffer)
        and buffer.device.type == "cpu"
    ]


def _inverse_of_length(
    frames: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: Any = None,
    return_complex: bool = False,
) -> Any:
    """`istft` of a dynamic length, which torch's operator takes as an integer only."""
    whole = torch.istft(
        frames, n_fft, hop_length, win_length, window, False, normalized, onesided, None,
        return_complex,
    )  # fmt: skip
    found = whole[..., n_fft // 2 if center else 0 :]
    return torch.nn.functional.pad(found, [0, length - found.shape[-1]])


def _is_integer(number: Any) -> bool:
    return isinstance(number, (int, torch.SymInt)) and not isinstance(number, bool)
