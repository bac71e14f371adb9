"""Runs one row of `shape_cases`: the rule alone, and ONNX's own inference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime_errors

from onnxwright.ir.adapters import attribute
from onnxwright.ir.infer import INFERENCE_ERRORS, infer_by_onnx, infer_call
from onnxwright.operators.op_call import ContradictionError, OpCall
from onnxwright.operators.shape_values import decided, values_of
from onnxwright.opset import registry
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Dim, Shape

_DTYPES = {
    "f16": DType.FLOAT16, "f32": DType.FLOAT, "f64": DType.DOUBLE, "i8": DType.INT8,
    "i32": DType.INT32, "i64": DType.INT64, "u8": DType.UINT8, "b": DType.BOOL,
    "str": DType.STRING,
}  # fmt: skip
_LETTERS = {dtype: letters for letters, dtype in _DTYPES.items()}


class DeclinesError(Exception):
    """The rule leaves the call to ONNX."""


def _dims(text: str) -> Shape:
    return tuple(_dim(d) for d in re.split(r",(?![^(]*\))", text) if d)


def _dim(text: str) -> Dim:
    if text == "?":
        return None
    return int(text) if text.lstrip("-").isdigit() else text.replace("+", " + ")


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _read(text: str) -> tuple[OnnxType | None, np.ndarray[Any, Any] | None, Shape | None]:
    """The type of an input, the array it holds, and its dimensions as a shape."""
    if text in ("-", "?"):
        return None, None, None
    kind, equals, numbers = text.partition("=")
    kind, tilde, names = kind.partition("~")
    letters, bracket, shape = kind.rstrip("]").partition("[")
    dtype = _DTYPES[letters]
    tensor_type = TensorType(dtype, _dims(shape) if bracket else None)
    if equals:
        array = np.array([_number(x) for x in numbers.split(",")], dtype.numpy)
        return tensor_type, array.reshape(() if tensor_type.shape == () else -1), None
    return tensor_type, None, _dims(names) if tilde else None


def read_types(text: str) -> list[OnnxType | None]:
    """The types of a result that is written as in `shape_cases`."""
    return [_read(part)[0] for part in text.split()]


def call_of(
    op: str, version: int, inputs: str, attributes: Mapping[str, Any], count: int
) -> OpCall:
    """The call that a row describes."""
    read = [_read(text) for text in inputs.split()]
    values = {name: _value(value) for name, value in attributes.items()}
    return OpCall(
        registry.signature("", op, version),
        values,
        count,
        [r[0] for r in read],
        [r[1] for r in read],
        [r[2] for r in read],
        [text != "-" for text in inputs.split()],
    )


def _value(value: Any) -> Any:
    """`"i64:7"` stands for a tensor of one number."""
    if isinstance(value, str) and value.partition(":")[0] in _DTYPES and ":" in value:
        letters, _, number = value.partition(":")
        return np.array([int(number)], _DTYPES[letters].numpy)
    return value


def _written(kind: OnnxType | None, values: Shape | None, array: Any) -> str:
    if kind is None:
        return "?"
    assert isinstance(kind, TensorType)
    assert kind.dtype is not None
    text = _LETTERS[kind.dtype]
    if kind.shape is not None:
        text += f"[{_joined(kind.shape)}]"
    if array is not None:
        return f"{text}={_joined(tuple(int(x) for x in array.ravel()))}"
    return text if values is None else f"{text}~{_joined(values)}"


def _joined(shape: Shape) -> str:
    return ",".join("?" if d is None else str(d).replace(" ", "") for d in shape)


def outcome(op: str, version: int, inputs: str, attributes: Mapping[str, Any], count: int) -> str:
    """What the rule says of a row, written as in `shape_cases`."""
    call = call_of(op, version, inputs, attributes, count)

    def ask_onnx() -> Any:
        raise DeclinesError

    try:
        types = infer_call(call, ask_onnx, version)
    except DeclinesError:
        return "declines"
    except ContradictionError:
        return "contradicts"
    values = values_of(call, types) or [None] * len(types)
    array = decided(call, types)
    return " ".join(_written(kind, value, array) for kind, value in zip(types, values, strict=True))


def is_refused_by_onnxruntime(
    op: str, version: int, inputs: str, attributes: Mapping[str, Any], count: int
) -> bool:
    """Whether ONNX Runtime refuses a call of these shapes, on zeros or on the arrays it holds.

    Names of dimensions are 6, unknown ones 1; a kernel that is missing refuses nothing.
    """
    call = call_of(op, version, inputs, attributes, count)
    kinds = call.signature.attributes
    names = [f"i{n}" if present else "" for n, present in enumerate(call.present)]
    feeds = {}
    for n, name in enumerate(names):
        kind = call.types[n]
        if not name:
            continue
        assert isinstance(kind, TensorType)
        assert kind.dtype is not None
        shape = [d if isinstance(d, int) else 6 if d else 1 for d in kind.shape or ()]
        array, dims = call.arrays[n], call.values[n]
        if array is None and dims is not None:
            array = np.array([d if isinstance(d, int) else 6 for d in dims], kind.dtype.numpy)
        feeds[name] = np.zeros(shape, kind.dtype.numpy) if array is None else array.reshape(shape)
    node = onnx.helper.make_node(op, names, [f"o{n}" for n in range(count)])
    node.attribute.extend(
        ir.to_proto(attribute(name, value, kinds[name].kind))
        for name, value in call.attributes.items()
    )
    graph = onnx.helper.make_graph(
        [node],
        "call",
        [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim
            )
            for name, array in feeds.items()
        ],
        [onnx.helper.make_empty_tensor_value_info(f"o{n}") for n in range(count)],
    )
    opsets = [onnx.helper.make_opsetid("", version)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
    except (onnxruntime_errors.NotImplemented, onnxruntime_errors.Fail):
        return True
    try:
        session.run(None, feeds)
    except (
        onnxruntime_errors.Fail,
        onnxruntime_errors.InvalidArgument,
        onnxruntime_errors.RuntimeException,
    ):
        return True
    return False


def by_onnx(
    op: str, version: int, inputs: str, attributes: Mapping[str, Any], count: int
) -> list[OnnxType | None] | None:
    """What ONNX's own inference says; None where it refuses the call."""
    call = call_of(op, version, inputs, attributes, count)
    kinds = call.signature.attributes
    attrs: list[ir.Attr] = [
        attribute(name, value, kinds[name].kind) for name, value in call.attributes.items()
    ]
    try:
        return infer_by_onnx(call, attrs, version)
    except INFERENCE_ERRORS:
        return None
