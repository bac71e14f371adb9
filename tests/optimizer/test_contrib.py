"""Operators of com.microsoft for `target="onnxruntime"`: where they are used, and where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import onnxwright as ow
from onnxwright.testing import first_difference
from onnxwright.testing.proving import run_plainly

HEAD = '<ir_version: 10, opset_import: ["" : {opset}]>'
ROWS = "g (float[N,3,4] x, float[N,3,4] z) => (float[N,3,4] y{more}) <float[4] w = {{1,2,3,4}}, "
NORM = ROWS + "float[4] v = {{4,3,2,1}}, float[4] b = {{0.5,-1,2,0}}> {{ {body} }}"
CONV = """g (float[N,2,5,5] x) => (float[N,1,4,4] y{more})
    <float[1,2,2,2] w = {{1,-2,3,-4,5,-6,7,-8}}, float[1] b = {{0.5}}, float lo = {{-1}},
     float hi = {{2}}> {{ {body} }}"""
GEMM = """g (float[N,4] x) => (float[N,2] y) <float[4,2] w = {{1,-2,3,-4,5,-6,7,-8}},
    float[2] b = {{0.5,-0.5}}> {{ {body} }}"""
HEADS = """g (float[N,2,3,4] x, float[N,2,5,4] z) => (float[N,2,3,5] y)
    <float s = {{0.5}}, float zero = {{0}}, float[1,1,1,5] many = {{1,2,3,4,5}}> {{ {body} }}"""

COLUMNS = "g (float[3,N] x, float[3,M] z) => (float[N,M] y) {{ {body} }}"
REVERSED = "g (float[N,4,3] x, float[4,3,N] z) => (float[N,4,4] y) {{ {body} }}"

# name, opset, graph, body, further outputs, operators
CASES = [
    ("Conv and Relu", 13, CONV, "c = Conv(x, w, b)  y = Relu(c)", "", "FusedConv"),
    ("Conv and Clip", 13, CONV, "c = Conv(x, w, b)  y = Clip(c, lo, hi)", "", "FusedConv"),
    ("Conv and half a Clip", 13, CONV, 'c = Conv(x, w)  y = Clip(c, "", hi)', "", "FusedConv"),
    ("Conv and a Clip of attributes", 10, CONV, "c = Conv(x, w)  y = Clip<min = 0.5, max = 1.0>(c)",
     "", "FusedConv"),
    ("Conv and LeakyRelu", 13, CONV, "c = Conv(x, w)  y = LeakyRelu(c)", "", "FusedConv"),
    ("Conv and HardSigmoid", 13, CONV, "c = Conv(x, w, b)  y = HardSigmoid<alpha = 0.3>(c)", "",
     "FusedConv"),
    ("Conv that is read twice", 13, CONV, "c = Conv(x, w, b)  y = Relu(c)  u = Neg(c)",
     ", float[N,1,4,4] u", "Conv Relu Neg"),
    ("Conv that is an output", 13, CONV, "u = Conv(x, w, b)  y = Relu(u)",
     ", float[N,1,4,4] u", "Conv Relu"),
    ("Gemm and Relu", 13, GEMM, "c = Gemm(x, w, b)  y = Relu(c)", "", "FusedGemm"),
    ("Gemm and Sigmoid", 13, GEMM, "c = Gemm<beta = 0.5>(x, w, b)  y = Sigmoid(c)", "",
     "FusedGemm"),
    ("Gemm and Exp", 13, GEMM, "c = Gemm(x, w, b)  y = Exp(c)", "", "Gemm Exp"),
    ("Gemm and Elu", 13, GEMM, "c = Gemm(x, w, b)  y = Elu<alpha = 0.5>(c)", "", "FusedGemm"),
    ("Silu", 13, GEMM, "c = Gemm(x, w, b)  s = Sigmoid(c)  y = Mul(s, c)", "", "Gemm QuickGelu"),
    ("transposed and scaled", 17, HEADS,
     "t = Transpose<perm = [0,1,3,2]>(z)  m = MatMul(x, t)  y = Mul(m, s)", "", "FusedMatMul"),
    ("scaled before", 17, HEADS,
     "k = Mul(x, s)  t = Transpose<perm = [0,1,3,2]>(z)  y = MatMul(k, t)", "", "FusedMatMul"),
    ("divided", 17, HEADS, "t = Transpose<perm = [0,1,3,2]>(z)  m = MatMul(x, t)  y = Div(m, s)",
     "", "FusedMatMul"),
    ("scaled by 0", 17, HEADS,
     "t = Transpose<perm = [0,1,3,2]>(z)  m = MatMul(x, t)  y = Mul(m, zero)", "",
     "FusedMatMul Mul"),
    ("scaled by factors whose product is 0 in single precision", 17,
     HEADS.replace("s = {{0.5}}", "s = {{1e-25}}"),
     "k = Mul(x, s)  l = Mul(z, s)  t = Transpose<perm = [0,1,3,2]>(l)  y = MatMul(k, t)", "",
     "Mul FusedMatMul"),
    ("scaled by a vector", 17, HEADS,
     "t = Transpose<perm = [0,1,3,2]>(z)  m = MatMul(x, t)  y = Mul(m, many)", "",
     "FusedMatMul Mul"),
    ("another permutation", 17, HEADS.replace("float[N,2,5,4] z", "float[N,5,2,4] z"),
     "t = Transpose<perm = [0,2,3,1]>(z)  y = MatMul(x, t)", "", "Transpose MatMul"),
    ("without a permutation", 17, COLUMNS,
     "t = Transpose(x)  y = MatMul(t, z)", "", "FusedMatMul"),
    ("all axes reversed", 17, REVERSED,
     "t = Transpose(z)  y = MatMul(x, t)", "", "Transpose MatMul"),
    ("Gelu of a biased value", 20, NORM, "a = Add(x, b)  y = Gelu(a)", "", "BiasGelu"),
    ("Gelu of a sum", 20, NORM, "a = Add(x, z)  y = Gelu(a)", "", "Add Gelu"),
    ("Gelu of Tanh, biased", 20, NORM, 'a = Add(b, x)  y = Gelu<approximate = "tanh">(a)', "",
     "FastGelu"),
    ("sum and LayerNormalization", 17, NORM, "s = Add(x, z)  y = LayerNormalization(s, w, v)", "",
     "SkipLayerNormalization"),
    ("sum, bias and LayerNormalization", 17, NORM,
     "a = Add(x, b)  s = Add(a, z)  y = LayerNormalization<epsilon = 0.1>(s, w)", "",
     "SkipLayerNormalization"),
    ("a sum that is an output", 17, NORM, "u = Add(x, z)  y = LayerNormalization(u, w, v)",
     ", float[N,3,4] u", "SkipLayerNormalization"),
    ("a sum that is read again", 17, NORM,
     "s = Add(x, z)  n = LayerNormalization(s, w, v)  y = Mul(n, s)", "",
     "SkipLayerNormalization Mul"),
    ("a sum that is broadcast", 17, NORM.replace("float[N,3,4] z", "float[3,4] z"),
     "s = Add(x, z)  y = LayerNormalization(s, w, v)", "", "Add LayerNormalization"),
    ("several axes", 17, NORM.replace("float[4] w = {{1,2,3,4}}", "float[3,4] w = "
     "{{1,2,3,4,5,6,7,8,9,8,7,6}}"),
     "s = Add(x, z)  y = LayerNormalization<axis = 1>(s, w)", "", "Add LayerNormalization"),
]  # fmt: skip


def model_of(opset: int, graph: str, body: str, more: str) -> onnx.ModelProto:
    text = graph.format(more=more, body=body)
    return onnx.parser.parse_model(f"{HEAD.format(opset=opset)} {text}")


def feeds_of(model: onnx.ModelProto, size: int) -> dict[str, Any]:
    rng = np.random.default_rng(size)
    shapes = {
        v.name: [d.dim_value or size for d in v.type.tensor_type.shape.dim]
        for v in model.graph.input
    }
    arrays = {n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()}
    for array in arrays.values():
        array.reshape(-1)[:3] = (np.nan, np.inf, -np.inf)[: array.size]
    return arrays


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_operators(case: tuple[str, int, str, str, str, str]) -> None:
    _, opset, graph, body, more, operators = case
    model = model_of(opset, graph, body, more)
    optimized = ow.optimize(model, target="onnxruntime", assume=["default_session"])
    assert sorted(n.op_type for n in optimized.graph.node) == sorted(operators.split())
    slow = {"BiasGelu", "FastGelu", "SkipLayerNormalization"}  # without the session's fusions
    promised_nothing = ow.optimize(model, target="onnxruntime")
    assert not slow & {n.op_type for n in promised_nothing.graph.node}
    assert not any(n.domain for n in ow.optimize(model).graph.node)
    exact = ow.optimize(model, target="onnxruntime", level="exact", assume=["default_session"])
    assert not any(n.domain for n in exact.graph.node)
    session = onnxruntime.InferenceSession(
        optimized.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for size in (1, 3):
        feeds = feeds_of(model, size)
        expected = run_plainly(model, feeds)
        assert expected is not None
        for got in (run_plainly(optimized, feeds, str(optimized)), session.run(None, feeds)):
            assert got is not None
            for a, b in zip(expected, got, strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                assert np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


def test_other_types_have_no_kernel() -> None:
    for graph, body in (
        (CONV, "c = Conv(x, w)  y = Relu(c)"),
        (GEMM, "c = Gemm(x, w, b)  y = Relu(c)"),
        (NORM, "s = Add(x, z)  y = LayerNormalization(s, w, v)"),
        (HEADS, "t = Transpose<perm = [0,1,3,2]>(z)  y = MatMul(x, t)"),
    ):
        model = model_of(17, graph.replace("float[", "double["), body, "")
        optimized = ow.optimize(model, target="onnxruntime", assume=["default_session"])
        assert not any(n.domain for n in optimized.graph.node)


def test_a_bound_that_is_an_input_is_not_read() -> None:
    model = model_of(13, CONV, "c = Conv(x, w, b)  y = Clip(c, lo, hi)", "")
    low = onnx.helper.make_tensor_value_info("lo", onnx.TensorProto.FLOAT, [])
    model.graph.input.append(low)
    optimized = ow.optimize(model, target="onnxruntime")
    assert [n.op_type for n in optimized.graph.node] == ["Conv", "Clip"]


def test_shapes_of_quantized_operators() -> None:
    """Without them the size of each axis would be read from the tensor."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
        g (uint8[N,4,5,5] x, uint8[N,4,1,1] z) => (uint8[M,3] y)
        <float s = {0.1}, uint8 p = {7}, int64[1] all = {-1}, int64[1] one = {1},
         int64[1] two = {2}> {
          a = com.microsoft.QLinearGlobalAveragePool(x, s, p, s, p)
          b = com.microsoft.QLinearSigmoid(a, s, p, s, p)
          c = com.microsoft.QLinearMul(b, s, p, z, s, p, s, p)
          t = Shape(c)  d = Slice(t, one, two)  e = Concat<axis = 0>(all, d)  f = Reshape(c, e)
          h = com.microsoft.QGemm<transB = 1>(f, s, p, w, s, p, , s, p)
          u = Shape(h)  v = Slice(u, one, two)  k = Concat<axis = 0>(all, v)
          y = Reshape(h, k) }""")
    weight = np.arange(12, dtype=np.uint8).reshape(3, 4)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    optimized = ow.optimize(model)
    assert [n.op_type for n in optimized.graph.node] == [
        "QLinearGlobalAveragePool", "QLinearSigmoid", "QLinearMul", "Reshape", "QGemm",
    ]  # fmt: skip
    assert first_difference(model, optimized, exact=True) is None
