# ruff: noqa: B007, UP045 - programs under test do this on purpose
"""Attribute parameters that went wrong elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np
import onnx
import pytest

from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op
from onnxwright.errors import OnnxwrightError, ScriptError
from tests.footguns.agreement import refuses

X = np.array([1.0, -2.0, 3.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3)


def references(model: onnx.ModelProto) -> list[str]:
    """Attribute references that nothing could fill."""
    found = []

    def walk(graph: onnx.GraphProto) -> None:
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.ref_attr_name:
                    found.append(attribute.ref_attr_name)
                if attribute.type == onnx.AttributeProto.GRAPH:
                    walk(attribute.g)

    walk(model.graph)
    return found


def test_a_default_is_baked_in(agree) -> None:
    @script()
    def f(x: FLOAT["N"], alpha: float = 0.25, k: int = 3) -> FLOAT["N"]:
        return op.LeakyRelu(x, alpha=alpha) * k

    model = agree(f, X, expected=np.where(X < 0, X * np.float32(0.25), X) * 3)
    assert references(model) == []


def test_a_given_value_is_baked_in(agree) -> None:
    @script()
    def f(x: FLOAT["N"], alpha: float, k: int = 3) -> FLOAT["N"]:
        return op.LeakyRelu(x, alpha=alpha) * k

    agree(
        f,
        X,
        expected=np.where(X < 0, X * np.float32(0.5), X) * 4,
        attributes={"alpha": 0.5, "k": 4},
    )


def test_a_default_inside_a_branch_and_a_loop(agree) -> None:
    @script()
    def f(x: FLOAT["N"], alpha: float = 0.25) -> FLOAT["N"]:
        for i in range(2):
            if x[0] > 0:
                x = op.LeakyRelu(x, alpha=alpha) + alpha
        return x

    expected = X
    for _ in range(2):
        expected = np.where(expected < 0, expected * np.float32(0.25), expected) + np.float32(0.25)
    model = agree(f, X, expected=expected)
    assert references(model) == []


@refuses("", "axis", "to_model_proto(attributes=")
def test_a_required_attribute_without_a_value(x: FLOAT["N"], axis: int) -> FLOAT["N"]:
    return op.Softmax(x, axis=axis)


def test_an_attribute_that_does_not_exist() -> None:
    @script()
    def f(x: FLOAT["N"], axis: int = 0) -> FLOAT["N"]:
        return op.Softmax(x, axis=axis)

    with pytest.raises(OnnxwrightError, match="axes"):
        f.to_model_proto(attributes={"axes": 1})


def test_the_function_proto_has_references(agree) -> None:
    @script()
    def f(x: FLOAT["N"], alpha: float, axis: int = -1, mode: str = "a") -> FLOAT["N"]:
        return op.Softmax(op.LeakyRelu(x, alpha=alpha), axis=axis)

    proto = f.to_function_proto()
    assert list(proto.attribute) == ["alpha"]
    assert {a.name: a.i for a in proto.attribute_proto if a.name == "axis"} == {"axis": -1}


def test_every_kind_of_attribute(agree) -> None:
    @script()
    def callee(
        x: FLOAT["N"],
        i: int = 2,
        f: float = 0.5,
        b: bool = True,
        ints: Sequence[int] = (0,),
        floats: list[float] = [1.0, 2.0, 3.0],  # noqa: B006
        s: str = "reflect",
    ):
        y = op.ReduceSum(x, ints) * i + f
        y = y + floats
        if b:
            y = y + 1
        return op.Pad(y, [1, 1], mode=s)

    @script()
    def main(x: FLOAT["N"]):
        return callee(x), callee(x, i=3, b=False, floats=[0.0, 0.0, 1.0], s="edge")

    one = X.sum() * 2 + np.float32(0.5) + np.array([1, 2, 3], np.float32) + 1
    two = X.sum() * 3 + np.float32(0.5) + np.array([0, 0, 1], np.float32)
    expected = (np.pad(one, 1, mode="reflect"), np.pad(two, 1, mode="edge"))
    agree(main, X, expected=expected)
    agree(callee, X, expected=expected[0])


def test_a_tensor_attribute(agree) -> None:
    weights = np.array([2, 3, 4], np.float32)

    @script()
    def callee(x: FLOAT["N"], w: onnx.TensorProto):
        return x * op.Constant(value=w)

    @script()
    def f(x: FLOAT["N"]):
        return callee(x, w=onnx.numpy_helper.from_array(weights))

    agree(f, X, expected=X * weights)


def test_an_optional_attribute_left_out(agree) -> None:
    @script()
    def f(x: FLOAT["N", "M"], axis: Optional[int] = None, beta: float | None = None):
        if axis is None:
            y = op.Flatten(x)
        else:
            y = op.Flatten(x, axis=axis)
        return y if beta is None else y * beta

    agree(f, M, expected=M)
    agree(f, M, expected=M.reshape(1, 6), attributes={"axis": 0})
    agree(f, M, expected=M * 2, attributes={"beta": 2.0})


def test_an_optional_attribute_through_a_callee(agree) -> None:
    @script()
    def callee(x: FLOAT["N", "M"], axis: Optional[int] = None):
        return op.Flatten(x, axis=axis)

    @script()
    def f(x: FLOAT["N", "M"]):
        return callee(x), callee(x, axis=0), callee(x, axis=None)

    # onnx.reference wants every attribute that a body refers to.
    agree(f, M, expected=(M, M.reshape(1, 6), M), reference=False)


def test_expressions_on_attributes(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], alpha: float, k: int):
        return op.LeakyRelu(x, alpha=0.5) * (alpha * 2) + k // 2 - -k % 3

    @script()
    def f(x: FLOAT["N"]):
        return callee(x, alpha=3.0, k=5)

    expected = np.where(X < 0, X / 2, X) * 6 + 5 // 2 - -5 % 3
    agree(f, X, expected=expected.astype(np.float32))
    agree(callee, X, expected=expected.astype(np.float32), attributes={"alpha": 3.0, "k": 5})


def test_an_attribute_as_a_bound_and_an_index(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], k: int):
        total = x[k] * 0
        for i in range(k):
            total = total + x[i]
        return total, x[:k], x[-k]

    @script()
    def f(x: FLOAT["N"]):
        return callee(x, k=2)

    expected = (np.float32(-1), X[:2], X[-2])
    agree(f, X, expected=expected)
    agree(callee, X, expected=expected, attributes={"k": 2})


def test_a_float_attribute_beside_an_integer_tensor(agree) -> None:
    """Python numbers take the tensor's type, attributes too; a lost fraction is said."""

    @script()
    def f(n: INT64["N"], k: float = 2.0):
        return n * k

    v = np.array([1, 2, 3])
    agree(f, v, expected=v * 2)


def test_an_int_attribute_beside_a_float_tensor(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], k: int):
        return x * k, op.Mul(x, k), k * x

    @script()
    def f(x: FLOAT["N"]):
        return callee(x, k=3)

    agree(f, X, expected=(X * 3, X * 3, X * 3))


def test_comparisons_of_attributes(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], k: int, mode: str = "up"):
        if k > 2 and mode == "up":
            return x + k
        elif k < 0 or mode != "up":
            return x - k
        return x

    @script()
    def f(x: FLOAT["N"]):
        return callee(x, 3), callee(x, 1), callee(x, 3, mode="down"), callee(x, -2)

    # onnx.reference gives string attributes a dtype that its Equal refuses.
    agree(f, X, expected=(X + 3, X, X - 3, X + 2), reference=False)


def test_a_bool_attribute_as_a_condition(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], up: bool = True):
        if not up:
            return op.Neg(x)
        return x

    @script()
    def f(x: FLOAT["N"]):
        return callee(x), callee(x, up=False)

    agree(f, X, expected=(X, -X))


def test_membership_of_a_string_attribute(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], mode: str = "none"):
        if mode in ("none", "zero"):
            return x
        return op.Neg(x)

    @script()
    def f(x: FLOAT["N"]):
        return callee(x), callee(x, mode="zero"), callee(x, mode="q")

    agree(f, X, expected=(X, X, -X))


def test_a_wrong_attribute_type_in_eager() -> None:
    @script()
    def f(x: FLOAT["N"], axis: int = 0):
        return op.Softmax(x, axis=axis)

    with pytest.raises((OnnxwrightError, TypeError), match="axis"):
        f(X, axis="last")


def test_a_wrong_attribute_type_in_to_model_proto() -> None:
    @script()
    def f(x: FLOAT["N"], axis: int = 0):
        return op.Softmax(x, axis=axis)

    with pytest.raises(OnnxwrightError, match="axis"):
        f.to_model_proto(attributes={"axis": "last"})


def test_a_tensor_for_an_attribute_of_a_callee(refused) -> None:
    @script()
    def callee(x: FLOAT["N"], axis: int):
        return op.Softmax(x, axis=axis)

    @script()
    def f(x: FLOAT["N"], n: INT64):
        return callee(x, axis=n)

    refused(f, "", "axis")


def test_an_attribute_reassigned(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], k: int):
        if x[0] > 0:
            k = k + 1
        return x * k

    @script()
    def f(x: FLOAT["N"]):
        return callee(x, k=2)

    agree(f, X, expected=X * 3)
    agree(f, -X, expected=-X * 2)


def test_an_attribute_with_the_name_of_an_input_of_the_op(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], axes: Sequence[int], keepdims: int = 0):
        return op.ReduceSum(x, axes, keepdims=keepdims)

    @script()
    def f(x: FLOAT["N"]):
        return callee(x, axes=[0]), callee(x, [0], keepdims=1)

    agree(f, X, expected=(X.sum(), X.sum(keepdims=True)))


def test_an_attribute_in_a_loop_that_is_lowered_twice(agree) -> None:
    """The body of a loop is lowered until types no longer change; names stay unique."""

    @script()
    def f(x: FLOAT[2, 3], m: INT64[4], alpha: float = 2.0, times: int = 3) -> INT64[4]:
        for row in (0, 2):
            if x[-1][1] <= 3:
                k = row
                while k < 4:
                    k += 1
                    return op.Where(x[0, 0] <= alpha, m, m + row)
            elif op.ReduceSum(x, keepdims=0) <= times:
                x = op.Neg(x)
        return m * 2

    m = np.arange(4)
    f.to_function_proto()
    agree(f, M, m, expected=m * 2)
    agree(f, M - 3, m, expected=m)


def test_a_script_error_is_one_base() -> None:
    assert issubclass(ScriptError, OnnxwrightError)
