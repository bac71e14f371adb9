"""Initializers that are inputs: constants in IR version 3, defaults of the caller from 4 on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser
from onnxruntime import InferenceSession

import onnxwright as ow

TEXT = """g (float[n, 3] x, float[3] w, float[3] b) => (float[n, 3] y)
    <float[3] w = {1, 2, 3}, float[3] b = {4, 5, 6}>
    { c = Mul(w, b) t = Mul(x, c) y = Add(t, b) }"""
FEEDS = {"x": np.ones((2, 3), np.float32)}


def model(ir_version: int, opset: int = 8) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]> {TEXT}')


@pytest.mark.parametrize("options", [{}, {"opset_version": 18}, {"level": "exact"}])
def test_constants_in_version_3(options: dict) -> None:
    optimized, report = ow.optimize(model(3), report=True, **options)
    onnx.checker.check_model(optimized, full_check=True)
    assert [i.name for i in optimized.graph.input] == ["x"]
    if "level" not in options:  # a product of weights is folded within rounding
        assert [n.op_type for n in optimized.graph.node] == ["Mul", "Add"]
    assert optimized.ir_version >= 4
    assert report.constant_initializers == ("w", "b")
    assert "left the inputs: w, b" in str(report)
    np.testing.assert_array_equal(
        ow.run_model(optimized, FEEDS)[0], ow.run_model(model(3), FEEDS)[0]
    )


@pytest.mark.parametrize("ir_version", [4, 8])
def test_defaults_from_version_4_on(ir_version: int) -> None:
    source = model(ir_version, 13)
    optimized, report = ow.optimize(source, report=True)
    assert [i.name for i in optimized.graph.input] == ["x", "w", "b"]
    assert report.replaceable_initializers == ("w", "b")
    assert 'assume "constant_initializers"' in str(report)
    feeds = FEEDS | {"w": np.full(3, 7, np.float32)}
    results = [
        InferenceSession(m.SerializeToString()).run(None, feeds)[0] for m in (optimized, source)
    ]
    np.testing.assert_array_equal(*results)
    optimized, report = ow.optimize(source, assume=["constant_initializers"], report=True)
    assert [i.name for i in optimized.graph.input] == ["x"]
    assert [n.op_type for n in optimized.graph.node] == ["Mul", "Add"]
    assert (report.constant_initializers, report.replaceable_initializers) == (("w", "b"), ())


def test_the_state_of_an_exported_program_is_not_folded() -> None:
    source = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]>
        g (float[3] x) => (float[3] y, int64 new) <int64 n = {5}, int64 k = {4}, int64 one = {1}>
            { t = Mod(n, k) f = Cast<to = 1>(t) y = Mul(x, f) new = Add(n, one) }"""
    )
    source.graph.output[1].name = source.graph.node[-1].output[0] = "n.new"
    optimized = ow.optimize(source)
    assert [i.name for i in optimized.graph.input] == ["x"]
    for one in (source, optimized):
        (state,) = (i for i in one.graph.initializer if i.name == "n")
        state.CopyFrom(onnx.numpy_helper.from_array(np.array(2), "n"))
    feeds = {"x": np.ones(3, np.float32)}
    for one, two in zip(ow.run_model(optimized, feeds), ow.run_model(source, feeds), strict=True):
        np.testing.assert_allclose(one, two)
    assumed = ow.optimize(source, assume=["constant_initializers"])
    assert [n.op_type for n in assumed.graph.node] == ["Mul"]


def test_what_is_given_does_not_change() -> None:
    source = ir.from_proto(model(3))
    optimized = ow.optimize(source)
    assert [v.name for v in source.graph.inputs] == ["x", "w", "b"]
    assert source.ir_version == 3
    assert [v.name for v in optimized.graph.inputs] == ["x"]


@pytest.mark.parametrize("change", [ow.optimize, ow.fold_constants])
def test_constants_become_initializers_in_version_3(
    change: Callable[[onnx.ModelProto], onnx.ModelProto],
) -> None:
    """An initializer that is not an input is valid from version 4 on."""
    source = parser.parse_model("""<ir_version: 3, opset_import: ["" : 9]>
        g (float[2,6] x) => (float[3,4] y) {
          a = Constant<value = int64[1] {3}>()  b = Constant<value = int64[1] {4}>()
          s = Concat<axis = 0>(a, b)  y = Reshape(x, s) }""")
    changed = change(source)
    onnx.checker.check_model(changed, full_check=True)
    assert ([n.op_type for n in changed.graph.node], changed.ir_version) == (["Reshape"], 4)
    assert source.ir_version == 3
