"""`size_branches=True`: both sides of decisions by sizes, joined by If."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim

import onnxwright as ow
from tests.exporter.test_sizes import CASES, by_length


def exported(function: Any, *sizes: int, **options: Any) -> Any:
    options.setdefault("dynamic_shapes", tuple({0: name} for name, _ in zip("nm", sizes)))
    args = tuple(torch.randn(n, 3) for n in sizes)
    return ow.export(function, args, size_branches=True, strict=True, verify=True, **options)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [n for n in CASES if n not in ("unequal", "equal")])
def test_both_sides_of_a_decision_are_exported(name: str) -> None:
    """Without a warning (they are errors here), and right on both sides."""
    case = CASES[name]
    dynamic = tuple({0: d} for d in case.dynamic)
    program = exported(case.function, *case.sizes, dynamic_shapes=dynamic, **case.options)
    assert [node.op_type for node in program.model.graph].count("If") == 1
    assert "onnxwright.size_guards" not in program.model.metadata_props
    wrong = [sizes for sizes in case.wrong if sizes != (65,)]  # above the declared 64
    for sizes in (*case.right, *wrong):
        args = tuple(torch.randn(n, 3) for n in sizes)
        torch.testing.assert_close(program(*args), case.function(*args))


def test_a_declared_bound_stays_enforced() -> None:
    program = exported(by_length, 10, dynamic_shapes=({0: Dim("n", min=1, max=64)},))
    for size in (10, 2):
        assert program(torch.ones(size, 3)).shape == (size, 3)
    with pytest.raises(ow.errors.ExportTypeError, match="OW826"):
        program(torch.ones(65, 3))


def lengths(x: Any, y: Any) -> Any:
    """A decision by two sizes; equal ones in the example stay two names."""
    return x.sum(0) + y.sum(0) if x.shape[0] == y.shape[0] else x.sum(0) - y.sum(0)


@pytest.mark.parametrize("sizes", [(4, 4), (4, 5)])
def test_equal_and_unequal_lengths(sizes: tuple[int, int]) -> None:
    program = exported(lengths, *sizes)
    assert [str(v.shape[0]) for v in program.model.graph.inputs] == ["n", "m"]
    for n, m in ((4, 4), (3, 7), (6, 6)):
        x, y = torch.randn(n, 3), torch.randn(m, 3)
        torch.testing.assert_close(program(x, y), lengths(x, y))


class Nested(torch.nn.Module):  # type: ignore[misc]
    """Several decisions, weights used on one side only, results of several types."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)

    def forward(self, x: Any) -> Any:
        n = x.shape[0]
        if n > 8:
            y = self.first(x[:8]) if n % 2 else self.first(x) * 2
        else:
            y = self.second(x)
        return {"y": y.sum(0), "n": n, "big": n * 2}


def test_decisions_within_decisions() -> None:
    model = Nested().eval()
    program = exported(model, 9)
    assert sorted(n for n in program.model.graph.initializers if "weight" in n)
    for n in (9, 10, 4, 8, 13):
        x = torch.randn(n, 3)
        torch.testing.assert_close(program(x), model(x))


def test_sides_that_an_if_cannot_join() -> None:
    for name in ("unequal", "equal"):
        with pytest.raises(ow.errors.ExportError, match="OW835.*rank"):
            exported(CASES[name].function, *CASES[name].sizes, capture="non-strict")


def test_a_side_that_cannot_be_captured() -> None:
    def values(x: Any) -> Any:
        if x.shape[0] > 5:
            return x + 1
        return x - 1 if x.detach().numpy().sum() > 0 else x

    with pytest.raises(ow.errors.ExportError, match="OW835.*cannot be captured"):
        exported(values, 10)


def test_too_many_sides() -> None:
    def many(x: Any) -> Any:
        for n in range(20, 32):
            if x.shape[0] % n == 1:
                x = x + n
        return x

    with pytest.raises(ow.errors.ExportError, match="OW835.*more than"):
        exported(many, 19, capture="non-strict")
