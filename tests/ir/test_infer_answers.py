"""Answers of ONNX's inference are kept, and are those of the question that was asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onnxwright.ir import adapters, infer
from onnxwright.ir.infer import infer_by_onnx
from onnxwright.operators.op_call import OpCall
from onnxwright.opset import registry
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType

FLOAT_ANY = TensorType(DType.FLOAT, None)
ONE_INT = TensorType(DType.INT64, (1,))
FLOAT_12 = TensorType(DType.FLOAT, (12,))


def asked(
    name: str,
    types: list[OnnxType | None],
    arrays: list[Any],
    version: int = 21,
    attributes: dict[str, Any] | None = None,
) -> Any:
    signature = registry.signature("", name, version)
    assert signature is not None
    call = OpCall(signature, attributes or {}, 1, types, arrays, [None] * len(types))
    attrs = [adapters.attribute(key, value) for key, value in (attributes or {}).items()]
    return infer_by_onnx(call, attrs, version)


def test_an_equal_question_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infer, "_ANSWERS", {})
    first = asked("Relu", [FLOAT_ANY], [None])
    monkeypatch.setattr(infer.shape_inference, "infer_node_outputs", None)
    second = asked("Relu", [FLOAT_ANY], [None])
    assert first == second == [FLOAT_ANY]
    assert first is not second  # whoever asked may change the list


def test_other_data_is_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infer, "_ANSWERS", {})
    shapes = [
        asked("Reshape", [FLOAT_12, ONE_INT], [None, np.array([n], np.int64)])[0].shape
        for n in (12, -1)
    ]
    two = TensorType(DType.INT64, (2,))
    shapes.append(asked("Reshape", [FLOAT_12, two], [None, np.array([3, 4], np.int64)])[0].shape)
    assert shapes == [(12,), (12,), (3, 4)]


def test_other_attributes_are_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infer, "_ANSWERS", {})
    plane = TensorType(DType.FLOAT, (2, 3))
    questions: list[dict[str, Any]] = [{"perm": [1, 0]}, {"perm": [0, 1]}, {}]
    first = [asked("Transpose", [plane], [None], attributes=q)[0].shape for q in questions]
    assert first == [(3, 2), (2, 3), (3, 2)]
    monkeypatch.setattr(infer.shape_inference, "infer_node_outputs", None)
    again = [asked("Transpose", [plane], [None], attributes=q)[0].shape for q in questions]
    assert again == first


def test_an_attribute_that_has_no_text_is_asked_about_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(infer, "_ANSWERS", {})
    shape = TensorType(DType.INT64, (1,))
    for value, dtype in (
        (np.zeros(1, np.float32), DType.FLOAT),
        (np.zeros(1, np.int8), DType.INT8),
    ):
        attributes = {"value": value}
        kind = asked("ConstantOfShape", [shape], [None], attributes=attributes)[0]
        assert kind.dtype is dtype


def test_other_types_are_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infer, "_ANSWERS", {})
    double = TensorType(DType.DOUBLE, (2,))
    assert asked("Relu", [FLOAT_12], [None]) == [FLOAT_12]
    assert asked("Relu", [double], [None]) == [double]


def test_the_answers_do_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infer, "_ANSWERS", {})
    monkeypatch.setattr(infer, "_MOST_ANSWERS", 3)
    for n in range(1, 9):
        asked("Relu", [TensorType(DType.FLOAT, (n,))], [None])
    assert len(infer._ANSWERS) <= 3
