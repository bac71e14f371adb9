"""Calls of decompiled scripts, lowered node for node.

Nothing is added, shared or left out, and a call need not fit a schema: what the model says is
kept, not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.converter.lower.calls import lowering as usual_calls
from onnxwright.converter.lower.calls.bodies import body_graph
from onnxwright.converter.lower.calls.call_results import generic_body, lowered_for_call
from onnxwright.converter.lower.calls.scripts import generic_error, remember_callee
from onnxwright.converter.lower.context import Script, VerbatimPlan
from onnxwright.converter.lower.frame import Closure
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.values import AttributeRef
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.errors import OnnxwrightError
from onnxwright.ir import adapters
from onnxwright.ir.infer import INFERENCE_ERRORS, infer
from onnxwright.opset.op import BoundCall, Op
from onnxwright.opset.opsets import Opset
from onnxwright.opset.registry import OpSignature
from onnxwright.semantics import calls
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.output_types import subgraph_types
from onnxwright.types.kinds import AttrKind, OnnxType, TensorType

_RESERVED = ("_outputs", "_name")


def call_op(
    low: Lowering, op: Op, args: list[Any], kwargs: dict[str, Any], span: Span, outputs: int | None
) -> Any:
    """An operator call as one node; as usual where an argument is not a value yet."""
    result = _as_written(low, op, args, kwargs, span, outputs)
    return usual_calls.call_op(low, op, args, kwargs, span, outputs) if result is None else result


def _as_written(
    low: Lowering, op: Op, args: list[Any], kwargs: dict[str, Any], span: Span, outputs: int | None
) -> Any:
    """The node of an operator call; None where an argument is not a value yet."""
    if any(isinstance(v, GraphValue) for v in kwargs.values()):
        return None
    b = low.at(span)
    signature = _signature(op)
    if not all(a is None or isinstance(a, GraphValue) for a in args):
        if signature is None or any(isinstance(a, Closure) for a in args):
            return None
        # Numbers among the arguments take the types that the schema gives them.
        bound = BoundCall(op, tuple(args), {})
        args = calls.input_values(b, bound)
    written = {k: v for k, v in kwargs.items() if k not in _RESERVED and v is not None}
    attributes: list[ir.Attr] = []
    graphs: list[ir.Graph] = []
    for name, value in written.items():
        if isinstance(value, Closure):
            graph = body_graph(low, op, name, value, args, kwargs, span)
            graphs.append(graph)
            attributes.append(ir.Attr(name, ir.AttributeType.GRAPH, graph))
        elif isinstance(value, list) and value and all(isinstance(v, Closure) for v in value):
            bodies = [body_graph(low, op, name, v, args, kwargs, span) for v in value]
            attributes.append(ir.Attr(name, ir.AttributeType.GRAPHS, bodies))
        else:
            attributes.append(_attribute(name, value, signature))
    b = low.at(span)
    count = kwargs.get("_outputs")
    if count is None:
        count = outputs if outputs is not None else 1
    values = b.recorder.node(
        op.domain,
        op.name,
        [None if a is None else a.value for a in (args if signature is None else op.listed(args))],
        attributes,
        count,
        sugar=False,
    )
    node = b.recorder.scope.nodes[-1]
    b.recorder.use_opset(op.domain, op.version, span)
    kinds = _kinds(low, op, signature, node, args, graphs, count)
    return _wrapped(low, values, kinds, single=count == 1)


def _wrapped(low: Lowering, values: Sequence[ir.Value], kinds: list[Any], *, single: bool) -> Any:
    b = low.b
    wrapped = []
    for value, kind in zip(values, kinds, strict=True):
        b.recorder.set_type(value, kind)
        wrapped.append(b.wrap(value, kind))
    return wrapped[0] if single else tuple(wrapped)


def _kinds(
    low: Lowering,
    op: Op,
    signature: OpSignature | None,
    node: ir.Node,
    args: list[Any],
    graphs: list[ir.Graph],
    count: int,
) -> list[OnnxType | None]:
    """Types of the outputs as far as they can be found; nothing is refused."""
    types = [None if a is None else a.kind for a in args]
    arrays = [None if a is None else low.b.recorder.const_value(a.value) for a in args]
    if signature is None:
        return [None] * count
    try:
        if graphs:
            results = [[low.b.recorder.type_of(v) for v in g.outputs] for g in graphs]
            attributes = node.attributes.values()
            return subgraph_types(
                op, len(node.inputs), len(node.outputs), results, attributes, low.b.span
            )
        kinds = infer(signature, node, types, arrays, op.version)
        if op.name == "Constant" and "value" in node.attributes:
            tensor = node.attributes["value"]
            if not tensor.is_ref() and tensor.as_tensor().dtype != ir.DataType.STRING:
                low.b.recorder.info(node.outputs[0]).const_value = tensor.as_tensor().numpy()
        return kinds
    except (*INFERENCE_ERRORS, OnnxwrightError, ValueError, TypeError, KeyError, IndexError):
        return [None] * count


def call_script(
    low: Lowering, script: Script, args: list[Any], kwargs: dict[str, Any], span: Span
) -> Any:
    """A call node just as it is written: positional inputs, attributes by keyword."""
    error = generic_error(low, script)
    if error is not None:
        raise error
    b = low.at(span)
    attributes: list[ir.Attr] = []
    plan = low.context.plans.get(script.function, VerbatimPlan())
    names = {p.name: plan.names.get(p.name, p.name) for p in script.signature.attributes}
    for python, value in kwargs.items():
        if python in _RESERVED or value is None:
            continue
        name = names.get(python, python)
        if isinstance(value, Closure):
            called: Op = Opset(script.domain, script.version or 1)[script.name]
            graph = body_graph(low, called, name, value, args, kwargs, span)
            attributes.append(ir.Attr(name, ir.AttributeType.GRAPH, graph))
        else:
            attributes.append(_reference_or(name, value, None))
    for value in args:
        if value is not None and not isinstance(value, GraphValue):
            reason = "takes values of the graph by position"
            fail(
                messages.BadCall(
                    name=script.name, reason=reason, signature=str(script.signature), span=span
                )
            )
    lowered = generic_body(low, script)
    count = kwargs.get("_outputs")
    if count is None:
        count = len(lowered.outputs)
    values = b.recorder.node(
        script.domain,
        script.name,
        [None if a is None else a.value for a in args],
        attributes,
        count,
        overload=script.overload,
        sugar=False,
    )
    b.recorder.use_opset(script.domain, script.version, span)
    remember_callee(low, script, span)
    kinds = _result_kinds(low, script, args, span, count)
    return _wrapped(low, values, kinds, single=count == 1)


def _result_kinds(
    low: Lowering, script: Script, args: list[Any], span: Span, count: int
) -> list[OnnxType | None]:
    """Types of a call's results from those of its arguments, where all are tensors."""
    params = script.signature.params
    if len(args) != len(params) or any(p.is_attribute for p in params):
        return [None] * count
    if not all(isinstance(a, GraphValue) and isinstance(a.kind, TensorType) for a in args):
        return [None] * count
    arguments = {p.name: a for p, a in zip(params, args, strict=True)}
    try:
        with low.context.entering(script.function, script.name, span):
            result = lowered_for_call(low, script, arguments)
    except OnnxwrightError:
        return [None] * count
    kinds = [kind for kind, _ in result.results]
    return kinds if len(kinds) == count else [None] * count


def _signature(op: Op) -> OpSignature | None:
    try:
        return op.signature
    except OnnxwrightError:
        return None


def _attribute(name: str, value: Any, signature: OpSignature | None) -> ir.Attr:
    param = signature.attributes.get(name) if signature is not None else None
    return _reference_or(name, value, param.kind if param is not None else None)


def _reference_or(name: str, value: Any, kind: AttrKind | None) -> ir.Attr:
    """A reference to an attribute parameter, or an attribute of a kind."""
    if isinstance(value, AttributeRef):
        return ir.RefAttr(name, value.name, adapters.attribute_type(value.kind))
    if kind is not None:
        # NOTE: the model may say something else than the schema; what it says is kept.
        guessed = adapters.guess_kind(value)
        if guessed is not None and guessed.is_list and not kind.is_list:
            kind = guessed
    return adapters.attribute(name, value, kind)
