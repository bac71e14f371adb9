"""Operators of users: results, writes, lists, defaults; traced functions and scripts for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn, randn

import onnxwright as ow
from onnxwright import opset18 as op18
from onnxwright.errors import ExportError
from tests.exporter.programs import Program, Programs, run
from tests.harness.modules import module_with

PROGRAMS = Programs()


def _operator(name: str, mutates: Sequence[str], schema: str, like: Any = None) -> Any:
    """An operator whose Python is the function, and what torch has to know of it."""

    def define(function: Any) -> Any:
        made = torch.library.custom_op(
            f"onnxwright_users::{name}", function, mutates_args=mutates, schema=schema
        )
        if like is not None:
            made.register_fake(like)
        return made

    return define


@_operator("add_to", ("y",), "(Tensor x, Tensor(a!) y, float by=1.0) -> ()")
def add_to(x, y, by=1.0):
    """Write to the second argument."""
    y.add_(x * by)


@_operator(
    "exchange",
    ("y", "z"),
    "(Tensor x, Tensor(a!) y, Tensor(b!)? z=None) -> Tensor",
    lambda x, y, z=None: torch.empty_like(x),
)
def exchange(x, y, z=None):
    """Two writes and a result."""
    y.add_(x)
    if z is not None:
        z.mul_(2)
    return x * 3


@_operator("double_all", ("xs",), "(Tensor(a!)[] xs) -> ()")
def double_all(xs):
    """Write to each tensor of a list."""
    for x in xs:
        x.mul_(2)


@_operator(
    "parts",
    (),
    "(Tensor[] xs, int[] shifts, *, float scale=2.0, str kind='a') -> Tensor[]",
    lambda xs, shifts, scale=2.0, kind="a": [torch.empty_like(x) for x in xs],
)
def parts(xs, shifts, *, scale=2.0, kind="a"):
    """A list of tensors and one of numbers; keywords."""
    return [x * scale + n for x, n in zip(xs, shifts, strict=True)]


def _add_to(op, x, y, by=1.0):
    return y + x * float(by)


def _exchange(op, x, y, z=None):
    return (x * 3.0, y + x) if z is None else (x * 3.0, y + x, z * 2.0)


def _parts(op, xs, shifts, scale=2.0, kind="a"):
    return [x * float(scale) + float(n) for x, n in zip(xs, shifts, strict=True)]


TABLE = {
    torch.ops.onnxwright_users.add_to.default: _add_to,
    torch.ops.onnxwright_users.exchange: _exchange,
    "onnxwright_users::double_all": lambda op, xs: ([x * 2.0 for x in xs],),
    "onnxwright_users::parts": _parts,
}
TRACED = {"custom_translation_table": TABLE}


def _matrix() -> tuple[Any, ...]:
    return (randn(4, 6),)


@PROGRAMS(_matrix, dynamic={"x": {0: "b"}}, options=TRACED)
def written_twice(x):
    """With the default of the operator, and with another value."""
    y = torch.zeros_like(x)
    add_to(x, y)
    add_to(x, y, 3.0)
    return y


@PROGRAMS(_matrix, options=TRACED)
def written_views(x):
    """A slice, a whole turned around, a view with gaps."""
    y = torch.zeros(4, 6)
    add_to(x[:2], y[2:])
    add_to(x.t(), y.t())
    add_to(x[:, 0], y[:, 1])
    return y


@PROGRAMS(_matrix, options=TRACED)
def written_input(x):
    add_to(x * 2, x)
    return x + 1


@PROGRAMS(_matrix, dynamic={"x": {0: "b"}}, options=TRACED)
def result_and_writes(x):
    """A result, and two written arguments, one of them optional."""
    y, z = torch.zeros_like(x), torch.ones_like(x)
    return exchange(x, y), exchange(x, y, z), y, z


@PROGRAMS(_matrix, options=TRACED)
def written_list(x):
    y, z = x + 1, x + 2
    double_all([y, z[1:3]])
    return y, z


@PROGRAMS(_matrix, dynamic={"x": {0: "b"}}, options=TRACED)
def lists_and_keywords(x):
    """Lists come in and go out."""
    return parts([x, x + 1], [1, 2]), parts([x], [3], scale=0.5, kind="b")


@PROGRAMS(_matrix, options=TRACED)
def within_a_branch(x):
    return torch.cond(x.sum() > 0, lambda x: parts([x], [1])[0], lambda x: x - 1, (x,))


@PROGRAMS(_matrix, dynamic={"x": {0: "b"}}, options=TRACED)
@module_with(lambda: {"total": nn.Buffer(torch.zeros(6))})
def WrittenBuffer(self, x):
    """A buffer is what is written."""
    add_to(x.sum(0), self.total)
    return x + self.total


@ow.script()
def scripted(x, y, by: float = 1.0):
    """y + x * by"""
    return op18.Add(y, op18.Mul(x, op18.CastLike(by, x)))


@PROGRAMS(
    _matrix, options={"custom_translation_table": {torch.ops.onnxwright_users.add_to: scripted}}
)
def written_by_script(x):
    """A script gives the new value."""
    y = torch.zeros_like(x)
    add_to(x, y)
    add_to(x, y, 3.0)
    return y


@pytest.mark.share(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program: Program) -> None:
    run(program)


def _export(table: Any) -> ow.ONNXProgram:
    def model(x: Tensor) -> Tensor:
        y = torch.zeros_like(x)
        exchange(x, y, y + 1)
        return y

    return ow.export(model, (torch.ones(2),), custom_translation_table=table)


def test_values_that_are_lacking_are_told() -> None:
    with pytest.raises(ExportError, match=r"gives 1 values, 3 are wanted: 1 results, then new"):
        _export({"onnxwright_users::exchange": lambda op, x, y, z: x})


# -- several functions for one operator ------------------------------------------------------------


def for_integers(op: Any, x: ow.INT64 | ow.INT32) -> Any:
    return op.Add(x, x)


def for_floats(op: Any, x: ow.FLOAT) -> Any:
    return op.Mul(x, 3.0)


def without_op(x: ow.FLOAT16) -> Any:
    return ow.opset18.Neg(x)


@pytest.mark.parametrize(
    ("x", "kinds"),
    [
        (torch.ones(2), ["Mul"]),
        (torch.ones(2, dtype=torch.int64), ["Add"]),
        (torch.ones(2, dtype=torch.int32), ["Add"]),
        (torch.ones(2, dtype=torch.float16), ["Neg"]),
        (torch.ones(2, dtype=torch.float64), ["Sqrt"]),
    ],
)
def test_the_annotations_decide_which_function_builds_a_call(x: Any, kinds: list[str]) -> None:
    functions = [for_integers, for_floats, without_op, lambda op, x: op.Sqrt(x)]
    table = {"aten::relu": functions}
    program = ow.export(torch.nn.ReLU(), (x,), custom_translation_table=table)
    assert [n.op_type for n in program.model.graph] == kinds


def any_tensor(op: Any, x: ow.Tensor) -> Any:
    return op.Sqrt(x)


@pytest.mark.parametrize(
    "functions",
    [
        [lambda op, x: op.Neg(x), for_floats],
        [any_tensor, for_floats],
        [for_integers, lambda op, x: op.Neg(x), lambda op, self: op.Sqrt(self)],
    ],
)
def test_functions_that_nothing_tells_apart_are_refused(functions: Any) -> None:
    table = {"aten::relu": functions}
    with pytest.raises(ow.errors.ExportValueError, match="both take a call of `aten::relu`"):
        ow.export(torch.nn.ReLU(), (torch.ones(2),), custom_translation_table=table)


def test_the_number_of_parameters_tells_functions_apart() -> None:
    table = {"aten::gelu": [lambda op, x: op.Neg(x), lambda op, x, approximate: op.Sqrt(x)]}
    model = torch.nn.GELU(approximate="tanh")
    program = ow.export(model, (torch.ones(2),), custom_translation_table=table)
    assert [n.op_type for n in program.model.graph] == ["Sqrt"]
