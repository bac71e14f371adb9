"""Random programs: eager == traced, and every known shape is the actual one at several sizes."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from onnxwright.eager.backend import EagerBackend
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.builder import Recorder
from onnxwright.semantics.ops import Ops
from onnxwright.tracing.backend import TracingBackend
from onnxwright.types import dims
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.versions.one_call import converted_call
from tests.builder.programs import OPSET, SHAPES, Program, inputs


def tracer(**shapes):
    backend = TracingBackend(Recorder(), OPSET, converted_call)
    values = [
        backend.input(name, TensorType(DType.INT64 if name == "ints" else DType.FLOAT, shape))
        for name, shape in shapes.items()
    ]
    return backend, Ops(backend), values


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    onnx.checker.check_model(model, full_check=True)
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def fits(shape, array, size):
    if shape is None:
        return True
    sizes = [dims.evaluate(d, {"N": size}) for d in shape]
    return len(sizes) == array.ndim and all(
        k is None or k == n for k, n in zip(sizes, array.shape, strict=True)
    )


@pytest.mark.parametrize("seed", range(60))
def test_a_program_is_the_same_eager_and_traced(seed):
    program = Program(seed)
    backend, op, values = tracer(**SHAPES)
    traced = program.run(op, values)
    outputs = list(traced[len(values) :])
    facts = [(v.kind, v.dims, v.constant) for v in outputs]
    names = [f"out_{n}" for n in range(len(outputs))]
    run = session(backend.to_model_proto(outputs, names=names))
    compared = 0
    for size in (3, 1, 2, 7):
        feeds = inputs(size, seed + size if size != 3 else seed)
        try:
            eager = program.run(
                eager_op := Ops(EagerBackend(OPSET)), [eager_op.constant(a) for a in feeds.values()]
            )
        except (OnnxwrightError, IndexError):
            assert size != 3
            continue
        expected = [v.value for v in eager[len(values) :]]
        used = {i.name for i in run.get_inputs()}
        results = run.run(None, {k: v for k, v in feeds.items() if k in used})
        for step, (want, got, (kind, value_dims, array)) in enumerate(
            zip(expected, results, facts)
        ):
            assert got.dtype == want.dtype == kind.dtype.numpy, step
            assert got.shape == want.shape, step
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=str(step))
            assert fits(kind.shape, got, size), (step, kind, got.shape, size)
            if value_dims is not None:
                listed = value_dims if isinstance(value_dims, tuple) else (value_dims,)
                for d, n in zip(listed, got.ravel().tolist(), strict=True):
                    assert dims.evaluate(d, {"N": size}) in (None, n), step
            if array is not None:
                np.testing.assert_array_equal(array, want)
            compared += 1
    assert compared
