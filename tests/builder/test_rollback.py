"""What a rollback of the recorder takes back: constants with their numbers, too."""

from __future__ import annotations

import numpy as np

from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.ops import Ops
from onnxwright.tracing.backend import TracingBackend
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.versions.one_call import converted_call


def test_constants_are_made_anew_after_a_rollback() -> None:
    b = TracingBackend(Recorder(), Opset("", 18), converted_call)
    op = Ops(b)
    x = b.input("x", TensorType(DType.FLOAT, ("N", 4)))
    kept = b.constant(np.array([2]))
    before = b.recorder.checkpoint()
    given_up = op.ReduceSum(x, [1])
    large = np.zeros((64, 64), np.float32)
    b.initializer(large)
    b.recorder.rollback(before)
    assert list(b.pool) == [kept.value]
    assert given_up.value.producer().inputs[0] is None
    # The axes are known again, so that the type of the result is.
    assert str(op.ReduceSum(x, [1], keepdims=0).kind) == "FLOAT[N]"
    assert str(b.initializer(large).kind) == "FLOAT[64, 64]"
    assert b.constant(np.array([2])).value is kept.value
