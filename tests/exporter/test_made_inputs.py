"""Inputs that `verify` makes: they keep what a module asks of them, and decide what they can."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.exporter.program.resizing import invented, with_shapes
from tests.harness.tables import each

T = torch.tensor


def made(numbers: Any, size: int, *others: tuple[int, int]) -> list[Any]:
    """A list with another size, in the first way, beside tensors of (old size, new size)."""
    flat = [T(numbers), *(torch.zeros(old) for old, _ in others)]
    shapes = {0: [size], **{n: [new] for n, (_, new) in enumerate(others, 1)}}
    return next(with_shapes(flat, shapes))[0].tolist()


@each(
    ("numbers", "size", "others", "wanted"),
    [
        ([0, 1, 4], 4, [(4, 5)], [0, 1, 3, 5]),  # offsets end at the size
        ([0, 1, 4], 6, [(4, 8)], [0, 1, 3, 4, 6, 8]),
        ([0, 1, 4], 3, [(4, 6)], [0, 3, 6]),  # of the same size, too
        ([2, 4], 3, [(6, 7)], [2, 2, 3]),  # lengths add up
        ([4, 2], 2, [(6, 7)], [4, 3]),
        ([5, 3], 3, [(5, 6)], [6, 6, 3]),  # the longest length is the size
        ([0, 1, 2], 5, [], [0, 1, 2, 3, 4]),  # positions
        ([5, 6, 7], 4, [], [5, 6, 7, 8]),
        ([2, 0, 1], 4, [], [2, 0, 1, 3]),  # a permutation
        ([2, 0, 1], 2, [], [0, 1]),
        ([1, 5, 9, 20], 6, [], [1, 4, 8, 12, 16, 20]),  # different ones stay different
        ([0, 0, 1, 1], 6, [], [0, 0, 0, 1, 1, 1]),
        ([9, 4, 4], 5, [], [9, 9, 4, 4, 4]),
        ([7, 1, 8, 2], 6, [], [7, 1, 8, 2, 7, 1]),  # ids in no order
        ([7, 1, 8, 2], 2, [], [7, 1]),
        ([-1.0, 0.0, 1.0], 5, [], [-1.0, -0.5, 0.0, 0.5, 1.0]),
        ([3.0, 1.0, 2.0], 4, [], [3.0, 1.0, 2.0, 3.0]),
        ([True, True, False], 6, [], [True, True, True, True, False, False]),
    ],
)
def test_properties_of_the_example_are_kept(numbers, size: int, others, wanted) -> None:
    assert made(numbers, size, *others) == wanted


def test_offsets_that_cannot_end_at_the_size_are_not_made() -> None:
    assert not list(with_shapes([T([0, 1, 4]), torch.zeros(4)], {0: [1], 1: [1]}))


def test_integers_that_changed_are_invented() -> None:
    given = [T([1, 2, 3]), T([1.0, 2.0, 3.0]), T([3.0, 1.0, 2.0])]
    assert invented(given, given) == []
    assert invented(given, [T([1, 2]), T([1.0, 3.0]), T([1.0])]) == [0]
    assert invented(given, [given[0], T([3.0, 1.0, 2.0]), T([9.0, 1.0, 2.0])]) == [1]


# -- whole exports ---------------------------------------------------------------------------------


class Bags(torch.nn.Module):
    def __init__(self, mode: str, last: bool) -> None:
        super().__init__()
        self.bag = torch.nn.EmbeddingBag(10, 4, mode=mode, include_last_offset=last)

    def forward(self, items: Any, offsets: Any) -> Any:
        return self.bag(items, offsets)


class Attends(torch.nn.Module):
    """Rows attend to rows of the same sequence, by cumulative lengths."""

    def forward(self, x: Any, ends: Any) -> Any:
        which = torch.bucketize(torch.arange(x.shape[0]), ends[1:], right=True)
        same = which[:, None] == which[None, :]
        return (x @ x.T).masked_fill(~same, -1e9).softmax(-1) @ x


class Gather(torch.nn.Module):
    """The inverse of a permutation by scattering: repeated places are undefined."""

    def forward(self, x: Any, order: Any) -> Any:
        back = torch.zeros_like(order).scatter(0, order, torch.arange(order.shape[0]))
        return x[order], back


def of(function: Any) -> Any:
    class Module(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return function(x, y)

    return Module()


RIGHT = {
    **{
        f"bag_{mode}_{last}": (
            Bags(mode, last),
            (T([1, 2, 0, 9]), T([0, 1, 4] if last else [0, 2])),
        )
        for mode in ("sum", "mean", "max")
        for last in (False, True)
    },
    "bucketize": (of(torch.bucketize), (T([0.3, -2.0, 0.5]), T([-1.0, 0.0, 1.0]))),
    "bucketize_int": (of(torch.bucketize), (T([3, 7, 1]), T([1, 4, 9]))),
    "searchsorted": (
        of(lambda x, y: torch.searchsorted(y, x)),
        (T([0.3, 2.0]), T([0.0, 1.0, 3.0])),
    ),
    "rows": (
        of(lambda x, y: torch.searchsorted(y, x)),
        (torch.randn(2, 3), T([[0.0, 1.0, 3.0], [-1.0, 0.0, 1.0]])),
    ),
    "lengths": (of(lambda x, y: x.split(y.tolist())[0].sum(0)), (torch.randn(6, 2), T([2, 4]))),
    "repeat": (
        of(lambda x, y: torch.repeat_interleave(torch.arange(y.shape[0]), y) + x),
        (torch.randn(6), T([1, 3, 2])),
    ),
    "cumulative": (Attends(), (torch.randn(6, 3), T([0, 2, 6]))),
    "permutation": (Gather(), (torch.randn(4, 3), T([2, 0, 3, 1]))),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in RIGHT if "bag" not in n])
def test_a_right_model_is_not_accused(name: str) -> None:
    module, args = RIGHT[name]
    axes = {n: {0: f"d{n}"} if name != "rows" else {0: "d", 1: f"e{n}"} for n in range(2)}
    names = list(inspect.signature(module.forward).parameters)
    shapes = {names[n]: axes[n] for n in range(2)}
    program = ow.export(module.eval(), args, dynamic_shapes=shapes, verify=True)
    assert program.report.verification.ok
    assert not program.report.verification.undecided, program.report.verification.undecided


@pytest.mark.parametrize("name", [n for n in RIGHT if n.startswith("bag")])
def test_offsets_of_bags_do_not_end_the_process(name: str) -> None:
    """PyTorch reads beyond the table for offsets that do not ascend: it ended the process."""
    module, args = RIGHT[name]
    program = ow.export(module.eval(), args, dynamic_shapes=({0: "n"}, {0: "m"}), verify=True)
    assert program.report.verification.ok


def test_what_only_made_up_integers_show_is_not_decided() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.abs(x)

    def wrong(op: Any, x: Any) -> Any:  # wrong at a length above 3 only
        long = op.Size(x) > 3
        return op.Where(long, x + 1, x)

    args, table = (T([7, 1, 5]),), {"aten::abs": wrong}
    options = {"dynamic_shapes": ({0: "n"},), "custom_translation_table": table}
    with pytest.warns(ow.errors.OnnxwrightWarning, match="OW899.*made-up numbers in `x`"):
        program = ow.export(Net(), args, verify=True, **options)
    found = program.report.verification
    assert found.ok
    assert "not decided" in found.summary()
    # The user's own inputs decide.
    with pytest.raises(ow.ExportError, match="OW828"):
        ow.export(Net(), args, verify=[(T([7, 1, 5, 6]),)], **options)
    with pytest.raises(ow.ExportError, match="OW828"):
        ow.export(Net(), args, verify=[{"x": T([7, 1, 5, 6])}], **options)
    more = torch.export.AdditionalInputs()
    more.add((T([7, 1, 5, 6]),))
    options["dynamic_shapes"] = more
    with pytest.raises(ow.ExportError, match="OW828"):
        ow.export(Net(), args, verify=True, **options)
    with ow.observe(Net()) as seen:
        seen(T([7, 1, 5]))
        seen(T([7, 1, 5, 6]))
    with pytest.raises(ow.ExportError, match="OW828"):
        ow.export(Net(), verify=True, custom_translation_table=table, **seen.arguments)


def test_floats_still_decide() -> None:
    def wrong(op: Any, x: Any) -> Any:
        return op.Where(op.Size(x) > 3, x + 1, x)

    with pytest.raises(ow.ExportError, match="OW828"):
        ow.export(
            of(lambda x, y: torch.abs(x) + y),
            (torch.ones(3), T([4, 1, 2])),
            dynamic_shapes=({0: "n"}, {0: "n"}),
            custom_translation_table={"aten::abs": wrong},
            verify=[(torch.ones(5), T([4, 1, 2, 6, 7]))],
        )


def test_sizes_that_pytorch_refuses_do_not_accuse_the_model() -> None:
    class Rows(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            if not torch.compiler.is_exporting() and x.shape[0] not in (3, 40):
                raise ValueError("3 or 40 rows")
            return x + 1

    args, shapes = (torch.ones(3, 2),), ({0: "n"},)
    with pytest.warns(ow.errors.OnnxwrightWarning, match="OW899.*3 or 40 rows"):
        program = ow.export(Rows(), args, dynamic_shapes=shapes, verify=True)
    assert not program.verify().wrong
    # With inputs of the user's own, no others are needed.
    program = ow.export(Rows(), args, dynamic_shapes=shapes, verify=[torch.ones(40, 2)])
    assert program.report.verification.ok


@each("given", [3, "yes", [3], None])
def test_what_verify_takes(given: Any) -> None:
    with pytest.raises(ow.errors.ExportValueError, match="`verify`: an object of type"):
        ow.export(torch.nn.ReLU(), (torch.ones(2),), verify=given)
