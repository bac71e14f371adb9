"""Reports about writing ONNX functions in Python: a script each, and numpy's result for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright import BOOL, FLOAT, INT64, graph, script
from onnxwright import opset18 as op
from tests.reports.table import F32, arange

TABLES = [np.array([1, 2], F32), np.array([3, 4], F32), np.array([5, 6], F32)]


@dataclass(frozen=True)
class ScriptReport:
    """A report about a script.

    Fields:
        repository, number: where it was reported.
        what: what it is about.
        function: a script of our own that shows it.
        feeds: its arguments, for each call.
        right: the right result, from the arguments.
    """

    repository: str
    number: int
    what: str
    function: Any
    feeds: Sequence[Sequence[Any]]
    right: Callable[..., Any]

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


@script()
def clip_above(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Clip(x, max=op.Constant(value_float=1.0))


@script()
def resize_to(x: FLOAT[1, 1, 2, 2]) -> FLOAT[...]:
    sizes = op.Constant(value_ints=[1, 1, 4, 4])
    return op.Resize(x, sizes=sizes, mode="nearest", coordinate_transformation_mode="asymmetric")


@script()
def first_large(x: FLOAT["N"], limit: FLOAT) -> FLOAT:
    total = op.Constant(value_float=0.0)
    for i in range(op.Squeeze(op.Shape(x))):
        value = op.Gather(x, i)
        if value > limit:
            break
        total = total + value
    return total


@script()
def odd_sum(n: INT64) -> INT64:
    total = op.Constant(value_int=0)
    i = op.Constant(value_int=0)
    while i < n:
        i = i + 1
        if i % 2 == 0:
            continue
        total = total + i
    return total


def reduced_by(maximum: bool) -> Any:
    """A script that takes its operator from around it."""
    operator = op.ReduceMax if maximum else op.ReduceMin

    @script()
    def reduced(x: FLOAT["N"]) -> FLOAT:
        return operator(x, keepdims=0)

    return reduced


@script()
def from_tables(x: FLOAT[2]) -> FLOAT[2]:
    for i in range(3):
        if i == 1:
            x = x * TABLES[i]
        else:
            x = x + TABLES[i]
    return x


@script()
def optional_bias(x: FLOAT["N"], bias: FLOAT["N"] | None = None) -> FLOAT["N"]:
    if bias is not None:
        x = x + bias
    return x * 2.0


@script()
def whole_numbers(a: INT64["N"], b: INT64["N"]) -> INT64["N"]:
    return (a // b) * 10 + a % b


@script()
def shifted(a: INT64["N"]) -> INT64["N"]:
    return (a << 2) + (a >> 1)


@script()
def powers(x: FLOAT["N"]) -> FLOAT["N"]:
    return x**2 - x // 0.75


@script()
def nested(n: INT64, x: FLOAT[2]) -> FLOAT[2]:
    for i in range(n):
        for _j in range(i):
            x = x + 1.0
            if op.ReduceSum(x, keepdims=0) > 20.0:
                break
        else:
            x = x * 2.0
    return x


@script()
def sums(x: FLOAT["T", 2]) -> FLOAT["T", 2]:
    @graph()
    def step(total: FLOAT[2], row: FLOAT[2]):
        made = op.Add(total, row)
        return made, op.Identity(made)

    start = op.Constant(value_floats=[0.0, 0.0])
    _last, rows = op.Scan(start, x, body=step, num_scan_inputs=1)
    return rows


@script()
def chosen(x: FLOAT["N"], flag: BOOL) -> FLOAT["N"]:
    return x if flag else -x


def first_large_right(x: Any, limit: Any) -> Any:
    total = F32(0)
    for value in x:
        if value > limit:
            break
        total += value
    return total


def nested_right(n: int, x: Any) -> Any:
    for i in range(int(n)):
        for _ in range(i):
            x = x + F32(1)
            if x.sum() > 20:
                break
        else:
            x = x * F32(2)
    return x


def tables_right(x: Any) -> Any:
    return (x + TABLES[0]) * TABLES[1] + TABLES[2]


A, B = np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])
SCRIPT, RUNTIME = "microsoft/onnxscript", "onnx/onnx"

REPORTS = [
    ScriptReport(SCRIPT, 2007, "an optional input before one that is given by name", clip_above,
                 [[arange(9)]], lambda x: np.minimum(x, 1)),
    ScriptReport(SCRIPT, 3014, "Resize by sizes, without scales", resize_to,
                 [[arange(1, 1, 2, 2)]], lambda x: x.repeat(2, 2).repeat(2, 3)),
    ScriptReport(SCRIPT, 89, "a break with statements after it", first_large,
                 [[arange(9), F32(0.6)], [arange(9), F32(9)], [arange(1), F32(-3)]],
                 first_large_right),
    ScriptReport(SCRIPT, 879, "continue inside of an if, in a while", odd_sum,
                 [[np.int64(0)], [np.int64(7)]], lambda n: np.int64(sum(range(1, n + 1, 2)))),
    ScriptReport(SCRIPT, 556, "the operator is chosen around the function", reduced_by(True),
                 [[arange(5)]], lambda x: x.max()),
    ScriptReport(SCRIPT, 556, "the other operator is chosen", reduced_by(False),
                 [[arange(5)]], lambda x: x.min()),
    ScriptReport(SCRIPT, 1969, "tables of numpy, indexed by the variable of a loop", from_tables,
                 [[arange(2)]], tables_right),
    ScriptReport(SCRIPT, 280, "an optional parameter that is given, or not", optional_bias,
                 [[arange(3)], [arange(3), arange(3)]],
                 lambda x, b=None: 2 * (x if b is None else x + b)),
    ScriptReport(RUNTIME, 4016, "// and % of negative integers", whole_numbers,
                 [[A, B]], lambda a, b: a // b * 10 + a % b),
    ScriptReport(RUNTIME, 4016, "shifts of signed integers", shifted,
                 [[np.array([5, 0, 9])]], lambda a: (a << 2) + (a >> 1)),
    ScriptReport(RUNTIME, 4016, "** and // of floats", powers,
                 [[arange(8)]], lambda x: x**2 - x // F32(0.75)),
    ScriptReport(SCRIPT, 1167, "nested loops with an else and a break", nested,
                 [[np.int64(n), arange(2)] for n in (0, 1, 4, 6)], nested_right),
    ScriptReport(SCRIPT, 466, "a Scan whose body is a nested function", sums,
                 [[arange(4, 2)]], lambda x: x.cumsum(0)),
    ScriptReport(SCRIPT, 1006, "a conditional expression on a BOOL", chosen,
                 [[arange(3), np.array(True)], [arange(3), np.array(False)]],
                 lambda x, flag: x if flag else -x),
]  # fmt: skip
