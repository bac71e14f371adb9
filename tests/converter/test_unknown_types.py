"""Values whose types are not known: functions without annotations, operators of other domains."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

import onnxwright as ow
from onnxwright import DOUBLE, FLOAT, INT64, Opset, graph, script
from onnxwright import opset18 as op
from tests.harness.tables import each

contrib = Opset("com.microsoft", 1)
custom = Opset("my.domain", 1)

UNTYPED = [
    "op.Range(a, b, c)",
    "op.SequenceConstruct(a, b)",
    "op.SequenceConstruct(op.CastLike(a, b), b)",
    "op.SequenceInsert(a, b)",
    "op.SequenceAt(op.SequenceConstruct(a), 0)",
    "op.ConcatFromSequence(op.SequenceInsert(op.SequenceEmpty(), a), axis=0)",
    "op.SequenceLength(op.SplitToSequence(a, b))",
    "op.SplitToSequence(a)",
    "op.Compress(a, b)",
    "op.Unique(a)",
    "op.Reshape(op.Unique(a), [-1, 2])",
    "op.Optional(a)",
    "op.OptionalGetElement(a)",
    "op.CastLike(a, b)",
    "op.Cast(op.Cast(a, to=7), to=1)",
    "op.ScatterND(a, b, c)",
    "op.NonZero(op.TopK(a, [1])[0])",
    "op.Pad(op.Expand(a, op.Shape(b)), [1, 1])",
    "op.Identity(a)",
    "op.Where(a > 0, b, c)",
    "op.Resize(a, None, [1.0, 2.0])",
    "op.LSTM(a, b, c)",
    "op.Einsum(a, b, equation='ij,jk->ik')",
    "op.OneHot(a, 3, [0, 1])",
    "op.DequantizeLinear(a, b)",
    "op.NonMaxSuppression(a, b)",
    "op.Gather(a, op.ArgMax(b))",
]


@each("expression", UNTYPED)
def test_untyped_functions_compile(expression: str) -> None:
    text = f"@script\ndef f(a, b, c):\n    return {expression}\n"
    space: dict[str, Any] = {"script": script, "op": op}
    exec(text, space)
    proto = space["f"].to_function_proto()
    names = {node.op_type for node in proto.node}
    assert expression.partition("(")[0].removeprefix("op.") in names


def test_results_of_other_domains_are_read_by_every_operator() -> None:
    @script
    def f(x: FLOAT["N"]):
        y = contrib.Gelu(x)
        return op.Reshape(y, [-1, 2])

    model = f.to_model_proto(output_types=[FLOAT["M", 2]])
    x = np.arange(4, dtype=np.float32)
    (got,) = ow.run_model(model, {"x": x})
    np.testing.assert_allclose(got, f(x))

    @script
    def g(x: FLOAT["N"]):
        y = custom.Unknown(x)
        a, b = op.Split(op.Concat(y, y, axis=0), num_outputs=2)
        w = op.Unsqueeze(op.Squeeze(op.Cast(a, to=1) + op.ReduceSum(b)), [0])
        u = op.Where(w > 0, op.Expand(w, op.Shape(y)), w)
        s = op.SplitToSequence(op.Compress(op.Unique(u), op.Range(0, op.Size(u), 1) > 1))
        return op.Softmax(op.SequenceAt(s, 0)), op.MatMul(y, y), op.Conv(y, y), op.CumSum(y, 0)

    assert g.to_function_proto().output


def test_a_type_that_does_not_matter_does_not_hide_the_one_that_follows() -> None:
    """Whatever is cast, the result of the cast is known."""

    @script
    def f(x: FLOAT["N"] | DOUBLE["N"] | INT64["N"]):
        y = op.Cast(x, to=1)
        return op.Reshape(y, [-1, 2]), y + 0.5, op.Range(0, op.Size(x), 1)

    @script
    def main(x: DOUBLE[4]):
        return f(x)

    model = main.to_model_proto()
    x = np.arange(4, dtype=np.float64)
    first, second, third = ow.run_model(model, {"x": x})
    assert (first.dtype, first.shape) == (np.float32, (2, 2))
    np.testing.assert_array_equal(second, np.float32([0.5, 1.5, 2.5, 3.5]))
    np.testing.assert_array_equal(third, np.arange(4))


def test_sequences_made_by_a_body_have_the_type_of_its_results() -> None:
    @script
    def f(x: FLOAT["N", 4]):
        pieces = op.SplitToSequence(x, axis=0)

        @graph()
        def body(v):
            return op.Cast(op.Relu(v), to=7)

        return op.ConcatFromSequence(op.SequenceMap(pieces, body=body), axis=0)

    model = f.to_model_proto()
    assert model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.INT64
    x = np.arange(8, dtype=np.float32).reshape(2, 4) - 3
    (got,) = ow.run_model(model, {"x": x})
    np.testing.assert_array_equal(got, np.maximum(x, 0).astype(np.int64))


@each("axis", [0, 1, -1])
def test_results_of_a_scan_are_stacked_along_its_axis(axis: int) -> None:
    @script
    def f(x: FLOAT[3, 4], s: FLOAT[4]):
        @graph()
        def body(state, row):
            total = state + row
            return total, total * 2.0

        last, rows = op.Scan(s, x, body=body, num_scan_inputs=1, scan_output_axes=[axis])
        return last, rows

    model = f.to_model_proto()
    dims = [d.dim_value for d in model.graph.output[1].type.tensor_type.shape.dim]
    x, s = np.ones((3, 4), np.float32), np.zeros(4, np.float32)
    _, rows = ow.run_model(model, {"x": x, "s": s})
    assert len(dims) == rows.ndim
    assert all(said in (0, size) for said, size in zip(dims, rows.shape, strict=True))
