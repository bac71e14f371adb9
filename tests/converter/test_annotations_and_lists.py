"""Annotations inside functions, absent optional values, and lists given to sequence operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright import BOOL, FLOAT, INT64, Opset, graph, script
from onnxwright import opset18 as op
from onnxwright.ir.adapters import from_type_proto
from tests.harness.tables import each

X = np.array([[1.0, -2.0, 3.0, -4.0]] * 3, np.float32)


def test_annotated_locals_are_value_infos() -> None:
    @script
    def f(x: FLOAT["N", 4]) -> FLOAT["N", 4]:
        y: FLOAT["N", 4] = op.Relu(x)
        z = op.Neg(y)
        w: FLOAT = op.Abs(z)
        return op.Sqrt(w)

    model = f.to_model_proto()
    types = {v.name: v.type.tensor_type for v in model.graph.value_info}
    assert list(types) == ["y", "w"]
    assert [d.dim_param or d.dim_value for d in types["y"].shape.dim] == ["N", 4]
    assert types["w"].elem_type == onnx.TensorProto.FLOAT
    onnx.checker.check_model(model, full_check=True)


def test_annotations_of_a_body_are_its_types() -> None:
    """What the runtime could not infer: the states of a Scan inside a Loop, custom operators."""

    @script
    def f(x: FLOAT[3, 4], n: INT64[()]):
        total = op.ReduceSum(x, keepdims=0)
        for _ in range(n):

            @graph()
            def body(state: FLOAT[()], row: FLOAT[4]):
                after = state + op.ReduceSum(row, keepdims=0)
                return after, after

            last, _rows = op.Scan(op.Constant(value_float=0.0), x, body=body, num_scan_inputs=1)
            total = total + last
        return total

    (got,) = ow.run_model(f.to_model_proto(), {"x": X, "n": np.array(2)})
    np.testing.assert_allclose(got, X.sum() * 3)

    custom = Opset("my.domain", 1)

    @script
    def g(x: FLOAT[3, 4]):
        @graph()
        def body(state: FLOAT[4], index: INT64["M"]):
            return op.Relu(state), index

        return custom.Fold(x, body=body)

    inputs = g.to_function_proto().node[0].attribute[0].g.input
    assert [i.type.tensor_type.elem_type for i in inputs] == [1, 7]


def test_a_wrong_annotation_of_a_body_is_refused() -> None:
    @script
    def f(x: FLOAT[3, 4]):
        @graph()
        def body(state: INT64[4], row: FLOAT[4]):
            return state, row

        return op.Scan(x[0], x, body=body, num_scan_inputs=1)

    with pytest.raises(ow.ScriptError, match="OW316.*`state` is annotated INT64"):
        f.to_model_proto()


def test_an_absent_optional_value_is_decided_when_compiling() -> None:
    @script
    def shifted(x: FLOAT["N"], by: FLOAT["N"] | None = None):
        if op.OptionalHasElement(by):
            y = x + by
        else:
            y = x * 2.0
        return y

    @script
    def main(x: FLOAT["N"]):
        return shifted(x) + shifted(x, x)

    x = np.array([1.0, 2.0], np.float32)
    model = main.to_model_proto()
    assert "If" not in [n.op_type for n in model.graph.node]
    (got,) = ow.run_model(model, {"x": x})
    np.testing.assert_array_equal(got, x * 4)
    np.testing.assert_array_equal(main(x), got)


LISTS = {
    "joined": "op.ConcatFromSequence([x, y, x + y], axis=0)",
    "a tuple, stacked": "op.ConcatFromSequence((x, y), axis=0, new_axis=1)",
    "through a name": "op.SequenceAt(pair, 1)",
    "inserted": "op.ConcatFromSequence(op.SequenceInsert([x, y], x * 2.0), axis=0)",
    "erased": "op.SequenceAt(op.SequenceErase([x, y], 0), 0)",
    "its length": "op.SequenceLength([x, y])",
    "an empty one": "op.SequenceLength([])",
}


@each("name", LISTS)
def test_a_list_is_a_sequence_where_the_operator_takes_one(name: str) -> None:
    text = (
        '@script\ndef f(x: FLOAT["N"], y: FLOAT["N"]):\n'
        f"    pair = [x, y]\n    return {LISTS[name]}\n"
    )
    space: dict[str, Any] = {"script": script, "op": op, "FLOAT": FLOAT}
    exec(text, space)
    x, y = np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0], np.float32)
    (compiled,) = ow.run_model(space["f"].to_model_proto(), {"x": x, "y": y})
    eager = space["f"](x, y)
    np.testing.assert_array_equal(compiled, eager)
    assert compiled.dtype == eager.dtype


def test_the_remainder_of_floats_is_announced() -> None:
    @script
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return x % 3.0

    with pytest.warns(ow.OnnxwrightWarning, match="OW430"):
        model = f.to_model_proto()
    (got,) = ow.run_model(model, {"x": X[0]})
    np.testing.assert_array_equal(got, X[0] % 3)


custom = Opset("custom.ops", 1)


@script()
def declared_outputs(x: FLOAT["N"]):
    y: INT64["M", 2]
    z: FLOAT["N"]
    y, z = custom.Both(x)
    z = z + 1

    def inner(t):
        y = t * 2.0  # another `y`: the declaration is of the function around
        return y

    return y + 1, inner(z)


@script()
def declared_before_a_branch(x: FLOAT["N"], flag: BOOL[()]):
    y: FLOAT["N"]
    if flag:
        y = custom.Left(x)
    else:
        y = custom.Right(x)
    return op.Relu(y)


@script()
def declared_otherwise(x: FLOAT["N"]):
    y: INT64["N"]
    y = op.Relu(x)
    return y


def test_an_annotation_without_a_value_declares_what_a_name_holds() -> None:
    graph = declared_outputs.to_model_proto().graph
    kinds = {v.name: str(from_type_proto(v.type)) for v in (*graph.output, *graph.value_info)}
    assert kinds["output_0"] == "INT64[M, 2]"
    assert sorted(kinds.values()).count("FLOAT[N]") >= 1
    graph = declared_before_a_branch.to_model_proto().graph
    assert str(from_type_proto(graph.output[0].type)) == "FLOAT[N]"
    with pytest.raises(ow.ScriptError, match=r"OW316.*`y` is annotated INT64\[N\]"):
        declared_otherwise.to_model_proto()
