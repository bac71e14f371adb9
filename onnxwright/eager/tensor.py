"""`Tensor`: a numpy array with ONNX's operators, the value of eager mode.

Operators and indexing mean what they mean in compiled code: they come from `semantics.values` and
run on the evaluator of the moment.  Nothing here needs a runtime; `backend.py` hangs itself in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np

from onnxwright.diagnostics.caller import user_names, user_span
from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.catalogue.numpy_functions import WrittenElsewhere
from onnxwright.diagnostics.diagnostic import Label, fail
from onnxwright.eager.arrays import as_array, numpy_dtype
from onnxwright.eager.values import Array, MapValue, SequenceValue, onnx_dtype, show_value
from onnxwright.semantics.backend import Backend
from onnxwright.semantics.numpy_functions.table import FUNCTIONS
from onnxwright.semantics.shared_memory import as_views
from onnxwright.semantics.values import ValueOperators
from onnxwright.types import tensors as annotation
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.types.roles import EagerTensorBase

# What gives a tensor its backend; `backend.py` sets it.
_backend_now: Callable[[], Backend[Any]]


def set_backend_source(source: Callable[[], Backend[Any]]) -> None:
    """Say where tensors find the backend that runs their operators.

    Args:
        source: gives the backend of the moment.
    """
    global _backend_now  # noqa: PLW0603 - a registry of one, filled at import
    _backend_now = source


class Tensor(ValueOperators, EagerTensorBase):
    """An ONNX tensor that holds its value, a numpy array.

    Args:
        value: an array, a number, a nested list of numbers, or another tensor.
        dtype: the element type to convert to: a `DType`, an annotation such as `FLOAT`, or a
            numpy dtype.  Without it arrays keep theirs; Python numbers become FLOAT, INT64, BOOL
            or STRING.

    Raises:
        EagerTypeError: the object cannot be an array of an ONNX element type.

    Example:
        >>> x = Tensor([[1, 2], [3, 4]], dtype="float32")
        >>> x
        Tensor([[1., 2.],
                [3., 4.]], FLOAT[2, 2])
        >>> x.dtype, x.onnx_dtype, x.shape
        (dtype('float32'), <DType.FLOAT: 1>, (2, 2))
    """

    __slots__ = ("__weakref__", "_memory", "_part_of", "value")

    value: Array
    # The values that have the same memory in Python: views and what they are views of.
    _memory: WeakValueDictionary[int, Any] | None
    # What it is a part of, and where.
    _part_of: tuple[Tensor, Any]

    def __init__(self, value: Any, dtype: Any = None) -> None:
        self.value = as_array(value, dtype)

    def __class_getitem__(cls, shape: Any) -> Any:
        # NOTE: as an annotation, `Tensor["N", 3]` is any tensor with this shape.
        return annotation.Tensor[shape]

    def _backend(self) -> Backend[Any]:
        return _backend_now()

    def _become(self, other: Tensor) -> None:
        self.value = other.value

    def _forget(self, written: Any) -> None:
        own, other = user_names(self, written)
        span = user_span()
        labels = () if span is None else (Label(span, "written here"),)
        # NOTE: in place of the elements, which nobody can read any more.
        self.value = WrittenElsewhere(  # type: ignore[assignment]
            name="this tensor" if own is None else f"`{own}`",
            written="another tensor" if other is None else f"`{other}`",
            labels=labels,
        )
        self.__class__ = StaleTensor

    # -- facts -----------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type as numpy writes it."""
        dtype: np.dtype[Any] = self.value.dtype
        return dtype

    @property
    def onnx_dtype(self) -> DType:
        """The element type as ONNX writes it."""
        return onnx_dtype(self.value.dtype)

    @property
    def onnx_type(self) -> TensorType:
        """The element type and the shape."""
        return TensorType(onnx_dtype(self.value.dtype), self.value.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        shape: tuple[int, ...] = self.value.shape
        return shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.value.ndim

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.value.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.value.size

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take."""
        return self.value.nbytes

    # -- to numpy and Python ---------------------------------------------------------------------

    def numpy(self) -> Array:
        """The array itself, not a copy."""
        return self.value

    def item(self) -> Any:
        """The one element as a Python object."""
        if self.value.size != 1:
            self._not_one("one Python number", "index the tensor, or reduce it first")
        return self.value.reshape(())[()].item() if self.value.dtype != object else self._only()

    def tolist(self) -> Any:
        """The elements as a nested list."""
        return self.value.tolist()

    def astype(self, dtype: Any, *, copy: bool = True) -> Tensor:  # noqa: ARG002 - numpy's name
        """The same elements converted by numpy; `op.Cast` converts by ONNX's rules."""
        return wrap(self.value.astype(numpy_dtype(dtype)))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in FUNCTIONS:
            return super().__array_function__(function, types, args, kwargs)
        return function(*_arrays(args), **_arrays(kwargs))  # what ONNX does not have, on arrays

    def _only(self) -> Any:
        return self.value.reshape(-1)[0]

    def _not_one(self, expected: str, advice: str) -> NoReturn:
        fail(
            messages.NotOneNumber(
                kind=f"a tensor {show_value(self.value)}", use=expected, advice=advice
            )
        )

    def __bool__(self) -> bool:
        if self.value.size != 1:
            fail(messages.TruthOfManyElements(kind=show_value(self.value), size=self.value.size))
        return bool(self._only())

    def __index__(self) -> int:
        if self.value.size != 1 or self.value.dtype.kind not in "iu":
            dtype = self.onnx_dtype
            if self.value.size != 1 or not dtype.is_integer:
                self._not_one("an index", "a tensor of one integer is needed; cast or index first")
        return int(self._only())

    def __int__(self) -> int:
        return int(self._number("an int"))

    def __float__(self) -> float:
        return float(self._number("a float"))

    def __complex__(self) -> complex:
        return complex(self._number("a complex number"))

    def _number(self, expected: str) -> Any:
        if self.value.size != 1:
            self._not_one(expected, "index the tensor, or reduce it first")
        return self._only()

    def __len__(self) -> int:
        if self.value.ndim == 0:
            fail(messages.ScalarHasNoAxis(verb="measure"))
        return int(self.value.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if self.value.ndim == 0:
            fail(messages.ScalarHasNoAxis(verb="iterate over"))
        # Each row when it is asked for: the loop may write into this tensor.
        rows = range(len(self.value))
        return (as_views(wrap(np.asarray(self.value[n])), self, n) for n in rows)

    def __contains__(self, item: object) -> bool:
        array = item.value if isinstance(item, Tensor) else item
        return bool(np.any(self.value == array))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if dtype is None or np.dtype(dtype) == self.value.dtype:
            return self.value.copy() if copy else self.value
        if copy is False:
            raise ValueError(f"{self.value.dtype} to {np.dtype(dtype)} needs a copy")
        return self.value.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.value.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.value.__dlpack_device__()
        return device

    # -- as text ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        text = np.array2string(self.value, separator=", ", prefix="Tensor(")
        return f"Tensor({text}, {show_value(self.value)})"

    def __str__(self) -> str:
        return f"{self.value} {show_value(self.value)}" if self.value.ndim else str(self.value)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.value.size != 1:
            advice = "format elements of it, or use numpy's print options"
            self._not_one(f"one number formatted as {spec!r}", advice)
        return format(self.item(), spec)

    # -- copies ----------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (self.value,)

    def __copy__(self) -> Tensor:
        return wrap(self.value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return wrap(self.value.copy())


def _arrays(x: Any) -> Any:
    """The arguments of a function of numpy, with arrays for tensors."""
    if isinstance(x, Tensor):
        return x.value
    if isinstance(x, dict):
        return {key: _arrays(item) for key, item in x.items()}
    return type(x)(map(_arrays, x)) if type(x) in (list, tuple) else x


# What a tensor holds in its slot, under the property of the class below.
_held: Any = vars(Tensor)["value"]


class StaleTensor(Tensor):
    """A view of memory that was written into: reading it is an error."""

    __slots__ = ()

    @property
    def value(self) -> Array:  # type: ignore[override]
        """There is none.

        Raises:
            ScriptValueError: always (OW868).
        """
        note: WrittenElsewhere = _held.__get__(self)
        fail(note.at(user_span()))


class ConstantTensor(Tensor):
    """A tensor that the program text gives (a literal, an array of the enclosing scope)."""

    __slots__ = ()


class WeakTensor(Tensor):
    """A tensor that represents a Python number of kind `weak`: it takes the type it meets."""

    __slots__ = ("weak",)

    weak: str

    def __reduce__(self) -> tuple[Any, ...]:
        return weak, (self.value, self.weak)


_new = object.__new__


def wrap(array: Array) -> Tensor:
    """A tensor around an array, which must be a plain `numpy.ndarray` of an ONNX type.

    Args:
        array: the array; it is not copied.
    """
    tensor = _new(Tensor)
    tensor.value = array
    return tensor


def as_value(value: Any) -> Any:
    """A plain value as scripts see it: arrays become tensors, also inside sequences.

    Args:
        value: an array, a sequence, a map or None.

    Returns:
        The tensor or sequence.
    """
    if isinstance(value, np.ndarray):
        return wrap(value)
    if isinstance(value, SequenceValue):
        return SequenceValue([as_value(v) for v in value], value.elem)
    if isinstance(value, dict) and not isinstance(value, MapValue):
        return MapValue(value)
    return value


def constant(array: Array) -> ConstantTensor:
    """A tensor known to the program text.

    Args:
        array: its value; it is not copied.
    """
    tensor = _new(ConstantTensor)
    tensor.value = array
    return tensor


def weak(array: Array, kind: str) -> WeakTensor:
    """A tensor that represents a Python number.

    Args:
        kind: `bool`, `int` or `float`.
    """
    tensor = _new(WeakTensor)
    tensor.value = array
    tensor.weak = kind
    return tensor
