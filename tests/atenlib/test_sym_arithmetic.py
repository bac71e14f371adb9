"""Numbers that only the run knows: Python's arithmetic on them, in every mode."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onnxwright.atenlib import find
from onnxwright.atenlib.widen import AtenEagerBackend, AtenTracingBackend
from onnxwright.eager import select
from onnxwright.eager.ort.compiled_models import CompiledModel
from onnxwright.eager.tensor import wrap
from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from tests.harness.tables import each

BINARY = {
    "_operator::add": operator.add,
    "_operator::sub": operator.sub,
    "_operator::mul": operator.mul,
    "_operator::floordiv": operator.floordiv,
    "_operator::truediv": operator.truediv,
    "_operator::mod": operator.mod,
    "_operator::pow": operator.pow,
    "_operator::eq": operator.eq,
    "_operator::ne": operator.ne,
    "_operator::lt": operator.lt,
    "_operator::le": operator.le,
    "_operator::gt": operator.gt,
    "_operator::ge": operator.ge,
    "torch::sym_max": max,
    "torch::sym_min": min,
}
BITS = {
    "_operator::and_": operator.and_,
    "_operator::or_": operator.or_,
    "_operator::xor": operator.xor,
    "_operator::lshift": operator.lshift,
    "_operator::rshift": operator.rshift,
}
UNARY = {
    "_operator::neg": operator.neg,
    "_operator::abs": abs,
    "_operator::not_": operator.not_,
    "math::ceil": math.ceil,
    "math::floor": math.floor,
    "math::trunc": math.trunc,
    "builtins::round": round,
    "torch::sym_float": float,
    "torch::sym_int": int,
    "builtins::int": int,
    "builtins::float": float,
    "builtins::bool": bool,
    "math::exp": math.exp,
}
TYPES = {bool: (DType.BOOL, np.bool_), int: (DType.INT64, np.int64), float: (DType.DOUBLE, float)}


def eagerly(body: Callable[..., Any], numbers: list[Any]) -> Any:
    """The result of a body on values that stand for numbers."""
    backend = AtenEagerBackend(Opset("", 23))
    op = Ops(backend)
    with select.frame(backend.opset, "aten", backend):
        values = [op.backend.as_weak(wrap(np.array(n)), type(n).__name__) for n in numbers]
        result = body(op, *values)
    assert backend.weak_kind(result) is not None
    return result.value.item()


def in_graph(body: Callable[..., Any], numbers: list[Any]) -> Any:
    """The result of a body in a graph whose inputs are the numbers."""
    backend = AtenTracingBackend(Recorder(), Opset("", 23))
    values, feeds = [], {}
    for n, number in enumerate(numbers):
        dtype, kind = TYPES[type(number)]
        value = backend.input(f"x{n}", TensorType(dtype, ()))
        values.append(backend.as_weak(value, type(number).__name__))
        feeds[f"x{n}"] = np.array(number, kind)
    result = body(Ops(backend), *values)
    assert backend.weak_kind(result) is not None
    return np.asarray(CompiledModel(backend.to_model_proto([result]))(**feeds)).item()


def agree(name: str, expected: Any, numbers: list[Any]) -> None:
    function = find(name)
    for run in (eagerly, in_graph):
        got = run(function, numbers)
        assert type(got) is type(expected), (run.__name__, got, expected)
        assert got == pytest.approx(expected, rel=1e-12), run.__name__
    # Numbers known now stay Python's.
    backend = AtenEagerBackend(Opset("", 23))
    assert function(Ops(backend), *numbers) == expected


@each("name", BINARY)
@each("pair", [(7, 3), (-7, 3), (7, -3), (6.5, 2.0), (5, 2.5), (4, 4)])
def test_arithmetic_of_two_numbers_is_pythons(name: str, pair: tuple[Any, Any]) -> None:
    if name == "_operator::pow":  # an integer to a negative power is a float: a graph cannot choose
        pair = (pair[0], abs(pair[1]))
    expected = BINARY[name](*pair)
    if name in ("torch::sym_max", "torch::sym_min") and {type(n) for n in pair} == {int, float}:
        expected = float(expected)
    agree(name, expected, list(pair))


@each("name", BITS)
@each("pair", [(12, 3), (5, 1), (1, 0)])
def test_bits_of_two_numbers_are_pythons(name: str, pair: tuple[int, int]) -> None:
    agree(name, BITS[name](*pair), list(pair))


@each("name", UNARY)
@each("number", [5, -5, 0, 2.5, -2.5, 3.7])
def test_functions_of_a_number_are_pythons(name: str, number: Any) -> None:
    agree(name, UNARY[name](number), [number])


@each("name", ["math::sqrt", "torch::_sym_sqrt", "math::log2", "math::log"])
@each("number", [9, 2.25])
def test_roots_and_logarithms(name: str, number: Any) -> None:
    python = {"math::log2": math.log2, "math::log": math.log}.get(name, math.sqrt)
    agree(name, python(number), [number])


@pytest.mark.parametrize("condition", [True, False])
def test_a_choice_between_numbers(condition: bool) -> None:
    agree("torch::sym_ite", 3 if condition else 4, [condition, 3, 4])


def test_a_sum_of_numbers() -> None:
    def body(op: Any, *numbers: Any) -> Any:
        return find("torch::sym_sum")(op, [*numbers, 10])

    assert eagerly(body, [1, 2]) == in_graph(body, [1, 2]) == 13


def test_sizes_are_numbers_where_they_are_known() -> None:
    """A known size is an int; one that is not becomes a number of the run."""
    backend = AtenTracingBackend(Recorder(), Opset("", 23))
    op = Ops(backend)
    x = backend.input("x", TensorType(DType.FLOAT, ("N", 3, 4)))
    assert find("aten::sym_size.int")(op, x, -1) == 4
    assert find("aten::sym_storage_offset")(op, x) == 0
    assert find("aten::sym_stride.int")(op, x, 0) == 12
    rows = find("aten::sym_size.int")(op, x, 0)
    assert rows.dims == "N"
    assert backend.weak_kind(rows) == "int"
    assert find("aten::sym_numel")(op, x).dims == "12*N"
    assert [getattr(n, "dims", n) for n in find("aten::sym_size")(op, x)] == ["N", 3, 4]
    half = find("_operator::floordiv")(op, rows, 2)
    assert half.dims == "N//2"
    model = backend.to_model_proto([half])
    assert np.asarray(CompiledModel(model)(x=np.zeros((7, 3, 4), np.float32))).item() == 3


@each(
    ("array", "expected"),
    [(np.array([[3]], np.int32), 3), (np.array(0.5, np.float32), 0.5), (np.array([True]), True)],
)
def test_the_element_of_a_tensor_is_a_number(array: Any, expected: Any) -> None:
    backend = AtenEagerBackend(Opset("", 23))
    with select.frame(backend.opset, "aten", backend):
        for name in ("aten::item", "aten::_local_scalar_dense", "prims::item"):
            number = find(name)(Ops(backend), wrap(array))
            assert backend.weak_kind(number) == type(expected).__name__
            assert number.value.item() == expected
        number = find("aten::is_nonzero")(Ops(backend), wrap(array))
        assert (backend.weak_kind(number), number.value.item()) == ("bool", True)


def test_assertions_compute_nothing() -> None:
    backend = AtenTracingBackend(Recorder(), Opset("", 23))
    op = Ops(backend)
    x = backend.input("x", TensorType(DType.BOOL, ()))
    before = len(backend.recorder.scope.nodes)
    assert find("aten::_assert_scalar")(op, x, "message") is None
    assert find("aten::_assert_async")(op, x) is None
    assert find("aten::_assert_async.msg")(op, x, "message") is None
    assert find("aten::_assert_tensor_metadata")(op, x, dtype=DType.BOOL) is None
    assert find("aten::sym_constrain_range")(op, x, min=1) is None
    assert find("aten::sym_constrain_range_for_size")(op, x, min=1, max=2) is None
    token = find("aten::_make_dep_token")(op)
    assert find("aten::_functional_assert_async.msg")(op, x, "message", token) is token
    assert find("aten::_functional_assert_scalar")(op, x, "message", token) is token
    assert find("aten::_functional_sym_constrain_range")(op, x, 1, 2, token) is token
    assert len(backend.recorder.scope.nodes) == before


def test_a_subscript_takes_a_result() -> None:
    backend = AtenEagerBackend(Opset("", 23))
    op = Ops(backend)
    assert find("_operator::getitem")(op, ["a", "b"], 1) == "b"
    with select.frame(backend.opset, "aten", backend):
        assert find("_operator::getitem")(op, wrap(np.array([4, 5])), 1).value.item() == 5
