"""`GraphBuilder`: names, sharing, functions, subgraphs, what never reaches the model, messages."""

from __future__ import annotations

import os
import time

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from onnxwright import (
    BOOL,
    FLOAT,
    INT64,
    GraphBuilder,
    OnnxwrightError,
    Opset,
    opset18,
    script,
)
from onnxwright.builder.graphs import build_graph as ir_graph
from onnxwright.eager.backend import EagerBackend
from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType

X = np.arange(12, dtype=np.float32).reshape(4, 3) - 5


def run(g: GraphBuilder, **feeds):
    model = g.to_model_proto()
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, feeds)


def ops(g: GraphBuilder) -> list[str]:
    return [n.op_type for n in g.to_model_proto().graph.node]


def started(opset=21, **types):
    g = GraphBuilder(opset=opset)
    return g, *(g.input(name, kind) for name, kind in types.items())


# -- what never reaches the model ------------------------------------------------------------------

KEPT = {
    "identity": lambda op, x: op.Identity(x),
    "cast to the same type": lambda op, x: op.Cast(x, to=FLOAT),
    "lossless there and back": lambda op, x: op.Cast(op.Cast(x, to=DType.DOUBLE), to=FLOAT),
    "castlike": lambda op, x: op.CastLike(x, np.float32(0)),
    "reshape to its own shape": lambda op, x: op.Reshape(x, op.Shape(x)),
    "reshape by -1": lambda op, x: op.Reshape(x, [-1, 3]),
    "expand to its own shape": lambda op, x: op.Expand(x, op.Shape(x)),
    "transposed twice": lambda op, x: op.Transpose(op.Transpose(x)),
    "identity permutation": lambda op, x: op.Transpose(x, perm=[0, 1]),
    "squeezed again": lambda op, x: op.Squeeze(op.Unsqueeze(x, [0, -1]), [0, 3]),
    "one joined": lambda op, x: op.Concat(x, axis=0),
    "whole slice": lambda op, x: x[:, :],
    "whole slice by numbers": lambda op, x: op.Slice(x, [0], [1 << 40], [0]),
    "pads of zero": lambda op, x: op.Pad(x, [0, 0, 0, 0]),
    "tiled once": lambda op, x: op.Tile(x, [1, 1]),
    "times one": lambda op, x: x * 1.0,
    "divided by one": lambda op, x: 1.0 * (x / 1.0),
    "minus zero": lambda op, x: x - 0.0,
    "plus negative zero": lambda op, x: op.Add(x, np.float32(-0.0)),
    "power of one": lambda op, x: op.Pow(x, 1.0),
    "where always": lambda op, x: op.Where(np.array([True]), x, 0.0),
    "where never": lambda op, x: op.Where(False, 0.0, x),
    "where both": lambda op, x: op.Where(op.Greater(x, 0.0), x, x),
    "sum over nothing": lambda op, x: op.ReduceSum(x, noop_with_empty_axes=1),
    "negated twice": lambda op, x: op.Neg(-x),
    "max of one": lambda op, x: op.Max(x),
    "dropout in inference": lambda op, x: op.Dropout(x, 0.5),
    "split into one": lambda op, x: op.Split(x, num_outputs=1, _outputs=1),
    "flat already": lambda op, x: op.Flatten(x),
    "an element of a sequence": lambda op, x: op.SequenceAt(op.SequenceConstruct(x, x + 1), 0),
    "a branch that is known": lambda op, x: op.If(
        op.Less(op.Gather(op.Shape(x), 1), 5), then_branch=lambda: x, else_branch=lambda: x + 1
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_its_input_needs_no_node(name):
    g, x = started(x=FLOAT["N", 3])
    value = KEPT[name](g.op, x)
    assert value.value is x.value
    assert value.kind == x.kind


CHANGED = {
    "plus zero": lambda op, x: x + 0.0,  # -0.0 + 0.0 is 0.0
    "a cast that cuts": lambda op, x: op.Cast(op.Cast(x, to=INT64), to=FLOAT),
    "a cast to half": lambda op, x: op.Cast(op.Cast(x, to=DType.FLOAT16), to=FLOAT),
    "reversed": lambda op, x: x[::-1],
    "times one that broadcasts": lambda op, x: x * np.ones((2, 1, 1), np.float32),
    "where of another shape": lambda op, x: op.Where(np.ones((2, 1, 1), bool), x, 0.0),
    "dropout in training": lambda op, x: op.Dropout(x, 0.5, np.array(True)),
    "a sum": lambda op, x: op.ReduceSum(x),
    "a shorter slice": lambda op, x: x[:2],
    "zero times": lambda op, x: x * 0.0,  # NaN times 0 is NaN
    "minus itself": lambda op, x: x - x,
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_may_differ_stays(name):
    g, x = started(x=FLOAT["N", 3])
    value = CHANGED[name](g.op, x)
    assert value.value is not x.value
    assert value.value.producer() is not None


def test_constant_expressions_are_constants():
    g, x = started(x=FLOAT["N", 3])
    op = g.op
    big = op.Mul(op.Add(np.arange(4), 2), op.Cast(np.array([1.0, 2.0, 3.0, 4.9]), to=INT64))
    assert big.constant.tolist() == [2, 6, 12, 20]
    assert op.Exp(op.Constant(value_float=0.0)).constant == 1.0
    assert op.Gather(op.Shape(x), 1).constant == 3
    assert op.Equal(op.Shape(x)[0:1] + 1, op.Shape(x)[0:1]).constant.tolist() == [False]
    g.output(x + op.Cast(op.ReduceSum(big), to=FLOAT), "y")
    assert ops(g) == ["Add"]


@pytest.mark.parametrize(
    "call",
    [
        lambda op: op.Div(np.array([4]), np.array([0])),
        lambda op: op.Cast(np.array([1e30]), to=INT64),
        lambda op: op.ConstantOfShape(np.array([10_000_000])),
        lambda op: op.RandomUniformLike(np.zeros(3, np.float32)),
        lambda op: op.Transpose(np.zeros((200, 200), np.float32)),
    ],
)
def test_what_fails_or_grows_or_is_random_is_not_folded(call):
    g, _ = started(x=FLOAT["N"])
    assert call(g.op).constant is None


def test_equal_calls_are_one_node_and_unequal_are_not():
    g, x = started(x=FLOAT["N", 3])
    assert g.op.Exp(x).value is g.op.Exp(x).value
    assert g.op.LeakyRelu(x, alpha=0.0).value is not g.op.LeakyRelu(x, alpha=-0.0).value
    assert g.op.Concat(x, x, axis=0).value is not g.op.Concat(x, x, axis=1).value
    assert g.op.RandomNormalLike(x).value is not g.op.RandomNormalLike(x).value


def test_dead_nodes_do_not_reach_the_model():
    g, x, c = started(x=FLOAT["N"], c=BOOL[()])
    g.op.Exp(g.op.Sin(x))
    g.op.If(c, then_branch=lambda: g.op.Cos(x), else_branch=lambda: x)
    g.output(g.op.Relu(x), "y")
    assert ops(g) == ["Relu"]


# -- values ----------------------------------------------------------------------------------------


def test_shapes_are_arithmetic():
    g, x = started(x=FLOAT["N", 4])
    op = g.op
    joined = op.Concat(x, x, op.Relu(x)[:1], axis=0)
    assert joined.shape == ("2*N + min(1, N)", 4)
    flat = op.Reshape(op.Concat(x, x, axis=0), op.Concat(op.Size(op.Concat(x, x, axis=0))[None],
                                                         axis=0))  # fmt: skip
    assert flat.shape == ("8*N",)
    assert op.Shape(x).dims == ("N", 4)
    assert op.Gather(op.Shape(x), 0).dims == "N"
    half = op.Gather(op.Shape(x), 0) / 2
    assert op.Range(0, half, 1).shape == ("N//2",) or half.dtype is not DType.INT64


def test_the_same_dimension_is_asked_for_once():
    g, x, z = started(x=FLOAT["N", 4], z=FLOAT["N", "M"])
    op = g.op
    h = op.Relu(op.Concat(x, x, axis=0))
    first = op.Gather(op.Shape(x), 0)
    assert op.Gather(op.Shape(z), 0).value is first.value
    assert op.Div(op.Gather(op.Shape(h), 0), 2).value is first.value
    assert op.Gather(op.Shape(z), 1).value is not first.value
    assert op.Cast(first, to=DType.INT32).value is not first.value


def test_numbers_take_the_type_of_the_other_operand():
    g, x, n = started(x=FLOAT["N"], n=INT64["N"])
    h = g.input("h", DType.FLOAT16, ("N",))
    assert (x + 1).dtype is DType.FLOAT
    assert (2 * h).dtype is DType.FLOAT16
    assert (n * 2).dtype is DType.INT64
    assert g.op.Clip(h, 0, 6).dtype is DType.FLOAT16


def test_python_asks_a_value_that_is_known():
    g, x = started(x=FLOAT[4, 3])
    assert len(x) == 4
    assert int(g.op.Gather(g.op.Shape(x), 0)) == 4
    assert [row.shape for row in x] == [(3,)] * 4
    assert list(range(g.op.Size(x)))[-1] == 11
    assert bool(g.op.Less(g.op.Size(x), 20))


# -- initializers ----------------------------------------------------------------------------------


def test_equal_small_arrays_are_one_and_large_ones_are_not_copied():
    g, x = started(x=FLOAT["N", 2000])
    a, b = np.ones(3, np.float32), np.ones(3, np.float32)
    assert g.initializer(a).value is g.initializer(b).value
    assert g.initializer(np.float32(0.0)).value is not g.initializer(np.float32(-0.0)).value
    assert g.initializer(np.int64(1)).value is not g.initializer(np.float32(1)).value
    large = np.zeros((2000, 2000), np.float32)
    w = g.initializer(large, "w")
    assert g.initializer(large).value is w.value
    g.output(g.op.MatMul(x, w), "y")
    held = g.to_ir_model().graph.initializers["w"].const_value
    assert np.shares_memory(held.numpy(), large)


def test_a_small_array_may_change_afterwards():
    g = GraphBuilder()
    array = np.ones(3, np.float32)
    value = g.initializer(array)
    array[:] = 7
    assert value.constant.tolist() == [1, 1, 1]
    assert g.initializer(array).value is not value.value


class Foreign:
    """A tensor of some library, as far as others see it."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_tensors_of_every_kind(tmp_path):
    g, x = started(x=FLOAT[3])
    (tmp_path / "w.bin").write_bytes(np.full(3, 5, np.float32).tobytes())
    file = ir.ExternalTensor("w.bin", 0, 12, ir.DataType.FLOAT, shape=ir.Shape([3]), name="f",
                             base_dir=str(tmp_path))  # fmt: skip
    tensors = [
        np.ones(3, np.float32),
        onnx.numpy_helper.from_array(np.full(3, 2, np.float32), "t"),
        ir.tensor(np.full(3, 3, np.float32), name="i"),
        Foreign(np.full(3, 4, np.float32)),
        file,
        [6.0, 6.0, 6.0],
    ]
    total = x
    for tensor in tensors:
        total = total + g.initializer(tensor)
    assert g.initializer(np.ones(2, ml_dtypes.bfloat16)).dtype is DType.BFLOAT16
    assert g.initializer(np.array(["a"])).dtype is DType.STRING
    g.output(total, "y")
    model = g.to_ir_model()
    assert any(isinstance(v.const_value, ir.ExternalTensor) for v in
               model.graph.initializers.values())  # fmt: skip
    ir.save(model, tmp_path / "m.onnx")
    (y,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": np.zeros(3, "f")})
    assert y.tolist() == [21.0] * 3


@pytest.mark.parametrize(
    ("location", "nbytes", "message"),
    [
        ("gone.bin", 12, "OW743.*cannot be read"),
        ("../w.bin", 12, "OW743.*outside the folder"),
        ("/etc/passwd", 12, "OW743.*absolute path"),
        ("w.bin", 8, "OW743.*`length` says 8"),
        ("short.bin", 12, "OW743.*has 4 bytes"),
        ("link.bin", 12, "OW743.*outside the folder"),
        ("pipe", 12, "OW743.*not a regular file"),
    ],
)
@pytest.mark.parametrize("kind", ["proto", "onnx_ir"])
def test_the_file_of_a_tensor_is_checked(tmp_path, monkeypatch, location, nbytes, message, kind):
    folder = tmp_path / "model"
    folder.mkdir()
    for path in (tmp_path / "w.bin", folder / "w.bin"):
        path.write_bytes(np.ones(3, np.float32).tobytes())
    (folder / "short.bin").write_bytes(b"1234")
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    os.mkfifo(folder / "pipe")
    if kind == "proto":
        tensor = onnx.TensorProto(data_type=1, dims=[3], name="w", data_location=1)
        for key, value in (("location", location), ("offset", 0), ("length", nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        monkeypatch.chdir(folder)
    else:
        tensor = ir.ExternalTensor(location, 0, nbytes, ir.DataType.FLOAT, shape=ir.Shape([3]),
                                  name="w", base_dir=str(folder))  # fmt: skip
    g, _ = started(x=FLOAT[3])
    with pytest.raises(OnnxwrightError, match=f"(?s){message}"):
        g.initializer(tensor)


# -- names -----------------------------------------------------------------------------------------


def test_names_given_win_over_names_found():
    g, x = started(x=FLOAT["N", 3])
    first = g.op.Exp(x)
    second = g.op.Relu(first, name="the_node", outputs=["exp"])
    g.output(second + first, "relu")
    g.output(second)
    model = g.to_model_proto()
    assert [o.name for o in model.graph.output] == ["relu", "exp"]
    assert model.graph.node[1].name == "the_node"
    assert g.value("exp").value is second.value


def test_names_in_a_body_that_is_traced_again():
    g, x, n = started(x=FLOAT["N"], n=INT64[()])
    weight = np.ones(1, np.float32)

    def body(i, go, a):
        w = g.initializer(weight, "w")
        return go, g.op.Concat(a, w, axis=0, outputs=["grown"])

    y = g.op.Loop(n, None, x, body=body)
    g.output(y + g.initializer(np.full(1, 3, np.float32), "v"), "y")
    outputs = run(g, x=np.zeros(1, np.float32), n=np.array(2))
    assert outputs[0].tolist() == [3, 4, 4]


def test_an_input_keeps_its_name():
    g, x = started(x=FLOAT["N"])
    g.output(x)
    with pytest.raises(OnnxwrightError, match="OW544"):
        g.output(g.op.Exp(x), "x")
    model = g.to_model_proto()
    assert (model.graph.input[0].name, model.graph.output[0].name) == ("x", "x_1")


def test_outputs_that_are_inputs_constants_or_twice_the_same():
    g, x = started(x=FLOAT[2])
    y = x * 2
    for name, value in {"a": x, "b": y, "c": y, "d": 3.0, "e": x}.items():
        g.output(value, name)
    outputs = run(g, x=np.array([1, 2], np.float32))
    assert [f.tolist() for f in outputs] == [[1, 2], [2, 4], [2, 4], 3.0, [1, 2]]


def test_nodes_of_any_domain_and_outputs_without_inference():
    g, x = started(x=FLOAT["N"])
    a, b = g.node("Thing", ["x", 1.0], {"level": 3}, domain="my.domain", outputs=["a", "b"])
    assert a.kind is None
    g.output(a, "a", FLOAT["N"])
    g.output(g.opset("my.domain").Other(b, _outputs=1), type="int64", shape=("M",), name="c")
    model = g.to_model_proto()
    assert {o.domain: o.version for o in model.opset_import} == {"my.domain": 1}
    assert model.graph.output[1].type.tensor_type.elem_type == onnx.TensorProto.INT64


# -- subgraphs and functions -----------------------------------------------------------------------


def test_control_flow_runs():
    g, x, n, c = started(x=FLOAT["N", 3], n=INT64[()], c=BOOL[()])
    op = g.op
    y = op.If(c, then_branch=lambda: (x + 1, 5), else_branch=lambda: (op.Exp(x)[:2], 6))
    grown, rows = op.Loop(n, None, x, body=lambda i, go, a: (go, op.Concat(a, a[:1], axis=0), i))
    total, partial = op.Scan(np.zeros(3, np.float32), x, body=lambda s, r: (s + r, s * r),
                             num_scan_inputs=1)  # fmt: skip
    assert y[0].shape == (None, 3)
    assert (grown.shape, rows.shape) == ((None, 3), (None,))
    assert (total.shape, partial.shape) == ((3,), ("N", 3))
    for n_output, value in enumerate((*y, grown, rows, total, partial)):
        g.output(value, f"o{n_output}")
    outputs = run(g, x=X, n=np.array(2), c=np.array(True))
    np.testing.assert_allclose(outputs[0], X + 1)
    assert outputs[1] == 5
    assert outputs[2].shape == (6, 3)
    assert outputs[3].tolist() == [0, 1]
    np.testing.assert_allclose(outputs[4], X.sum(0))


def test_branches_nest_and_see_what_is_around():
    g, x, c = started(x=FLOAT["N"], c=BOOL[()])
    op = g.op
    doubled = x * 2

    def inner():
        return op.If(op.Not(c), then_branch=lambda: doubled + 1, else_branch=lambda: doubled + 2)

    g.output(op.If(c, then_branch=inner, else_branch=lambda: doubled), "y")
    values = np.array([1, 2], np.float32)
    assert run(g, x=values, c=np.array(True))[0].tolist() == [4, 6]


@script(Opset("test.builder", 1))
def scaled(x: FLOAT, y: FLOAT, alpha: float = 2.0) -> FLOAT:
    """Scale and add."""
    return opset18.Relu(x) * alpha + y


@script(Opset("test.builder", 1))
def twice(x: FLOAT) -> FLOAT:
    """A script that calls a script."""
    return scaled(x, x, alpha=3.0)


@script(Opset("test.builder", 1))
def clipped_sum(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:
    """Needs the AST: a loop and a condition on values."""
    total = x * 0.0
    for _ in range(n):
        if opset18.ReduceSum(total) < 10.0:
            total = total + x
    return total


@pytest.mark.parametrize("inline", [False, True])
def test_scripts_are_called_as_nodes_or_inlined(inline):
    g, x = started(opset=18, x=FLOAT["N"])
    y = g.call(twice, x, inline=inline)
    z = g.call(scaled, y, 1.0, alpha=0.5, inline=inline)
    assert z.shape == ("N",)
    g.output(z, "z")
    model = g.to_model_proto()
    assert ({f.name for f in model.functions} == set()) == inline
    values = np.array([-1, 2], np.float32)
    expected = scaled(twice(values), np.float32(1), alpha=0.5)
    np.testing.assert_allclose(run(g, x=values)[0], expected)


@pytest.mark.parametrize("count", [None, 3])
def test_a_script_with_loops_on_values_works_on_traced_values(count):
    g, x = started(opset=18, x=FLOAT["N"])
    n = g.input("n", INT64[()]) if count is None else g.initializer(np.array(count))
    g.output(clipped_sum(x, n), "y")
    values = np.array([1, 2, 4], np.float32)
    feeds = {"x": values} | ({"n": np.array(3)} if count is None else {})
    np.testing.assert_allclose(run(g, **feeds)[0], clipped_sum(values, np.array(3)))


def test_a_builder_makes_functions_that_another_calls():
    inner = GraphBuilder(opset=18)
    alpha = inner.attribute("alpha", "FLOAT")
    x = inner.input("x")
    inner.output(inner.op.LeakyRelu(x, alpha=alpha) + inner.op.Cast(1, to=FLOAT), "y")
    function = inner.to_ir_function("my", "leaky")
    g, x = started(opset=18, x=FLOAT["N"])
    a = g.call(function, x, alpha=0.5)
    b = g.call(ir.to_proto(function), x, alpha=0.25)
    assert a.shape == ("N",)
    g.output(a + b, "y")
    assert run(g, x=np.array([-4], np.float32))[0].tolist() == [-1.0]


def test_one_body_in_every_mode():
    def body(op, x):
        y = op.Softmax(x, axis=-1)
        return op.Where(y > 0.5, y, op.Neg(y)) + 1

    g, x = started(opset=18, x=FLOAT["N", 3])
    g.output(body(g.op, x), "y")
    eager = Ops(EagerBackend(opset18))
    expected = body(eager, eager.constant(X)).value
    np.testing.assert_allclose(run(g, x=X)[0], expected, rtol=1e-6)


# -- messages --------------------------------------------------------------------------------------


def test_an_error_has_the_signature_and_the_last_nodes():
    g, x = started(x=FLOAT["N", 4])
    h = g.op.Relu(x, outputs=["hidden"])
    with pytest.raises(OnnxwrightError) as caught:
        g.op.MatMul(h, np.ones((3, 2), np.float32))
    text = str(caught.value)
    assert "FLOAT[N, 4], FLOAT[3, 2]" in text
    assert "MatMul(A: T, B: T) -> Y: T" in text
    assert "hidden: FLOAT[N, 4] = Relu(x)" in text
    assert __file__.rsplit("/", 1)[-1] in text


def test_a_failed_body_leaves_the_graph_as_it_was():
    g, x, c = started(x=FLOAT["N"], c=BOOL[()])
    with pytest.raises(OnnxwrightError):
        g.op.If(c, then_branch=lambda: g.op.Relu(x, x), else_branch=lambda: x)
    g.output(g.op.Exp(x), "y")
    assert ops(g) == ["Exp"]


def test_the_model_is_made_once_and_the_same():
    g, x = started(x=FLOAT["N"])
    g.metadata["who"] = "me"
    g.output(g.op.Exp(x), "y")
    first = g.to_model_proto()
    assert first == g.to_model_proto()
    assert {p.key: p.value for p in first.metadata_props} == {"who": "me"}


@pytest.mark.parametrize("proto_first", [False, True])
@pytest.mark.parametrize("what", ["model", "function", "graph"])
def test_each_value_that_is_given_out_has_a_type_of_its_own(what: str, proto_first: bool):
    g, x = started(x=FLOAT["N", 3])
    for n, value in enumerate([g.op.Relu(x), g.op.Exp(x)]):
        g.output(value, f"y{n}")
    if what == "graph":
        outputs = ir_graph(lambda op, x: (op.Relu(x), op.Exp(x)), {"x": FLOAT["N", 3]}).outputs
    elif what == "function":
        if proto_first:
            g.to_function_proto("d", "f")
        outputs = g.to_ir_function("d", "f").outputs
    else:
        if proto_first:
            g.to_model_proto()
        outputs = g.to_ir_model().graph.outputs
    changed, other = outputs
    changed.shape[0] = "M"
    changed.dtype = ir.DataType.DOUBLE
    assert (str(other.shape), other.dtype) == ("[N,3]", ir.DataType.FLOAT)
    assert (str(changed.shape), changed.dtype) == ("[M,3]", ir.DataType.DOUBLE)


@pytest.mark.parametrize("what", ["model", "function"])
def test_each_constant_that_is_given_out_has_a_type_of_its_own(what: str):
    g, x = started(x=FLOAT["N", 3])
    g.output(x * np.array([1, 2, 3], np.float32) + np.array([4, 5, 6], np.float32), "y")
    if what == "model":
        g.to_model_proto()
        changed, other = g.to_ir_model().graph.initializers.values()
    else:
        constants = [n for n in g.to_ir_function("d", "f") if n.op_type == "Constant"]
        changed, other = (n.outputs[0] for n in constants)
    changed.shape[0] = 4
    changed.dtype = ir.DataType.DOUBLE
    assert (str(other.shape), other.dtype) == ("[3]", ir.DataType.FLOAT)
    assert (str(changed.shape), changed.dtype) == ("[4]", ir.DataType.DOUBLE)


def test_time_is_linear_in_the_number_of_nodes():
    def build(count):
        g, x = started(x=FLOAT["N", 4])
        start = time.process_time()
        for n in range(count):
            x = g.op.Add(g.op.Relu(x), float(n))
        g.output(x, "y")
        g.to_model_proto(check=False).SerializeToString()
        return time.process_time() - start

    build(200)
    small, large = min(build(500) for _ in range(3)), build(4000)
    assert large < 8 * small * 4


CONTRADICTIONS = {
    "element type": INT64["N", 4],
    "rank": FLOAT["N", 4, 1],
    "size": FLOAT["N", 5],
    "kind": onnx.helper.make_sequence_type_proto(
        onnx.helper.make_tensor_type_proto(1, None)
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_an_output_of_another_type_than_its_value_is_refused(what: str) -> None:
    g = GraphBuilder(opset=18)
    x = g.input("x", FLOAT["N", 4])
    with pytest.raises(OnnxwrightError, match="OW706"):
        g.output(g.op.Relu(x), "y", CONTRADICTIONS[what])
    g.output(g.op.Relu(x), "y", FLOAT["batch", 4])
    assert g.to_model_proto().graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"
