"""Types of the outputs of a call: by inference, and from the graphs of a control-flow operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import ops as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.ir.infer import INFERENCE_ERRORS, by_variable, infer_call
from onnxwright.operators.op_call import ContradictionError, OpCall
from onnxwright.opset.op import Op
from onnxwright.semantics.scan_layout import check_axis, per_value
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, SequenceType, TensorType


def inferred_types(
    op: Op, call: OpCall, attrs: list[ir.Attr], span: Span | None
) -> list[OnnxType | None]:
    """Types of the outputs of a call, by the operator's own rule or ONNX's inference.

    Args:
        span: the place, for messages.

    Returns:
        A type for each output; None where nothing is known.

    Raises:
        ScriptTypeError: the types of the inputs contradict the operator.
    """
    assert op.signature is not None
    try:
        return infer_call(call, lambda: attrs, op.version)
    except INFERENCE_ERRORS as error:
        if op.name == "Constant":
            return [_CONSTANT_TYPES.get(attrs[0].name if attrs else "")]
        ours = isinstance(error, ContradictionError)
        refers = any(a.is_ref() for a in attrs)
        if not ours and (
            refers
            or any(
                here and _untyped(kind) for kind, here in zip(call.types, call.present, strict=True)
            )
        ):
            # ONNX's inference does not expect unknown element types or attributes; the
            # callers of this function bring theirs, and are checked with them.
            return by_variable(op.signature, call.count, call.types)
        shown = ", ".join(
            str(kind or "unknown") if here else "none"
            for kind, here in zip(call.types, call.present, strict=True)
        )
        fail(
            messages.InputsDoNotFit(
                operation=op.name,
                reason=str(error) if ours else f'ONNX says "{_reason(str(error))}"',
                types=shown,
                signature=str(op.signature),
                span=span,
            )
        )


def subgraph_types(
    op: Op,
    inputs: int,
    count: int,
    types: Sequence[Sequence[OnnxType | None]],
    attributes: Iterable[ir.Attr],
    span: Span | None,
) -> list[OnnxType | None]:
    """Types of the outputs of a control-flow operator.

    Args:
        inputs: how many inputs the node has.
        types: for each of its graphs, the types of the graph's outputs.
        span: the place, for messages.

    Returns:
        A type for each output; None where nothing is known.

    Source:
        ONNX If, Loop, Scan and SequenceMap.
    """
    if op.name == "If":
        branches = [t for t in types if len(t) == count]
        return [common_type([t[n] for t in branches]) for n in range(count)]
    if op.name == "Loop":
        carried = inputs - 2
        body = types[0][1:]
        result: list[OnnxType | None] = []
        for n in range(count):
            kind = body[n] if n < len(body) else None
            if n < carried:
                result.append(TensorType(kind.dtype) if isinstance(kind, TensorType) else kind)
            else:
                result.append(_stacked(kind))
        return result
    if op.name == "Scan":
        by_name = {a.name: a for a in attributes if not a.is_ref()}
        scanned = by_name["num_scan_inputs"].as_int() if "num_scan_inputs" in by_name else 0
        axes = by_name.get("scan_output_axes")
        states = max(0, inputs - scanned)
        stated = {} if axes is None else {"scan_output_axes": list(axes.as_ints())}
        rows = types[0][states:count]
        places = per_value(stated, "scan_output_axes", len(rows), span)
        for kind, axis in zip(rows, places, strict=True):
            ranked = isinstance(kind, TensorType) and kind.shape is not None
            rank = len(kind.shape) + 1 if ranked else None  # type: ignore[union-attr, arg-type]
            check_axis("scan_output_axes", axis, rank, span)
        return [*types[0][: min(states, count)], *map(_stacked, rows, places)]
    if op.name == "SequenceMap":
        return [SequenceType(k) for k in types[0][:count]]
    return [None] * count


_CONSTANT_TYPES = {
    "value_int": TensorType(DType.INT64, ()),
    "value_float": TensorType(DType.FLOAT, ()),
    "value_string": TensorType(DType.STRING, ()),
    "value_ints": TensorType(DType.INT64, (None,)),
    "value_floats": TensorType(DType.FLOAT, (None,)),
    "value_strings": TensorType(DType.STRING, (None,)),
}


def _untyped(kind: OnnxType | None) -> bool:
    return kind is None or (isinstance(kind, TensorType) and kind.dtype is None)


def _stacked(kind: OnnxType | None, axis: int = 0) -> OnnxType | None:
    """The type of the results of all iterations, along a new axis."""
    if not isinstance(kind, TensorType):
        return None
    if kind.shape is None:
        return TensorType(kind.dtype)
    dims = list(kind.shape)
    dims.insert(axis if axis >= 0 else axis + len(dims) + 1, None)
    return TensorType(kind.dtype, tuple(dims))


def common_type(kinds: Sequence[OnnxType | None]) -> OnnxType | None:
    """The most precise type that all are instances of, or None."""
    first = kinds[0] if kinds else None
    for kind in kinds[1:]:
        if first is None or kind is None:
            return None
        if isinstance(first, TensorType) and isinstance(kind, TensorType):
            if first.dtype is not kind.dtype:
                return None
            shape = None
            if first.shape is not None and kind.shape is not None:
                if len(first.shape) == len(kind.shape):
                    pairs = zip(first.shape, kind.shape, strict=True)
                    shape = tuple(a if a == c else None for a, c in pairs)
            first = TensorType(first.dtype, shape)
        elif first != kind:
            return None
    return first


def _reason(text: str) -> str:
    """ONNX's own sentence, without the markers around it."""
    text = text.strip().splitlines()[0]
    while text.startswith("[") and "]" in text:
        text = text.split("]", 1)[1].strip()
    return text.replace("{", "(").replace("}", ")")
