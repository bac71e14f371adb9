"""Functions called on values of a graph, and calls of one opset version made through another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import onnx
import onnx_ir as ir
from onnx import version_converter

from onnxwright.builder.context import BuildContext
from onnxwright.builder.replay import Env, Replay
from onnxwright.diagnostics.catalogue import ops as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.adapters import type_proto
from onnxwright.operators.versions import same_meaning
from onnxwright.opset import registry
from onnxwright.opset.op import Op
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.types.kinds import TensorType


def call_function(
    b: BuildContext,
    function: ir.Function,
    inputs: Sequence[GraphValue | None],
    attributes: Mapping[str, object],
    functions: Mapping[Any, ir.Function] | None = None,
) -> list[GraphValue | None]:
    """The results of a function of onnx_ir, its nodes made anew for these arguments.

    Args:
        b: the backend.
        function: the function.
        inputs: the arguments; None for an absent one.
        attributes: values of attribute parameters; defaults are the function's.
        functions: the functions it calls.

    Returns:
        Its results.
    """
    return Replay(b, {}, functions=functions).inline(function, inputs, attributes)


def adapted(
    b: BuildContext,
    op: Op,
    inputs: Sequence[GraphValue | None],
    attributes: Mapping[str, object],
    outputs: int,
) -> tuple[GraphValue, ...]:
    """A call through another version of the default opset, as the backend's version says it.

    Args:
        b: the backend.
        op: the operator, of another version.
        inputs: its inputs.
        attributes: its attributes.
        outputs: how many outputs there are.

    Returns:
        The outputs.

    Raises:
        ScriptValueError: the operator differs and cannot be converted (OW536).
    """
    target = b.opset.version
    there = registry.signature("", op.name, target)
    assert op.signature is not None
    if there is not None and same_meaning(op.signature, there, attributes, outputs):
        return b.emit(b.opset[op.name], inputs, attributes, outputs)
    model = _one_node_model(b, op, inputs, attributes, outputs)
    if model is None:
        raise_not_convertible(b, op, "its input types are not known")
    try:
        made = version_converter.convert_version(model, target)
    except Exception as error:  # noqa: BLE001 - whatever the converter says
        text = str(error).splitlines()[0].rsplit("failed: ", 1)[-1]
        raise_not_convertible(b, op, text.replace("{", "(").replace("}", ")"))
    graph: Any = ir.from_proto(made.graph)
    named = {f"i{n}": v for n, v in enumerate(inputs)}
    env: Env = {v: named[v.name] for v in graph.inputs}
    env.update({v: named[v.name] for v in graph.initializers.values() if v.name in named})
    results = Replay(b, {"": target}).run(list(graph), list(graph.outputs), env)
    return tuple(r for r in results if r is not None)


def raise_not_convertible(b: BuildContext, op: Op, reason: str) -> NoReturn:
    fail(
        messages.OpsetsDisagree(
            operation=op.name,
            domain="ai.onnx",
            version=op.version,
            target=b.opset.version,
            reason=reason,
            span=b.here(),
        )
    )


def _one_node_model(
    b: BuildContext,
    op: Op,
    inputs: Sequence[GraphValue | None],
    attributes: Mapping[str, object],
    outputs: int,
) -> onnx.ModelProto | None:
    infos, initializers = [], []
    for n, value in enumerate(inputs):
        if value is None:
            continue
        known = b.constant_value(value)
        if known is not None and known.dtype != object:
            initializers.append(onnx.numpy_helper.from_array(known, f"i{n}"))
            continue
        if not isinstance(value.kind, TensorType) or value.kind.dtype is None:
            return None
        infos.append(onnx.helper.make_value_info(f"i{n}", type_proto(value.kind)))
    node = onnx.NodeProto(
        op_type=op.name,
        input=["" if v is None else f"i{n}" for n, v in enumerate(inputs)],
        output=[f"o{n}" for n in range(outputs)],
        attribute=[ir.to_proto(a) for a in b._attributes(op, attributes)],
    )
    made = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = onnx.helper.make_graph([node], "one", infos, made, initializers)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", op.version)])


__all__ = ["Env", "Replay", "adapted", "call_function"]
