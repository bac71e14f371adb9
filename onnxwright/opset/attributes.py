"""Attribute values: a Python object checked and brought to the one form its kind has.

After `normalize`, INT is `int`, FLOAT is `float`, STRING is `str` (or `bytes` that are not text),
lists are `list` of these.  Tensors, graphs and types are left as given.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from onnxwright.diagnostics.unicode_text import check_text
from onnxwright.errors import OnnxwrightError
from onnxwright.types.annotations import ValueSpec, parse_annotation
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import AttrKind, OnnxType
from onnxwright.types.roles import AttributeReference, BackendValue
from onnxwright.types.tensors import Tensor, TensorMeta

MOST_OUTPUTS = 100_000
"""The most outputs that one node may have: a larger number would only fill the memory."""

ELEMENT_TYPES = {"to": 1, "dtype": 1, "output_dtype": 0, "precision": 0, "softmax_precision": 0}
"""Attributes of standard operators that hold an element type; where 0 is one, it is "not given"."""


class WrongTypeError(Exception):
    """The value is of another type than the attribute."""


class OutOfRangeError(Exception):
    """The number is not one that the attribute can have; the text says which ones are."""


_INT_MAX = 2**63 - 1
_FLOAT_MAX = float(np.finfo(np.float32).max)


def is_reference(value: object) -> bool:
    """Whether a value represents an attribute of the enclosing function.

    Args:
        value: what a call gives as attribute.

    Returns:
        True for an `AttributeReference`, which is never checked.
    """
    return isinstance(value, AttributeReference)


def is_tensor_value(value: object) -> bool:
    """Whether a value is a tensor of a graph or of an eager run (numpy's arrays are not).

    Returns:
        True for a `Tensor`, a value of a backend, and what looks like them.
    """
    if isinstance(value, (np.ndarray, np.generic, type)):
        return False
    if isinstance(value, (Tensor, BackendValue)):
        return True
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _to_int(value: Any) -> object:
    kind = type(value)
    if kind is int:
        if -_INT_MAX - 1 <= value <= _INT_MAX:
            return value
        raise OutOfRangeError
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return _to_int(int(value))
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iub":
        return _to_int(int(value))
    if isinstance(value, TensorMeta):
        dtype = value.onnx_type.dtype
        if dtype is None:
            raise WrongTypeError
        return int(dtype)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        try:
            return int(DType.from_numpy(value))
        except OnnxwrightError:
            raise WrongTypeError from None
    declared = getattr(value, "dtype", None) if isinstance(value, type) else None
    if isinstance(declared, DType):
        return int(declared)
    if is_reference(value):
        return value
    raise WrongTypeError


def _to_float(value: Any) -> object:
    if type(value) is not float:
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiub":
            value = value.item()
        elif is_reference(value):
            return value
        elif not isinstance(value, (float, int, np.floating, np.integer, np.bool_)):
            if getattr(getattr(value, "dtype", None), "name", "") != "bfloat16" or np.ndim(value):
                raise WrongTypeError
        try:
            value = float(value)
        except OverflowError:
            raise OutOfRangeError from None
    if value - value == 0 and not -_FLOAT_MAX <= value <= _FLOAT_MAX:
        raise OutOfRangeError
    return value


def _to_str(value: Any) -> object:
    if type(value) is str:
        check_text(value, "the attribute value")
        return value
    if isinstance(value, enum.Enum) and isinstance(value.value, (str, bytes)):
        value = value.value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return bytes(value)
    if isinstance(value, str):
        return _to_str(str(value))
    if is_reference(value):
        return value
    raise WrongTypeError


def _to_type(value: Any) -> object:
    """A type as an annotation says it; a TypeProto as it is given."""
    if is_reference(value) or hasattr(value, "SerializeToString"):
        return value
    if isinstance(value, get_args(OnnxType)):
        return value
    try:
        spec = parse_annotation(value)
    except OnnxwrightError:
        raise WrongTypeError from None
    if not isinstance(spec, ValueSpec) or spec.exact is None:
        raise WrongTypeError
    return spec.exact


def _to_tensor(value: Any) -> object:
    """Numbers, strings and nested lists of them as an array; tensors as they are given.

    Python's floats are FLOAT, its ints INT64, as in the constants of a script.
    """
    if not isinstance(value, (bool, int, float, str, bytes, list, tuple, np.generic)):
        if is_reference(value) or any(hasattr(value, name) for name in _MARKS_OF_TENSORS):
            return value
        raise WrongTypeError
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise WrongTypeError from None
    if array.dtype.kind in "USO" and _all_text(value):
        return array.astype(object)
    if array.dtype.kind in "USO":
        raise OutOfRangeError if _all_ints(value) else WrongTypeError
    if isinstance(value, np.generic) or array.dtype.kind not in "fiu":
        return array
    if array.dtype.kind == "u":
        raise OutOfRangeError
    return array.astype(np.float32 if array.dtype.kind == "f" else np.int64)


def to_one_element(value: Any) -> object:
    """A tensor attribute that must have one dimension: a number is a tensor of one element.

    Args:
        value: a number, or anything that a tensor attribute takes.

    Returns:
        The tensor; what is a tensor already stays as it is.

    Source:
        ONNX ConstantOfShape: `value` is a one-element tensor.
    """
    tensor = _to_tensor(value)
    is_number = isinstance(value, (bool, int, float, np.generic))
    return np.reshape(np.asarray(tensor), (1,)) if is_number else tensor


def _to_element_type(lowest: int) -> Callable[[Any], object]:
    def to_element_type(value: Any) -> object:
        number = _to_int(value)
        if is_reference(number) or number in _ELEMENTS or number == lowest == 0:
            return number
        raise OutOfRangeError("an element type is one of the numbers of `onnx.TensorProto`")

    return to_element_type


def _to_output_count(value: Any) -> object:
    number = _to_int(value)
    if is_reference(number) or (isinstance(number, int) and 1 <= number <= MOST_OUTPUTS):
        return number
    raise OutOfRangeError(f"a node has from 1 to {MOST_OUTPUTS:,} outputs")


def special_normalizer(domain: str, op: str, name: str) -> Callable[[Any], object] | None:
    """The function for an attribute that takes less, or more, than others of its kind.

    Returns:
        A function as those of `normalizer`; None for an attribute that is like others.

    Source:
        The schemas of ONNX: `to` and `dtype` are element types, `num_outputs` counts outputs.
    """
    if domain:
        return None
    if (op, name) == ("ConstantOfShape", "value"):
        return to_one_element
    if (op, name) == ("Split", "num_outputs"):
        return _to_output_count
    return _to_element_type(ELEMENT_TYPES[name]) if name in ELEMENT_TYPES else None


_ELEMENTS = frozenset(map(int, DType))

# numpy, torch, onnx_ir and values of ours; DLPack; TensorProto; AttributeProto.
_MARKS_OF_TENSORS = ("dtype", "__array__", "__dlpack__", "data_type", "ref_attr_name")


def _leaves(value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value]
    return [leaf for item in value for leaf in _leaves(item)]


def _all_text(value: Any) -> bool:
    return all(isinstance(leaf, (str, bytes)) for leaf in _leaves(value))


def _all_ints(value: Any) -> bool:
    return all(isinstance(leaf, int) for leaf in _leaves(value))


def _as_given(value: object) -> object:
    return value


def _listed(element: Callable[[Any], object]) -> Callable[[Any], object]:
    def to_list(value: Any) -> object:
        if isinstance(value, np.ndarray):
            if value.ndim != 1:
                raise WrongTypeError
            return [element(item) for item in value.tolist()]
        if isinstance(value, (list, tuple, range)):
            return [element(item) for item in value]
        if is_reference(value):
            return value
        raise WrongTypeError

    return to_list


_NORMALIZE: dict[AttrKind, Callable[[Any], object]] = {
    AttrKind.INT: _to_int,
    AttrKind.BOOL: _to_int,
    AttrKind.FLOAT: _to_float,
    AttrKind.STRING: _to_str,
    AttrKind.INTS: _listed(_to_int),
    AttrKind.BOOLS: _listed(_to_int),
    AttrKind.FLOATS: _listed(_to_float),
    AttrKind.STRINGS: _listed(_to_str),
    AttrKind.TENSOR: _to_tensor,
    AttrKind.TYPE_PROTO: _to_type,
}


def normalizer(kind: AttrKind) -> Callable[[Any], object]:
    """The function that brings values to the form of `kind`.

    Returns:
        A function of the value; it raises `WrongTypeError` or `OutOfRangeError`.

    Source:
        `AttributeProto` in the ONNX IR specification.

    Example:
        >>> normalizer(AttrKind.INT)(np.float32), normalizer(AttrKind.FLOATS)((1, 2.5))
        (1, [1.0, 2.5])
    """
    return _NORMALIZE.get(kind, _as_given)


def describe(value: object) -> str:
    """A value in a few words, for the message that refuses it.

    Returns:
        Its type, and the value itself when that is short.

    Example:
        >>> describe(1.5), describe("yes"), describe(np.zeros((2, 3)))
        ('float `1.5`', "str `'yes'`", 'an array of float64 with shape (2, 3)')
    """
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    if isinstance(value, type):
        return f"the class `{value.__name__}`"
    if isinstance(value, (bool, int, float, str, bytes, list, tuple, np.generic)):
        text = repr(value)
        return f"{type(value).__name__} `{text if len(text) <= 40 else text[:37] + '...'}`"
    return f"an object of type `{type(value).__name__}`"
