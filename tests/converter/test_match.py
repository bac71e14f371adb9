"""`match`: Python itself runs the eager call, so the compiled model must agree with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.reference
import pytest

from onnxwright import FLOAT, INT64, script
from onnxwright import opset20 as op
from onnxwright.errors import ScriptSyntaxError
from tests.harness.tables import each

X = np.array([1.0, -2.0, 3.0], np.float32)


@script()
def by_number(x: FLOAT["N"], k: INT64[()]) -> FLOAT["N"]:
    match k + 0:
        case 0:
            return x
        case 1 | 2:
            y = x * 2.0
        case n if n > 10:
            y = x * op.Cast(n, to=1)
        case 7 as m:
            y = x + op.Cast(m, to=1)
        case _:
            y = -x
    return y


@script()
def in_a_loop(x: FLOAT["N"], k: INT64[()]) -> FLOAT["N"]:
    for i in range(k):
        match i % 3:
            case 0:
                continue
            case 2:
                break
        x = x + 10.0
    return x


@script()
def by_settings(x: FLOAT["N"], k: INT64[()]) -> FLOAT["N"]:
    mode, bias = "gelu", None
    match (mode, bias, x.ndim + 1, k):
        case ("relu", *_):
            return op.Relu(x)
        case ("gelu", None, 2 as r, 0 | 1) if r < 3:
            x = x + float(r)
        case (_, _, *rest):
            x = x * float(rest[0])
    return x


@script()
def nothing_matches(x: FLOAT["N"], k: INT64[()]) -> FLOAT["N"]:
    n = 5
    match k:
        case 1 if x[0] > 100.0:
            x = x * 2.0
        case n if n < 0:
            x = -x
    return x + op.Cast(n, to=1)


@each("function", [by_number, in_a_loop, by_settings, nothing_matches])
@each("k", [-1, 0, 1, 2, 5, 7, 12])
def test_agrees_with_python(function: Any, k: int) -> None:
    number = np.array(k, np.int64)
    model = onnx.reference.ReferenceEvaluator(function.to_model_proto())
    (got,) = model.run(None, {"x": X, "k": number})
    np.testing.assert_array_equal(got, function(X, number))


def test_a_choice_known_when_compiling_leaves_no_if() -> None:
    @script()
    def known(x: FLOAT["N"]) -> FLOAT["N"]:
        match x.ndim:
            case 1:
                return op.Relu(x)
            case _:
                return op.Neg(x)

    assert [n.op_type for n in known.to_model_proto().graph.node] == ["Relu"]


def test_patterns_of_classes_and_mappings_are_located_errors() -> None:
    @script()
    def by_class(x: FLOAT["N"]) -> FLOAT["N"]:
        match x:
            case int():
                return x
        return -x

    with pytest.raises(ScriptSyntaxError, match=r"(?s)a class in a `case`.*case int\(\):"):
        by_class.to_model_proto()


@script()
def by_attribute(x: FLOAT["N"], negate: bool = False) -> FLOAT["N"]:
    match negate:
        case True:
            return -x
        case False:
            return x + 1
        case _:
            return x * 100


@script()
def calls_by_attribute(x: FLOAT["N"], negate: bool = False) -> FLOAT["N"]:
    y = by_attribute(x, negate=negate)
    return y if negate is not True else y * 2


@pytest.mark.parametrize("negate", [False, True])
def test_the_value_of_a_bool_attribute_is_true_or_false(negate: bool) -> None:
    """An attribute is Python's own True or False, so `is` and `case True:` ask for its value."""
    expected = -X * 2 if negate else X + 1
    np.testing.assert_array_equal(calls_by_attribute(X, negate=negate), expected)
    model = calls_by_attribute.to_model_proto(attributes={"negate": negate}, functions="all")
    np.testing.assert_array_equal(
        onnx.reference.ReferenceEvaluator(model).run(None, {"x": X})[0], expected
    )
    assert [f.name for f in model.functions] == ["by_attribute"]
