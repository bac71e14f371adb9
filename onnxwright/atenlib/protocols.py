"""Types of what bodies are written with: `Op`, `Value`, `Size`, `Number`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from typing_extensions import TypeIs

from onnxwright.semantics import backend as semantics
from onnxwright.types.dtypes import DType
from onnxwright.types.shapes import Shape


class Value(Protocol):
    """A tensor inside a body: an eager tensor, a value of a graph, or a `Complex`.

    The element type and the rank are known: what calls a body sees to that.
    """

    @property
    def onnx_dtype(self) -> DType:
        """The element type."""

    @property
    def shape(self) -> Shape:
        """The dimensions: numbers, names, or None where nothing is known."""

    @property
    def rank(self) -> int:
        """The number of dimensions."""


# A real Python number: what torch calls a `Scalar`.  Complex ones come where a body says so.
Number: TypeAlias = bool | int | float
# A number of elements: an int, or an INT64 value without dimensions where only the run knows it.
Size: TypeAlias = int | Value
# What an operator takes as an input: numbers and lists become constants.
Operand: TypeAlias = Value | Number | complex | Sequence[Any] | np.ndarray[Any, Any] | None


class OpCall(Protocol):
    """One ONNX operator with one output."""

    def __call__(self, *inputs: Operand, **attributes: Any) -> Value:
        """Run it, or add it to the graph."""


class GraphBackend(semantics.Backend[Any], Protocol):
    """What bodies ask of a backend that builds a graph."""

    def made_by(self, value: Any, name: str, /) -> Any:
        """The node that made a value, if it is one of an operator; else None."""

    def value_of(self, value: Any, /) -> Any:
        """The value of an output of a node."""


class Op(Protocol):
    """The operators of one opset, run at once or added to a graph.

    An attribute is an operator: `op.Add(x, y)`.  Those with several outputs are listed: they give
    a tuple, as many as the schema and the attributes say or as `_outputs=` asks for.
    """

    @property
    def version(self) -> int:
        """The version of the opset."""

    @property
    def backend(self) -> semantics.Backend[Any]:
        """What runs or builds the operators."""

    def constant(self, array: np.ndarray[Any, Any], /) -> Value:
        """A value that holds an array."""

    def __getattr__(self, name: str, /) -> OpCall:
        """An operator with one output."""

    @property
    def Split(self) -> Callable[..., Sequence[Value]]:
        """Parts along an axis."""

    @property
    def TopK(self) -> Callable[..., tuple[Value, Value]]:
        """The largest elements, and their indices."""

    @property
    def Unique(self) -> Callable[..., Sequence[Value]]:
        """Distinct elements, first indices, inverse indices, counts."""

    @property
    def MaxPool(self) -> Callable[..., Any]:
        """One value, or a pair with the indices."""

    @property
    def Dropout(self) -> Callable[..., Any]:
        """One value, or a pair with the mask."""

    @property
    def BatchNormalization(self) -> Callable[..., Any]:
        """One value, or three with the running statistics."""

    @property
    def LayerNormalization(self) -> Callable[..., Any]:
        """One value, or up to three with the mean and the inverse of the deviation."""

    @property
    def Attention(self) -> Callable[..., Any]:
        """One value, or up to four with the keys, the values and the products."""

    @property
    def LSTM(self) -> Callable[..., Any]:
        """Outputs, last hidden state, last cell state."""

    @property
    def GRU(self) -> Callable[..., Any]:
        """Outputs, last hidden state."""

    @property
    def RNN(self) -> Callable[..., Any]:
        """Outputs, last hidden state."""

    @property
    def If(self) -> Callable[..., Any]:
        """A branch: what its callables return."""

    @property
    def Loop(self) -> Callable[..., Any]:
        """A loop: the last states, then what is collected."""

    @property
    def Scan(self) -> Callable[..., Any]:
        """A scan: the last states, then what is collected."""


def is_value(x: object) -> TypeIs[Value]:
    """Whether an argument is a value, and not a number, list, array or other object."""
    return semantics.is_value(x)


# The arguments of a call by name, as rules see them.
Arguments: TypeAlias = dict[str, Any]
