"""Tensors that hold a number computed from sizes: the number is followed as a size.

`torch.as_tensor(x.shape[0] / 2)` makes torch take the number of the example inputs, and
`x[:length]` with a tensor `length` reads its value.  With `SizeTensors` the first is an operator
of the dynamic number, and the second a slice to a symbolic size, as for a number that never was a
tensor.  Numbers that a module keeps as tensors (buffers that are not saved, as the strides of an
audio codec) are known where they are computed with sizes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from torch.utils.weak import WeakIdKeyDictionary

from onnxwright.exporter.capture.control.replacement_table import Substitute, in_force
from onnxwright.exporter.capture.replacements.size_numbers import (
    RULES,
    is_integer,
    plain,
    ratio_of,
    without_fraction,
)
from onnxwright.exporter.capture.session.call_handlers import CallHandler
from onnxwright.exporter.capture.session.number_forms import SIZES

_MAKERS = (torch.tensor, torch.as_tensor, torch.scalar_tensor, torch.asarray)
_T = torch.Tensor

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


class SizeTensors(CallHandler):
    """Numbers that follow from sizes stay symbolic where they pass a tensor.

    Args:
        model: the module that is captured; None to know no tensors that it keeps.
        table: functions that take dynamic numbers in the place of torch's.
    """

    def __init__(
        self, model: torch.nn.Module | None = None, table: tuple[Substitute, ...] = ()
    ) -> None:
        self._functions = in_force(table)
        self.functions = (*_MAKERS, *self._functions)
        self._numbers: dict[int, _Known] = {}
        self._kept = [] if model is None else _kept_numbers(model)
        # The versions that tensors which modules keep had when they were first seen.
        self._versions = WeakIdKeyDictionary()

    def is_for_all(self) -> bool:
        """Whether there is a tensor of a known number."""
        return bool(self._numbers or self._kept)

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function of torch, and follow the numbers in its arguments."""
        if func in _MAKERS and args and isinstance(args[0], SIZES):
            return self._tensor_of_number(func, args[0], kwargs)
        if func in self._functions:
            args = self._read(args) if func is torch.linspace else args
            return self._functions[func](*args, **kwargs)
        if func in _READS and args and not kwargs:
            number = self._number(args[0])
            if number is not None:
                return bool(plain(number)) if func is _T.__bool__ else plain(number)
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

    def _tensor_of_number(self, func: Any, number: Any, kwargs: dict[str, Any]) -> Any:
        """A tensor of a dynamic number."""
        whole = is_integer(number) and func is not torch.scalar_tensor
        default = torch.int64 if whole else torch.get_default_dtype()
        dtype = kwargs.get("dtype") or default
        result = torch.scalar_tensor(number, dtype=dtype, device=kwargs.get("device"))
        self._remember(result, number)
        return result

    def _remember(self, tensor: Any, number: Any) -> None:
        """Know a tensor's number, in the kind of the tensor's type."""
        if isinstance(number, torch.Tensor):
            return
        if tensor.dtype.is_floating_point:
            number = ratio_of(number) or torch.sym_float(number)
        elif tensor.dtype in _WHOLE and not is_integer(number):
            number = without_fraction(number)
        elif tensor.dtype not in (*_WHOLE, torch.bool):
            return
        key = id(tensor)
        gone = weakref.ref(tensor, lambda _: self._numbers.pop(key, None))
        self._numbers[key] = _Known(gone, _version(tensor), number)

    def number_of(self, value: Any) -> Any:
        """The number of a tensor, as Python or PyTorch has it; None where it is not known."""
        number = self._number(value)
        return None if number is None else plain(number)

    def _number(self, value: Any) -> Any:
        """The number of a tensor, if it follows from sizes or is kept; None otherwise."""
        if not isinstance(value, torch.Tensor) or value.ndim:
            return None
        size = self._numbers.get(id(value))
        if size is not None and size.tensor() is value:
            return size.number if size.version == _version(value) else None
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
        return value if number is None else plain(number)

    def _follow(
        self, func: Any, args: Any, operands: Any, kwargs: dict[str, Any], result: Any
    ) -> None:
        """Know the number of a result whose operands have known numbers."""
        if not isinstance(result, torch.Tensor) or result.ndim or self._number(result) is not None:
            return
        if not any(isinstance(n, SIZES) or n is not a for n, a in zip(operands, args)):
            return
        if func is _T.to:
            self._remember(result, operands[0])
            return
        rule = RULES.get(func)
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
