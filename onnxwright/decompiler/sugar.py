"""Nodes that read better as Python operators, and constants that read better as numbers.

Only what is expected to compile back to the same nodes is offered; the result is compiled and
compared, so a wrong guess costs time, not truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from onnxwright.compare.proto_graph import ProtoNode, ProtoValue
from onnxwright.decompiler.attributes import tensor_array
from onnxwright.decompiler.layout import flatten, listed, number, short_float
from onnxwright.ir.model_inference import infer_model
from onnxwright.ir.proto_graphs import graphs_in
from onnxwright.operators import facts
from onnxwright.opset.registry import InputParam, OpSignature
from onnxwright.types.dtypes import DType

_MOST_COLONS = 4
_LAST, _FIRST = (1 << 63) - 1, -(1 << 63)
_DEFAULT = {DType.FLOAT, DType.INT64, DType.BOOL}


@dataclass
class Sugar:
    """What may be written with operators and numbers.

    Attributes:
        on: whether anything may.
        limit: constants of up to this many elements may become numbers.
        types: the element types of values, by name, where known.
        plain: nodes (by function and number) that must stay calls, because they came back changed.
        used: the nodes that were written with sugar.
        reasons: why some are not.
        last: the last difference found.
    """

    on: bool = True
    limit: int = 16
    types: dict[str, DType] = field(default_factory=dict)
    plain: set[int] = field(default_factory=set)
    used: list[int] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    last: str = ""
    # Constants that may be written as numbers, in order; why the last Loop is not a statement.
    free: dict[ProtoValue, None] = field(default_factory=dict)
    last_loop: str = ""

    def allows(self, number_: int) -> bool:
        """Whether a node may be sugared."""
        return self.on and number_ not in self.plain

    def dtype(self, value: ProtoValue | None) -> DType | None:
        """The element type of a value, where known."""
        if value is None:
            return None
        if isinstance(value.tensor, onnx.TensorProto):
            return DType(value.tensor.data_type)
        return self.types.get(value.name)

    # -- operators -------------------------------------------------------------------------------

    def operator(self, node: ProtoNode) -> str | None:
        """The Python operator of a node: of two operands, or of one with `x` in its place."""
        domain, name, _ = node.key
        if domain or node.proto.attribute or len(node.outputs) != 1 or None in node.inputs:
            return None
        dtypes = [self.dtype(w) for w in node.inputs]
        if len(node.inputs) == 1:
            return self._unary(name, dtypes[0])
        if len(node.inputs) != 2 or (None not in dtypes and dtypes[0] is not dtypes[1]):
            return None
        dtype = dtypes[0] if dtypes[0] is not None else dtypes[1]
        record = facts(name)
        symbol = record.symbol
        if not symbol or name in ("And", "Or", "Xor"):
            fits = True
        elif record.compare is not None:
            fits = dtype not in (None, DType.BOOL, DType.STRING)
        elif name.startswith("Bitwise"):
            fits = dtype is not None and dtype.is_integer
        elif name == "Div":
            fits = dtype is None or dtype.is_float
        elif name == "Pow":
            fits = dtype is not None and dtype.is_float
        else:
            fits = dtype is not DType.BOOL
        return (symbol or None) if fits else None

    def _unary(self, name: str, dtype: DType | None) -> str | None:
        if name == "Neg":
            return "-" if dtype is None or not (dtype.is_unsigned or dtype is DType.BOOL) else None
        if name == "Not":
            return "~"
        if name == "BitwiseNot":
            return "~" if dtype is not None and dtype.is_integer else None
        return None

    # -- subscripts ------------------------------------------------------------------------------

    def subscript(self, node: ProtoNode) -> str | None:
        """The text in brackets for a Slice, Gather or Unsqueeze by constants: `1:, 0`."""
        domain, name, _ = node.key
        if domain or len(node.outputs) != 1 or len(node.inputs) < 2 or node.inputs[0] is None:
            return None
        constants = [self._number(w) for w in node.inputs[1:]]
        arrays = [m[0] for m in constants if m is not None and m[1] is DType.INT64]
        if len(arrays) < len(constants):
            return None
        if name == "Slice" and not node.proto.attribute and len(arrays) >= 3:
            return _slices(arrays)
        if name == "Gather" and arrays[0].ndim == 0 and len(node.proto.attribute) <= 1:
            axis = next((a.i for a in node.proto.attribute), None)
            if axis is None or 0 < axis <= _MOST_COLONS:
                return ", ".join([":"] * (axis or 0) + [number(int(arrays[0]))])
        if name == "Unsqueeze" and arrays[0].shape == (1,) and not node.proto.attribute:
            axis = int(arrays[0][0])
            return ", ".join([":"] * axis + ["None"]) if 0 <= axis <= _MOST_COLONS else None
        return None

    # -- branches ----------------------------------------------------------------------------------

    def branch(self, node: ProtoNode) -> bool:
        """Whether an If may be an `if`: of a BOOL, with results that are all read."""
        if node.key != ("", "If", "") or set(node.subgraphs) != {"then_branch", "else_branch"}:
            return False
        if len(node.proto.attribute) != 2 or len(node.inputs) != 1:
            return False
        if self.dtype(node.inputs[0]) is not DType.BOOL:
            return False
        for graphs in node.subgraphs.values():
            if graphs[0].initializers or graphs[0].inputs:
                return False
            if len(graphs[0].outputs) != len(node.outputs):
                return False
        return all(w is not None and (w.uses or w.is_output) for w in node.outputs)

    # -- numbers ---------------------------------------------------------------------------------

    def literal(
        self, value: ProtoValue | None, user: ProtoNode, place: int, signature: Any
    ) -> str | None:
        """A constant as the number or list written where it is used, if possible."""
        constant = self._number(value)
        if constant is None or value is None:
            return None
        array, dtype = constant
        if self.operator(user) is not None:
            other = user.inputs[1 - place] if len(user.inputs) == 2 else None
            if array.ndim or other is None or other is value or self.dtype(other) is not dtype:
                return None
            if self._number(other) is not None:
                return None
        elif not isinstance(signature, OpSignature) or not self._fits(
            user, place, signature, dtype, array
        ):
            return None
        return _number_text(array, dtype)

    def loop_input(self, value: ProtoValue, place: int) -> bool:
        """Whether a loop takes a number: as trip count, condition or initial value."""
        constant = self.constant(value)
        if constant is None or constant[0].ndim:
            return False
        if place == 0:
            return constant[1] is DType.INT64
        if place == 1:
            return constant[1] is DType.BOOL and bool(constant[0])
        return constant[1] in (*_DEFAULT, DType.FLOAT) and self.text(value) is not None

    def text(self, value: ProtoValue) -> str | None:
        """A constant as a number or list."""
        constant = self.constant(value)
        return None if constant is None else _number_text(*constant)

    def _number(self, value: ProtoValue | None) -> tuple[Any, DType] | None:
        """The array of a constant that may be written as a number."""
        return self.constant(value) if value is not None and value in self.free else None

    def constant(self, value: ProtoValue) -> tuple[Any, DType] | None:
        """The array of a Constant node, if it is small."""
        if value.producer is None or value.producer.key != ("", "Constant", ""):
            return None
        node = value.producer.proto
        if len(node.attribute) != 1 or node.attribute[0].name != "value":
            return None
        attr = node.attribute[0]
        if attr.ref_attr_name or attr.doc_string or not attr.HasField("t"):
            return None
        tensor = attr.t
        count = math.prod(tensor.dims)
        if tensor.data_location or count > self.limit or len(tensor.dims) > 1:
            return None
        dtype = DType(tensor.data_type)
        if dtype is DType.STRING or dtype.is_complex:
            return None
        return tensor_array(tensor), dtype

    def _fits(
        self, user: ProtoNode, place: int, signature: OpSignature, dtype: DType, array: Any
    ) -> bool:
        """Whether a number in this place of a call becomes a constant of just this type."""
        params = signature.inputs
        if not params:
            return False
        param = params[min(place, len(params) - 1)]
        allowed = {t for t in param.types if t.startswith("tensor(")}
        if allowed == {dtype.onnx_name}:
            return True
        if array.size == 0:
            return False
        likes = [w for n, w in enumerate(user.inputs) if n != place and _same(params, n, param)]
        if param.homogeneous and likes:
            first = next((w for w in likes if self._number(w) is None), None)
            return first is not None and self.dtype(first) is dtype
        return dtype in _DEFAULT and dtype.onnx_name in param.types


def _same(params: tuple[InputParam, ...], place: int, param: InputParam) -> bool:
    return params[min(place, len(params) - 1)].type_str == param.type_str


def _slices(arrays: list[Any]) -> str | None:
    """`1:3, :` for the inputs of a Slice after the first: starts, ends, axes and perhaps steps."""
    if any(a.ndim != 1 or a.shape != arrays[0].shape for a in arrays) or not arrays[0].size:
        return None
    starts, ends, axes = (a.tolist() for a in arrays[:3])
    steps = arrays[3].tolist() if len(arrays) > 3 else [1] * len(axes)
    if axes != sorted(set(axes)) or axes[0] < 0 or axes[-1] > _MOST_COLONS or 0 in steps:
        return None
    if len(arrays) > 3 and all(s == 1 for s in steps):
        return None
    parts = [":"] * (axes[-1] + 1)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        first = "" if start == (0 if step > 0 else _LAST) else str(start)
        last = "" if end == (_LAST if step > 0 else _FIRST) else str(end)
        parts[axis] = f"{first}:{last}" + (f":{step}" if step != 1 else "")
    return ", ".join(parts)


def _number_text(array: Any, dtype: DType) -> str | None:
    """The number or list, if it becomes the same bits again."""
    flat = array.ravel()
    texts = []
    for value in flat:
        as_float = float(value)
        if dtype.is_float and not np.isfinite(as_float):
            return None
        if dtype is DType.BOOL or dtype.is_integer:
            texts.append(number(bool(value) if dtype is DType.BOOL else int(value)))
        else:
            short = short_float(value if isinstance(value, np.floating) else as_float)
            again = np.array(float(short), np.float64).astype(dtype.numpy)
            if again.tobytes() != np.asarray(value, dtype.numpy).tobytes():
                return None
            texts.append(short)
    return texts[0] if array.ndim == 0 else flatten(listed(texts))


def element_types(model: onnx.ModelProto) -> dict[str, DType]:
    """The element types of values by name, as onnx infers them, without names that have two.

    Args:
        model: any model; the result is empty where inference fails.
    """
    if model.ByteSize() > 1 << 28:
        return {}
    inferred = infer_model(model)
    if inferred is None:
        return {}
    types: dict[str, set[int]] = {}
    for graph in (inferred.graph, *graphs_in(inferred.graph.node)):
        for info in (*graph.input, *graph.output, *graph.value_info):
            kind = info.type.tensor_type.elem_type
            if kind:
                types.setdefault(info.name, set()).add(kind)
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
                types.setdefault(node.output[0], set()).add(node.attribute[0].t.data_type)
    return {name: DType(next(iter(kinds))) for name, kinds in types.items() if len(kinds) == 1}
