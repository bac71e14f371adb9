"""What the first capture of an export finds: decisions by sizes, bounds of named dimensions."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import onnxwright as ow
from tests.harness.modules import module_with, same_results


def exported(module: torch.nn.Module, size: int = 4) -> tuple[Any, list[str]]:
    """The export of a module with `n` rows of 4 numbers, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = ow.export(module, (torch.randn(size, 4),), dynamic_shapes={"x": {0: "n"}})
    return program, [str(one.message) for one in caught if "OW8" in str(one.message)]


def ways(program: Any) -> list[tuple[str, bool]]:
    """The captures of an export, and whether each gave a program."""
    return [(one.strategy, not one.error) for one in program.report.captures]


def check(program: Any, module: torch.nn.Module, sizes: tuple[int, ...]) -> None:
    """The program gives what the module gives."""
    same_results(program, module, (torch.randn(size, 4) for size in sizes))


SIZES = (0, 1, 2, 3, 5, 8, 9, 13)


class Longer(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        if x.shape[0] > 5:
            y = y + 1
        return y


class CaughtAll(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            y = x * 2 if x.shape[0] > 5 else x - 1
        except:  # noqa: E722 - what stops a capture is no error of the program
            y = x * 0
        return y


class Ranks(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 5:
            return x.sum(0)
        return x


@module_with(lambda: {"table": torch.nn.Parameter(torch.randn(16, 4))})
def Positions(self, x: torch.Tensor) -> torch.Tensor:
    return x + self.table[: x.shape[0]]


class Windows(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        if n % 4:
            x = torch.nn.functional.pad(x, (0, 0, 0, (4 - n % 4) % 4))
        return x.reshape(-1, 4, 4).cumsum(1).reshape(-1, 4)[:n]


@pytest.mark.parametrize("module", [Longer(), CaughtAll()])
def test_a_decision_by_a_size_needs_one_capture(module: torch.nn.Module) -> None:
    program, warned = exported(module)
    assert ways(program) == [("source", True)]
    assert not warned
    check(program, module, SIZES)


def test_sides_that_cannot_be_joined_leave_the_side_of_the_example() -> None:
    program, warned = exported(Ranks())
    assert ways(program) == [("source", False), ("non-strict", True)]
    (warning,) = warned
    assert "OW833" in warning
    assert "`n <= 5`" in warning
    check(program, Ranks(), (0, 1, 2, 5))
    with pytest.raises(TypeError, match="n <= 5"):
        program(torch.randn(6, 4))


def test_bounds_of_named_dimensions_need_no_capture_of_their_own() -> None:
    module = Positions()
    program, _ = exported(module)
    assert ways(program) == [("source", True)]
    assert not any(node.op_type == "Min" for node in program.model.graph.all_nodes())
    check(program, module, (1, 2, 9, 16))


def test_a_derived_dimension_follows_from_the_other() -> None:
    class Halves(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.reshape(2, -1, 4)[0] + y

    n = torch.export.Dim("n")
    x, y = torch.randn(6, 4), torch.randn(3, 4)
    program = ow.export(Halves(), (x, y), dynamic_shapes=({0: 2 * n}, {0: n}))
    torch.testing.assert_close(program(x[:4], y[:2]), Halves()(x[:4], y[:2]))


@pytest.mark.parametrize("size", [4, 9])
def test_a_quotient_that_is_one_in_the_example_is_no_constant(size: int) -> None:
    """Of 4 rows there is one window: torch takes their number for 1, by an operator."""
    program, warned = exported(Windows(), size)
    assert not warned
    check(program, Windows(), SIZES)
