"""`verify` draws inputs that take other branches of programs that decide by values."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from onnxwright import exporter
from onnxwright.exporter.program.branch_inputs import changed_values
from tests.exporter.source import programs
from tests.harness.modules import module_with

DYNAMIC = ({0: torch.export.Dim.DYNAMIC},)


def exported(module: Any, *args: Any, **options: Any) -> Any:
    """A program captured by source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return exporter.export(module, args, capture="source", **options)


NAMES = (
    "if_elif_else",
    "nested",
    "ternary",
    "while_in_while",
    "for_return",
    "recursion",
    "closure",
)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", NAMES)
def test_all_sides_that_exist_are_run(name: str) -> None:
    module = programs.as_module(programs.PROGRAMS[name])
    found = exported(module, programs.inputs(2)[1], dynamic_shapes=DYNAMIC).verify()
    assert found.ok
    missing = [side for branch in found.branches for side in branch.missing()]
    # `while i < 3` always has an iteration.
    assert len(found.branches) >= 1
    assert all("while i < 3" in side for side in missing), missing
    ran = sum(len(branch.ran) for branch in found.branches)
    assert f"{ran} of {2 * len(found.branches)} sides" in found.summary()


@module_with(lambda: {"layers": torch.nn.ModuleList(torch.nn.Linear(5, 5) for _ in range(5))})
def Routed(self, x):
    """Layers and numbers by the place of the largest element; each is one decision."""
    n = int(x.argmax())
    y = self.layers[n](x)
    return y * {0: 1.0, 1: 2.0, 7: 3.0, 2: 4.0, 3: 5.0, 4: 6.0}[n]


def test_items_that_ran_are_counted() -> None:
    program = exported(Routed(), torch.tensor([1.0, 2, 3, 4, 5]))
    found = program.verify()
    assert found.ok
    layers, factors = found.branches
    assert (layers.kind, layers.sides) == ("Item", 5)
    assert (factors.kind, factors.sides) == ("Item", 6)
    assert len(layers.ran) == 5
    # The dict has an item for 7, which is not the place of any element.
    assert [side.split(" with ")[1] for side in factors.missing()] == ["item 2 of 6"]
    assert found.summary().endswith("; 10 of 11 items chosen by values were run")
    assert "Item of 5" in program.report.markdown()


class Experts(torch.nn.ModuleDict):
    """Layers by the names that run-time numbers have in a text: decisions of places, not a Loop."""

    def __init__(self) -> None:
        super().__init__({f"expert_{n}": torch.nn.Linear(3, 3) for n in range(3)})

    def forward(self, x):
        result = torch.zeros_like(x)
        for n in (x.sum(0) > 0).nonzero():
            result = result + self[f"expert_{n[0]}"](x)
        return result


def test_a_loop_over_items_that_may_not_be_there_is_reported_as_a_loop() -> None:
    found = exported(Experts().eval(), torch.ones(2, 3)).verify()
    assert found.ok
    assert ("Loop", frozenset({False, True})) in {(b.kind, b.ran) for b in found.branches}
    assert not any("break" in note for note in found.notes)


@pytest.mark.slow  # it looks for inputs until the limit
def test_an_item_that_no_inputs_take_is_listed() -> None:
    program = exported(lambda x: (x, -x, x + 1, x * 2)[int(x.sum() > 0)], torch.ones(2))
    found = program.verify()
    assert [sorted(branch.ran) for branch in found.branches] == [[0, 1]]
    assert any("with item 2, 3 of 4" in note for note in found.notes)


@module_with(lambda: {"factor": 2.0})
def Weighted(self, x, mask, index):
    """One side reads a number that may change after the export."""
    if x.mean() < -3:
        x = x * self.factor
    if mask.any():
        x = x + index.sum()
    return x


def weighted_inputs() -> Any:
    return torch.ones(2, 3), torch.zeros(2, dtype=torch.bool), torch.tensor([3, 5])


def test_an_error_on_a_side_that_the_given_inputs_do_not_take_is_found() -> None:
    module = Weighted().eval()
    program = exported(module, *weighted_inputs())
    found = program.verify()
    assert found.ok
    assert [sorted(branch.ran) for branch in found.branches] == [[False, True]] * 2
    module.factor = 3.0
    found = program.verify()
    assert not found.ok
    assert {o.run for o in found.outputs if o.problem} == {"other branches"}
    assert found.step == "capture"


def test_inputs_that_contradict_an_answer_are_not_used() -> None:
    module = Weighted().eval()
    program = exported(module, *weighted_inputs(), assume={"x.mean() < -3": False})
    found = program.verify()
    assert found.ok, str(found)
    assert [branch.text for branch in found.branches] == ["if mask.any():"]


def never(x: Any) -> Any:
    if x.isinf().all() and x.sum() > 12345:
        return x
    assert x.abs().max() < 50
    return x + 1


def test_sides_that_were_not_run_are_reported() -> None:
    program = exported(programs.as_module(never), torch.ones(2, 3), verify=True)
    found = program.report.verification
    assert found.ok
    (note,) = found.notes
    assert "if x.isinf().all()" in note
    assert "with a true condition" in note
    assert "1 of 2 sides" in str(program.report.verification)


@module_with(lambda: {"count": torch.nn.Buffer(torch.zeros(()))})
def Counts(self, x):
    """It changes a buffer."""
    if x.sum() > 0:
        self.count += 1
    return x + self.count


def test_the_module_is_as_it_was() -> None:
    module = Counts().eval()
    program = exported(module, torch.ones(2))
    assert program.verify().ok
    assert module.count == 0
    assert Counts.forward.__code__.co_filename == __file__


def test_integers_stay_between_those_that_were_given() -> None:
    given = [torch.tensor([2, 7, 3]), torch.tensor([True, False]), 4]
    tries = list(changed_values(given))
    assert tries
    for values in tries:
        assert values[2] == 4
        assert values[0].dtype == torch.int64
        assert 2 <= values[0].min() <= values[0].max() <= 7
        assert values[1].dtype == torch.bool


class Doubles(torch.nn.Module):
    """For inputs without a positive sum it never ends."""

    def forward(self, x):
        while x.sum() < 10:
            x = x * 2
        return x


def test_a_loop_that_does_not_end_for_other_inputs_is_stopped() -> None:
    found = exported(Doubles(), torch.ones(3)).verify()
    assert found.ok
    notes = [note for note in found.notes if "does not end" in note]
    assert any("`while x.sum() < 10:`" in note for note in notes), found.notes
    assert any("within 1000 iterations" in note for note in notes), found.notes
