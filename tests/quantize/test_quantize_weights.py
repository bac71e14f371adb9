"""`quantize_weights`: every model loads in ONNX Runtime and computes with the rounded weights."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import onnxwright as ow
from onnxwright.quantize.rounding import dequantized, round_to_nearest
from tests.harness.tables import each

RNG = np.random.default_rng(0)
WEIGHT = RNG.standard_normal((72, 40)).astype(np.float32)
X = RNG.standard_normal((3, 72)).astype(np.float32)


def run(model: Any, feeds: dict[str, Any], *, exact: bool = True, optimized: bool = True) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if exact:  # else activations of the fused operator are rounded to eight bits
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, feeds)


def kinds(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node]


def model_of(text: str, opset: int = 21, functions: str = "", **weights: Any) -> onnx.ModelProto:
    head = f'<ir_version: 8, opset_import: ["" : {opset}, "my" : 1]>'
    model = parser.parse_model(f"{head} {text} {functions}")
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


def rounded(weight: Any, bits: int = 4, block: int = 32, symmetric: bool = True) -> Any:
    return dequantized(round_to_nearest(weight, bits, block, symmetric=symmetric))


MATMUL = "g (float[m,72] x) => (float[m,n] y) { y = MatMul(x, w) }"
TRANSPOSED = "g (float[m,72] x) => (float[m,n] y) { t = Transpose<perm=[1,0]>(w) y = MatMul(x, t) }"
GEMM = "g (float[m,72] x) => (float[m,n] y) { y = Gemm<transB=1>(x, w, b) }"
GEMM_ALL = (
    "g (float[72,m] x) => (float[m,n] y) "
    "{ y = Gemm<transA=1, transB=1, alpha=0.5, beta=2.0>(x, w, b) }"
)
CAST = "g (float[m,72] x) => (float[m,n] y) { c = Cast<to=1>(w) y = MatMul(x, c) }"


@each("symmetric", [True, False])
@each("target", ["any", "onnxruntime"])
@each("bits", [4, 8])
@each("form", ["matmul", "transposed", "gemm", "gemm_all", "cast"])
def test_forms(form: str, bits: int, target: str, symmetric: bool) -> None:
    text = {"matmul": MATMUL, "transposed": TRANSPOSED, "gemm": GEMM, "gemm_all": GEMM_ALL,
            "cast": CAST}[form]  # fmt: skip
    bias = RNG.standard_normal(40).astype(np.float32)
    stored = WEIGHT if form in ("matmul", "cast") else np.ascontiguousarray(WEIGHT.T)
    if form == "cast":
        stored = stored.astype(np.float16)
    weights = {"w": stored} | ({"b": bias} if "gemm" in form else {})
    quantized = ow.quantize_weights(
        model_of(text, **weights), bits, target=target, symmetric=symmetric
    )
    matrix = WEIGHT.astype(np.float16).astype(np.float32) if form == "cast" else WEIGHT
    block = 32 if bits == 4 or target == "onnxruntime" else 0
    y = X @ rounded(matrix, bits, block, symmetric)
    y = y if "gemm" not in form else y + bias if form == "gemm" else 0.5 * y + 2 * bias
    x = X.T if form == "gemm_all" else X
    for optimized in (True, False):
        (got,) = run(quantized, {"x": np.ascontiguousarray(x)}, optimized=optimized)
        np.testing.assert_allclose(got, y, rtol=2e-4, atol=2e-4)
    assert "Gemm" not in kinds(quantized)
    assert kinds(quantized).count("DequantizeLinear") == (target == "any")
    sizes = sum(len(t.raw_data) for t in quantized.graph.initializer)
    assert sizes < stored.nbytes * (0.75 if form == "cast" else 0.42) + bias.nbytes + 16
    assert [v.name for v in quantized.graph.output] == ["y"]


@each("inner", [17, 31, 33, 40, 64])
@each("target", ["any", "onnxruntime"])
@each("symmetric", [True, False])
def test_blocks_that_do_not_divide_the_inner_size(inner: int, target: str, symmetric: bool) -> None:
    """The last block is shorter (DequantizeLinear) or padded (MatMulNBits)."""
    weight = RNG.standard_normal((inner, 5)).astype(np.float32)
    text = f"g (float[m,{inner}] x) => (float[m,n] y) {{ y = MatMul(x, w) }}"
    quantized = ow.quantize_weights(
        model_of(text, w=weight), block=16, target=target, symmetric=symmetric
    )
    x = RNG.standard_normal((2, inner)).astype(np.float32)
    expected = x @ rounded(weight, 4, 16, symmetric)
    np.testing.assert_allclose(run(quantized, {"x": x})[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("opset", [9, 11, 13, 18, 20])
def test_older_opsets(opset: int) -> None:
    """Four bits need opset 21, eight bits 13; MatMulNBits needs none."""
    source = model_of(MATMUL, opset, w=WEIGHT)
    four, eight = ow.quantize_weights(source), ow.quantize_weights(source, 8)
    runtime = ow.quantize_weights(source, target="onnxruntime")
    versions = [m.opset_import[0].version for m in (four, eight, runtime)]
    assert versions == [21, max(opset, 13), opset]
    for model, block, bits in ((four, 32, 4), (eight, 0, 8), (runtime, 32, 4)):
        expected = X @ rounded(WEIGHT, bits, block)
        np.testing.assert_allclose(run(model, {"x": X})[0], expected, rtol=1e-4, atol=1e-4)


def test_a_column_can_be_one_block() -> None:
    quantized = ow.quantize_weights(model_of(MATMUL, w=WEIGHT), block=None)
    expected = X @ rounded(WEIGHT, 4, 0)
    np.testing.assert_allclose(run(quantized, {"x": X})[0], expected, rtol=1e-4, atol=1e-4)


def test_half_precision() -> None:
    text = "g (float16[m,72] x) => (float16[m,n] y) { y = MatMul(x, w) }"
    for bits, target in ((4, "any"), (8, "any"), (4, "onnxruntime")):
        source = model_of(text, 18, w=WEIGHT.astype(np.float16))
        quantized = ow.quantize_weights(source, bits, target=target)
        (got,) = run(quantized, {"x": X.astype(np.float16)})
        assert got.dtype == np.float16
        expected = X @ rounded(WEIGHT, bits, 0 if bits == 8 else 32)
        np.testing.assert_allclose(got.astype(np.float32), expected, rtol=2e-2, atol=5e-2)


def test_bfloat16_weights_behind_a_cast() -> None:
    quantized = ow.quantize_weights(model_of(CAST, w=WEIGHT.astype(ml_dtypes.bfloat16)))
    expected = X @ rounded(WEIGHT.astype(ml_dtypes.bfloat16).astype(np.float32))
    np.testing.assert_allclose(run(quantized, {"x": X})[0], expected, rtol=1e-4, atol=1e-4)


def test_a_weight_of_several_nodes_is_read_by_fused_products() -> None:
    square = WEIGHT[:, :40].repeat(2, 1)[:, :72].copy()
    text = "g (float[m,72] x) => (float[m,72] y) { a = MatMul(x, w) b = Neg(a) y = MatMul(b, w) }"
    quantized, report = ow.quantize_weights(model_of(text, w=square), report=True)
    matrix = rounded(square)
    np.testing.assert_allclose(
        run(quantized, {"x": X})[0], -(X @ matrix) @ matrix, rtol=1e-3, atol=1e-2
    )
    assert len(report.weights) == 1
    assert len(report.weights[0].nodes) == 2
    assert kinds(quantized).count("DequantizeLinear") == 2


IF = """g (float[m,72] x, bool c) => (float[m,n] y) { y = If (c) <
    then_branch = t () => (float[m,n] p) { p = MatMul(x, w) },
    else_branch = e () => (float[m,n] q) { n = Neg(x) q = MatMul(n, w) }> }"""


@each(("bits", "target"), [(4, "any"), (8, "any"), (4, "onnxruntime")])
def test_bodies_that_read_a_weight_of_the_graph_around_them(bits: int, target: str) -> None:
    quantized = ow.quantize_weights(model_of(IF, w=WEIGHT), bits, target=target)
    matrix = rounded(WEIGHT, bits, 32 if bits == 4 else 0)
    for taken, sign in ((True, 1), (False, -1)):
        (got,) = run(quantized, {"x": X, "c": np.array(taken)})
        np.testing.assert_allclose(got, sign * X @ matrix, rtol=1e-4, atol=1e-4)
    assert not any(t.name == "w" for t in quantized.graph.initializer)


def constant(name: str, array: Any) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))


@each(("bits", "target"), [(4, "any"), (8, "any"), (4, "onnxruntime")])
def test_a_constant_in_a_function(bits: int, target: str) -> None:
    model = model_of("g (float[m,72] x) => (float[m,n] y) { y = my.f(x) }")
    body = [constant("w", WEIGHT), helper.make_node("MatMul", ["a", "w"], ["r"])]
    opsets = [helper.make_opsetid("", 21)]
    model.functions.append(helper.make_function("my", "f", ["a"], ["r"], body, opsets))
    small = ow.quantize_weights(model, bits, target=target)
    matrix = rounded(WEIGHT, bits, 32 if bits == 4 else 0)
    np.testing.assert_allclose(run(small, {"x": X})[0], X @ matrix, rtol=1e-4, atol=1e-4)
    assert small.ByteSize() < WEIGHT.nbytes / 2


@each("bits", [4, 8])
@each("turned", [False, True])
def test_an_argument_of_a_function(bits: int, turned: bool) -> None:
    """The call reads DequantizeLinear; a function that is called by a function, too."""
    model = model_of("g (float[m,72] x) => (float[m,n] y) { y = my.outer(x, w) }",
                    w=np.ascontiguousarray(WEIGHT.T) if turned else WEIGHT)  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("my", 1)]
    turn = helper.make_node("Transpose", ["p"], ["t"], perm=[1, 0])
    product = helper.make_node("MatMul", ["a", "t" if turned else "p"], ["r"])
    body = [turn, product] if turned else [product]
    model.functions.append(helper.make_function("my", "f", ["a", "p"], ["r"], body, opsets))
    call = helper.make_node("f", ["a", "p"], ["r"], domain="my")
    model.functions.append(helper.make_function("my", "outer", ["a", "p"], ["r"], [call], opsets))
    small = ow.quantize_weights(model, bits)
    matrix = rounded(WEIGHT, bits, 32 if bits == 4 else 0)
    np.testing.assert_allclose(run(small, {"x": X})[0], X @ matrix, rtol=1e-4, atol=1e-4)
    assert small.ByteSize() < WEIGHT.nbytes / 2
    assert ow.quantize_weights(model, 8, dynamic=True, report=True)[1].skipped[0].reason


GATHER = "g (int64[a,b] i) => (float[a,b,c] y) { y = Gather(w, i) }"


@each("symmetric", [True, False])
@each(
    ("bits", "target", "opset"),
    [
        (4, "any", 13),
        (8, "any", 13),
        (8, "any", 21),
        (4, "onnxruntime", 9),  # three blocks: ONNX Runtime 1.23 needs an even number
        (4, "onnxruntime", 13),
        (8, "onnxruntime", 21),
    ],
)
def test_embeddings(bits: int, target: str, opset: int, symmetric: bool) -> None:
    table = np.ascontiguousarray(WEIGHT.T)
    source = model_of(GATHER, opset, w=table)
    assert kinds(ow.quantize_weights(source, bits, target=target)) == ["Gather"]
    quantized = ow.quantize_weights(
        source, bits, target=target, embeddings=True, symmetric=symmetric
    )
    block = 32 if bits == 4 or target == "onnxruntime" else 0
    rows = np.array([[0, 39, 7], [1, 1, 20]])
    expected = rounded(WEIGHT, bits, block, symmetric).T[rows]
    np.testing.assert_allclose(run(quantized, {"i": rows})[0], expected, rtol=1e-5, atol=1e-5)
    assert quantized.ByteSize() < table.nbytes * 0.5


def test_a_table_that_is_also_the_head() -> None:
    text = ("g (int64[a] i) => (float[a,b] y) { r = Gather(w, i) t = Transpose<perm=[1,0]>(w) "
            "y = MatMul(r, t) }")  # fmt: skip
    table = RNG.standard_normal((80, 64)).astype(np.float32)
    rows = np.array([3, 79])
    matrix = rounded(np.ascontiguousarray(table.T))
    for embeddings in (False, True):
        quantized = ow.quantize_weights(model_of(text, w=table), embeddings=embeddings)
        x = matrix.T[rows] if embeddings else table[rows]
        np.testing.assert_allclose(run(quantized, {"i": rows})[0], x @ matrix, rtol=1e-4, atol=1e-3)
        assert any(t.name == "w" for t in quantized.graph.initializer) != embeddings


def test_dynamic() -> None:
    """Activations are rounded once for all products that read them."""
    text = """g (float[m,72] x) => (float[m,n] y, float[m,n] z)
        { y = MatMul(x, w) z = Gemm<transB=1>(x, v, b) }"""
    other, bias = RNG.standard_normal((40, 72)).astype(np.float32), np.ones(40, np.float32)
    source = model_of(text, 10, w=WEIGHT, v=other, b=bias)
    for symmetric in (True, False):
        quantized = ow.quantize_weights(source, 8, dynamic=True, symmetric=symmetric)
        assert kinds(quantized).count("DynamicQuantizeLinear") == 1
        y, z = run(quantized, {"x": X})
        for got, expected in ((y, X @ WEIGHT), (z, X @ other.T + 1)):
            assert np.abs(got - expected).max() < 0.02 * np.abs(expected).max()


def test_skipped_weights_have_reasons() -> None:
    text = """g (float[m,72] x, float[72,40] o) => (float[m,n] y, float[a,b] z, float[m,n] u)
        { y = MatMul(x, w) t = Transpose(x) z = MatMul(v, t) u = MatMul(x, o) }"""
    bad = WEIGHT.copy()
    bad[3, 3] = np.inf
    model = model_of(text, w=WEIGHT, v=np.ascontiguousarray(WEIGHT.T), o=WEIGHT)
    small, report = ow.quantize_weights(model, skip="w", report=True)
    assert {s.name: s.reason.split()[0:4] for s in report.skipped} == {
        "w": ["it", "was", "asked", "to"],
        "v": ["it", "is", "the", "first"],
        "o": ["it", "is", "an", "input"],
    }
    assert small.opset_import[0].version == 21
    assert "o (MatMul u)" in str(report)
    _, report = ow.quantize_weights(model_of(MATMUL, w=bad), report=True)
    assert "not finite" in report.skipped[0].reason
    with pytest.warns(ow.OnnxwrightWarning, match="OW922"):
        ow.quantize_weights(model_of(MATMUL, w=WEIGHT), skip=["no such *"])


def test_weights_that_are_no_matrices_of_floats_are_named() -> None:
    text = "g (float[m,72] x, double[m,72] z) => (y, u) { y = MatMul(x, v) u = MatMul(z, d) }"
    text = text.replace("(y, u)", "(float[m] y, double[m,40] u)")
    model = model_of(text, v=WEIGHT[:, 0].copy(), d=WEIGHT.astype(np.float64))
    _, report = ow.quantize_weights(model, report=True)
    assert report.weights == []
    assert [(s.name, s.reason.split(";")[0]) for s in report.skipped] == [
        ("v", "it is not a matrix"),
        ("d", "its elements are DOUBLE"),
    ]


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ("(float[m,40] y, float[72,40] w) { y = MatMul(x, w) }", "it is an output"),
        (
            "(float[m,40] y, float[m,40] r) { y = MatMul(x, w) r = Gather(w, i) }",
            "Gather r reads it",
        ),
    ],
)
def test_weights_that_are_read_as_floats_too(text: str, reader: str) -> None:
    model = model_of(f"g (float[m,72] x, int64[m] i) => {text}", w=WEIGHT)
    small, report = ow.quantize_weights(model, report=True)
    feeds = {"x": X, "i": np.arange(3)}
    results = run(small, {name: feeds[name] for name in [v.name for v in small.graph.input]})
    np.testing.assert_allclose(results[0], X @ rounded(WEIGHT), atol=1e-4)
    np.testing.assert_array_equal(results[1], WEIGHT if "output" in reader else WEIGHT[:3])
    (weight,) = report.weights
    assert weight.floats_for == reader
    assert report.bytes == (WEIGHT.nbytes, WEIGHT.nbytes + weight.bytes[1])
    assert f"stored as floats, too\n  w: {reader}" in str(report)


def test_the_error_of_large_numbers() -> None:
    weight = WEIGHT.copy()
    weight[:, 0] *= 1e30  # the squares are beyond the range of FLOAT
    _, report = ow.quantize_weights(model_of(MATMUL, w=weight), report=True)
    expected = np.linalg.norm(rounded(WEIGHT[:, :1]) - WEIGHT[:, :1]) / np.linalg.norm(
        WEIGHT[:, :1]
    )
    assert report.weights[0].error == pytest.approx(expected, rel=1e-3)


@each("symmetric", [True, False])
@each("target", ["any", "onnxruntime"])
@each(("size", "largest", "fits"), [(1e-3, 1, True), (1e-5, 1, False), (1e-6, 1, False),
                                    (1, 65504, False)])  # fmt: skip
def test_float16_holds_the_scales_or_the_weight_stays(
    size: float, largest: float, fits: bool, target: str, symmetric: bool
) -> None:
    weight = (WEIGHT * size).astype(np.float16)
    if largest != 1:
        weight[0, 0] = largest  # its scale is exact where it is a power of two of it
    text = "g (float16[m,72] x) => (float16[m,n] y) { y = MatMul(x, w) }"
    options = {"symmetric": symmetric, "target": target}
    quantized, report = ow.quantize_weights(model_of(text, w=weight), 8, report=True, **options)
    if not fits and largest != 1 and symmetric:
        fits = True
    assert bool(report.weights) is fits, report
    if not fits:
        assert "float16" in report.skipped[0].reason
    x = X.astype(np.float16)
    x[:, 0] = 0
    (y,) = run(quantized, {"x": x})
    expected = x.astype(np.float32) @ weight.astype(np.float32)
    assert np.linalg.norm(y - expected) < (0.02 if largest == 1 else 0.7) * np.linalg.norm(expected)


def test_the_report() -> None:
    quantized, report = ow.quantize_weights(model_of(MATMUL, 18, w=WEIGHT), report=True)
    (weight,) = report.weights
    matrix = rounded(WEIGHT)
    assert weight.error == pytest.approx(np.linalg.norm(matrix - WEIGHT) / np.linalg.norm(WEIGHT))
    assert weight.bytes == (WEIGHT.nbytes, 72 * 40 // 2 + 3 * 40 * 4)
    assert report.bytes == weight.bytes
    assert report.opset == (18, 21)
    assert "72x40" in str(report)


def doubled(weight: Any) -> Any:
    rounded_weight = round_to_nearest(2 * weight, 4, 32, symmetric=False)
    return rounded_weight.values, rounded_weight.scale, rounded_weight.zero


def test_a_method_of_the_user() -> None:
    quantized = ow.quantize_weights(model_of(MATMUL, w=WEIGHT), method=doubled)
    expected = X @ rounded(2 * WEIGHT, 4, 32, False)
    np.testing.assert_allclose(run(quantized, {"x": X})[0], expected, rtol=1e-4, atol=1e-4)
    quantized = ow.quantize_weights(
        model_of(MATMUL, w=WEIGHT), method=doubled, target="onnxruntime"
    )
    np.testing.assert_allclose(run(quantized, {"x": X})[0], expected, rtol=1e-4, atol=1e-4)


INTEGERS, SCALE = np.zeros((72, 40), np.int8), np.ones((3, 40), np.float32)


@each(
    "result",
    [
        None,
        (INTEGERS, SCALE),
        (INTEGERS.astype(float), SCALE, None),
        (INTEGERS.T, SCALE, None),
        (INTEGERS + 8, SCALE, None),
        (INTEGERS - 9, SCALE, None),
        (INTEGERS, SCALE[:2], None),
        (INTEGERS, SCALE.astype(int), None),
        (INTEGERS, SCALE * np.nan, None),
        (INTEGERS, SCALE, SCALE),
        (INTEGERS, SCALE, np.full((3, 40), 16)),
        (INTEGERS, SCALE, np.zeros(3, int)),
    ],
)
def test_what_a_method_returns_is_checked(result: Any) -> None:
    with pytest.raises(ow.ScriptError, match="OW921"):
        ow.quantize_weights(model_of(MATMUL, w=WEIGHT), method=lambda w: result)


@each(
    "options",
    [{"bits": 3}, {"block": 1}, {"target": "cuda"}, {"accuracy_level": 4}, {"dynamic": True},
     {"method": "hqq"}, {"target": "onnxruntime", "block": 24},
     {"target": "onnxruntime", "accuracy_level": 7},
     {"bits": 8, "dynamic": True, "target": "onnxruntime"}],
)  # fmt: skip
def test_options_are_checked(options: Any) -> None:
    with pytest.raises(ow.ScriptError, match="OW920"):
        ow.quantize_weights(model_of(MATMUL, w=WEIGHT), **options)


def test_kinds_of_models(tmp_path: Path) -> None:
    """The kind that came in goes out, and what was given stays as it is."""
    proto = model_of(MATMUL, w=WEIGHT)
    before = proto.SerializeToString()
    ir_model = ir.from_proto(proto)
    path = tmp_path / "m.onnx"
    copy = onnx.ModelProto.FromString(before)
    onnx.save(copy, path, save_as_external_data=True, location="m.data", size_threshold=0)
    for source in (ir_model, path, str(path), before, io.BytesIO(before)):
        quantized = ow.quantize_weights(source)
        assert isinstance(quantized, bytes if source is before else ir.Model)
        assert [n.op_type for n in ow.load(quantized).graph] == ["DequantizeLinear", "MatMul"]
    assert [n.op_type for n in ir_model.graph] == ["MatMul"]
    ow.quantize_weights(proto)
    assert proto.graph.node[0].op_type == "MatMul"


def test_weights_in_files_are_read_one_by_one(tmp_path: Path, monkeypatch: Any) -> None:
    """At most one is in memory: each is let go before the next is read."""
    nodes = [helper.make_node("MatMul", ["x" if n == 0 else f"h{n}", f"w{n}"], [f"h{n + 1}"])
             for n in range(4)]  # fmt: skip
    weights = [numpy_helper.from_array(RNG.random((64, 64), np.float32), f"w{n}") for n in range(4)]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, ["m", 64])],
        [info("h4", TensorProto.FLOAT, ["m", 64])], weights,
    )  # fmt: skip
    path = tmp_path / "m.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, path, save_as_external_data=True, location="m.data", size_threshold=0)
    held: list[str] = []
    read, release = ir.ExternalTensor.numpy, ir.ExternalTensor.release

    def reading(self: Any) -> Any:
        if self.name not in held:
            held.append(self.name)
        assert len(held) == 1
        return read(self)

    def releasing(self: Any) -> None:
        held.remove(self.name)
        release(self)

    monkeypatch.setattr(ir.ExternalTensor, "numpy", reading)
    monkeypatch.setattr(ir.ExternalTensor, "release", releasing)
    small = ow.quantize_weights(path)
    assert held == []
    assert len(small.graph.initializers) == 8


@each("change", [ow.quantize_weights, ow.to_half])
@each("data", [None, b"short"])
def test_weights_that_cannot_be_read_are_told(
    change: Any, data: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model_of(MATMUL, w=WEIGHT), path, save_as_external_data=True, location="m.data")
    opened = ow.load(path)
    (tmp_path / "m.data").unlink()
    if data is not None:
        (tmp_path / "m.data").write_bytes(data)
    with pytest.raises(ow.OnnxwrightError, match="OW743"):
        change(opened)


def test_a_script_and_a_program() -> None:
    @ow.script
    def product(x: ow.FLOAT["m", 72]) -> ow.FLOAT["m", 40]:  # noqa: F821 - names of dimensions
        return ow.opset21.MatMul(x, ow.opset21.Constant(value=numpy_helper.from_array(WEIGHT)))

    small = ow.quantize_weights(product)
    expected = X @ rounded(WEIGHT)
    np.testing.assert_allclose(run(small, {"x": X})[0], expected, rtol=1e-4, atol=1e-4)
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(72, 40)
    program = ow.quantize_weights(ow.export(layer, (torch.from_numpy(X),)))
    assert isinstance(program, ow.ONNXProgram)
    matrix = layer.weight.detach().numpy().T
    expected = X @ rounded(np.ascontiguousarray(matrix)) + layer.bias.detach().numpy()
    got = run(program.model_proto, {"input": X})[0]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
