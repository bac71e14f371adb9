"""Lists of tensors indexed with a number of the graph: SequenceAt, where Python takes the item."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.reference
import pytest

from onnxwright import FLOAT, INT64, script
from onnxwright import opset20 as op
from onnxwright.errors import ScriptValueError, StaticTypeError
from tests.harness.tables import each

X = np.array([1.0, 2.0, 3.0], np.float32)


@script()
def of_several_lengths(x: FLOAT["N"], k: INT64[()]) -> FLOAT["M"]:
    parts = [x, x + 1.0, op.Concat(x, x, axis=0), x[:1]]
    return parts[k]


@script()
def in_a_loop(x: FLOAT["N"], k: INT64[()]) -> FLOAT["N"]:
    parts = (x, x + 1.0, x * 3.0)
    y = x
    for i in range(k):
        y = y + parts[i % 3]
    return y + parts[-1 - k % 2]


@script()
def with_numbers(x: FLOAT["N"], k: INT64[()]) -> FLOAT[()]:
    parts = [op.ReduceSum(x, keepdims=0), 2.0, 3.0]
    return parts[k] * 2.0


@each("function", [of_several_lengths, in_a_loop, with_numbers])
@each("k", [-1, 0, 1, 2])
def test_agrees_with_python(function: Any, k: int) -> None:
    number = np.array(k, np.int64)
    model = onnx.reference.ReferenceEvaluator(function.to_model_proto())
    (got,) = model.run(None, {"x": X, "k": number})
    np.testing.assert_array_equal(got, function(X, number))


def test_the_item_shares_its_memory_with_the_list() -> None:
    @script()
    def written(x: FLOAT["N"], k: INT64[()]) -> FLOAT["N"]:
        parts = [x, x + 1.0]
        y = parts[k]
        y[0] = 100.0
        return y + parts[0]

    with pytest.raises(ScriptValueError, match="OW868"):
        written.to_model_proto()


def test_items_of_several_types_need_a_known_index() -> None:
    @script()
    def mixed(x: FLOAT["N"], k: INT64[()]) -> FLOAT["N"]:
        parts = [x, op.Cast(x, to=11)]
        return op.Cast(parts[k], to=1)

    with pytest.raises(StaticTypeError, match=r"OW534.*index of a list of 2"):
        mixed.to_model_proto()
