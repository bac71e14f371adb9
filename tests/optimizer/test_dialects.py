"""Models as other converters write them: right after every command, or refused with a reason.

    python -m tests.optimizer.corpus.dialects FOLDER && python benchmarks/optimize.py FOLDER

compares the nodes that are left with those of other optimizers.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright.testing import assert_isomorphic, first_difference
from tests.optimizer.corpus.dialects import MODELS

# What is left of some of them.
EXPECTED = {
    "ort_transformers.fast_gelu": ["MatMul", "FastGelu", "Gemm"],
    "ort_transformers.layer_norm_of_opset_11": ["Add", "LayerNormalization", "Relu"],
    "tensorflow.strided_slice": ["Slice"],
    "tensorflow.gelu": ["Gelu"],
    "keras.dense_of_three_axes": ["MatMul", "Add"],
}


def check(name: str, model: onnx.ModelProto) -> None:
    """A model through the optimizer, the decompiler, the listing and the version converter."""
    small = ow.optimize(model)
    assert first_difference(model, small) is None
    assert len(small.graph.node) <= len(model.graph.node)
    again = ow.optimize(small)
    assert len(again.graph.node) == len(small.graph.node), "a second call found more to do"
    exact = ow.optimize(model, level="exact")
    assert first_difference(model, exact, exact=True) is None
    assert str(ow.show(model))
    assert "def " in str(ow.to_script(model))
    assert first_difference(model, ow.convert_version(model, 21)) is None


WRITTEN = [n for n in MODELS if not n.startswith("torchscript")]
# The default run takes every third; each is alike in what it takes through the commands.
CASES = [pytest.param(n, marks=[pytest.mark.slow] * (i % 3 > 0)) for i, n in enumerate(WRITTEN)]


@pytest.mark.parametrize("name", CASES)
def test_dialect(name: str) -> None:
    check(name, MODELS[name].make())


@pytest.mark.parametrize("name", EXPECTED)
def test_nodes_that_are_left(name: str) -> None:
    small = ow.optimize(MODELS[name].make())
    assert [node.op_type for node in small.graph.node] == EXPECTED[name]


@pytest.mark.slow
def test_old_exporter_of_torch() -> None:
    pytest.importorskip("torch", reason="the models are exported by torch")
    from tests.optimizer.corpus.dialects import torchscript  # noqa: F401 - registers its own

    names = [n for n in MODELS if n.startswith("torchscript")]
    assert len(names) > 80
    for name in names:
        check(name, MODELS[name].make())


def test_focus_layer_of_detectors_is_space_to_depth() -> None:
    """Slices of two Slices that are each read twice: the Slices are joined, then one node."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[N,3,8,6] x) => (float[N,12,4,3] y)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3},
         int64[1] far = {9223372036854775807}> {
          a = Slice(x, zero, far, two, two)  b = Slice(x, one, far, two, two)
          p = Slice(a, zero, far, three, two)  q = Slice(a, one, far, three, two)
          r = Slice(b, zero, far, three, two)  s = Slice(b, one, far, three, two)
          y = Concat<axis = 1>(p, q, r, s) }""")
    small, report = ow.optimize(model, report=True)
    assert [node.op_type for node in small.graph.node] == ["SpaceToDepth"]
    assert {"slices_of_one_slice", "slices_to_depth"} <= set(report.rules)
    assert first_difference(model, small, exact=True) is None
    other = onnx.ModelProto()
    other.CopyFrom(model)
    other.graph.node[-1].input[:] = ["p", "r", "q", "s"]  # another order of channels
    left = ow.optimize(other)
    assert [node.op_type for node in left.graph.node] == ["Slice"] * 4 + ["Concat"]
    assert first_difference(other, left, exact=True) is None
    assert_isomorphic(ow.optimize(left), left)


def test_layer_normalization_below_opset_17_for_the_runtime() -> None:
    """ONNX Runtime has it in every opset, ONNX from 17 on: so for that runtime only."""
    model = MODELS["paddle.layer_norm"].make()
    small = ow.optimize(model, target="onnxruntime")
    assert [node.op_type for node in small.graph.node] == ["LayerNormalization"]
    assert first_difference(model, small) is None
    assert len(ow.optimize(model).graph.node) == len(model.graph.node)
    assert str(ow.show(small))
    again = ow.optimize(small, target="onnxruntime")
    assert [node.op_type for node in again.graph.node] == ["LayerNormalization"]
    assert again.graph.output[0] == model.graph.output[0]


def test_sum_before_layer_normalization_below_opset_17() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 7, opset_import: ["" : 13]>
        g (float[2,5,8] x, float[2,5,8] z) => (float[2,5,8] y)
        <float two = {2.0}, float eps = {1e-5}> {
          t = Add(x, z)  m = ReduceMean<axes = [-1]>(t)  d = Sub(t, m)  p = Pow(d, two)
          v = ReduceMean<axes = [-1]>(p)  e = Add(v, eps)  s = Sqrt(e)  n = Div(d, s)
          a = Mul(n, gamma)  y = Add(a, beta) }""")
    for name in ("gamma", "beta"):
        array = np.linspace(0.5, 1.5, 8, dtype=np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    small = ow.optimize(model, target="onnxruntime", assume=["default_session"])
    assert [node.op_type for node in small.graph.node] == ["SkipLayerNormalization"]
    assert first_difference(model, small) is None
