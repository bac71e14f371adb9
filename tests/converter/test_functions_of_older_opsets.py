"""Functions of older opsets in a newer model: calls that mean the same stay as they are."""

from __future__ import annotations

import numpy as np
import onnx

from onnxwright import FLOAT, opset11, opset15, opset22, script
from onnxwright.eager import run_model
from tests.harness.tables import each


@script()
def pooled(x: FLOAT["N", 3, 8, 8]):
    return opset15.MaxPool(x, kernel_shape=[2, 2])


@script()
def summed(x: FLOAT["N", 3, 8, 8]):
    return opset11.ReduceSum(x)


@script()
def summed_over_rows(x: FLOAT["N", 3, 8, 8]):
    return opset11.ReduceSum(x, axes=[2])


@script()
def dropped(x: FLOAT["N", 3, 8, 8]):
    y, _ = opset11.Dropout(x)
    return y


@script()
def use_pooled(x: FLOAT["N", 3, 8, 8]):
    return opset22.Relu(pooled(x))


@script()
def use_summed(x: FLOAT["N", 3, 8, 8]):
    return opset22.Relu(summed(x))


@script()
def use_summed_over_rows(x: FLOAT["N", 3, 8, 8]):
    return opset22.Relu(summed_over_rows(x))


@script()
def use_dropped(x: FLOAT["N", 3, 8, 8]):
    return opset22.Relu(dropped(x))


@each("function", [use_pooled, use_summed, use_summed_over_rows, use_dropped])
def test_the_model_has_one_opset_and_means_the_same(function: object) -> None:
    model = function.to_model_proto()  # type: ignore[attr-defined]
    assert {o.version for o in model.opset_import if not o.domain} == {22}
    onnx.checker.check_model(model, full_check=True)
    x = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32)
    (output,) = run_model(model, {"x": x})
    np.testing.assert_allclose(output, np.asarray(function(x)), rtol=1e-6)  # type: ignore[operator]
