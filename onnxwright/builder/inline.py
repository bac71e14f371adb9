"""Graphs and functions called again on values of a graph: each node as a call of its operator.

What is known of the arguments flows in, so constants fold and constant conditions choose a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import onnx
import onnx_ir as ir
from onnx import version_converter

from onnxwright.builder.body_graphs import body_graph
from onnxwright.builder.context import BuildContext
from onnxwright.diagnostics.catalogue import ops as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.adapters import from_type_proto, type_proto
from onnxwright.ir.builder import ORIGIN
from onnxwright.operators import facts
from onnxwright.operators.versions import same_meaning
from onnxwright.opset import registry
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.types.kinds import TensorType

Env = dict[ir.Value, "GraphValue | None"]


class Replay:
    """Replays nodes of another graph through a backend.

    Args:
        b: the backend.
        imports: the version of each domain the nodes use.
        attributes: values of attribute parameters.
        functions: functions that nodes may call; a call is replayed too.
    """

    def __init__(
        self,
        b: BuildContext,
        imports: Mapping[str, int],
        attributes: Mapping[str, object] | None = None,
        functions: Mapping[Any, ir.Function] | None = None,
    ) -> None:
        self.b = b
        self.imports = imports
        self.attributes = attributes or {}
        self.functions = functions or {}

    def run(
        self, nodes: Iterable[ir.Node], outputs: Sequence[ir.Value | None], env: Env
    ) -> list[GraphValue | None]:
        """The values of outputs, given those of inputs.

        Args:
            nodes: the nodes, in order.
            outputs: what is wanted.
            env: the values that are known; it is filled.

        Returns:
            A value for each output.
        """
        for node in nodes:
            inputs = [None if v is None else self._value(v, env) for v in node.inputs]
            results = self._node(node, inputs, env)
            env.update(zip(node.outputs, results))
        return [None if v is None else self._value(v, env) for v in outputs]

    def _value(self, value: ir.Value, env: Env) -> GraphValue | None:
        if value not in env and value.const_value is not None:
            env[value] = self.b.initializer(value.const_value)
        return env[value]

    def _node(
        self, node: ir.Node, inputs: list[GraphValue | None], env: Env
    ) -> Sequence[GraphValue | None]:
        callee = self.functions.get(node.op_identifier())
        if callee is not None:
            return self._call(callee, node, inputs)
        attributes = self._attributes(node, env)
        op = getattr(Opset(node.domain, self.imports.get(node.domain, 1)), node.op_type)
        wanted = len(node.outputs)
        with self.b.from_origin(node.metadata_props.get(ORIGIN)):
            return self.b.emit(op, inputs, attributes, wanted)

    def _call(
        self, callee: ir.Function, node: ir.Node, inputs: list[GraphValue | None]
    ) -> Sequence[GraphValue | None]:
        given = self._attributes(node, {})
        return call_function(self.b, callee, inputs, given, self.functions)

    def _attributes(self, node: ir.Node, env: Env) -> dict[str, object]:
        found: dict[str, object] = {}
        for attr in node.attributes.values():
            if attr.is_ref():
                value = self.attributes.get(attr.ref_attr_name or "")
                if value is not None:
                    found[attr.name] = value
            elif attr.type is ir.AttributeType.GRAPH:
                if facts(node.op_type, node.domain).has_bodies:
                    found[attr.name] = self._body(attr.as_graph(), env)
                else:
                    found[attr.name] = self._graph(attr.as_graph(), env)
            elif attr.type is ir.AttributeType.GRAPHS:
                graphs = [self._graph(graph, env) for graph in attr.as_graphs()]
                found[attr.name] = ir.Attr(attr.name, ir.AttributeType.GRAPHS, graphs)
            elif attr.type in (ir.AttributeType.TYPE_PROTO, ir.AttributeType.SPARSE_TENSOR):
                found[attr.name] = attr
            else:
                found[attr.name] = attr.value
        return found

    def _graph(self, graph: ir.Graph, env: Env) -> ir.Graph:
        """A graph that an operator of another domain has, its nodes made anew."""
        kinds = [(v.name or "x", from_type_proto(ir.to_proto(v).type)) for v in graph.inputs]
        made, _ = body_graph(self.b, graph.name or "body", kinds, self._body(graph, env))
        return made

    def _body(self, graph: ir.Graph, env: Env) -> Callable[..., tuple[GraphValue | None, ...]]:
        def body(*values: GraphValue) -> tuple[GraphValue | None, ...]:
            inner = {**env, **dict(zip(graph.inputs, values, strict=True))}
            return tuple(self.run(graph, list(graph.outputs), inner))

        return body


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
    values = {a.name: a.value for a in function.attributes.values() if a.value is not None}
    values.update(attributes)
    env: Env = dict.fromkeys(function.inputs)
    env.update(zip(function.inputs, inputs))
    replay = Replay(b, function.opset_imports, values, functions)
    return replay.run(function, list(function.outputs), env)


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


__all__ = ["Replay", "adapted", "call_function"]
