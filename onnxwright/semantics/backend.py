"""The small protocol that a way of running must offer: make a constant, emit an op, know a type.

Two backends exist: the graph backend (builds nodes) and the eager one (asks an evaluator).
A *value* is an object of the backend (an eager `Tensor`, a `GraphValue`); everything else that
meets a value (numbers, lists, arrays) is turned into one by `semantics.literals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from onnxwright.diagnostics.span import Span
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.types.kinds import OnnxType


class Backend(Protocol):
    """What the semantics need of a way of running."""

    @property
    def opset(self) -> Opset:
        """The default-domain opset that operators such as `+` are taken from."""

    def constant(self, array: np.ndarray[Any, Any]) -> Any:
        """A value holding `array`."""

    def emit(
        self,
        op: Op,
        inputs: Sequence[Any | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[Any, ...]:
        """Run or build one op whose inputs are values; exactly what was asked, nothing folded."""

    def type_of(self, value: Any) -> OnnxType | None:
        """The type as far as it is known."""

    def constant_value(self, value: Any) -> np.ndarray[Any, Any] | None:
        """The array a value is known to hold, where that is known."""

    def weak_kind(self, value: Any) -> str | None:
        """`bool`, `int` or `float` for a value that stands for a Python number, else None."""

    def as_weak(self, value: Any, kind: str | None) -> Any:
        """The same value, marked as standing for a Python number of `kind` (None: a tensor)."""

    def here(self) -> Span | None:
        """The Python place being run or compiled, for messages."""


def is_value(x: object) -> bool:
    """Whether `x` is a value of some backend (and not a number, list, array or other object)."""
    return getattr(type(x), "__ow_value__", False) is True
