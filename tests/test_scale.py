"""The work grows with the size of a graph, not with its square; 100,000 nodes go through it all.

Work is counted, not timed: the lines of Python that run, loops within a line included.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxwright as ow
from onnxwright import FLOAT
from onnxwright.testing import assert_isomorphic
from tests.harness.loading import load_file


def model_of(
    nodes: list[onnx.NodeProto], outputs: list[str], held: dict[str, Any] | None = None
) -> onnx.ModelProto:
    """A model with one input `x` of four numbers a row."""

    def info(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4])

    weights = [numpy_helper.from_array(a, n) for n, a in (held or {}).items()]
    graph = helper.make_graph(nodes, "g", [info("x")], [info(n) for n in outputs], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def chain(count: int) -> onnx.ModelProto:
    """Each node reads the one before; some read a weight or an earlier node, too."""
    names = ["x", *(f"v{n}" for n in range(count))]
    nodes = []
    for n in range(count):
        operator = ("MatMul", "Relu", "Add", "Exp")[n % 4]
        inputs = [
            names[n],
            *{"MatMul": ["weight"], "Add": [names[max(0, n - 2)]]}.get(operator, []),
        ]
        nodes.append(helper.make_node(operator, inputs, [names[n + 1]]))
    return model_of(nodes, names[-1:], {"weight": np.eye(4, dtype=np.float32)})


def weights(count: int) -> onnx.ModelProto:
    """Each node has a weight of its own."""
    held = {f"w{n}": np.full(4, n, np.float32) for n in range(count)}
    names = ["x", *(f"v{n}" for n in range(count))]
    nodes = [helper.make_node("Mul", [names[n], w], [names[n + 1]]) for n, w in enumerate(held)]
    return model_of(nodes, names[-1:], held)


def readers(count: int) -> onnx.ModelProto:
    """One value that all nodes read, and one node that reads all of them."""
    held = {f"w{n}": np.full(4, n, np.float32) for n in range(count)}
    nodes = [helper.make_node("Add", ["x", w], [f"a{w}"]) for w in held]
    return model_of([*nodes, helper.make_node("Sum", [f"a{w}" for w in held], ["y"])], ["y"], held)


def outputs(count: int) -> onnx.ModelProto:
    """Every node makes an output."""
    names = [f"output_{n}" for n in range(count)]
    nodes = [
        helper.make_node(("Relu", "Exp")[n % 2], [names[n - 2] if n > 1 else "x"], [name])
        for n, name in enumerate(names)
    ]
    return model_of(nodes, names)


def branches(count: int) -> onnx.ModelProto:
    """A chain of Ifs, each with a node in either branch."""

    def side(operator: str, read: str, made: str) -> onnx.GraphProto:
        node = helper.make_node(operator, [read], [made])
        out = helper.make_tensor_value_info(made, TensorProto.FLOAT, ["N", 4])
        return helper.make_graph([node], made, [], [out])

    names = ["x", *(f"v{n}" for n in range(count // 3))]
    nodes = [helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0)]
    nodes.append(helper.make_node("Cast", ["s"], ["c"], to=TensorProto.BOOL))
    for n, (read, made) in enumerate(zip(names, names[1:], strict=False)):
        sides = side("Exp", read, f"then{n}"), side("Neg", read, f"else{n}")
        nodes.append(
            helper.make_node("If", ["c"], [made], then_branch=sides[0], else_branch=sides[1])
        )
    return model_of([*nodes, helper.make_node("Exp", names[-1:], ["y"])], ["y"])


def edited(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy with another operator in the middle."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    nodes = made.graph.node
    half = nodes[len(nodes) // 2 :]
    node = next(n for n in half if n.op_type in _OTHER)
    node.op_type = _OTHER[node.op_type]
    return made


_OTHER = {"Exp": "Neg", "Add": "Sub", "Mul": "Sub"}


def compared(model: onnx.ModelProto) -> None:
    """The difference of a model and its edited copy, as text."""
    assert "1 node" in str(ow.diff(model, edited(model)))


def rebuilt(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same graph, built call by call."""
    g = ow.GraphBuilder(opset=21)
    values = {"x": g.input("x", FLOAT["N", 4])}
    arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for node in model.graph.node:
        inputs = [values[n] if n in values else arrays[n] for n in node.input]
        values[node.output[0]] = getattr(g.op, node.op_type)(*inputs)
    for o in model.graph.output:
        g.output(values[o.name], o.name)
    return g.to_model_proto(check=False)


STEPS: dict[str, Callable[[onnx.ModelProto], Any]] = {
    "build": rebuilt,
    "to_script": ow.to_script,
    "optimize": ow.optimize,
    "convert": lambda model: ow.convert_version(model, 22),
    "diff": compared,
    "isomorphic": lambda model: assert_isomorphic(
        model, onnx.ModelProto.FromString(model.SerializeToString())
    ),
    "show": lambda model: str(ow.show(model)),
    "page": lambda model: ow.show(model)._repr_html_(),
}
SHAPES: dict[str, tuple[Callable[[int], onnx.ModelProto], tuple[str, ...]]] = {
    "chain": (chain, tuple(STEPS)),
    "weights": (weights, ("build", "to_script", "optimize", "diff")),
    "readers": (readers, ("build", "to_script", "optimize")),
    "outputs": (outputs, ("build", "to_script", "show")),
    "branches": (branches, ("to_script", "optimize", "convert", "diff", "isomorphic", "show")),
}
CASES = [(shape, step) for shape, (_, steps) in SHAPES.items() for step in steps]


def lines_run(function: Callable[[], Any]) -> int:
    """How many lines of Python a call runs; each time round a loop within a line counts."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(("shape", "step"), CASES)
def test_work_is_linear(shape: str, step: str) -> None:
    """Twice the nodes are twice the further work; what does not depend on them drops out."""
    make, run = SHAPES[shape][0], STEPS[step]
    run(make(24))
    small, middle, large = (lines_run(partial(run, make(n))) for n in (32, 64, 128))
    assert large - middle <= 2.02 * (middle - small), (small, middle, large)


def calls(depth: int) -> onnx.ModelProto:
    """Functions that call the one before twice: inlined, they would have 2 ** depth nodes."""

    def function(n: int) -> onnx.FunctionProto:
        below = [("x", "a"), ("a", "b")] if n else []
        nodes = [helper.make_node(f"f{n - 1}", [i], [o], domain="f") for i, o in below]
        nodes.append(helper.make_node("Exp", ["b" if n else "x"], ["y"]))
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]
        return helper.make_function("f", f"f{n}", ["x"], ["y"], nodes, imports)

    model = model_of([helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="f")], ["y"])
    model.opset_import.add(domain="f", version=1)
    model.functions.extend(map(function, range(depth)))
    return model


@pytest.mark.parametrize("step", ["to_script", "optimize", "convert", "show"])
def test_functions_that_call_functions_are_linear(step: str) -> None:
    run = STEPS[step]
    run(calls(10))
    small, middle, large = (lines_run(partial(run, calls(depth))) for depth in (10, 13, 16))
    assert large - middle <= 1.1 * (middle - small), (small, middle, large)


def program(count: int) -> str:
    """A script of `count` operators."""
    steps = ("x = op.MatMul(x, w)", "y = op.Relu(x)", "x = op.Add(x, y)", "x = op.Exp(x)")
    body = "\n".join(f"    {steps[n % 4]}" for n in range(count))
    return (
        "from onnxwright import FLOAT, script, opset21 as op\n\n@script()\n"
        f'def f(x: FLOAT["N", 4], w: FLOAT[4, 4]) -> FLOAT["N", 4]:\n{body}\n    return x\n'
    )


def loaded(path: Path, text: str) -> Any:
    """The script `f` of a text."""
    return load_file(path, text).f


def test_compiling_is_linear(tmp_path: Path) -> None:
    loaded(tmp_path / "first.py", program(24)).to_model_proto()
    scripts = [loaded(tmp_path / f"s{n}.py", program(n)) for n in (32, 64, 128)]
    small, middle, large = (lines_run(script.to_model_proto) for script in scripts)
    assert large - middle <= 2.02 * (middle - small), (small, middle, large)


@pytest.mark.slow
def test_a_hundred_thousand_nodes_compile(tmp_path: Path) -> None:
    model = loaded(tmp_path / "large.py", program(100_000)).to_model_proto()
    assert len(model.graph.node) == 100_000


@pytest.mark.slow
@pytest.mark.parametrize("step", [s for s in STEPS if s != "to_script"])
def test_a_hundred_thousand_nodes(step: str) -> None:
    """`to_script` has a test of its own, which runs what is written."""
    STEPS[step](chain(100_000))


@pytest.mark.slow
def test_a_hundred_thousand_nodes_saved_and_loaded(tmp_path: Path) -> None:
    model = ow.optimize(chain(100_000))
    path = tmp_path / "large.onnx"
    path.write_bytes(model.SerializeToString())
    found = ow.optimize(path)
    assert found.graph.num_nodes() == len(model.graph.node)
