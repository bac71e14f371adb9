"""`to_half`: every model loads in ONNX Runtime, computes nearly the same, keeps its interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import onnxwright as ow
from onnxwright.eager.ort.sessions import newest_opset
from tests.harness.tables import each

RNG = np.random.default_rng(0)
HALF = {"float16": onnx.TensorProto.FLOAT16, "bfloat16": onnx.TensorProto.BFLOAT16}
ALLOWED = {"float16": 1e-2, "bfloat16": 6e-2}


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def model_of(text: str, opset: int = 21, **weights: Any) -> onnx.ModelProto:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}, "my" : 1]> {text}')
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


def feeds_of(model: onnx.ModelProto, size: int = 3) -> dict[str, Any]:
    kinds = {1: np.float32, 7: np.int64, 9: np.bool_, 6: np.int32}
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [d.dim_value or size for d in tensor.shape.dim]
        drawn = RNG.standard_normal(shape)
        if tensor.elem_type == 9 and shape:  # no row of a mask hides all
            drawn[..., 0] = 1
        feeds[value.name] = np.asarray(drawn if tensor.elem_type == 1 else drawn > 0).astype(
            kinds[tensor.elem_type]
        )
    return feeds


def check(model: onnx.ModelProto, dtype: str, *, random: bool = False, **options: Any) -> Any:
    """Convert, load, run, compare; the interface is the same."""
    before = model.SerializeToString()
    half, report = ow.to_half(model, dtype, report=True, **options)
    assert model.SerializeToString() == before
    assert [(v.name, v.type) for v in half.graph.input] == [
        (v.name, v.type) for v in model.graph.input
    ]
    kinds = [(v.name, v.type.tensor_type.elem_type) for v in model.graph.output]
    assert [(v.name, v.type.tensor_type.elem_type) for v in half.graph.output] == kinds
    feeds = feeds_of(model)
    expected, got = session(model).run(None, feeds), session(half).run(None, feeds)
    for a, b in zip(expected, got, strict=True):
        for x, y in zip(*(v if isinstance(v, list) else [v] for v in (a, b)), strict=True):
            assert x.dtype == y.dtype
            assert x.shape == y.shape
            if not random:
                scale = max(1.0, float(np.abs(x).max(initial=0)))
                np.testing.assert_allclose(y, x, rtol=0, atol=ALLOWED[dtype] * scale)
    # With half inputs and outputs it must load, too (BFLOAT16 has no arrays in numpy).
    other = ow.to_half(model, dtype, io="half", **options)
    session(other)
    assert all(v.type.tensor_type.elem_type != 1 for v in other.graph.input)
    return half, report


MODELS: dict[str, tuple[str, int]] = {
    "matmul": ("g (float[a,4] x) => (float[a,3] y) { y = MatMul(x, w) }", 11),
    "layer_norm": ("g (float[a,4] x) => (float[a,4] y) { y = LayerNormalization(x, s) }", 17),
    "layer_norm_written_out": (
        """g (float[a,4] x) => (float[a,4] y) { m = ReduceMean<axes=[-1]>(x) d = Sub(x, m)
        q = Mul(d, d) v = ReduceMean<axes=[-1]>(q) e = Constant<value_float=0.00001>()
        f = Add(v, e) r = Sqrt(f) y = Div(d, r) }""", 13,
    ),
    "clip": (
        """g (float[a,4] x) => (float[a,4] y) { l = Constant<value=float {-0.5}>()
        h = Constant<value=float {0.5}>() y = Clip(x, l, h) }""", 11,
    ),
    "resize": (
        """g (float[1,2,4,4] x) => (float[1,2,a,b] y) { r = Constant<value=float[0] {}>()
        s = Constant<value=float[4] {1,1,2,2}>() y = Resize<mode="linear">(x, r, s) }""", 11,
    ),
    "quantize": (
        """g (float[a,4] x) => (float[a,4] y) { s = Constant<value=float {0.1}>()
        z = Constant<value=uint8 {128}>() q = QuantizeLinear(x, s, z)
        y = DequantizeLinear(q, s, z) }""", 11,
    ),
    "range": (
        """g (float[a,4] x) => (float[a,4] y) { i = Constant<value=float {0}>()
        l = Constant<value=float {4}>() d = Constant<value=float {1}>() r = Range(i, l, d)
        y = Add(x, r) }""", 11,
    ),
    "random_normal": ("g () => (float[2,3] y) { y = RandomNormal<shape=[2,3]>() }", 11),
    "random_uniform_like": ("g (float[a,3] x) => (float[a,3] y) { y = RandomUniformLike(x) }", 11),
    "constant_of_shape": (
        """g (float[a,3] x) => (float[a,3] y) { s = Shape(x) c =
        ConstantOfShape<value=float[1]{2}>(s)
        d = ConstantOfShape(s) e = Add(c, d) y = Mul(x, e) }""", 11,
    ),
    "cast_like": (
        """g (float[a,3] x, int64[a,3] i) => (float[a,3] y) { c = CastLike(i, x) y = Mul(c, x)
        }""", 15,
    ),
    "eye_like": (
        """g (float[3,3] x) => (float[3,3] y) { e = EyeLike(x) f = EyeLike<dtype=1>(x) g =
        Mul(e, f) y = Add(g, x) }""", 11,
    ),
    "cast": (
        """g (float[a,3] x) => (float[a,3] y) { d = Cast<to=11>(x) f = Cast<to=1>(d) h =
        Cast<to=10>(f) y = Cast<to=1>(h) }""", 11,
    ),
    "if": (
        """g (float[a,3] x, bool c) => (float[a,3] y) { n = Abs(x) y = If (c) <
        then_branch = t () => (float[a,3] p) { p = Mul(n, w) },
        else_branch = e () => (float[a,3] q) { q = Identity(n) }> }""", 11,
    ),
    "if_constant": (
        """g (float[a,3] x, bool c) => (float[b] y) { y = If (c) <
        then_branch = t () => (float[b] p) { p = Constant<value=float[2] {1,2}>() },
        else_branch = e () => (float[b] q) { z = Constant<value=int64[1] {-1}>() q =
        Reshape(x, z) }> }""", 11,
    ),
    "loop": (
        """g (float[2,3] x, bool c) => (float[2,3] y, float[n,2,3] z) { t =
        Constant<value=int64 {3}>()
        y, z = Loop (t, c, x) < body = b (int64 i, bool k, float[2,3] h) =>
        (bool k2, float[2,3] h2, float[2,3] o) { k2 = Identity(k) f = Cast<to=1>(i) g = Add(h, f)
        h2 = Mul(g, w) o = Sigmoid(h2) }> }""", 13,
    ),
    "scan": (
        """g (float[2] x, float[4,2] s) => (float[2] y, float[4,2] z) {
        y, z = Scan <num_scan_inputs=1, body = b (float[2] h, float[2] e) =>
        (float[2] h2, float[2] o) { h2 = Add(h, e) o = Tanh(h2) }> (x, s) }""", 11,
    ),
    "sequence": (
        """g (float[a,3] x) => (float[b,3] y) { n = Neg(x) s = SequenceConstruct(x, n)
        y = ConcatFromSequence<axis=0>(s) }""", 11,
    ),
    "sequence_empty": (
        """g (float[a,3] x) => (float[b,3] y) { n = Neg(x) e = SequenceEmpty() s =
        SequenceInsert(e, n)
        y = ConcatFromSequence<axis=0>(s) }""", 11,
    ),
    "sequence_output": (
        """g (float[4,3] x) => (seq(float[a,b]) y) { n = Neg(x) y = SplitToSequence<axis=0>(n)
        }""", 11,
    ),
    "optional": (
        """g (float[a,3] x) => (float[a,3] y) { n = Neg(x) o = Optional(n) m = OptionalGetElement(o)
        y = Exp(m) }""", 18,
    ),
    "gather": ("g (int64[a] i) => (float[a,3] y) { y = Gather(w, i) }", 11),
    "mask": (
        """g (float[a,b] x, bool[a,b] m) => (float[a,b] y) { z = Constant<value=float {0}>()
        l = Constant<value=float {-3.4028235e38}>() n = Where(m, z, l) s = Add(x, n)
        y = Softmax(s) }""", 13,
    ),
    "positions": (
        """g (float[a,3] x) => (float[a,3] y) { i = Constant<value=int64[3] {0, 4097, 8191}>()
        f = Cast<to=1>(i) c = Cos(f) y = Mul(x, c) }""", 11,
    ),
    "two_outputs": (
        """g (float[a,4] x) => (float[a,2] y, int64[a,2] z) { k = Constant<value=int64[1]
        {2}>() y, z = TopK(x, k) }""", 11,
    ),
    "input_is_output": ("g (float[a,4] x) => (float[a,4] y) { y = Identity(x) }", 11),
    "dropout": ("g (float[a,4] x) => (float[a,4] y) { y = Dropout(x) }", 12),
    "batch_norm": (
        """g (float[a,4] x) => (float[a,4] y) { y = BatchNormalization(x, s, s, s, s)
        }""", 11,
    ),
    "conv": ("g (float[1,2,5,5] x) => (float[1,3,c,d] y) { y = Conv(x, k) }", 11),
    "lstm": ("g (float[2,1,4] x) => (float[2,1,1,2] y) { y = LSTM<hidden_size=2>(x, lw, lr) }", 11),
    "pow": (
        """g (float[a,4] x) => (float[a,4] y) { e = Constant<value=int64 {2}>() y = Pow(x, e)
        }""", 12,
    ),
    "einsum": ('g (float[a,4] x) => (float[a,a] y) { y = Einsum<equation="ij,kj->ik">(x, x) }', 12),
    "non_max": (
        """g (float[1,5,4] x, float[1,1,5] s) => (int64[n,3] y) { a = Abs(x)
        k = Constant<value=int64 {2}>() y = NonMaxSuppression(a, s, k) }""", 11,
    ),
    "dynamic_quantize": (
        """g (float[a,4] x) => (float[a,4] y) { q, s, z = DynamicQuantizeLinear(x)
        y = DequantizeLinear(q, s, z) }""", 11,
    ),
    "attention": ("g (float[1,2,3,8] q) => (float[1,2,3,8] y) { y = Attention(q, q, q) }", 23),
    "rms_norm": ("g (float[a,4] x) => (float[a,4] y) { y = RMSNormalization(x, s) }", 23),
    "window": (
        """g (int64 n, float[3] x) => (float[3] y) { k = Constant<value=int64 {3}>() h =
        HannWindow(k) y = Mul(h, x) }""", 17,
    ),
}  # fmt: skip

WEIGHTS = {
    "w": {"gather": (9, 3), "loop": (2, 3), "if": (1, 3), "matmul": (4, 3)},
    "s": {"layer_norm": (4,), "batch_norm": (4,), "rms_norm": (4,)},
    "k": {"conv": (3, 2, 3, 3)},
    "lw": {"lstm": (1, 8, 4)},
    "lr": {"lstm": (1, 8, 2)},
}


def built(name: str, opset: int) -> onnx.ModelProto:
    weights = {
        key: np.abs(RNG.standard_normal(shapes[name])).astype(np.float32)
        for key, shapes in WEIGHTS.items()
        if name in shapes
    }
    text = MODELS[name][0]
    model = model_of(text, MODELS[name][1], **weights)
    return model if opset == MODELS[name][1] else ow.convert_version(model, opset)


def opsets(name: str) -> list[int]:
    """The one that a model is written for, and newer ones."""
    # ONNX Runtime has no kernel of random operators of opset 22.
    newest = 21 if name.startswith("random") else min(24, newest_opset())
    least = MODELS[name][1]
    return [least, *(n for n in (13, 17, 21, 24) if least < n <= newest)]


@each("dtype", HALF)
@each(("name", "opset"), [(name, opset) for name in MODELS for opset in opsets(name)])
def test_operators(name: str, opset: int, dtype: str) -> None:
    check(built(name, opset), dtype, random=name.startswith("random"))


def kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_types_change_together() -> None:
    """No value of FLOAT is left, and no Cast is between two nodes."""
    half, _ = check(built("layer_norm_written_out", 13), "float16")
    assert kinds(half).count("Cast") == 2
    assert [t.data_type for t in half.graph.initializer] == []
    inner = {v.type.tensor_type.elem_type for v in half.graph.value_info}
    assert inner <= {10}
    half, _ = check(built("cast", 13), "float16")
    assert kinds(half) == ["Cast", "Cast", "Cast", "Cast"]  # to half, double, half, float
    assert [n.attribute[0].i for n in half.graph.node] == [10, 11, 10, 1]
    half, _ = check(built("constant_of_shape", 13), "float16")
    values = [a.t.data_type for n in half.graph.node for a in n.attribute if a.name == "value"]
    assert values == [10, 10]


def test_resize_keeps_its_scales() -> None:
    half, _ = check(built("resize", 13), "float16")
    assert kinds(half).count("Cast") == 2
    (node,) = (n for n in half.graph.node if n.op_type == "Resize")
    scales = next(n for n in half.graph.node if n.output[0] == node.input[2])
    assert scales.attribute[0].t.data_type == 1


def test_masks_beyond_the_range() -> None:
    """The node with the constant stays, its sum with scores as well; a full mask gives no NaN."""
    half, report = check(built("mask", 13), "float16")
    assert "Where n" in report.kept
    feeds = {"x": np.zeros((2, 3), np.float32), "m": np.zeros((2, 3), bool)}
    (got,) = session(half).run(None, feeds)
    np.testing.assert_allclose(got, 1 / 3, atol=1e-3)


MASKED = {
    "chosen": "bool[3,4] m) => (float[3,4] y) { n = Where(m, zero, low) s = Add(n, x)",
    "product": """bool[3,4] m) => (float[3,4] y) { f = Cast<to=1>(m) h = Sub(f, one)
        n = Mul(h, most) s = Add(x, n)""",
    "scaled": """bool[3,4] m) => (float[3,4] y) { n = Where(m, zero, low) a = Add(x, n)
        s = Mul(a, one)""",
    "input": "float[3,4] m) => (float[3,4] y) { s = Sub(x, m)",
    "window": """float[1,3,5] m) => (float[3,4] y) { b = Constant<value_ints=[0]>()
        e = Constant<value_ints=[4]>() c = Constant<value_ints=[1]>()
        l = Squeeze(m, b) n = Slice(l, b, e, c) s = Sub(x, n)""",
}


@each("dtype", HALF)
@each("name", MASKED)
def test_rows_that_a_mask_hides(name: str, dtype: str) -> None:
    """Where sums are rounded to half precision: ONNX Runtime's CPU adds in FLOAT."""
    low = np.finfo(np.float32).min
    numbers = {"zero": 0, "one": 1, "low": low, "most": -low}
    text = f"g (float[3,4] q, {MASKED[name]} y = Softmax(s) }}"
    text = text.replace("{ ", "{ r = Relu(q) x = Neg(r) ", 1)
    used = {n: np.float32(v) for n, v in numbers.items() if f" {n})" in text or f" {n}," in text}
    source = model_of(text, **used)
    shown = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], bool)
    mask: Any = shown if "bool" in text else np.where(shown, 0, -low).astype(np.float32)
    if "[1,3,5]" in text:
        mask = np.concatenate([mask, mask[:, :1]], 1)[None]
    feeds = {"q": np.full((3, 4), 60, np.float32), "m": mask}
    half, report = ow.to_half(source, dtype, report=True)
    assert report.converted == (2 if dtype == "float16" else 0)
    assert "Softmax y" in report.kept
    for run in (ReferenceEvaluator, session):
        (got,), (expected,) = (run(model).run(None, feeds) for model in (half, source))
        np.testing.assert_allclose(got, expected, atol=1e-2)


def test_masks_of_attention() -> None:
    text = """g (float[1,2,3,8] q, float[1,2,4,8] k, {}[3,4] m) => (float[1,2,3,8] y)
        {{ y = Attention(q, k, k, m) }}"""
    shown = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], bool)
    low = np.where(shown, 0, np.finfo(np.float32).min).astype(np.float32)
    q = np.full((1, 2, 3, 8), 4, np.float32)
    k = np.random.default_rng(0).normal(-3, 1, (1, 2, 4, 8)).astype(np.float32)
    for kind, mask, converted in (("bool", shown, 1), ("float", low, 0)):
        model = model_of(text.format(kind), 23)
        half, report = ow.to_half(model, report=True)
        assert report.converted == converted
        feeds = {"q": q, "k": k, "m": mask}
        (got,), (expected,) = (session(m).run(None, feeds) for m in (half, model))
        np.testing.assert_allclose(got, expected, atol=2e-2)


@each("dtype", HALF)
@each("reduction", ["none", "add", "mul", "min", "max"])
@each("operator", ["ScatterND", "ScatterElements"])
def test_reductions_of_scatters(operator: str, reduction: str, dtype: str) -> None:
    """The runtime loads them in half precision, and has no kernel when they run."""
    shape, places = ([2, 1], [[0], [2]]) if operator == "ScatterND" else ([2], [0, 2])
    text = f"""g (float[4] x, float[2] u) => (float[4] y)
        {{ y = {operator}<reduction="{reduction}">(x, i, u) }}"""
    model = model_of(text, 18, i=np.array(places, np.int64).reshape(shape))
    _, report = check(model, dtype)
    assert report.converted == (reduction == "none")


def test_keep() -> None:
    text = "g (float[a,4] x) => (float[a,4] y) { n = Neg(x) e = Exp(n) y = Sqrt(e) }"
    for chosen in ("e", "Exp", "[eE]x?"):
        half, report = check(model_of(text), "float16", keep=chosen)
        assert kinds(half) == ["Cast", "Neg", "Cast", "Exp", "Cast", "Sqrt", "Cast"]
        assert list(report.kept.values()) == ["it was asked to keep it"]
    with pytest.warns(ow.OnnxwrightWarning, match="OW922"):
        ow.to_half(model_of(text), keep=["nothing"])


def test_a_run_shows_values_beyond_the_range() -> None:
    text = "g (float[a,4] x) => (float[a,4] y) { q = Mul(x, x) r = Mul(q, q) y = Log(r) }"
    model = model_of(text)
    x = np.full((1, 4), 100, np.float32)
    half, report = ow.to_half(model, inputs={"x": x}, report=True)
    assert {k: v.split()[0] for k, v in report.kept.items()} == {"Mul r": "r", "Log y": "r"}
    np.testing.assert_allclose(session(half).run(None, {"x": x})[0], np.log(1e8), rtol=1e-2)
    assert "Log y" not in ow.to_half(model, report=True)[1].kept


def test_functions_are_inlined() -> None:
    model = model_of("g (float[a,4] x) => (float[a,4] y) { h = my.f(x) y = my.f(h) }")
    opsets = [helper.make_opsetid("", 21)]
    body = [helper.make_node("Sigmoid", ["a"], ["b"])]
    model.functions.append(helper.make_function("my", "f", ["a"], ["b"], body, opsets))
    half, _ = check(model, "float16")
    assert kinds(half) == ["Cast", "Sigmoid", "Sigmoid", "Cast"]


def test_weights_take_half_of_the_bytes() -> None:
    weight = RNG.standard_normal((32, 32)).astype(np.float32)
    text = "g (float[a,32] x) => (float[a,32] y) { y = MatMul(x, w) }"
    for dtype in HALF:
        _, report = check(model_of(text, w=weight), dtype)
        assert report.bytes == (4096, 2048)


@pytest.mark.parametrize("largest", [1.0, 1e6])
def test_defaults_of_inputs_change_with_the_inputs(largest: float) -> None:
    weight = np.array([0.5, largest], np.float32)
    model = model_of("g (float[2] x, float[2] w) => (float[2] y) { y = Mul(x, w) }", w=weight)
    half = ow.to_half(model, io="half")
    onnx.checker.check_model(half, full_check=True)
    kept = np.float32 if largest > 65504 else np.float16  # float16 does not hold it
    assert numpy_helper.to_array(half.graph.initializer[0]).dtype == kept
    (result,) = ow.run_model(half, {"x": np.array([2, 0.0625], np.float16)})
    assert result.tolist() == [1, np.float16(min(largest * 0.0625, 65504))]


def test_bytes_of_constants_that_are_attributes() -> None:
    model = model_of(
        "g (float[2] x) => (float[2] y) { k = Constant<value_floats=[1.0,2.0]>() y = Mul(x, k) }"
    )
    assert ow.to_half(model, report=True)[1].bytes == (8, 4)


def test_options_are_checked() -> None:
    for options in ({"dtype": "half"}, {"io": "all"}):
        with pytest.raises(ow.ScriptError, match="OW920"):
            ow.to_half(built("matmul", 11), **options)


@pytest.mark.parametrize("io", ["keep", "half"])
def test_what_is_said_of_outputs_stays(io: str) -> None:
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[2,4] x) => (float[2,4] y) { a = MatMul(x, w)  y = Relu(a) }""")
    array = np.eye(4, dtype=np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(array, "w"))
    for info in (*model.graph.input, *model.graph.output):
        info.doc_string = f"what {info.name} is"
        info.metadata_props.add(key="unit", value="m")
    half_graph = ow.to_half(model, io=io).graph
    for info in (*half_graph.input, *half_graph.output):
        assert info.doc_string == f"what {info.name} is"
        assert [(e.key, e.value) for e in info.metadata_props] == [("unit", "m")]
