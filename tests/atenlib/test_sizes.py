"""Size arguments that are values of the graph, on tensors of unknown sizes."""

from __future__ import annotations

import pytest
import torch

from tests.atenlib.sized import Size, check_sized
from tests.harness.tables import each

aten = torch.ops.aten
X = torch.arange(24.0).reshape(2, 3, 4)
V = torch.arange(7.0)


def n(value: int) -> Size:
    """A size that only the run knows."""
    return Size(value)


CASES = {
    "view": (aten.view.default, X, [n(6), n(4)]),
    "view with -1": (aten.view.default, X, [n(6), -1]),
    "reshape": (aten.reshape.default, X, [n(4), n(3), 2]),
    "unflatten": (aten.unflatten.int, X, 1, [n(3), n(1)]),
    "expand": (aten.expand.default, V[:1], [n(4), n(3)]),
    "expand -1": (aten.expand.default, X, [n(5), -1, 3, -1]),
    "as_strided": (aten.as_strided.default, X, [n(3), 2], [n(2), 5], n(1)),
    "narrow": (aten.narrow.default, X, 2, n(1), n(2)),
    "narrow from the end": (aten.narrow.default, X, 2, -3, n(2)),
    "slice": (aten.slice.Tensor, X, 2, n(1), n(3), 1),
    "slice from the end": (aten.slice.Tensor, V, 0, n(-5), n(-1), n(2)),
    "slice to the end": (aten.slice.Tensor, V, 0, n(2), None, n(3)),
    "select": (aten.select.int, X, 1, n(-1)),
    "slice_scatter": (aten.slice_scatter.default, V, torch.ones(3), 0, n(2), n(5), 1),
    "slice_scatter to the end": (aten.slice_scatter.default, V, torch.ones(5), 0, n(2), None, 1),
    "slice_scatter with steps": (aten.slice_scatter.default, V, torch.ones(3), 0, 1, n(7), n(2)),
    "slice_scatter mixed": (aten.slice_scatter.default, V, torch.ones(4), 0, 2, -1, 1),
    "select_scatter": (aten.select_scatter.default, X, torch.ones(2, 4), 1, n(-2)),
    "select_scatter first": (aten.select_scatter.default, X, torch.ones(3, 4), 0, n(1)),
    "split_with_sizes": (aten.split_with_sizes.default, V, [n(3), n(0), n(4)], 0),
    "roll": (aten.roll.default, X, [n(5)], [2]),
    "roll all": (aten.roll.default, X, [n(-7)], []),
    "repeat": (aten.repeat.default, V, [n(2), n(3)]),
    "tile": (aten.tile.default, X, [n(2)]),
    "repeat_interleave": (aten.repeat_interleave.self_int, X, n(3), 1),
    "repeat_interleave all": (aten.repeat_interleave.self_int, X, n(2)),
    "full": (aten.full.default, [n(2), 3], 1.5),
    "full of nothing": (aten.full.default, [n(0), 3], 7),
    "zeros": (aten.zeros.default, [n(2), n(3)]),
    "ones of a type": (aten.ones.default, [n(2), n(3)], None),
    "new_full": (aten.new_full.default, V, [n(3)], 2),
    "eye": (aten.eye.default, n(4)),
    "eye of two sizes": (aten.eye.m, n(2), n(5)),
    "arange": (aten.arange.default, n(5)),
    "arange from": (aten.arange.start, n(2), n(5)),
    "arange down": (aten.arange.start_step, n(5), n(-4), -2),
    "tril": (aten.tril.default, X, n(1)),
    "triu": (aten.triu.default, X, n(-1)),
    "linalg_diagonal": (aten.linalg_diagonal.default, X),
    "tensor_split": (aten.tensor_split.indices, V, [n(2), n(5)]),
    "tensor_split in parts": (aten.tensor_split.sections, V, 3),
    "chunk": (aten.chunk.default, V, 3),
    "unfold": (aten.unfold.default, X, 2, 2, 1),
    "flip": (aten.flip.default, X, [0, 2]),
    "rot90": (aten.rot90.default, X, 3, [1, 2]),
    "diag": (aten.diag.default, V, -2),
    "block_diag": (aten.block_diag.default, [X[0], V, torch.tensor(3.0)]),
    "combinations": (aten.combinations.default, V, 3, True),
    "cartesian_prod": (aten.cartesian_prod.default, [V, V[:2]]),
    "meshgrid": (aten.meshgrid.indexing, [V, V[:2]]),
    "broadcast_tensors": (aten.broadcast_tensors.default, [X, V[:4], X[:1, :, :1]]),
    "take_along_dim": (aten.take_along_dim.default, X, torch.tensor([[[3, 0]]]), 2),
    "index_fill": (aten.index_fill.int_Scalar, X, 1, torch.tensor([0, -1]), 9.0),
    "resize": (aten.resize.default, V.clone(), [n(2), n(3)]),
    "one_hot": (aten.one_hot.default, V.long(), n(9)),
    "nonzero_static": (aten.nonzero_static.default, X),
}
KEYWORDS = {"meshgrid": {"indexing": "xy"}, "nonzero_static": {"size": n(30)}}


@each("opset", [18, 23])
@each("case", CASES)
def test_sizes_of_the_run(case: str, opset: int) -> None:
    """As torch with the numbers themselves."""
    target, *args = CASES[case]
    if case == "ones of a type":
        args = args[:1]
    check_sized(target, *args, opset=opset, **KEYWORDS.get(case, {}))


@each("shift", [-9, -1, 0, 4, 12])
def test_shifts_beyond_the_end(shift: int) -> None:
    check_sized(aten.roll.default, V, [shift], [0])


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_empty_tensors(batch: int) -> None:
    x = torch.randn(batch, 2, 4)
    check_sized(aten.roll.default, x, [n(1)], [0])
    check_sized(aten.view.default, x, [n(batch), 8])
    check_sized(aten.flatten.using_ints, x, 1)
    check_sized(aten.unflatten.int, x, 2, [2, -1])
    check_sized(aten.repeat_interleave.self_int, x, 2, 0)
    check_sized(aten.slice.Tensor, x, 0, 1, None, 2)
    check_sized(aten.cat.default, [x, x], 0)
    check_sized(aten.diagonal.default, x)
    check_sized(aten.nonzero.default, x)
    check_sized(aten.repeat_interleave.Tensor, torch.arange(batch))
