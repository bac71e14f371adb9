# ruff: noqa: B007 - programs under test do this on purpose
"""Branches and returns that went wrong elsewhere."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from onnxwright import BOOL, FLOAT, INT64, graph, script  # noqa: F401
from onnxwright import opset18 as op
from tests.footguns.agreement import agrees, refuses
from tests.harness.tables import each

X = np.array([1.0, -2.0, 3.0], np.float32)
Y = np.array([10.0, 20.0, 30.0], np.float32)


def functions(model: onnx.ModelProto) -> dict[str, onnx.FunctionProto]:
    return {f.name: f for f in model.functions}


def op_types(graph: onnx.GraphProto) -> list[str]:
    """The operators of a graph without constants."""
    return [node.op_type for node in graph.node if node.op_type != "Constant"]


def nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    found = []
    for node in graph.node:
        found.append(node)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found += nodes(attribute.g)
    return found


@script()
def gelu(x: FLOAT["N"], approximate: str = "none") -> FLOAT["N"]:
    if approximate == "tanh":
        return op.Tanh(x)
    else:
        return op.Relu(x)


@each("given", [None, "tanh", "none", "other"])
def test_return_in_both_branches_on_a_string_attribute(agree, given) -> None:
    """It folds away where the value is known."""
    expected = np.tanh(X) if given == "tanh" else np.maximum(X, 0)
    model = agree(gelu, X, expected=expected, attributes={"approximate": given} if given else None)
    assert op_types(model.graph) == ["Tanh" if given == "tanh" else "Relu"]


@pytest.mark.parametrize("given", ["tanh", "none"])
def test_a_string_attribute_decides_inside_a_function_proto(agree, given) -> None:
    """As a callee the choice is an If on the attribute, and is still right."""

    @script()
    def caller(x: FLOAT["N"]) -> FLOAT["N"]:
        return gelu(x, approximate=given)

    proto = gelu.to_function_proto()
    assert "approximate" in [*proto.attribute, *(a.name for a in proto.attribute_proto)]
    expected = np.tanh(X) if given == "tanh" else np.maximum(X, 0)
    agree(caller, X, expected=expected)


@script()
def add_scaled(self: FLOAT["N"], other: FLOAT["N"], alpha: float = 1.0) -> FLOAT["N"]:
    if alpha != 1:
        other = op.Mul(other, alpha)
    return op.Add(self, other)


@each("alpha", [1.0, 0.5, 2])
def test_an_if_on_a_number_attribute_then_return(agree, alpha) -> None:
    """`other` is assigned on one side only and was a parameter before."""
    agree(add_scaled, X, Y, expected=X + np.float32(alpha) * Y, attributes={"alpha": alpha})


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_an_if_on_a_number_attribute_in_a_callee(agree, alpha) -> None:
    """The FunctionProto is valid SSA."""

    @script()
    def caller(x: FLOAT["N"], y: FLOAT["N"]) -> FLOAT["N"]:
        return add_scaled(x, y, alpha=alpha)

    agree(caller, X, Y, expected=X + np.float32(alpha) * Y)
    outputs = [
        o
        for n in nodes(onnx.GraphProto(node=add_scaled.to_function_proto().node))
        for o in n.output
    ]
    assert len(outputs) == len(set(outputs))


def test_code_after_a_return_is_ignored(agree) -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return x + 1
        x = op.Neg(x)
        return x

    model = agree(f, X, expected=X + 1)
    assert op_types(model.graph) == ["Add"]


@refuses()
def test_a_bare_return(x: FLOAT["N"]) -> FLOAT["N"]:
    return


@refuses("OW304")
def test_too_many_returned_values_against_the_annotation(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1, x


@agrees(X, Y, expected=X * Y + 1)
def test_del(x: FLOAT["N"], scale: FLOAT["N"]) -> FLOAT["N"]:
    y = x * scale
    del scale
    scale = y + 1
    return scale


@refuses("", "`scale`")
def test_a_deleted_name_is_read(x: FLOAT["N"], scale: FLOAT["N"]) -> FLOAT["N"]:
    y = x * scale
    del scale
    return y + scale


def test_assigned_on_one_side_and_never_read(agree) -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        if op.ReduceSum(x, keepdims=0) > 0:
            y = x
        return x + 1

    model = agree(f, X, expected=X + 1)
    assert op_types(model.graph) == ["Add"]


@agrees(X, expected=X * 2)
@agrees(-X, expected=-X)
def test_assigned_on_one_side_where_the_other_returns(x: FLOAT["N"]) -> FLOAT["N"]:
    if op.ReduceSum(x, keepdims=0) > 0:
        y = x * 2
    else:
        return x
    return y


def test_an_if_whose_results_nobody_reads_is_dropped(agree) -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        y = x
        if op.ReduceSum(x, keepdims=0) > 0:
            y = op.Exp(x)
        else:
            y = op.Neg(x)
        y = x - 1
        return y

    model = agree(f, X, expected=X - 1)
    assert op_types(model.graph) == ["Sub"]


def test_a_nested_if_with_returns_at_every_level(agree) -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        total = op.ReduceSum(x, keepdims=0)
        if total > 0:
            if total > 10:
                if total > 100:
                    return x * 3
                x = x + 1
            else:
                return x * 2
            x = x + 10
        return x

    for scale, expected in (
        (1, lambda x: x * 2),
        (-1, lambda x: x),
        (10, lambda x: x + 11),
        (100, lambda x: x * 3),
    ):
        value = X * np.float32(scale)
        agree(f, value, expected=expected(value).astype(np.float32))


@agrees(X, expected=X + 1)
@agrees(-X, expected=-X - 1)
def test_a_condition_with_one_element_and_rank_one(x: FLOAT[3]) -> FLOAT[3]:
    """`ReduceSum` keeps dimensions by default; Python takes the truth of one element."""
    if op.ReduceSum(x) > 0:
        return x + 1
    return x - 1


@agrees(X, np.array(2), expected=X + 1)
@agrees(X, np.array(0), expected=X)
def test_a_number_as_a_condition(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:
    """Python's truth of a number: anything but zero."""
    if n:
        x = x + 1
    return x if x[0] else -x


@agrees(X, np.array(False), expected=X)
@agrees(X, np.array(True), expected=-X)
def test_ternary_and_boolean_operators_on_tensors(x: FLOAT["N"], flag: BOOL) -> FLOAT["N"]:
    """`and`, `or` give one of their operands; here both are bools."""
    big = x[0] > 0 and not flag or x[1] > 5
    return x if big else op.Neg(x)


@agrees(np.array(0), np.array(7), expected=(np.array(7), np.array(0)))
@agrees(np.array(3), np.array(7), expected=(np.array(3), np.array(7)))
def test_and_or_of_values(a: INT64, b: INT64) -> tuple[INT64, INT64]:
    """`a or b` is `a` where it is true."""
    return (a or b), (a and b)


def test_a_static_if_takes_one_side_only(agree) -> None:
    """The other side may even be wrong."""
    flag = True

    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        if flag:
            y = x
        else:
            y = op.Concat(x[0, 0, 0, 0])
        return y + 1

    agree(f, X, expected=X + 1)


@agrees(X, Y, expected=X)
@agrees(-X, Y, expected=Y)
def test_a_value_of_an_outer_scope_inside_both_branches(x: FLOAT["N"], y: FLOAT["N"]) -> FLOAT["N"]:
    """Branches capture; a result that is an outer value is still a result."""
    if op.ReduceSum(x, keepdims=0) > 0:
        z = x
    else:
        z = y
    return z


@agrees(X, expected=(X, X))
def test_returning_a_parameter(x: FLOAT["N"]):
    """An output that is an input, twice."""
    return x, x


@agrees(X, expected=(np.array(1.5, np.float32), np.array(2)))
def test_returning_a_constant(x: FLOAT["N"]) -> tuple[FLOAT, INT64]:
    return 1.5, 2


@agrees(X, expected=(X, X))
@agrees(-X, expected=(X, -X))
def test_returning_the_same_value_twice_from_branches(x: FLOAT["N"]):
    if x[0] > 0:
        a, b = x, x
    else:
        a, b = op.Neg(x), x
    return a, b


@agrees(X, expected=X)
@agrees(-X, expected=-X[:2])
def test_branches_of_different_shape(x: FLOAT["N"]) -> FLOAT[...]:
    """Only the dtype has to agree; ONNX allows shapes to differ."""
    if x[0] > 0:
        y = x
    else:
        y = x[:2]
    return y


def test_constants_merged_by_an_if_take_the_other_type(agree) -> None:
    @script()
    def f(x: FLOAT["N"], n: INT64["N"]):
        if x[0] > 0:
            k = 2
        else:
            k = 3
        return x * k, n * k

    n = np.array([1, 2, 3])
    agree(f, X, n, expected=(X * 2, n * 2))
    agree(f, -X, n, expected=(-X * 3, n * 3))


@agrees(X, expected=X * 2)
@agrees(-X, expected=-X * np.float32(0.5))
def test_an_int_and_a_float_merged_by_an_if(x: FLOAT["N"]):
    if x[0] > 0:
        k = 2
    else:
        k = 0.5
    return x * k


@agrees(X, np.array(4, np.float32), expected=X * 4)
@agrees(-X, np.array(4, np.float32), expected=-X * 0)
def test_a_constant_and_a_tensor_merged_by_an_if(x: FLOAT["N"], s: FLOAT):
    if x[0] > 0:
        k = s
    else:
        k = 0
    return x * k


@refuses()
def test_a_string_attribute_chosen_by_an_if(x: FLOAT["N"]):
    if x[0] > 0:
        mode = "a"
    else:
        mode = "b"
    return op.Pad(x, [0, 1], mode=mode)
