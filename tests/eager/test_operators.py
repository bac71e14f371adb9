"""The short path of Python's operators gives what the semantics give, and tells the same errors."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onnxwright.eager import operators, select
from onnxwright.eager.backend import EagerBackend
from onnxwright.eager.tensor import Tensor
from onnxwright.errors import OnnxwrightError
from onnxwright.opset import opset13, opset18, opset23
from onnxwright.semantics import arithmetic
from onnxwright.semantics.values import ValueOperators
from tests.harness.tables import check_rows, each

DTYPES = sorted((*operators.FLOATS, *operators.INTEGERS), key=str)


class Recorder(EagerBackend):
    """Notes what the semantics emit."""

    __slots__ = ("emitted",)

    def __init__(self, opset: Any) -> None:
        super().__init__(opset)
        self.emitted: list[Any] = []

    def emit(self, op: Any, inputs: Any, attributes: Any, outputs: int) -> tuple[Any, ...]:
        self.emitted.append((op.name, tuple(inputs), dict(attributes)))
        return super().emit(op, inputs, attributes, outputs)


@pytest.mark.parametrize("opset", [opset13, opset18, opset23], ids=repr)
def test_the_table_says_what_the_semantics_emit(opset: Any) -> None:
    names = [*operators.BINARY, *operators.UNARY]
    rows = itertools.product(names, DTYPES, [opset])
    check_rows([row for row in rows if operators.takes_short_path(*row[:2])], _emits)


def _emits(row: tuple[str, np.dtype, Any]) -> None:
    name, dtype, opset = row
    b = Recorder(opset)
    x, y = Tensor(np.ones((2, 2), dtype)), Tensor(np.ones((2, 2), dtype))
    if name in operators.BINARY:
        arithmetic.binary(b, name, x, y)
        assert b.emitted == [(operators.BINARY[name], (x, y), {})]
        if dtype in operators.FLOATS and name != "matmul":
            for number in (0.5, 2, -3):
                b.emitted.clear()
                arithmetic.binary(b, name, x, number)
                ((op, inputs, attributes),) = b.emitted
                assert (op, attributes, inputs[0]) == (operators.BINARY[name], {}, x)
                assert np.array_equal(inputs[1].value, np.array(number, dtype))
    else:
        arithmetic.unary(b, name, x)
        assert b.emitted == [(operators.UNARY[name], (x,), {})]


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq",
          "ne"]  # fmt: skip


@each("name", BINARY)
@each("dtype", [np.float32, np.int32, np.int64, np.uint8])
def test_twice_is_once(name: str, dtype: Any) -> None:
    """The second call (short path) equals the first (semantics), on both sides."""
    act = getattr(operator, name)
    x = Tensor(np.array([1, 2, 3], dtype))
    y = Tensor(np.array([3, 2, 1], dtype))
    for left, right in itertools.chain([(x, y)], [(x, 2), (2, x)]):
        first, second = act(left, right), act(left, right)
        assert first.dtype == second.dtype
        assert np.array_equal(first.value, second.value, equal_nan=True)
        raw = [v.value if isinstance(v, Tensor) else v for v in (left, right)]
        if name not in ("truediv", "pow"):
            assert np.array_equal(second.value, act(*raw))


def test_a_mistake_on_the_short_path_is_told_by_the_semantics() -> None:
    x, y = Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones((2, 2), np.float32))
    x + x
    for _ in range(2):
        with pytest.raises(OnnxwrightError, match="OW415"):
            x + y
    with pytest.raises(OnnxwrightError, match="OW401"):
        x + Tensor(np.ones((2, 3)))


def test_other_evaluators_do_not_take_it() -> None:
    x = Tensor(np.ones(2, np.float32))
    x + x
    seen = []

    class Spy:
        def run_op(self, op: Any, inputs: Any, attributes: Any, outputs: int) -> Any:
            seen.append(op.name)
            return [inputs[0]]

    with select.evaluator(Spy()):
        x + x
        -x
    assert seen == ["Add", "Neg"]


ARRAYS = hnp.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.int32, np.int64, np.float16]),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    elements={"min_value": -8, "max_value": 8},
)


@st.composite
def layouts(draw: Any) -> np.ndarray:
    """Arrays in every layout: sliced, reversed, transposed, Fortran, read-only, empty, 0-d."""
    x = draw(ARRAYS)
    how = draw(st.sampled_from(["plain", "fortran", "transposed", "reversed", "step", "readonly"]))
    if how == "fortran":
        return np.asfortranarray(x)
    if how == "transposed":
        return x.T
    if how == "reversed" and x.ndim:
        return x[::-1]
    if how == "step" and x.ndim:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if how == "readonly":
        x = x.copy()
        x.flags.writeable = False
    return x


@given(layouts())
def test_every_layout_computes_like_numpy(x: np.ndarray) -> None:
    t = Tensor(x)
    assert np.array_equal((t + t).value, x + x)
    assert np.array_equal((t * 2).value, x * x.dtype.type(2))
    assert np.array_equal((-t).value, -x)
    assert np.array_equal((t < t).value, x < x)
    assert (t + t).shape == x.shape


@given(layouts())
def test_every_layout_goes_through_ops(x: np.ndarray) -> None:
    op = opset18
    for _ in range(2):  # the long path, then the short one
        assert np.array_equal(op.Identity(x), x)
        assert np.array_equal(op.Transpose(x), x.T)
        assert op.Shape(x).tolist() == list(x.shape)
        assert np.array_equal(op.Cast(x, to=11), x.astype(np.float64))


ALL_DTYPES = [
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4,
]  # fmt: skip


@given(layouts(), st.sampled_from(ALL_DTYPES), st.sampled_from(["same", "sliced", "transposed"]))
def test_every_type_in_every_layout(x: np.ndarray, dtype: Any, how: str) -> None:
    """Cast to FLOAT sees the elements that numpy sees, whatever the memory looks like."""
    whole = (np.abs(x) % 2).astype(dtype)
    narrow = whole.T if how == "transposed" else whole
    if how == "sliced" and x.ndim:
        narrow = np.concatenate([whole, whole])[::2]
    floats = opset23.Cast(narrow, to=1)
    assert floats.shape == narrow.shape
    assert np.array_equal(floats, narrow.astype(np.float32))


def test_mixin_still_has_the_slow_ones() -> None:
    assert ValueOperators.__add__ is not Tensor.__add__
    assert Tensor.__add__.__name__ == "__add__"
