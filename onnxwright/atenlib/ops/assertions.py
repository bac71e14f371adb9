"""Assertions and ranges of a program: a model computes and does not check, so they vanish."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxwright.atenlib.op import aten
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import Rule
from onnxwright.types.dtypes import DType

SAME = Rule()
CHECK = "it computes nothing; a test in tests/atenlib calls it"


@aten("aten::_assert_scalar", rule=SAME, untested=CHECK)
def assert_scalar(op: Op, self: Number, assert_msg: str) -> None:
    """Nothing."""


@aten("aten::_assert_async", rule=SAME, untested=CHECK)
def assert_async(op: Op, self: Value) -> None:
    """Nothing."""


@aten("aten::_assert_async.msg", rule=SAME, untested=CHECK)
def assert_async_msg(op: Op, self: Value, assert_msg: str) -> None:
    """Nothing."""


@aten(
    "aten::_functional_assert_async.msg",
    "aten::_functional_assert_scalar",
    rule=SAME,
    untested=CHECK,
)
def functional_assert(op: Op, self: Value | Number, assert_msg: str, dep_token: Value) -> Value:
    """The token itself."""
    return dep_token


@aten("aten::_make_dep_token", rule=SAME, untested=CHECK)
def make_dep_token(op: Op, dtype: DType | None = None) -> Value:
    """A token: the number 0."""
    return op.constant(np.array(0.0, np.float32))


@aten("aten::_assert_tensor_metadata", rule=SAME, untested=CHECK)
def assert_tensor_metadata(
    op: Op,
    a: Value,
    size: Sequence[Size] | None = None,
    stride: Sequence[Size] | None = None,
    dtype: DType | None = None,
) -> None:
    """Nothing."""


@aten(
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
    rule=SAME,
    untested=CHECK,
)
def sym_constrain_range(
    op: Op, size: Number, min: int | None = None, max: int | None = None
) -> None:
    """Nothing."""


@aten("aten::_functional_sym_constrain_range", rule=SAME, untested=CHECK)
def functional_sym_constrain_range(
    op: Op, size: Number, min: int | None, max: int | None, dep_token: Value
) -> Value:
    """The token itself."""
    return dep_token


for _function in (assert_async, assert_async_msg, functional_assert, assert_tensor_metadata):
    _function.on_complex(_function.body)
