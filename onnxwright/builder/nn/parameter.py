"""`Parameter`: a weight of a module, with its declared type and its numbers once they are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.builder.types import read_type
from onnxwright.diagnostics.catalogue.builder import StateMismatch
from onnxwright.diagnostics.catalogue.types import NotATensor
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir import adapters
from onnxwright.semantics.foreign import foreign_array
from onnxwright.semantics.literals import describe
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType, fits
from onnxwright.types.tensors import Tensor, TensorMeta

if TYPE_CHECKING:

    class _Base(Tensor):  # in `forward` it is a value, which operators take
        pass
else:
    _Base = object


class Parameter(_Base):
    """A weight of a module.

    In `forward` the attribute that holds it is a value of the graph that is being built; elsewhere
    it is this object.  A parameter with data becomes an initializer, one without an input of the
    model of the same name.

    Args:
        shape: its dimensions, or an annotation such as `FLOAT[4, 3]`; not given, the data decides.
        dtype: its element type in any spelling that `GraphBuilder.input` takes; not given, that of
            the data, and FLOAT without any.
        name: its name in the module, where that is not the name of the attribute.
        data: its numbers: a numpy array, a tensor of torch or onnx_ir, a TensorProto, a list.

    Attributes:
        kind: the declared type; None where nothing is declared.
        name: its name, if it has one of its own.
        data: what was given, or None.

    Raises:
        ScriptTypeError: `dtype` is not an element type (OW548), the data not a tensor (OW403).
        ScriptValueError: the data does not have the declared shape and element type (OW552).

    Example:
        >>> from onnxwright import FLOAT
        >>> Parameter([4, 3]), Parameter(FLOAT[2], data=np.ones(2, np.float32))
        (Parameter(FLOAT[4, 3]), Parameter(FLOAT[2], with data))
    """

    def __init__(
        self,
        shape: Sequence[int | str | None] | type[Tensor] | TensorMeta | None = None,
        dtype: Any = None,
        name: str | None = None,
        data: Any = None,
    ) -> None:
        self.name = name
        self.data: Any = None
        if isinstance(shape, TensorMeta):
            kind = read_type("a parameter", shape)
        else:
            kind = read_type("a parameter", dtype, shape)
        if not isinstance(kind, (TensorType, type(None))):
            fail(NotATensor(what=f"a parameter of the type {kind}"))
        self.kind = kind
        if data is not None:
            self.load(data)

    @property
    def shape(self) -> tuple[int | str | None, ...] | None:  # type: ignore[override]  # a value's
        """The dimensions, as far as they are declared or the data has them."""
        return self.type.shape

    @property
    def dtype(self) -> DType | None:  # type: ignore[override]  # a class variable there
        """The element type, likewise."""
        return self.type.dtype

    @property
    def type(self) -> TensorType:
        """The type of the data, or the declared one; FLOAT where neither says it."""
        if self.data is not None:
            return _type_of(_tensor(self.data, None))
        declared = TensorType(None) if self.kind is None else self.kind
        return TensorType(declared.dtype or DType.FLOAT, declared.shape)

    def load(self, data: Any, name: str | None = None) -> None:
        """Take numbers; arrays and tensors are not copied.

        Args:
            data: a numpy array, a tensor of torch or onnx_ir, a TensorProto, a list or a number.
            name: what the parameter is called in messages.

        Raises:
            ScriptTypeError: it is not a tensor (OW403).
            ScriptValueError: it does not have the declared shape and element type (OW552).
        """
        data_type = _type_of(_tensor(data, None))
        if self.kind is not None and not fits(data_type, self.kind):
            shown = f"the parameter `{name or self.name}`" if name or self.name else "a parameter"
            fail(StateMismatch(
                what=f"{shown} is {self.kind}, the data is {data_type}",
                advice="give data of that type, or change the shape or type of the parameter",
            ))  # fmt: skip
        self.data = data

    def tensor(self, name: str | None) -> ir.TensorProtocol | None:
        """The data as a tensor of onnx_ir.

        Args:
            name: the name of the tensor.

        Returns:
            The tensor; None without data.
        """
        return None if self.data is None else _tensor(self.data, name)

    def __repr__(self) -> str:
        return f"Parameter({self.type}{', with data' if self.data is not None else ''})"


def _tensor(data: Any, name: str | None) -> ir.TensorProtocol:
    if isinstance(data, onnx.TensorProto):
        data = ir.from_proto(data)
    if isinstance(data, ir.TensorProtocol):
        return data
    array = np.asarray(data) if isinstance(data, (list, tuple, int, float)) else foreign_array(data)
    if array is None:
        fail(NotATensor(what=describe(data)))
    if isinstance(data, (list, tuple, float)) and array.dtype == np.float64:
        array = array.astype(np.float32)
    tensor: ir.TensorProtocol = adapters.tensor(array, name)
    return tensor


def _type_of(tensor: ir.TensorProtocol) -> TensorType:
    shape = tuple(d if isinstance(d, int) else None for d in tensor.shape)
    return TensorType(DType(int(tensor.dtype)), shape)
