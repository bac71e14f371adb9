"""Operators of a backend's values: each dunder asks the same functions as the compiled code.

`ValueOperators` is the mixin of an eager `Tensor` and of a `GraphValue`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from onnxwright.diagnostics.catalogue.syntax import UnsupportedExpression
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics import arithmetic, indexing
from onnxwright.semantics.array_methods import ArrayMethods
from onnxwright.semantics.assignment import assign
from onnxwright.semantics.backend import Backend, is_value
from onnxwright.semantics.literals import is_number_like, own_array
from onnxwright.semantics.numpy_functions.table import fresh
from onnxwright.semantics.operands import SYMBOLS
from onnxwright.semantics.shared_memory import as_views, is_view_index, write
from onnxwright.types.roles import BackendValue


def _operand(x: object) -> bool:
    if is_value(x) or is_number_like(x) or own_array(x) is not None:
        return True
    return isinstance(x, (list, tuple)) and all(_operand(item) for item in x)


def _operator(name: str, *, reflected: bool = False) -> Callable[[Any, object], Any]:
    """The method of a binary operator, for values on its left or on its right."""

    def apply(self: Any, other: object) -> Any:
        if not _operand(other):
            return NotImplemented
        sides = (other, self) if reflected else (self, other)
        return arithmetic.binary(self._backend(), name, *sides)

    apply.__name__ = f"__{'r' if reflected else ''}{name.strip('_')}__"
    words = f"other {SYMBOLS[name]} self" if reflected else f"self {SYMBOLS[name]} other"
    apply.__doc__ = f"`{words}`, as `semantics.arithmetic` defines it."
    return apply


def _both(name: str) -> tuple[Callable[[Any, object], Any], Callable[[Any, object], Any]]:
    return _operator(name), _operator(name, reflected=True)


class ValueOperators(ArrayMethods, BackendValue):
    """Python's operators on a value; a subclass says which backend it belongs to."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def _backend(self) -> Backend[Any]:
        raise AssertionError(f"{type(self).__name__} does not say which backend it belongs to")

    __add__, __radd__ = _both("add")
    __sub__, __rsub__ = _both("sub")
    __mul__, __rmul__ = _both("mul")
    __truediv__, __rtruediv__ = _both("truediv")
    __floordiv__, __rfloordiv__ = _both("floordiv")
    __mod__, __rmod__ = _both("mod")
    __pow__, __rpow__ = _both("pow")
    __matmul__, __rmatmul__ = _both("matmul")
    __and__, __rand__ = _both("and_")
    __or__, __ror__ = _both("or_")
    __xor__, __rxor__ = _both("xor")
    __lshift__, __rlshift__ = _both("lshift")
    __rshift__, __rrshift__ = _both("rshift")
    __lt__, __le__ = _operator("lt"), _operator("le")
    __gt__, __ge__ = _operator("gt"), _operator("ge")

    def __eq__(self, other: object) -> Any:
        if other is None or not _operand(other):
            return NotImplemented
        return arithmetic.binary(self._backend(), "eq", self, other)

    def __ne__(self, other: object) -> Any:
        if other is None or not _operand(other):
            return NotImplemented
        return arithmetic.binary(self._backend(), "ne", self, other)

    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return arithmetic.unary(self._backend(), "neg", self)

    def __pos__(self) -> Any:
        return self._own(arithmetic.unary(self._backend(), "pos", self))

    def __invert__(self) -> Any:
        return arithmetic.unary(self._backend(), "invert", self)

    def __abs__(self) -> Any:
        return self._own(arithmetic.unary(self._backend(), "abs", self))

    def __round__(self, digits: int | None = None) -> Any:
        return self._own(arithmetic.round_half_even(self._backend(), self, digits))

    def _own(self, other: Any) -> Any:
        """A result that is this value, as a value of its own: numpy gives a copy."""
        return fresh(self._backend(), other) if other is self else other

    def __getitem__(self, index: object) -> Any:
        item = indexing.subscript(self._backend(), self, index)
        return as_views(item, self, index) if is_view_index(index) else item

    def __setitem__(self, index: object, value: object) -> None:
        set_item = functools.partial(assign, self._backend())
        updated = set_item(self, index, value)
        for one, changed in write(self, updated, set_item, type(self)._forget):
            one._become(changed)

    def __delitem__(self, index: object) -> None:
        advice = "elements of a tensor stay: make another tensor of those that are wanted"
        fail(UnsupportedExpression(construct="`del` of a part of a value", advice=advice))

    def _become(self, other: Any) -> None:  # noqa: ARG002 - subclasses use it
        """Hold the value that `made` holds."""
        raise AssertionError(f"{type(self).__name__} does not say how it changes")

    def _forget(self, written: Any) -> None:
        """Be unreadable: what this shares memory with was written into."""

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> Any:
        return other // self, other % self
