"""Small models that ask for much: they are refused, or take no more than what they hold."""

from __future__ import annotations

import resource
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, parser

import onnxwright as ow
from onnxwright.errors import ModelError
from onnxwright.ir.vector_lengths import follows_too_much
from tests.harness.tables import each

ROOT = Path(__file__).resolve().parents[2]
HEAD = '<ir_version: 10, opset_import: ["" : 20]>'


def doubled(first: str, last: str = "y = Size(w30)", count: int = 30) -> onnx.ModelProto:
    lines = " ".join(f"w{n + 1} = Concat<axis = 0>(w{n}, w{n})" for n in range(count))
    return parser.parse_model(f"{HEAD} g (float[4] x) => (int64 y) {{ {first} {lines} {last} }}")


def in_branch() -> onnx.ModelProto:
    model = doubled("w0 = Shape(x)")
    body = helper.make_graph(model.graph.node, "b", [], model.graph.output)
    other = parser.parse_graph("e () => (int64 z) { z = Size(x) }")
    node = helper.make_node("If", ["c"], ["out"], then_branch=body, else_branch=other)
    proto = parser.parse_model(f"{HEAD} g (float[4] x, bool c) => (int64 out) {{ out = Size(x) }}")
    proto.graph.node[0].CopyFrom(node)
    return proto


def in_function() -> onnx.ModelProto:
    model = doubled("w0 = Shape(x)")
    function = helper.make_function(
        "d", "f", ["x"], ["y"], model.graph.node, [helper.make_opsetid("", 20)]
    )
    proto = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20, "d" : 1]>'
        " g (float[4] x) => (int64 y) { y = d.f(x) }"
    )
    proto.functions.append(function)
    return proto


LONG = {
    "a shape": doubled("w0 = Shape(x)"),
    "a constant": doubled("w0 = Constant<value_ints = [1, 2]>()"),
    "a short-cut through arithmetic": doubled("v = Shape(x) w0 = Mul(v, v)"),
    "a range": parser.parse_model(
        f"{HEAD} g (float[4] x) => (int64 y) <int64 a = {{0}}, int64 b = {{33554432}},"
        " int64 d = {1}> { r = Range(a, b, d) y = Size(r) }"
    ),
    "a range of a product": parser.parse_model(
        f"{HEAD} g (float[4] x) => (int64 y) <int64 a = {{0}}, int64 b = {{8192}},"
        " int64 d = {1}> { c = Mul(b, b) r = Range(a, c, d) y = Size(r) }"
    ),
    "in a branch": in_branch(),
    "in a function": in_function(),
}


@each("name", LONG)
def test_vectors_that_inference_would_follow(name: str) -> None:
    assert follows_too_much(LONG[name])
    assert "Size" in str(ow.show(LONG[name])) or "If" in str(ow.show(LONG[name]))


def test_usual_shapes_are_followed() -> None:
    assert not follows_too_much(doubled("w0 = Shape(x)", "y = Size(w8)", 8))
    text = "g (float[2, 3] x) => (float[N, M] y) { s = Shape(x) t = Concat<axis=0>(s, s) u = "
    model = parser.parse_model(f"{HEAD} {text} ConstantOfShape(t) y = Flatten(u) }}")
    assert "u: FLOAT[2, 3, 2, 3]" in str(ow.show(model))


def sparse(count: int, elements: int) -> onnx.ModelProto:
    held = [
        helper.make_sparse_tensor(
            helper.make_tensor(f"s{n}", 1, [1], [1.0]), helper.make_tensor("i", 7, [1], [0]),
            [elements],
        )
        for n in range(count)
    ]  # fmt: skip
    model = parser.parse_model(f"{HEAD} g (float[4] x) => (float[K] y) {{ y = Sum(x) }}")
    del model.graph.node[0].input[:]
    model.graph.node[0].input.extend(f"s{n}" for n in range(count))
    model.graph.sparse_initializer.extend(held)
    return model


TOOLS = {
    "show": lambda m: str(ow.show(m)),
    "optimize": ow.optimize,
    "to_script": ow.to_script,
    "diff": lambda m: ow.diff(m, m),
    "convert_version": lambda m: ow.convert_version(m, 21),
    "from_model": ow.GraphBuilder.from_model,
    "extract": lambda m: ow.extract(m, ["x"], ["y"]),
    "run_model": lambda m: ow.run_model(m, {"x": np.ones(4, np.float32)}),
    "debug": lambda m: ow.debug(m, {"x": np.ones(4, np.float32)}),
}


@each("tool", TOOLS)
def test_sparse_tensors_are_bounded_together(tool: str) -> None:
    with pytest.raises(ModelError, match="OW751"):
        TOOLS[tool](sparse(40, 1 << 27))


def test_small_sparse_tensors_are_written_out() -> None:
    optimized = ow.optimize(sparse(2, 4))
    assert ow.run_model(optimized, {"x": np.ones(4, np.float32)})[0].tolist() == [2, 0, 0, 0]


LARGE = ("a rank", "a name", "the name of a node")


def large(name: str) -> onnx.ModelProto:
    model = parser.parse_model(
        f"{HEAD} g (float[4] x) => (float[4] y) {{ a = Neg(x) y = Relu(a) }}"
    )
    if name == "a rank":
        shape = model.graph.input[0].type.tensor_type.shape
        shape.dim.extend([onnx.TensorShapeProto.Dimension(dim_value=1)] * 100_000)
    elif name == "a name":
        model.graph.node[0].output[0] = model.graph.node[1].input[0] = "n" * 10**7
    else:
        model.graph.node[0].name = "n" * 10**7
    return model


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", LARGE)
def test_ranks_and_names_are_bounded(tool: str, name: str) -> None:
    with pytest.raises(ModelError, match="OW751"):
        TOOLS[tool](large(name))


def test_functions_that_double_are_compared_in_linear_time() -> None:
    functions = []
    for n in range(11):
        called = f"d.f{n - 1}" if n else "Neg"
        functions.append(
            f'<domain: "d", opset_import: ["" : 20, "d" : 1]> f{n} (a) => (c)'
            f" {{ b = {called}(a) c = {called}(b) }}"
        )
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20, "d" : 1]>'
        f" g (float[2] x) => (float[2] y) {{ y = d.f10(x) }} {' '.join(functions)}"
    )
    assert ow.first_divergence(model, model, {"x": np.ones(2, np.float32)}) is None


@pytest.mark.slow
def test_under_a_limit_of_memory() -> None:
    program = """
        import onnxwright as ow
        from tests.ir.test_bombs import LONG, sparse
        for model in (*LONG.values(), sparse(40, 1 << 27)):
            for tool in (lambda m: str(ow.show(m)), ow.optimize, ow.to_script):
                try:
                    tool(model)
                except ow.OnnxwrightError as error:
                    assert error.diagnostic.code == "OW751"
    """
    limit = 4 << 30
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


def code_of(tool: Callable[[onnx.ModelProto], object], model: onnx.ModelProto) -> str:
    """The code of the error that a tool raises; other exceptions are not caught."""
    try:
        tool(model)
    except ow.OnnxwrightError as error:
        return error.diagnostic.code
    return ""


def test_an_external_constant_without_its_file() -> None:
    tensor = onnx.TensorProto(name="v", data_type=1, dims=[4], data_location=1)
    tensor.external_data.add(key="location", value="gone.bin")
    model = parser.parse_model(f"{HEAD} g (float[4] x) => (float[4] y) {{ y = Relu(x) }}")
    model.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value=tensor))
    model.graph.node[1].CopyFrom(helper.make_node("Add", ["x", "c"], ["y"]))
    codes = {name: code_of(tool, model) for name, tool in TOOLS.items()}
    assert set(codes.values()) <= {"", "OW743"}, codes
    with pytest.raises(ModelError, match="OW743"):
        ow.GraphBuilder.from_model(model)


def test_an_output_that_is_an_input_twice() -> None:
    model = parser.parse_model(f"{HEAD} g (float[4] x) => (float[4] y) {{ y = Relu(x) }}")
    model.graph.output.extend([model.graph.input[0]] * 2)
    codes = {name: code_of(tool, model) for name, tool in TOOLS.items()}
    assert codes["optimize"] == "OW744"
    with pytest.raises(ModelError, match="OW744"):
        ow.GraphBuilder.from_model(model).to_model_proto()


NAMES = ["version", "domain", "__class__", "__import__", "__getattr__", "_bound", "self", "Nope"]


@each("domain", ["", "ai.onnx.ml", "d"])
@each("name", NAMES)
def test_no_attribute_of_ours_is_an_operator(name: str, domain: str) -> None:
    imports = [helper.make_opsetid("", 20), *([helper.make_opsetid(domain, 1)] if domain else [])]
    float4 = helper.make_tensor_value_info("x", 1, [4]), helper.make_tensor_value_info("y", 1, [4])
    node = helper.make_node(name, ["x"], ["y"], domain=domain)
    model = helper.make_model(
        helper.make_graph([node], "g", [float4[0]], [float4[1]]),
        opset_imports=imports,
        ir_version=10,
    )
    feeds = {"x": np.ones(4, np.float32)}
    tools = TOOLS | {
        "first_divergence": lambda m: ow.first_divergence(m, m, feeds),
        "run": lambda m: ow.GraphBuilder.from_model(m).run(feeds),
    }
    codes = {which: code_of(tool, model) for which, tool in tools.items()}
    assert not [which for which, code in codes.items() if code.startswith("OW9")], codes
