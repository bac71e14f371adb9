"""Stages on IR alone: `reconcile` brings nodes to one version, `verify` finds what is broken."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from onnxwright.converter.lower.reconcile import reconcile
from onnxwright.errors import InternalError, ScriptError
from onnxwright.ir.builder import Recorder
from onnxwright.ir.verify import verify
from onnxwright.opset import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.constants import Pool
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.versions.one_call import converted_call
from tests.harness.tables import each

FLOAT_13 = TensorType(DType.FLOAT, (1, 3))


def printed(nodes: list[ir.Node]) -> list[str]:
    """Nodes as `outputs = Op(inputs) {attributes}`."""
    lines = []
    for node in nodes:
        attributes = [f"{a.name}={a.value}" for a in node.attributes.values() if a.name != "value"]
        inputs = ", ".join("" if v is None else v.name or "" for v in node.inputs)
        shown = f" {{{', '.join(attributes)}}}" if attributes else ""
        lines.append(
            f"{', '.join(v.name or '' for v in node.outputs)} = {node.op_type}({inputs}){shown}"
        )
    return lines


def _built(*calls: tuple[int, str, dict[str, object]]) -> tuple[GraphBackend, list[ir.Node]]:
    """A chain of one-input calls: (opset version, operator, attributes)."""
    b = GraphBackend(Recorder(), Opset("", calls[0][0]), converted_call)
    x: GraphValue = b.wrap(b.recorder.input("x", FLOAT_13), FLOAT_13)
    for version, name, attributes in calls:
        (x,) = b.emit_written(getattr(Opset("", version), name), (x,), attributes, 1)
    return b, b.recorder.scope.nodes


RECONCILED = {
    "one version": (
        [(18, "Relu", {}), (18, "Abs", {})],
        None,
        ["relu = Relu(x)", "abs = Abs(relu)"],
        18,
    ),
    "the newest of several, where they mean the same": (
        [(13, "Relu", {}), (18, "Abs", {})],
        None,
        ["relu = Relu(x)", "abs = Abs(relu)"],
        18,
    ),
    "the version asked for": ([(18, "Relu", {})], 21, ["relu = Relu(x)"], 21),
    "an operator that changed is converted": (
        [(11, "Squeeze", {"axes": [0]}), (18, "Abs", {})],
        None,
        ["converted = Constant()", "squeeze = Squeeze(x, converted)", "abs = Abs(squeeze)"],
        18,
    ),
}


@each("case", RECONCILED)
def test_reconcile_makes_exactly_this(case: str) -> None:
    calls, version, expected, imported = RECONCILED[case]
    b, nodes = _built(*calls)
    imports = reconcile(b, nodes, version)
    assert printed(nodes) == expected
    assert imports == {"": imported}


def test_reconcile_refuses_what_cannot_be_converted() -> None:
    b, nodes = _built((10, "IsInf", {}))
    with pytest.raises(ScriptError, match="OW536"):
        reconcile(b, nodes, 9)


# -- verify ----------------------------------------------------------------------------------------


def _value(name: str) -> ir.Value:
    return ir.Value(name=name)


X, Y, Z, FAR = map(_value, ("x", "y", "z", "far"))


def _node(op: str, inputs: list[ir.Value], name: str, **attributes: object) -> ir.Node:
    attrs = [ir.Attr(k, ir.AttributeType.INT, v) for k, v in attributes.items()]
    return ir.Node("", op, inputs, attrs, outputs=[_value(name)])


def _relu(x: ir.Value, name: str = "y") -> ir.Node:
    return _node("Relu", [x], name)


BROKEN = {
    "two values are called `x`": lambda: [_relu(X, "x")],
    "`far` is read before it is made": lambda: [_relu(FAR)],
    "domain `far.away` is not imported": lambda: [
        ir.Node("far.away", "Relu", [X], outputs=[_value("y")])
    ],
    "version 18 has no such operator": lambda: [_node("Swish", [X], "y")],
    "2 inputs": lambda: [_node("Relu", [X, X], "y")],
    "2 outputs": lambda: [ir.Node("", "Relu", [X], outputs=[_value("y"), _value("z")])],
    "attribute `to` is missing": lambda: [_node("Cast", [X], "y")],
    "the output `z` is made nowhere": lambda: [_relu(X)],
}


@each("what", BROKEN)
def test_verify_finds_what_is_broken(what: str) -> None:
    nodes = BROKEN[what]()
    outputs = [Z] if "output `z`" in what else []
    with pytest.raises(InternalError) as caught:
        verify([X], outputs, nodes, {"": 18})
    assert what in str(caught.value)


def test_verify_reads_subgraphs() -> None:
    """What a branch reads must be visible where the branch stands, and names are unique in all."""
    inner = _relu(X, "inner")
    graph = ir.Graph([], [inner.outputs[0]], nodes=[inner], name="then_branch")
    late = ir.Graph([], [], nodes=[_relu(FAR, "other")], name="else_branch")
    attributes = [
        ir.Attr("then_branch", ir.AttributeType.GRAPH, graph),
        ir.Attr("else_branch", ir.AttributeType.GRAPH, late),
    ]
    node = ir.Node("", "If", [X], attributes, outputs=[_value("y")])
    with pytest.raises(InternalError, match="`far` is read before it is made"):
        verify([X], [node.outputs[0]], [node], {"": 18})


def test_verify_accepts_what_is_sound() -> None:
    node = ir.Node("", "Relu", [X], outputs=[_value("y")])
    verify([X], [node.outputs[0]], [node], {"": 18})


# -- constants -------------------------------------------------------------------------------------


def test_equal_constants_are_made_once() -> None:
    r = Recorder()
    pool = Pool(r)
    first, again = pool.node(np.array(1)), pool.node(np.array(1))
    other = pool.node(np.array(1.0))
    assert first is again
    assert other is not first
    assert printed(r.scope.nodes) == ["const = Constant()", "const_1 = Constant()"]
