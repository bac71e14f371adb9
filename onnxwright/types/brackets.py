"""Brackets of annotations: the class of `FLOAT`, and `Shape[...]`."""

from __future__ import annotations

import copyreg
import operator
from typing import Any, cast

from onnxwright.diagnostics.catalogue.annotations import BadDimension, ShapeGivenTwice
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.unicode_text import check_text
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.types.shapes import Dim, show_shape
from onnxwright.types.shapes import Shape as ShapeTuple


def read_shape(name: str, index: object) -> ShapeTuple | None:
    """The index between the brackets of an annotation, as a shape.

    Args:
        name: what is being subscripted, for the message.
        index: one dimension or a tuple of them; `...` is any shape, `()` a scalar.

    Returns:
        The shape, None for `...`.

    Raises:
        ScriptValueError: something is not a dimension.

    Example:
        >>> read_shape("FLOAT", ("N", 3)), read_shape("FLOAT", ...), read_shape("FLOAT", ())
        (('N', 3), None, ())
    """
    if index is ...:
        return None
    dims = tuple(index) if isinstance(index, (tuple, list)) else (index,)
    return tuple(_read_dim(name, dim) for dim in dims)


def _read_dim(name: str, dim: object) -> Dim:
    if dim is None:
        return dim
    if isinstance(dim, str) and dim.strip():
        check_text(dim, f"the dimension of {name}")
        return dim
    if not isinstance(dim, (bool, str, float)):
        try:
            number = operator.index(cast(Any, dim))
        except TypeError:
            number = -1
        if 0 <= number < 1 << 63:
            return number
    shown = "..." if dim is ... else repr(dim)
    fail(BadDimension(annotation=name, dimension=shown))


class TensorMeta(type):
    """The class of `FLOAT`: gives it brackets, a readable name and pickling."""

    # The types made of this one by brackets; False for these.
    _by_shape: dict[ShapeTuple, TensorMeta]
    _takes_shape: bool
    # NOTE: else brackets would make `for x in FLOAT` and `x in FLOAT` endless.
    __iter__ = None
    __contains__ = None

    def __getitem__(cls, index: object) -> type[Any]:
        shape = read_shape(cls.__name__, index)
        if not cls.__dict__.get("_takes_shape", True):
            fail(ShapeGivenTwice(annotation=cls.__name__, shape=show_shape(shape or ())))
        if shape is None:
            return cls
        # NOTE: 1 == True and 1 == 1.0, but only ints get this far.
        cache: dict[ShapeTuple, TensorMeta] = cls.__dict__.get("_by_shape") or {}
        annotated = cache.get(shape)
        if annotated is None:
            inside = ", ".join(repr(d) for d in shape) if shape else "()"
            annotated = TensorMeta(
                f"{cls.__name__}[{inside}]",
                (cls,),
                {"shape": shape, "_takes_shape": False, "__module__": cls.__module__},
            )
            cache[shape] = annotated
            type.__setattr__(cls, "_by_shape", cache)
        return annotated

    def __repr__(cls) -> str:
        return cls.__name__

    @property
    def onnx_type(cls) -> TensorType:
        """The type as data."""
        # An eager tensor class may derive from this one; its `dtype` is a property.
        dtype, shape = getattr(cls, "dtype", None), getattr(cls, "shape", None)
        return TensorType(
            dtype if isinstance(dtype, DType) else None, shape if isinstance(shape, tuple) else None
        )

    def to_type_proto(cls) -> Any:
        """The type as an `onnx.TypeProto`.

        Returns:
            A tensor type; its shape is left out when the rank is unknown.

        Raises:
            TypeError: this is `Tensor`, whose element type is unknown.

        Source:
            `TypeProto` in the ONNX IR specification.

        Example:
            >>> from onnxwright.types import FLOAT
            >>> FLOAT["N", 3].to_type_proto().tensor_type.elem_type
            1
        """
        import onnx

        kind = cls.onnx_type
        if kind.dtype is None:
            raise TypeError(f"{cls.__name__} has no element type, so it is not an ONNX type")
        return onnx.helper.make_tensor_type_proto(int(kind.dtype), kind.shape)


def _reduce_tensor(cls: TensorMeta) -> Any:
    if cls.__dict__.get("_takes_shape", True):
        return cls.__qualname__  # an ordinary class: found by its name
    return operator.getitem, (cls.__mro__[1], cast(Any, cls).shape)


copyreg.pickle(cast(Any, TensorMeta), _reduce_tensor)


class _ShapeMeta(type):
    """Gives `Shape` its brackets."""

    def __getitem__(cls, index: object) -> ShapeMark:
        return ShapeMark(read_shape("Shape", index))


class ShapeMark:
    """What `Shape["N", 3]` makes: a shape for use in `Annotated`."""

    __slots__ = ("dims",)

    def __init__(self, dims: ShapeTuple | None) -> None:
        self.dims = dims

    def __repr__(self) -> str:
        dims = self.dims
        inside = "..." if dims is None else ", ".join(repr(d) for d in dims) if dims else "()"
        return f"Shape[{inside}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeMark) and self.dims == other.dims

    def __hash__(self) -> int:
        return hash((ShapeMark, self.dims))


class Shape(metaclass=_ShapeMeta):
    """The shape of an annotation in the form type checkers accept.

    Example:
        >>> from typing import Annotated
    >>> from onnxwright.types import FLOAT
        >>> Annotated[FLOAT, Shape["N", 3]].__metadata__
        (Shape['N', 3],)
    """
