"""Folding with numpy gives what onnx's reference implementation gives, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from onnxwright.operators import all_facts, facts
from onnxwright.operators.op_call import OpCall, UnknownError
from onnxwright.opset import registry
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from tests.harness.tables import each

I, F, B = np.int64, np.float32, np.bool_
X = np.array([[1.5, -2.5, 0.0], [np.inf, np.nan, -0.0]], F)
N = np.array([[7, -7, 3], [0, 1, -2]], I)
T = np.array([[True, False, True], [False, False, True]], B)


def ints(*numbers: int) -> np.ndarray[Any, Any]:
    return np.array(numbers, I)


# operator, version, inputs, attributes
CASES: list[tuple[str, int, list[np.ndarray[Any, Any]], dict[str, Any]]] = [
    ("Abs", 13, [X], {}),
    ("Abs", 13, [N], {}),
    ("Add", 14, [X, X[:1]], {}),
    ("Add", 14, [N, N], {}),
    ("And", 7, [T, T[:1]], {}),
    ("BitwiseAnd", 18, [N, N[::-1]], {}),
    ("BitwiseNot", 18, [N], {}),
    ("BitwiseOr", 18, [N, N[::-1]], {}),
    ("BitwiseXor", 18, [N, N[::-1]], {}),
    ("Cast", 19, [N], {"to": 1}),
    ("Cast", 19, [X[:1]], {"to": 7}),
    ("Cast", 19, [X], {"to": 9}),
    ("Ceil", 13, [X], {}),
    ("Concat", 13, [N, N[:1]], {"axis": 0}),
    ("ConstantOfShape", 21, [ints(2, 3)], {}),
    ("Div", 14, [N, ints(2, 3, -2)], {}),
    ("Div", 14, [X, X[:1] + 1], {}),
    ("Equal", 19, [X, X], {}),
    ("Expand", 13, [N[:, :1], ints(2, 2, 3)], {}),
    ("Floor", 13, [X], {}),
    ("Gather", 13, [N, ints(-1, 0)], {"axis": 1}),
    ("Greater", 13, [X, X[::-1]], {}),
    ("GreaterOrEqual", 16, [X, X[::-1]], {}),
    ("Less", 13, [N, N[::-1]], {}),
    ("LessOrEqual", 16, [N, N[::-1]], {}),
    ("Max", 13, [X, X[:1], X[1:]], {}),
    ("Min", 13, [N, N[:1]], {}),
    ("Mod", 13, [N, ints(2, 3, -2)], {}),
    ("Mod", 13, [X, X[:1] + 1], {"fmod": 1}),
    ("Mul", 14, [X, X[:1]], {}),
    ("Neg", 13, [X], {}),
    ("Not", 1, [T], {}),
    ("Or", 7, [T, T[:1]], {}),
    ("Range", 11, [np.array(9), np.array(0), np.array(-2)], {}),
    ("ReduceMax", 20, [N, ints(1)], {}),
    ("ReduceMin", 20, [N], {"keepdims": 0}),
    ("ReduceProd", 18, [N, ints(-1)], {"keepdims": 0}),
    ("ReduceSum", 13, [N, ints(0)], {}),
    ("ReduceSum", 13, [N], {"noop_with_empty_axes": 1}),
    ("Reshape", 21, [N, ints(0, -1, 1)], {}),
    ("Shape", 21, [N], {"start": -1}),
    ("Size", 21, [N], {}),
    ("Slice", 13, [N, ints(2), ints(-9), ints(1), ints(-1)], {}),
    ("Sqrt", 13, [np.abs(X)], {}),
    ("Squeeze", 21, [N[:1], ints(0)], {}),
    ("Sub", 14, [X, X[:1]], {}),
    ("Transpose", 21, [N], {"perm": [1, 0]}),
    ("Transpose", 21, [N], {}),
    ("Unsqueeze", 21, [N, ints(0, -1)], {}),
    ("Where", 16, [T, X, X[::-1]], {}),
    ("Xor", 7, [T, T[:1]], {}),
]

# Calls whose result nobody is sure of, or that a run refuses: the rule raises UnknownError.
REFUSED: list[tuple[str, int, list[np.ndarray[Any, Any]], dict[str, Any]]] = [
    ("Div", 14, [N, ints(0, 1, 2)], {}),
    ("Div", 14, [np.array([np.iinfo(I).min]), ints(-1)], {}),
    ("Mod", 13, [N, ints(0, 1, 2)], {}),
    ("Mod", 13, [X, X], {}),
    ("Cast", 19, [X], {"to": 7}),
    ("Cast", 19, [np.array([300.0], F)], {"to": 3}),
    ("Cast", 19, [X], {"to": 8}),
    ("Gather", 13, [N, ints(3)], {"axis": 1}),
    ("Range", 11, [np.array(0.0), np.array(1.0), np.array(0.1)], {}),
    ("Range", 11, [np.array(0), np.array(1), np.array(0)], {}),
    ("ReduceSum", 13, [X], {}),
    ("ReduceMax", 20, [N[:0]], {}),
]


def _call(
    name: str, version: int, inputs: list[np.ndarray[Any, Any]], attributes: dict[str, Any]
) -> OpCall:
    signature = registry.signature("", name, version)
    assert signature is not None
    kinds = [TensorType(DType.from_numpy(x.dtype), x.shape) for x in inputs]
    return OpCall(signature, attributes, 1, kinds, inputs, [None] * len(inputs))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each(("name", "version", "inputs", "attributes"), CASES)
def test_as_the_reference_does(
    name: str, version: int, inputs: list[np.ndarray[Any, Any]], attributes: dict[str, Any]
) -> None:
    fold = facts(name).fold
    assert fold is not None
    ours = np.asarray(fold(_call(name, version, inputs, attributes)))
    names = [f"x{n}" for n in range(len(inputs))]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(name, names, ["y"], **attributes)],
        "g",
        [onnx.ValueInfoProto(name=n) for n in names],
        [onnx.ValueInfoProto(name="y")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])
    (theirs,) = ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each(("name", "version", "inputs", "attributes"), REFUSED)
def test_what_is_not_certain_is_left_to_the_run(
    name: str, version: int, inputs: list[np.ndarray[Any, Any]], attributes: dict[str, Any]
) -> None:
    fold = facts(name).fold
    assert fold is not None
    with pytest.raises(UnknownError):
        fold(_call(name, version, inputs, attributes))


def test_each_rule_has_a_case() -> None:
    assert {f.name for f in all_facts() if f.fold is not None} == {name for name, *_ in CASES}
