"""Weights of a finished model: other values, and initializers as inputs and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.adapters import is_tensor, set_type, tensor
from onnxwright.ir.door import Model, opened, returned
from onnxwright.ir.ir_versions import DEFAULTS
from onnxwright.model_tools.values import by_name, find, listed
from onnxwright.semantics.foreign import foreign_array
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.versions.value_types import declared_type


def set_initializer(
    model: Model,
    values: Mapping[str, Any],
    *,
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model with other values in weights and constants.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        values: name of an initializer, or of the result of a Constant node -> array, number,
            TensorProto, tensor of onnx_ir or torch.  Element type and shape must be the same.
        output: a file to write the result to.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path or an ONNXProgram, a ModelProto for
        a script.  The path written, with `output`.

    Raises:
        ModelToolError: the weight does not exist (OW876), or the value has another type or shape
            (OW881).

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 10, opset_import: ["" : 18]>'
        ...     "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }"
        ... )
        >>> new = set_initializer(model, {"w": np.float32([3, 4])})
        >>> onnx.numpy_helper.to_array(new.graph.initializer[0]).tolist()
        [3.0, 4.0]
    """
    source = opened(model).clone()
    initializers_by_name = {n: v for n, v in by_name(source.graph).items() if _held(v) is not None}
    for name, data in values.items():
        value = find(initializers_by_name, name, "initializer or constant", source.graph)
        old = _held(value)
        assert old is not None
        new = _tensor(name, data, DType(int(old.dtype)))
        if new.dtype != old.dtype or tuple(new.shape) != tuple(old.shape):
            fail(messages.OtherTensor(
                name=name, type=_described(old), new_type=_described(new)
            ))  # fmt: skip
        node = value.producer()
        if node is None:
            value.const_value = new
        else:
            node.attributes.clear()
            node.attributes["value"] = ir.Attr("value", ir.AttributeType.TENSOR, new)
    return returned(source, model, output)


def initializers_to_inputs(
    model: Model,
    names: Iterable[str] | None = None,
    *,
    keep_default: bool = True,
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model whose weights are inputs, which a run may give.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        names: the initializers; all by default.
        keep_default: the weights stay as values for runs that do not give them; False to leave
            them out, so that every run has to.
        output: a file to write the result to.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path or an ONNXProgram, a ModelProto for
        a script.  The path written, with `output`.

    Raises:
        ModelToolError: the initializer does not exist (OW876).

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 10, opset_import: ["" : 18]>'
        ...     "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }"
        ... )
        >>> new = initializers_to_inputs(model, ["w"], keep_default=False)
        >>> [i.name for i in new.graph.input], len(new.graph.initializer)
        (['x', 'w'], 0)
    """
    source = opened(model).clone()
    graph = source.graph
    initializers = dict(graph.initializers)
    chosen = list(initializers) if names is None else listed(names, "names")
    for name in chosen:
        value = find(initializers, name, "initializer", graph)
        set_type(value, declared_type(value))
        if not value.is_graph_input():
            graph.inputs.append(value)
        if not keep_default:
            del graph.initializers[name]
            value.const_value = None
    return returned(source, model, output, same_interface=False)


def inputs_to_initializers(
    model: Model,
    values: Iterable[str] | Mapping[str, Any] | None = None,
    *,
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model whose inputs are weights, fixed from now on.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        values: name of an input -> its value; or names of inputs that have an initializer; all
            of those by default.
        output: a file to write the result to.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path or an ONNXProgram, a ModelProto for
        a script.  The path written, with `output`.

    Raises:
        ModelToolError: the input does not exist (OW876), it has no value (OW882), or the value has
            another type or shape (OW881).

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 10, opset_import: ["" : 18]>'
        ...     "g (float[2] x, float[2] w) => (float[2] y) { y = Mul(x, w) }"
        ... )
        >>> new = inputs_to_initializers(model, {"w": np.float32([3, 4])})
        >>> [i.name for i in new.graph.input], [t.name for t in new.graph.initializer]
        (['x'], ['w'])
    """
    source = opened(model).clone()
    graph = source.graph
    inputs = {v.name or "": v for v in graph.inputs}
    tensors: dict[str, Any]
    if isinstance(values, Mapping):
        tensors = dict(values)
    else:
        names = [n for n in inputs if n in graph.initializers] if values is None else values
        tensors = dict.fromkeys(listed(names, "values"))
    for name, array in tensors.items():
        value = find(inputs, name, "input", graph)
        if array is not None:
            value.const_value = _fitting(name, array, value)
        elif value.const_value is None:
            fail(messages.BadModelArgument(
                argument="values", reason=f"the input `{name}` has no initializer",
                advice=f"give its value: {{{name!r}: array}}",
            ))  # fmt: skip
        graph.inputs.remove(value)
        graph.initializers[name] = value
    source.ir_version = max(source.ir_version, DEFAULTS)
    return returned(source, model, output, same_interface=False)


def _held(value: ir.Value) -> ir.TensorProtocol | None:
    """The tensor of an initializer or of a Constant node."""
    node = value.producer()
    if node is None:
        return value.const_value
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
        return None
    attr = node.attributes.get("value")
    if attr is not None and not attr.is_ref():
        return attr.as_tensor()
    return ir.convenience.get_const_tensor(value)


def _tensor(name: str, value: Any, dtype: DType | None) -> ir.TensorProtocol:
    """What a user gave, as a tensor; Python numbers and lists take the type that is wanted."""
    if isinstance(value, onnx.TensorProto):
        value = ir.from_proto(value)
    if is_tensor(value):
        held: ir.TensorProtocol = value
        return held
    array: Any = value if isinstance(value, np.ndarray) else None
    if array is None and isinstance(value, (bool, int, float, list, tuple)):
        array = np.array(value, dtype=None if dtype is None else dtype.numpy)
    elif array is None:
        array = np.asarray(value) if isinstance(value, np.generic) else foreign_array(value)
    if array is None:
        fail(messages.BadModelArgument(
            argument=name, reason=f"a value of type {type(value).__name__} is not a tensor",
            advice="give an array of numpy, a TensorProto, or a tensor of torch",
        ))  # fmt: skip
    return tensor(array, name)


def _fitting(name: str, data: Any, value: ir.Value) -> ir.TensorProtocol:
    kind = declared_type(value)
    tensor_type = kind if isinstance(kind, TensorType) else TensorType()
    tensor = _tensor(name, data, tensor_type.dtype)
    shape = tuple(tensor.shape)
    same = tensor_type.shape is None or (
        len(shape) == len(tensor_type.shape)
        and all(
            not isinstance(w, int) or w == d for w, d in zip(tensor_type.shape, shape, strict=True)
        )
    )
    if not same or (tensor_type.dtype is not None and int(tensor.dtype) != int(tensor_type.dtype)):
        fail(messages.OtherTensor(name=name, type=str(kind), new_type=_described(tensor)))
    return tensor


def _described(held: ir.TensorProtocol) -> str:
    shape = tuple(d if isinstance(d, int) else None for d in held.shape)
    return str(TensorType(DType(int(held.dtype)), shape))
