"""Python numbers, lists and arrays next to tensors: one policy for every mode.

* A Python number (or list of them) takes the element type of the tensor it meets.  A fraction
  beside an integer tensor is cut, with a warning; a number out of range is an error, and so is one
  other than 0 and 1 beside a BOOL tensor.
* A numpy array, a numpy scalar other than `np.float64`, and a TensorProto keep their own type.
* Alone, a number becomes FLOAT, INT64, BOOL, STRING or COMPLEX64.
* A *weak* value represents a Python number known only at run time (a loop index, a number merged
  by an `if`): it follows the same rule, with a cast in the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.opset.op import Op
from onnxwright.opset.registry import first_version
from onnxwright.semantics.backend import Backend, Promotable, V, is_value
from onnxwright.semantics.foreign import foreign_array
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType

Array = np.ndarray[Any, Any]

DEFAULT_DTYPE = {
    "bool": DType.BOOL,
    "int": DType.INT64,
    "float": DType.FLOAT,
    "complex": DType.COMPLEX64,
    "str": DType.STRING,
}
# Plain Python numbers: nothing else needs to be asked of them.
PLAIN_NUMBERS = (bool, int, float)
_KIND_ORDER = ("bool", "int", "float", "complex")


def kind_of(x: object) -> str | None:
    """`bool`, `int`, `float`, `complex` or `str` for a Python scalar, else None."""
    if isinstance(x, bool):
        return "bool"
    if isinstance(x, int):
        return "int"
    if isinstance(x, float):
        return "float"
    if isinstance(x, complex):
        return "complex"
    if isinstance(x, (str, bytes)):
        return "str"
    return None


def is_number_like(x: object) -> bool:
    """Whether `x` is a Python scalar or a (nested) list or tuple of them: it has no own dtype."""
    if isinstance(x, (list, tuple)):
        return all(is_number_like(item) for item in x)
    return kind_of(x) is not None


def dtype_of(b: Backend[V], value: V) -> DType | None:
    """The element type of a value, where it is a tensor of known type."""
    kind = b.type_of(value)
    return kind.dtype if isinstance(kind, TensorType) else None


def rank_of(b: Backend[V], value: V) -> int | None:
    """The number of dimensions of a value, where known."""
    kind = b.type_of(value)
    if isinstance(kind, TensorType) and kind.shape is not None:
        return len(kind.shape)
    return None


def shape_of(b: Backend[V], value: V) -> tuple[int | str | None, ...] | None:
    """The dimensions of a value, where its rank is known."""
    kind = b.type_of(value)
    return kind.shape if isinstance(kind, TensorType) else None


def plain_kind(x: object) -> str:
    """The widest kind in a number or nested list: empty for an empty list, or `mixed`."""
    if isinstance(x, (list, tuple)):
        kinds = [plain_kind(item) for item in x]
        if not kinds:
            return ""
        if "str" in kinds:
            return "str" if all(k in ("str", "") for k in kinds) else "mixed"
        known_kinds = [k for k in kinds if k in _KIND_ORDER]
        return max(known_kinds, key=_KIND_ORDER.index) if known_kinds else ""
    return kind_of(x) or "mixed"


def _check_range(b: Backend[V], array: Array, dtype: DType) -> None:
    if not dtype.is_integer or array.size == 0:
        return
    low = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
    high = (1 << (dtype.bits - (1 if dtype.is_signed else 0))) - 1
    for number in (array.min(), array.max()):
        if not low <= int(number) <= high:
            _does_not_fit(b, number, dtype)


def _does_not_fit(b: Backend[V], number: object, dtype: DType) -> NoReturn:
    """Refuse a number that an element type does not hold."""
    shown = describe(number) if isinstance(number, (list, tuple)) else short_number(number)
    fail(messages.NumberDoesNotFit(number=shown, dtype=dtype.name, span=b.here()))


def short_number(number: object) -> str:
    """A number as text; a very long integer by its length, which Python may refuse to print."""
    if isinstance(number, int) and number.bit_length() > 256:
        return f"an integer of about {int(number.bit_length() * 0.30103) + 1} digits"
    return str(number)


def array_of(b: Backend[V], x: object, dtype: DType | None = None) -> Array:
    """A Python number or nested list as an array of `dtype` (or of its kind's default type)."""
    kind = plain_kind(x)
    if kind == "mixed":
        fail(messages.NotATensor(what=describe(x), span=b.here()))
    own = DEFAULT_DTYPE.get(kind, DType.INT64)
    target = dtype if dtype is not None else own
    if kind == "str":
        return np.array(_decoded(x), dtype=object)
    try:
        if kind == "float":
            array: Array = np.array(x, dtype=np.float64)
        elif kind == "int":
            array = np.asarray(np.array(x, dtype=object))
            if any(isinstance(item, (list, tuple)) for item in array.ravel()):
                raise ValueError
        else:
            array = np.array(x)
    except OverflowError:
        _does_not_fit(b, x, target)
    except (ValueError, TypeError):
        fail(messages.RaggedList(span=b.here()))
    if (
        target is DType.BOOL
        and kind in ("int", "float")
        and not np.all((array == 0) | (array == 1))
    ):
        _does_not_fit(b, x, target)  # not a truth value: `p | 2` would be `p | True`
    if kind == "int":
        _check_range(b, array, target)
        if target.is_float or target.is_complex:
            try:
                array = array.astype(np.float64)
            except OverflowError:
                _does_not_fit(b, max(array.ravel(), key=abs), target)
    if array.dtype.kind == "c" and not target.is_complex:
        _does_not_fit(b, x, target)  # numpy would drop the imaginary part
    if target is DType.STRING:
        fail(messages.NotATensor(what=f"{describe(x)} beside a STRING tensor", span=b.here()))
    if kind == "float" and target.is_integer:
        array = _truncated(b, array, target)
    return array.astype(target.numpy)


def _decoded(x: object) -> object:
    if isinstance(x, (list, tuple)):
        return [_decoded(item) for item in x]
    return x.decode() if isinstance(x, bytes) else x


def _truncated(b: Backend[V], array: Array, dtype: DType) -> Array:
    if not np.all(np.isfinite(array)):
        fail(messages.NumberDoesNotFit(number=str(array), dtype=dtype.name, span=b.here()))
    cut = np.trunc(array)
    if np.any(cut != array):
        number = ", ".join(str(v) for v in array.ravel()[:3])
        result = ", ".join(str(int(v)) for v in cut.ravel()[:3])
        warn(
            messages.NumberTruncated(number=number, result=result, dtype=dtype.name, span=b.here()),
            stacklevel=3,
        )
    _check_range(b, cut, dtype)
    return cut


def describe(x: object) -> str:
    """A short name of a Python object for messages."""
    if x is None:
        return "`None`"
    if isinstance(x, int) and x.bit_length() > 256:
        return short_number(x)
    if isinstance(x, (str, bytes, int, float, bool, complex)):
        text = repr(x)
        return f"`{text if len(text) <= 40 else text[:37] + '...'}`"
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)}"
    if callable(x):
        return f"the {type(x).__name__} `{getattr(x, '__name__', '?')}`"
    if isinstance(x, slice):
        return "a slice"
    return f"an object of type `{type(x).__name__}`"


def own_array(x: object) -> Array | None:
    """The array of an object with its own element type: numpy array or scalar, TensorProto."""
    if isinstance(x, np.ndarray):
        if x.dtype.kind in "US":
            return x.astype(object)
        return x
    if isinstance(x, np.generic) and not isinstance(x, (float, str, bytes)):
        return np.asarray(x)
    if type(x).__name__ == "TensorProto" and hasattr(x, "SerializeToString"):
        from onnx import numpy_helper

        return numpy_helper.to_array(x)  # type: ignore[arg-type]
    if hasattr(x, "__dlpack__") and hasattr(x, "__array__"):
        return foreign_array(x)
    return None


def as_value(b: Backend[V], x: object, *, like: V | None = None, dtype: DType | None = None) -> V:
    """A value of the backend for any object that can become a tensor.

    Args:
        x: a value, a number, a nested list or tuple (it may contain values), an array, a
            TensorProto.
        like: a value whose element type a number takes.
        dtype: the element type a number takes, where it is known.

    Raises:
        ScriptTypeError: `x` is not a tensor (OW403).
    """
    if dtype is None and like is not None:
        dtype = dtype_of(b, like)
    if type(x) not in PLAIN_NUMBERS:
        if is_value(x):
            value: V = x
            weak = b.weak_kind(value) is not None
            return strengthen(b, value, like=like, dtype=dtype) if weak else value
        array = own_array(x)
        if array is not None:
            return b.constant(_adapted(b, x, array, dtype))
        if isinstance(x, Promotable):  # an attribute reference, the shape of a value
            return as_value(b, x.as_value(b, dtype), like=like, dtype=dtype)
        if isinstance(x, range):
            x = list(x)
        if isinstance(x, (list, tuple)) and not is_number_like(x):
            return _stack(b, x, like, dtype)
        if kind_of(x) is None and not isinstance(x, (list, tuple)):
            fail(messages.NotATensor(what=describe(x), span=b.here()))
    if like is not None and dtype is None and plain_kind(x) != "str":
        raw = b.constant(array_of(b, x))
        return b.emit(
            _op(b, "CastLike", "a number beside a tensor of unknown type"), (raw, like), {}, 1
        )[0]
    if type(x) is float and (dtype is None or dtype.is_float):  # as `array_of` makes it
        return b.constant(np.array(x, dtype=np.float64).astype((dtype or DType.FLOAT).numpy))
    return b.constant(array_of(b, x, dtype))


def _adapted(b: Backend[V], x: object, array: Array, dtype: DType | None) -> Array:
    """A numpy array in the type of the tensor beside it, where the backend wants that.

    A fraction never becomes an integer, and an integer that does not fit is an error.
    """
    adapts = getattr(b, "adapts_arrays", False) and isinstance(x, (np.ndarray, np.generic))
    if not adapts or dtype is None or array.dtype in (object, dtype.numpy):
        return array
    own = DType.from_numpy(array.dtype)
    if own.is_integer and dtype.is_integer:
        _check_range(b, array.astype(object), dtype)
        return array.astype(dtype.numpy)
    if dtype.is_float and (own.is_float or own.is_integer):
        return array.astype(dtype.numpy)
    return array


def _stack(b: Backend[V], items: Sequence[object], like: V | None, dtype: DType | None) -> V:
    """A list that contains values, as one tensor: each item unsqueezed, then concatenated."""
    if like is None and dtype is None:
        strong = [i for i in items if is_value(i) and b.weak_kind(i) is None]
        arrays = [own_array(i) for i in items]
        if strong:
            like, dtype = strong[0], dtype_of(b, strong[0])
        else:
            own = [a for a in arrays if a is not None]
            if own:
                dtype = DType.from_numpy(own[0].dtype)
    if like is None and dtype is None:
        kinds = [b.weak_kind(i) if is_value(i) else plain_kind(i) for i in items]
        known_kinds = [k for k in kinds if k in _KIND_ORDER]
        if known_kinds:
            dtype = DEFAULT_DTYPE[max(known_kinds, key=_KIND_ORDER.index)]
    pieces = []
    for item in items:
        value = as_value(b, item, like=like, dtype=dtype)
        if dtype is not None and dtype_of(b, value) not in (None, dtype):
            left, right = dtype.name, str(dtype_of(b, value) and dtype_of(b, value).name)  # type: ignore[union-attr]
            fail(messages.MixedTypes(operation="[...]", left=left, right=right, span=b.here()))
        pieces.append(unsqueeze(b, value, (0,)))
    _check_rows(b, pieces)
    return concat(b, pieces, axis=0)


def _check_rows(b: Backend[V], pieces: Sequence[V]) -> None:
    """Refuse items of a list whose shapes are known to differ."""
    shapes = [s for s in (shape_of(b, piece) for piece in pieces) if s is not None]
    columns = zip(*shapes, strict=False)
    differ = any(len({d for d in dims if isinstance(d, int)}) > 1 for dims in columns)
    if differ or len({len(shape) for shape in shapes}) > 1:
        fail(messages.RaggedList(span=b.here()))


def strengthen(b: Backend[V], x: V, *, like: V | None = None, dtype: DType | None = None) -> V:
    """A weak value as a tensor of `dtype`, of the type of `like`, or of its kind's default."""
    kind = b.weak_kind(x)
    if kind is None:
        return x
    if like is not None and dtype is None:
        strong = b.as_weak(x, None)
        return b.emit(
            _op(b, "CastLike", "a number beside a tensor of unknown type"), (strong, like), {}, 1
        )[0]
    target = dtype if dtype is not None else DEFAULT_DTYPE[kind]
    if target is DType.BOOL and kind != "bool":
        _does_not_fit(b, f"a Python {kind}", target)
    if kind == "float" and target.is_integer:
        warn(
            messages.NumberTruncated(
                number="a Python float", result="an integer", dtype=target.name, span=b.here()
            ),
            stacklevel=3,
        )
    return cast(b, b.as_weak(x, None), target)


def _op(b: Backend[V], name: str, what: str) -> Op:
    """An operator of the backend's opset; the error names the version that introduced it."""
    if name not in b.opset:
        fail(
            messages.OpsetTooOld(
                what=what,
                op=name,
                needed=first_version("", name) or b.opset.version + 1,
                version=b.opset.version,
                span=b.here(),
            )
        )
    return b.opset[name]


def emit1(
    b: Backend[V], name: str, inputs: Sequence[V | None], what: str = "", **attributes: object
) -> V:
    """Emit an op of the default domain with one output."""
    return b.emit(_op(b, name, what or f"this use of `{name}`"), inputs, attributes, 1)[0]


def cast(b: Backend[V], x: V, dtype: DType) -> V:
    """`x` as `dtype`; nothing is emitted where it has that type, a constant is converted."""
    if dtype_of(b, x) is dtype:
        return x
    array = b.constant_value(x)
    if array is not None and array.dtype != object and dtype is not DType.STRING:
        return b.constant(array.astype(dtype.numpy))
    return emit1(b, "Cast", (x,), to=int(dtype))


def int_constant(b: Backend[V], numbers: Sequence[int] | int) -> V:
    """An INT64 constant."""
    try:
        return b.constant(np.array(numbers, dtype=np.int64))
    except OverflowError:
        _does_not_fit(b, numbers, DType.INT64)


def unsqueeze(b: Backend[V], x: V, axes: tuple[int, ...]) -> V:
    """`x` with new axes of size one; axes count in the result."""
    if not axes:
        return x
    array = b.constant_value(x)
    if array is not None:
        return b.constant(np.expand_dims(array, axes))
    if b.opset.version < 13:
        return emit1(b, "Unsqueeze", (x,), axes=list(axes))
    return emit1(b, "Unsqueeze", (x, int_constant(b, list(axes))))


def squeeze(b: Backend[V], x: V, axes: tuple[int, ...]) -> V:
    """`x` without the given axes of size one."""
    if not axes:
        return x
    array = b.constant_value(x)
    if array is not None:
        return b.constant(np.squeeze(array, axes))
    if b.opset.version < 13:
        return emit1(b, "Squeeze", (x,), axes=list(axes))
    return emit1(b, "Squeeze", (x, int_constant(b, list(axes))))


def concat(b: Backend[V], pieces: Sequence[V], axis: int) -> V:
    """One tensor from several; constants are joined here."""
    if len(pieces) == 1:
        return pieces[0]
    arrays = [b.constant_value(p) for p in pieces]
    if all(k is not None for k in arrays):
        return b.constant(np.concatenate([k for k in arrays if k is not None], axis=axis))
    return emit1(b, "Concat", pieces, axis=axis)


def gather(b: Backend[V], x: V, index: V, axis: int = 0) -> V:
    """`x` at `index` along `axis`; a constant at a constant index is looked up here."""
    numbers, at = b.constant_value(x), b.constant_value(index)
    if numbers is not None and at is not None and numbers.ndim > axis:
        return b.constant(np.asarray(np.take(numbers, at, axis=axis)))
    return emit1(b, "Gather", (x, index), axis=axis) if axis else emit1(b, "Gather", (x, index))


def vector(b: Backend[V], x: int | V) -> V:
    """A scalar (or one-element vector) value as an INT64 vector of one element."""
    if isinstance(x, int):
        return int_constant(b, [x])
    x = cast(b, b.as_weak(x, None), DType.INT64)
    rank = rank_of(b, x)
    if rank == 1:
        return x
    if rank == 0:
        return unsqueeze(b, x, (0,))
    return emit1(b, "Reshape", (x, int_constant(b, [-1])))
