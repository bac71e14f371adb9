"""An ATen function by itself: run on arrays, or emitted as a FunctionProto."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.atenlib.complexes import Complex, pack, unpack
from onnxwright.atenlib.widen import AtenEagerBackend, AtenOps, AtenTracingBackend
from onnxwright.eager import foreign, select
from onnxwright.eager.tensor import Tensor, wrap
from onnxwright.ir.builder import Recorder
from onnxwright.ir.ir_versions import lowest_ir_version
from onnxwright.opset import DEFAULT_OPSET_VERSION
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.backend import is_value
from onnxwright.tracing.closing import Closed, finalize
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.types.promotion import real_of
from onnxwright.types.tensors import TensorMeta

DOMAIN = "onnxwright.aten"
OPSET = DEFAULT_OPSET_VERSION

_TEXT = re.compile(r"\s*(?P<name>[A-Z]\w*)\s*(\[(?P<dims>[^\]]*)\])?\s*")


def read_type(text: Any) -> TensorType | None:
    """The type of a tensor, from what a user writes for one.

    Args:
        text: a `TensorType`, an annotation such as `FLOAT["N", 3]`, or its text
            (`"FLOAT[N, 3]"`, `"FLOAT"` where nothing is known of the shape).

    Returns:
        The type; None for what describes no tensor.

    Example:
        >>> str(read_type("FLOAT[N, 3]")), read_type("floor"), read_type("BOOL[]").shape
        ('FLOAT[N, 3]', None, ())
    """
    if isinstance(text, TensorType):
        return text
    if isinstance(text, TensorMeta):
        return text.onnx_type
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None or match["name"] not in DType.__members__:
        return None
    dims = match["dims"]
    if dims is None:
        return TensorType(DType[match["name"]], None)
    parts = [d.strip() for d in dims.split(",")] if dims.strip() else []
    shape = tuple(int(d) if d.isdigit() else None if d in ("?", "None") else d for d in parts)
    return TensorType(DType[match["name"]], shape)


def _deep(change: Callable[[str, Any], Any], name: str, argument: Any) -> Any:
    """An argument with each of its parts changed; those of a list are numbered."""
    if isinstance(argument, (list, tuple)):
        return [_deep(change, f"{name}_{n}", part) for n, part in enumerate(argument)]
    return change(name, argument)


class _Inputs:
    """Makes a function input of each type among the arguments."""

    def __init__(self, backend: AtenTracingBackend) -> None:
        self.backend = backend
        self.op = AtenOps(backend)

    def change(self, name: str, argument: Any) -> Any:
        kind = read_type(argument)
        if kind is None:
            return argument
        if kind.dtype is None or not kind.dtype.is_complex:
            return self.backend.input(name, kind)
        shape = None if kind.shape is None else (*kind.shape, 2)
        return unpack(self.op, self.backend.input(name, TensorType(real_of(kind.dtype), shape)))


def emit(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    name: str,
    domain: str = DOMAIN,
    opset_version: int = OPSET,
    doc: str = "",
) -> onnx.FunctionProto:
    """Build a FunctionProto from a call.

    Args:
        function: called with `op` and the arguments by name.
        arguments: types of tensors, which become inputs of the function, and plain values.

    Returns:
        The function; a complex tensor is a real one with a last axis of two.
    """
    backend = AtenTracingBackend(Recorder(), Opset("", opset_version))
    inputs = _Inputs(backend)
    types = {k: _deep(inputs.change, k, v) for k, v in arguments.items()}
    results = function(inputs.op, **types)
    several = list(results) if isinstance(results, (list, tuple)) else [results]
    packed = [pack(inputs.op, r) if isinstance(r, Complex) else r for r in several]
    values = [v if is_value(v) else inputs.op.constant(np.array(v)) for v in packed]
    names = [f"result_{n}" for n in range(len(values))] if len(values) != 1 else ["result"]
    closed = finalize(backend, values, names)
    imports = closed.imports or {"": opset_version}
    graph = ir.Graph(
        closed.inputs,
        closed.outputs,
        nodes=[*_constants(backend, closed), *closed.nodes],
        opset_imports=imports,
        name=name,
    )
    ir_function = ir.Function(domain, name, graph=graph, attributes=[])
    ir_function.doc_string = doc
    proto: onnx.FunctionProto = ir.to_proto(ir_function)
    del proto.value_info[:]
    context = onnx.checker.C.CheckerContext()
    context.ir_version = lowest_ir_version(imports, backend.recorder.types.values())
    context.opset_imports = {**imports, domain: 1}
    onnx.checker.check_function(proto, context, onnx.checker.C.LexicalScopeContext())
    return proto


def _constants(backend: AtenTracingBackend, closed: Closed) -> list[ir.Node]:
    """A Constant node for each constant in use."""
    nodes = []
    for value in closed.constants:
        tensor = backend.pool.as_tensor(value)
        node = ir.node("Constant", [], attributes={"value": tensor})
        constant = node.outputs[0]
        ir.convenience.replace_all_uses_with(value, constant)
        constant.name, constant.type, constant.shape = value.name, value.type, value.shape
        nodes.append(node)
    return nodes


def run(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    opset_version: int = OPSET,
) -> Any:
    """Run a function on arrays, operator by operator.

    Args:
        function: called with `op` and the arguments.
        args, kwargs: its arguments; tensors are arrays of numpy, tensors of ours, or what has
            DLPack.

    Returns:
        Its results in the kind that went in.
    """
    backend = AtenEagerBackend(Opset("", opset_version))
    flat: list[Any] = []

    def enter(_: str, x: Any) -> Any:
        flat.append(x)
        return _entered(x)

    values = [_deep(enter, "", a) for a in args]
    named = {k: _deep(enter, k, v) for k, v in kwargs.items()}
    with select.frame(backend.opset, "aten", backend):
        result = function(AtenOps(backend), *values, **named)
    return foreign.give_back(_left(result), foreign.kind_of(flat, inside=False))


def _entered(x: Any) -> Any:
    if not isinstance(x, (Tensor, np.ndarray)):
        x = x if (taken := foreign.to_array(x)) is None else taken
    array = x.value if isinstance(x, Tensor) else x
    if isinstance(array, np.ndarray) and np.iscomplexobj(array):
        parts = (np.ascontiguousarray(p).reshape(array.shape) for p in (array.real, array.imag))
        return Complex(*map(wrap, parts))
    return wrap(array) if isinstance(array, np.ndarray) else x


def _left(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(_left(v) for v in x)
    if isinstance(x, Complex):
        real, imag = (part.value for part in (x.real, x.imag) if isinstance(part, Tensor))
        return wrap(np.asarray(real + 1j * imag, x.onnx_dtype.numpy))
    return x
