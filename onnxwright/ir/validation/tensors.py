"""Tensors of a model: the declared type and shape against the data that is there.

Checked before anything allocates memory for a tensor: afterwards a tensor needs no more memory than
its bytes in the file, but for sparse ones, whose dense size is limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import numpy as np
import onnx

from onnxwright.ir.validation.damage import Damage, is_text
from onnxwright.ir.validation.external import Files, entries_of
from onnxwright.types.dtypes import DType

SPARSE_LIMIT = 1 << 31
"""The most bytes that a sparse tensor may have when it is written out."""

DIMENSIONS = 64
"""The most dimensions of an array of numpy, and of a tensor of ONNX Runtime."""

ELEMENTS = 1 << 58
"""The most elements that numpy counts, for elements of up to 16 bytes."""

VALUE_NESTING = 8
"""The most sequences and optionals inside each other."""

Value = Union[onnx.TensorProto, onnx.SparseTensorProto, onnx.SequenceProto, onnx.OptionalProto]

_VALUES = (
    onnx.TensorProto, onnx.SparseTensorProto, onnx.SequenceProto, onnx.OptionalProto
)  # fmt: skip
_T = onnx.TensorProto
_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
# Where the numbers of a type are, and how many entries of the field one element takes.
_WIDE: dict[int, tuple[str, int]] = {
    _T.FLOAT: ("float_data", 1),
    _T.COMPLEX64: ("float_data", 2),
    _T.INT64: ("int64_data", 1),
    _T.STRING: ("string_data", 1),
    _T.DOUBLE: ("double_data", 1),
    _T.COMPLEX128: ("double_data", 2),
    _T.UINT32: ("uint64_data", 1),
    _T.UINT64: ("uint64_data", 1),
}
_RANGES: dict[DType, tuple[int, int]] = {
    DType.BOOL: (0, 1),
    DType.INT8: (-128, 127),
    DType.UINT8: (0, 255),
    DType.INT16: (-(1 << 15), (1 << 15) - 1),
    DType.UINT16: (0, (1 << 16) - 1),
}


def check_tensor(tensor: onnx.TensorProto, where: str, data: Files | None) -> None:
    """Refuse a tensor whose data does not fit its type and shape.

    Args:
        where: where it is, for messages.
        data: where data in other files is; None where that is not looked at.

    Raises:
        Damage: it does not fit.
    """
    if not is_text(tensor.name, tensor.doc_string):
        raise Damage("structure", where, "its name or doc string is not UTF-8 text")
    kind, count = dtype_of(tensor, where), count_of(tensor.dims, where)
    if tensor.HasField("segment"):
        raise Damage("data", where, "it is one segment of a tensor, which no runtime reads")
    if tensor.data_location == _T.EXTERNAL:
        _check_external(tensor, kind, count, where, data)
        return
    held = [(field, len(getattr(tensor, field))) for field in _FIELDS]
    used = [(field, n) for field, n in held if n]
    raw = tensor.HasField("raw_data")
    if len(used) + (raw and bool(tensor.raw_data)) > 1:
        names = ", ".join([*(["raw_data"] if raw else []), *(field for field, _ in used)])
        raise Damage("data", where, f"its data is stored twice: {names}")
    if raw and not used:
        _check_raw(tensor, kind, count, where)
        return
    field, expected = _stored_in(kind, count)
    for name, _ in used:
        if name != field:
            raise Damage("data", where, f"a tensor of {kind} has its data in {field}, not {name}")
    stored = dict(held)[field]
    if stored != expected:
        needs = f"its shape {shape_text(tensor)} needs {expected:,} entries of {field}"
        raise Damage("data", where, f"{needs}, it has {stored:,}")
    if field == "int32_data" and stored and kind in _RANGES:
        low, high = _RANGES[kind]
        array = np.array(tensor.int32_data, np.int64)
        if int(array.min()) < low or int(array.max()) > high:
            raise Damage("data", where, f"its numbers do not fit in {kind}")


def check_value(value: Value, where: str, depth: int = 0) -> None:
    """Refuse a single value, such as one of a `.pb` file, and cannot be read.

    Args:
        value: a tensor, a sequence or an optional.
        where: where it is, for messages.
        depth: how many values it is inside.

    Raises:
        Damage: a tensor in it does not fit, is in another file, or values are nested too deeply.
    """
    if depth > VALUE_NESTING:
        raise Damage("limit", where, f"values are nested more than {VALUE_NESTING} deep")
    if isinstance(value, onnx.TensorProto):
        if value.data_location == _T.EXTERNAL:
            raise Damage("external", where, "its data is in another file, which is not read")
        check_tensor(value, where, None)
    elif isinstance(value, onnx.SparseTensorProto):
        check_sparse(value, where, None)
    else:
        if not is_text(value.name):
            raise Damage("structure", where, "its name is not UTF-8 text")
        for field, held in value.ListFields():
            if field.message_type is not None:
                repeated = isinstance(value, onnx.SequenceProto)
                for inner in held if repeated else (held,):
                    if isinstance(inner, _VALUES):
                        check_value(inner, where, depth + 1)


def dtype_of(tensor: onnx.TensorProto, where: str) -> DType:
    """The element type of a tensor.

    Args:
        where: where it is, for messages.

    Raises:
        Damage: the number is not an ONNX element type.
    """
    try:
        return DType(tensor.data_type)
    except ValueError:
        number = tensor.data_type
        words = "has no element type" if not number else f"has the unknown element type {number}"
        raise Damage("data", where, f"it {words}") from None


def count_of(dims: Sequence[int], where: str) -> int:
    """How many elements a shape has.

    Args:
        where: where the tensor is, for messages.

    Raises:
        Damage: a dimension is negative, or no array has that many dimensions or elements.
    """
    if len(dims) > DIMENSIONS:
        what = f"it has {len(dims)} dimensions; arrays have at most {DIMENSIONS}"
        raise Damage("limit", where, what)
    count, without_zeros = 1, 1
    for dim in dims:
        if dim < 0:
            raise Damage("data", where, f"it has the dimension {dim}, which is negative")
        count *= dim
        without_zeros *= dim or 1
    if not count and without_zeros > ELEMENTS:
        raise Damage("limit", where, "its dimensions beside the 0 are too large for an array")
    return count


def shape_text(tensor: onnx.TensorProto | onnx.SparseTensorProto) -> str:
    """A shape in a message, such as `[2, 3]`."""
    dims = [str(d) for d in tensor.dims[:8]]
    return f"[{', '.join(dims)}{', ...' if len(tensor.dims) > 8 else ''}]"


def _stored_in(kind: DType, count: int) -> tuple[str, int]:
    """The field that holds a type's numbers, and how many entries a count of elements takes."""
    field, each = _WIDE.get(int(kind), ("int32_data", 1))
    if kind.bits < 8 and kind is not DType.BOOL and kind.bits in (2, 4):
        per_byte = 8 // kind.bits
        return field, -(-count // per_byte)
    return field, count * each


def nbytes_of(kind: DType, count: int) -> int:
    """How many bytes the elements of a tensor take, small types packed."""
    return -(-count * kind.bits // 8)


def _check_raw(tensor: onnx.TensorProto, kind: DType, count: int, where: str) -> None:
    if kind is DType.STRING:
        raise Damage("data", where, "strings cannot be stored in raw_data")
    size, expected = len(tensor.raw_data), nbytes_of(kind, count)
    if size != expected:
        what = (
            f"its type {kind} and shape {shape_text(tensor)} need {expected:,} bytes, "
            f"raw_data has {size:,}"
        )
        raise Damage("data", where, what)


def _check_external(
    tensor: onnx.TensorProto, kind: DType, count: int, where: str, data: Files | None
) -> None:
    if kind is DType.STRING:
        raise Damage("external", where, "strings cannot be stored in another file")
    entries = entries_of(tensor, where)
    if data is not None:
        data.check(entries, nbytes_of(kind, count), where)


def check_sparse(sparse: onnx.SparseTensorProto, where: str, data: Files | None) -> int:
    """Refuse a sparse tensor whose indices do not fit, or that is too large written out.

    Args:
        where: where it is, for messages.
        data: where data in other files is.

    Returns:
        How many bytes it takes when it is written out.

    Raises:
        Damage: it does not fit.

    Source:
        onnx.proto (`SparseTensorProto`).
    """
    check_tensor(sparse.values, f"{where}, values", data)
    check_tensor(sparse.indices, f"{where}, indices", data)
    dense = count_of(sparse.dims, where)
    kind = dtype_of(sparse.values, where)
    size = dense * max(kind.bits // 8, 1)
    if size > SPARSE_LIMIT:
        what = f"its shape {shape_text(sparse)} is over {SPARSE_LIMIT >> 30} GB when written out"
        raise Damage("limit", where, what, "store it as inputs of the operators that read it")
    if len(sparse.values.dims) != 1:
        raise Damage("data", where, "the values of a sparse tensor are a vector")
    count, rank = int(sparse.values.dims[0]), len(sparse.dims)
    shape = list(sparse.indices.dims)
    if sparse.indices.data_type != _T.INT64 or shape not in ([count], [count, rank]):
        what = f"the indices of {count} values are INT64[{count}] or INT64[{count}, {rank}]"
        raise Damage("data", where, what)
    if sparse.indices.data_location == _T.EXTERNAL or not count:
        return size
    raw = sparse.indices.raw_data
    array = np.frombuffer(raw, "<i8") if raw else np.array(sparse.indices.int64_data, np.int64)
    bounds = [dense] if len(shape) == 1 else list(sparse.dims)
    array = array.reshape(count, len(bounds))
    if (array < 0).any() or (array >= np.array(bounds, np.int64)).any():
        raise Damage("data", where, f"an index is outside the shape {shape_text(sparse)}")
    return size
