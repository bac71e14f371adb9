"""Calls of another opset version in a graph under construction."""

from __future__ import annotations

import numpy as np
import pytest

import onnxwright as ow
from onnxwright.errors import ScriptValueError
from onnxwright.ir.builder import Recorder
from onnxwright.semantics.ops import Ops
from onnxwright.tracing.backend import TracingBackend
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.versions.one_call import converted_call
from tests.harness.tables import each
from tests.versions.backend_cases import run, same

X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)
CASES = [
    (9, 18, lambda op, x: op.Softmax(x, axis=1), ["Flatten", "Softmax", "Reshape"]),
    (11, 18, lambda op, x: op.ReduceMean(x, axes=[1]), ["ReduceMean"]),
    (23, 17, lambda op, x: op.Gelu(x, approximate="tanh"), None),
    (23, 13, lambda op, x: op.RMSNormalization(x, op.constant(np.ones(4, np.float32))), None),
    (18, 11, lambda op, x: op.ReduceMax(x, [0, 2], keepdims=0), ["ReduceMax"]),
    (20, 11, lambda op, x: op.Shape(x, start=1), None),
]


def model_of(version, opset, build):
    b = TracingBackend(Recorder(), ow.Opset("", opset), converted_call)
    x = b.input("x", TensorType(DType.FLOAT, ("N", 3, 4)))
    return b.to_model_proto([build(Ops(b, ow.Opset("", version)), x)])


@each(("version", "opset", "build", "nodes"), CASES)
def test_a_call_of_another_version(version, opset, build, nodes):
    proto = model_of(version, opset, build)
    assert proto.opset_import[0].version == opset
    assert same(run(model_of(version, version, build), [X]), run(proto, [X]))
    if nodes is not None:
        assert [n.op_type for n in proto.graph.node if n.op_type != "Shape"] == nodes


def test_what_has_no_equivalent_says_why():
    with pytest.raises(ScriptValueError, match="ONNX gives no function body"):
        model_of(20, 15, lambda op, x: op.StringConcat(*[op.constant(np.array(["a"]))] * 2) and x)
    with pytest.raises(ScriptValueError, match="OW536"):
        model_of(20, 15, lambda op, x: op.GridSample(op.Unsqueeze(x, [0]), op.Unsqueeze(x, [0])))
