"""The small protocol that a way of running must offer: make a constant, emit an op, know a type.

Two backends exist: the graph backend (builds nodes) and the eager one (asks an evaluator).
A *value* is an object of the backend (an eager `Tensor`, a `GraphValue`); everything else that
meets a value (numbers, lists, arrays) is turned into one by `semantics.literals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np

from onnxwright.diagnostics.span import Span
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType
from onnxwright.types.roles import BackendValue

V = TypeVar("V")


class Backend(Protocol[V]):
    """What the semantics need of a way of running; `V` is the type of its values."""

    @property
    def opset(self) -> Opset:
        """The default-domain opset that operators such as `+` are taken from."""

    def constant(self, array: np.ndarray[Any, Any]) -> V:
        """A value holding `array`."""

    def emit(
        self,
        op: Op,
        inputs: Sequence[V | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[V, ...]:
        """Run or build one op that the semantics ask for; its inputs are values.

        A backend that builds may share equal calls, fold what is constant and simplify, so that
        fewer nodes or other ones are made; the values are those of the op.
        """

    def emit_written(
        self,
        op: Op,
        inputs: Sequence[V | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[V, ...]:
        """Run or build one op that the user wrote.

        Lowering a script adds exactly this node; a backend that traces treats it as `emit` does.
        """

    def type_of(self, value: V) -> OnnxType | None:
        """The type as far as it is known."""

    def constant_value(self, value: V) -> np.ndarray[Any, Any] | None:
        """The array a value is known to hold, where that is known."""

    def weak_kind(self, value: V) -> str | None:
        """`bool`, `int` or `float` for a value that represents a Python number, else None."""

    def as_weak(self, value: V, kind: str | None) -> V:
        """The same value, marked as representing a Python number of `kind` (None: a tensor)."""

    def here(self) -> Span | None:
        """The Python place being run or compiled, for messages."""


class Promotable:
    """An object that becomes a tensor where one is needed: an attribute parameter, a shape.

    Attributes:
        weak_kind: the Python kind it represents, if that is one number: it takes the element type
            of the tensor beside it.
    """

    __slots__ = ()

    @property
    def weak_kind(self) -> str | None:
        """`bool`, `int` or `float`; None if it has an element type of its own."""
        return None

    def as_value(self, b: Any, dtype: DType | None = None) -> Any:
        """The tensor.

        Args:
            b: the backend that makes it.
            dtype: the element type of the result, where it is known.
        """
        raise NotImplementedError


def is_value(x: object) -> TypeGuard[Any]:
    """Whether `x` is a value of some backend (and not a number, list, array or other object)."""
    return isinstance(x, BackendValue)
