"""The one mode through which each call of a function of torch passes in a capture.

The handlers of the calls, and their order, are in `ORDER`.  Most calls concern none of them: a look
at the function and at the classes of its arguments says so.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from onnxwright.exporter.capture.decisions.size_amounts import Arguments
from onnxwright.exporter.capture.lists.torch_functions import ListFunctions
from onnxwright.exporter.capture.quantized.operators import QuantizedTensors
from onnxwright.exporter.capture.replacements.opaque_sizes import OpaqueSizes
from onnxwright.exporter.capture.replacements.size_tensors import SizeTensors
from onnxwright.exporter.capture.replacements.slice_writes import SliceWrites
from onnxwright.exporter.capture.replacements.substitutes import Substitutes
from onnxwright.exporter.capture.session.call_handlers import CallHandler
from onnxwright.exporter.capture.session.program_lists import is_rows
from onnxwright.exporter.capture.values.calls import Candidates, OtherNames
from onnxwright.exporter.capture.values.texts import PythonCalls

ORDER: tuple[type[CallHandler], ...] = (
    # A buffer by another name is, for all handlers, what PyTorch traces in its place.
    OtherNames,
    # What Python asks of a number calls no operator.
    PythonCalls,
    # Tensors of sizes become sizes again before any other handler looks at the arguments.
    SizeTensors,
    # A replacement calls functions of torch itself: the handlers below see these calls.
    Substitutes,
    # What a replacement of `x[i] = y` writes to is known here.
    SliceWrites,
    # A result gets opaque sizes when the handlers below have computed it.
    OpaqueSizes,
    # Each candidate is called by itself: the handlers below never see one of several values.
    Candidates,
    # Numbers get their general form before tensors are split, or lists joined, by them.
    Arguments,
    ListFunctions,
    # Operators on quantized tensors: no handler above calls one.
    QuantizedTensors,
)
"""The handlers in the order in which they are asked, each with the reason for its place."""


class TorchCalls(TorchFunctionMode):  # type: ignore[misc]
    """In this context, handlers say what calls of functions of torch give.

    Args:
        handlers: those of the capture, in any order.
    """

    def __init__(self, *handlers: CallHandler) -> None:
        super().__init__()
        self._handlers = [h for kind in ORDER for h in handlers if isinstance(h, kind)]
        self._first = 0
        self._by_function: dict[Any, int] = {}
        for n, handler in enumerate(self._handlers):
            for function in handler.functions:
                self._by_function[function] = self._by_function.get(function, 0) | 1 << n
        self._by_kind: dict[type, int] = {}
        self._has_kinds = any(h.kinds or h.exact_kinds for h in self._handlers)
        self._has_after = any(handler.is_after for handler in self._handlers)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch as the first handler that it concerns says."""
        kwargs = kwargs or {}
        is_read = getattr(func, "__name__", "") == "__get__" and func not in self._by_function
        # No operator runs; PyTorch names the line of an assertion by the frames that call it.
        if is_read or func is torch._assert:
            return func(*args, **kwargs)
        first, place = self._first, self._place(func, args, kwargs)
        if place is None:
            result = func(*args, **kwargs)
        else:
            result = self._calls_below(place, self._handlers[place].on_call, func, args, kwargs)
        if self._has_after:
            last = len(self._handlers) - 1 if place is None else place
            for n in range(last, first - 1, -1):
                if self._handlers[n].is_after:
                    below = functools.partial(self._calls_below, n)
                    result = self._handlers[n].after(args, result, below)
        return result

    def _place(self, func: Any, args: Any, kwargs: dict[str, Any]) -> int | None:
        """The place of the first handler that is asked about a call; None if there is none."""
        asked = self._by_function.get(func, 0)
        for value in _leaves((*args, *kwargs.values())) if self._has_kinds else ():
            kind = type(value)
            of_kind = self._by_kind.get(kind)
            asked |= self._of_kind(kind) if of_kind is None else of_kind
        for n in range(self._first, len(self._handlers)):
            if asked >> n & 1 or self._handlers[n].is_for_all():
                return n
        return None

    def _of_kind(self, kind: type) -> int:
        """The handlers that are asked about arguments of a class, as bits."""
        handler_bits = sum(
            1 << n
            for n, h in enumerate(self._handlers)
            if issubclass(kind, h.kinds) or kind in h.exact_kinds
        )
        self._by_kind[kind] = handler_bits
        return handler_bits

    def _calls_below(self, place: int, function: Any, *args: Any) -> Any:
        """What a function gives whose calls of torch pass the handlers after a place."""
        before = self._first
        self._first = place + 1
        try:
            with self:
                return function(*args)
        finally:
            self._first = before


def _leaves(values: Any) -> Iterator[Any]:
    """What is in tuples, lists, dicts and slices, and these."""
    for value in values:
        yield value
        if isinstance(value, slice):
            yield from (value.start, value.stop, value.step)
        if isinstance(value, (tuple, list)) and not is_rows(value):
            yield from _leaves(value)
        elif isinstance(value, dict):
            yield from _leaves(value.values())
