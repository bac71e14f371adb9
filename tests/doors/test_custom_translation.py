"""What call sites give as `custom_translation_table`: keys and functions in every form."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright import DOUBLE, FLOAT
from onnxwright import opset18 as op
from onnxwright.errors import ExportError, ExportValueError

GELU = torch.ops.aten.gelu


class Model(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.nn.functional.gelu(x, approximate="tanh") + 1


def plain(self: Any, approximate: str = "none") -> Any:
    return op.Relu(self)


def with_op(op: Any, self: Any, approximate: str = "none") -> Any:
    return op.Relu(self)


def one_parameter(self: Any) -> Any:
    return op.Abs(self)


@ow.script
def scripted(self: FLOAT[...], approximate: str = "none"):
    return op.Relu(self)


@ow.script
def of_doubles(self: DOUBLE[...], approximate: str = "none"):
    return op.Abs(self)


@ow.script(trace_only=True)
def traced(self, approximate: str = "none"):
    try:
        activated = {"tanh": op.Relu, "none": op.Abs}[approximate](self)
    finally:
        pass
    return activated


TABLES: dict[str, dict[Any, Any]] = {
    "a plain function": {GELU.default: plain},
    "a function over op": {GELU.default: with_op},
    "a script": {GELU.default: scripted},
    "a script that is traced": {GELU.default: traced},
    "a name": {"aten::gelu": plain},
    "a name with its overload": {"aten::gelu.default": plain},
    "a name as torch prints it": {"aten.gelu.default": plain},
    "a name as it is written": {"torch.ops.aten.gelu.default": plain},
    "all overloads": {GELU: plain},
    "a list of one": {GELU.default: [plain]},
    "overloads by type": {GELU.default: [of_doubles, scripted]},
    "overloads by parameters": {GELU.default: (one_parameter, with_op)},
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_used(name: str) -> None:
    x = torch.randn(4, 3)
    program = ow.export(Model(), (x,), custom_translation_table=TABLES[name])
    assert [n.op_type for n in program.model.graph] == ["Relu", "Add"]
    torch.testing.assert_close(program(x), torch.relu(x) + 1)


def test_no_overload_fits() -> None:
    table = {GELU.default: [one_parameter, of_doubles]}
    with pytest.raises(ExportError, match="none of the functions takes these arguments"):
        ow.export(Model(), (torch.randn(4, 3),), custom_translation_table=table)


@pytest.mark.parametrize("functions", [[], [plain, 3], "Relu"])
def test_what_is_not_a_function_is_refused(functions: Any) -> None:
    with pytest.raises(ExportValueError, match="is not a function"):
        ow.export(Model(), (torch.randn(2),), custom_translation_table={GELU.default: functions})


def test_functions_over_operators_of_onnxscript() -> None:
    onnxscript = pytest.importorskip("onnxscript", reason="its functions are optional lowerings")
    theirs = onnxscript.opset18

    def over_theirs(self: Any, approximate: str = "none") -> Any:
        return theirs.Relu(self)

    def through_a_helper(self: Any, approximate: str = "none") -> Any:
        return over_theirs(self)

    x = torch.randn(4, 3)
    for function in (over_theirs, through_a_helper):
        program = ow.export(Model(), (x,), custom_translation_table={GELU.default: function})
        torch.testing.assert_close(program(x), torch.relu(x) + 1)
