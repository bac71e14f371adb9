"""Graph attributes from Python callables: the bodies of If, Loop, Scan and their like."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType, MethodType
from typing import Any

from onnxwright.converter.lower.context import is_script
from onnxwright.converter.lower.frame import Closure
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.annotations import annotated_type
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.opset.attributes import is_reference
from onnxwright.opset.op import Op
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.semantics.scan_layout import scan_layout
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, SequenceType, TensorType, refine_types

_LAYOUT = ("num_scan_inputs", "scan_input_axes", "scan_input_directions")


def body_graph(
    low: Lowering,
    op: Op,
    name: str,
    body: Any,
    inputs: Sequence[GraphValue | None],
    kwargs: dict[str, Any],
    span: Span,
) -> Any:
    """A graph attribute from a Python callable: its parameters become the graph's inputs."""
    recorder = low.b.recorder
    kinds = _body_inputs(op, inputs, kwargs, span)
    names = _parameter_names(body, len(kinds or ()))
    if kinds is None or len(kinds) != len(names):
        loose = kinds is None or not low.handlers.checked
        kinds = [None] * len(names) if loose or kinds is None else kinds
        if len(kinds) != len(names):
            reason = f"takes {len(names)} parameters, where `op.{op.name}` gives {len(kinds)}"
            fail(
                messages.BadCall(
                    name=name_of(body), reason=reason, signature=signature_text(body), span=span
                )
            )
    before = low.frame.env
    recorder.push()
    try:
        low.frame.env = dict(before)
        values = []
        annotations = _parameter_annotations(body)
        for param, given_kind in zip(names, kinds, strict=True):
            kind = given_kind
            if param in annotations:
                stated = annotated_type(low, param, annotations[param], given_kind, span)
                kind = refine_types(given_kind, stated)
            values.append(low.b.wrap(recorder.input(param, kind), kind))
        with low.regions.inside(Region(f"`op.{op.name}`", span)):
            result = low.apply(body, list(values), {}, span)
        outputs = _body_outputs(low, op, result, inputs, span)
        return recorder.pop([v.value for v in outputs], low.handlers.body_name(name, body))
    except BaseException:
        if recorder.scopes and len(recorder.scopes) > 1:
            recorder.drop()
        raise
    finally:
        low.frame.env = before


def _body_inputs(
    op: Op,
    inputs: Sequence[GraphValue | None],
    kwargs: dict[str, Any],
    span: Span,
) -> list[OnnxType | None] | None:
    """The types of a body's inputs, as the operator gives them."""
    kinds = [None if v is None else v.kind for v in inputs]
    if op.name == "If" and not op.domain:
        return []
    if op.name == "Loop" and not op.domain:
        carried = [_any_shape(k) for k in kinds[2:]]
        return [TensorType(DType.INT64, ()), TensorType(DType.BOOL, ()), *carried]
    if op.name == "Scan" and not op.domain:
        named = {n: kwargs[n] for n in _LAYOUT if kwargs.get(n) is not None}
        attributes = {"num_scan_inputs": 1} | {n: op.attribute(n, v) for n, v in named.items()}
        if any(map(is_reference, attributes.values())):
            return None
        layout = scan_layout(attributes, [_rank(k) for k in kinds], span)
        scanned = map(_without_axis, kinds[layout.states :], layout.axes)
        return [*kinds[: layout.states], *scanned]
    if op.name == "SequenceMap" and not op.domain:
        return [k.elem if isinstance(k, SequenceType) else k for k in kinds]
    return None


def _rank(kind: OnnxType | None) -> int | None:
    if not isinstance(kind, TensorType) or kind.shape is None:
        return None
    return len(kind.shape)


def _body_outputs(
    low: Lowering, op: Op, result: Any, inputs: Sequence[GraphValue | None], span: Span
) -> list[GraphValue]:
    items = list(result) if isinstance(result, (list, tuple)) else [result]
    outputs = []
    for n, item in enumerate(items):
        like = None
        if op.name == "Loop" and n > 0 and n + 1 < len(inputs):
            like = inputs[n + 1]
        elif op.name == "Scan" and n < len(inputs):
            like = inputs[n]
        dtype = DType.BOOL if op.name == "Loop" and n == 0 else None
        b = low.at(span)
        value = low.value(item)
        if not isinstance(value, GraphValue) or value.weak is not None:
            dtype_of_like = like.dtype if like is not None else dtype
            value = as_value(b, value, dtype=dtype_of_like)
        outputs.append(value)
    return outputs


def is_body(x: Any) -> bool:
    """Whether an attribute value is a callable that becomes a graph."""
    return isinstance(x, (Closure, FunctionType, MethodType)) or is_script(x)


def _parameter_names(body: Any, count: int = 0) -> list[str]:
    """The parameters without a default; `*args` takes what is left of the `count` values."""
    if isinstance(body, Closure):
        params = [(p.name, p.kind) for p in body.function.params if p.default is None]
        star, keywords = "star", "keywords"
    else:
        function = body.function if is_script(body) else body
        own = inspect.signature(function, follow_wrapped=False).parameters.values()
        params = [(p.name, p.kind.name) for p in own if p.default is inspect.Parameter.empty]
        star, keywords = "VAR_POSITIONAL", "VAR_KEYWORD"
    names: list[str] = []
    for name, kind in params:
        if kind == star:
            names += [f"{name}_{n}" for n in range(len(names), count)]
        elif kind != keywords:
            names.append(name)
    return names


def _parameter_annotations(body: Any) -> dict[str, object]:
    """The annotations of a body's parameters: text, or what it evaluates to."""
    if isinstance(body, Closure):
        params = body.function.params
        return {p.name: p.annotation for p in params if p.annotation is not None}
    function = body.function if is_script(body) else body
    annotations: dict[str, object] = getattr(function, "__annotations__", {})
    return annotations


def name_of(body: Any) -> str:
    """The name of a callable, for messages and graphs."""
    return body.function.name if isinstance(body, Closure) else getattr(body, "__name__", "body")


def signature_text(body: Any) -> str:
    """The parameters a body must be given, as text."""
    return "(" + ", ".join(_parameter_names(body)) + ")"


def _any_shape(kind: OnnxType | None) -> OnnxType | None:
    """A carried value may change its shape from one iteration to the next, but hardly its rank."""
    if isinstance(kind, TensorType) and kind.shape is not None:
        return TensorType(kind.dtype)
    return kind


def _without_axis(kind: OnnxType | None, axis: int) -> OnnxType | None:
    if isinstance(kind, TensorType) and kind.shape:
        dims = list(kind.shape)
        del dims[axis]
        return TensorType(kind.dtype, tuple(dims))
    return kind
