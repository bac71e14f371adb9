"""Types of the functions that rules are written with: `Op`, `Value`, `Operand`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from onnxwright.types.dtypes import DType


class Value(Protocol):
    """A value of a pattern, or a value of the graph that a replacement builds with.

    In a pattern only the operators and calls have a meaning; in a replacement the facts do, each
    None where it is not known.
    """

    @property
    def dtype(self) -> DType | None:
        """The element type."""

    @property
    def shape(self) -> Any:
        """The dimensions as a tuple: numbers, names, None where unknown; None without a rank."""

    @property
    def rank(self) -> int | None:
        """The number of dimensions."""

    def __add__(self, other: Any, /) -> Value:
        """`Add`."""

    def __radd__(self, other: Any, /) -> Value:
        """`Add`."""

    def __sub__(self, other: Any, /) -> Value:
        """`Sub`."""

    def __rsub__(self, other: Any, /) -> Value:
        """`Sub`."""

    def __mul__(self, other: Any, /) -> Value:
        """`Mul`."""

    def __rmul__(self, other: Any, /) -> Value:
        """`Mul`."""

    def __truediv__(self, other: Any, /) -> Value:
        """`Div`."""

    def __rtruediv__(self, other: Any, /) -> Value:
        """`Div`."""

    def __pow__(self, other: Any, /) -> Value:
        """`Pow`."""

    def __matmul__(self, other: Any, /) -> Value:
        """`MatMul`."""

    def __neg__(self) -> Value:
        """`Neg`."""

    def __lt__(self, other: Any, /) -> Value:
        """`Less`."""

    def __le__(self, other: Any, /) -> Value:
        """`LessOrEqual`."""

    def __gt__(self, other: Any, /) -> Value:
        """`Greater`."""

    def __ge__(self, other: Any, /) -> Value:
        """`GreaterOrEqual`."""


class Op(Protocol):
    """The operators of one opset: calls make nodes of the pattern, or of the replacement."""

    @property
    def version(self) -> int:
        """The version of the opset."""

    @property
    def backend(self) -> Any:
        """What builds the replacement."""

    def constant(self, array: Any, /) -> Any:
        """A value that holds an array."""

    def __getattr__(self, name: str, /) -> Callable[..., Any]:
        """An operator."""
