"""Advanced indexing in all its forms: random mixtures of index tensors, masks and whole axes."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check
from tests.harness.tables import each

aten = torch.ops.aten
SHAPE = (3, 4, 2, 5)


def random_indices(rng: random.Random) -> list[Any]:
    """Indices for some of the axes: None, positions that broadcast, masks of one or two axes."""
    indices: list[Any] = []
    common = rng.choice([(), (3,), (2, 3), (0,)])
    counts = rng.choice([3, 1])
    kinds = rng.choice([("none", "index"), ("none", "mask"), ("none", "index", "grid")])
    axis = 0
    while axis < len(SHAPE):
        kind = rng.choice(kinds)
        if kind == "none":
            indices.append(None)
        elif kind == "mask" and axis + 1 < len(SHAPE) and rng.random() < 0.3:
            indices.append(mask(SHAPE[axis : axis + 2], counts, rng))
            axis += 1
        elif kind == "mask":
            indices.append(mask(SHAPE[axis : axis + 1], min(counts, SHAPE[axis]), rng))
        else:
            shape = common if kind == "index" else tuple(rng.choice([1, n]) for n in common)
            size = SHAPE[axis]
            indices.append(torch.randint(-size, size, shape))
        axis += 1
    if rng.random() < 0.5:
        while indices and indices[-1] is None:
            indices.pop()
    return indices if any(i is not None for i in indices) else [torch.tensor([0, -1])]


def mask(shape: tuple[int, ...], count: int, rng: random.Random) -> torch.Tensor:
    """A mask with a number of true places, so that several of them broadcast."""
    flat = torch.zeros(torch.Size(shape).numel(), dtype=torch.bool)
    flat[rng.sample(range(len(flat)), min(count, len(flat)))] = True
    return flat.reshape(shape)


def cases(count: int) -> list[list[Any]]:
    """Random indices that torch takes."""
    rng = random.Random(0)
    torch.manual_seed(0)
    accepted: list[list[Any]] = []
    while len(accepted) < count:
        indices = random_indices(rng)
        try:
            aten.index.Tensor(torch.zeros(SHAPE), indices)
        except (IndexError, RuntimeError):  # they do not broadcast
            continue
        accepted.append(indices)
    return accepted


CASES = cases(60)


def everything(indices: list[Any]) -> tuple[int, ...]:
    """The numbers of the tensor and of all index tensors, for unknown sizes of all."""
    return tuple(range(1 + sum(i is not None for i in indices)))


@each("number", range(len(CASES)))
def test_elements_at_indices(number: int) -> None:
    indices = CASES[number]
    x = torch.arange(120.0).reshape(SHAPE)
    check(aten.index.Tensor, x, indices, dynamic=everything(indices))


@pytest.mark.share(3)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_elements_written_at_indices(number: int) -> None:
    """Values of the result's shape, and values that broadcast to it."""
    indices = CASES[number]
    x = torch.arange(120.0).reshape(SHAPE)
    like = aten.index.Tensor(x, indices)
    spread = torch.randn(like.shape[-1:]) if like.ndim else torch.tensor(2.5)
    for values in (torch.randn(like.shape), spread, torch.tensor(7.0)):
        check(aten.index_put.default, x, indices, values, True, dynamic=everything(indices))
    # Without addition the order of two writes to one place is open: one value for all.
    check(aten.index_put.default, x, indices, torch.tensor([7.0]), dynamic=everything(indices))


@pytest.mark.parametrize("opset", [18, 23])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.bfloat16, torch.complex64])
def test_element_types(opset: int, dtype: torch.dtype) -> None:
    x = torch.arange(-4, 8).reshape(3, 4).to(dtype)
    rows = [torch.tensor([2, 0])]
    values = x[1:].flip(0)
    check(aten.index.Tensor, x, rows, opset=opset)
    check(aten.index_put.default, x, rows, values, opset=opset)
    check(aten.index_put.default, x, rows, values, True, opset=opset)
    check(aten._index_put_impl.default, x, rows, values, False, expected=x.index_put(rows, values))
    check(aten.index.Tensor, x, [None, torch.tensor([True, False, True, True])], opset=opset)
    check(aten.masked_select.default, x, x == x[0, 3], opset=opset)


def test_indices_of_a_grid_are_read_axis_by_axis() -> None:
    """No index tensor of the whole grid is built."""
    from onnxwright.sweep import aten_runs  # noqa: PLC0415 - beside its one use
    from onnxwright.sweep.tape import Call  # noqa: PLC0415

    x, rows, columns = torch.randn(2, 5, 6), torch.tensor([[0], [3]]), torch.tensor([1, 5, 2])
    result = aten.index.Tensor(x, [None, rows, columns])
    call = Call(aten.index.Tensor, (x, [None, rows, columns]), {}, result)
    model = aten_runs.build_graph([call], result, 23).model
    assert [n.op_type for n in model.graph.node if n.op_type != "Constant"] == [
        "Squeeze",
        "Gather",
        "Gather",
    ]


def test_positions_of_a_condition() -> None:
    for x in (torch.tensor([[0, 3], [-1, 0]]), torch.tensor([1.5, 0.0, float("nan")])):
        check(aten.where.default, x)
        check(aten.nonzero_numpy.default, x)
    check(aten.where.default, torch.tensor([0j, 1j, 1 + 0j]), dynamic=())


def test_nan_wins_where_extremes_meet() -> None:
    nan = float("nan")
    x = torch.tensor([nan, 1.0, 5.0, 2.0])
    index, source = torch.tensor([0, 1, 1, 2]), torch.tensor([3.0, nan, 4.0, 9.0])
    for how in ("amax", "amin"):
        for include_self in (True, False):
            check(
                aten.scatter_reduce.two,
                *(x, 0, index, source, how),
                include_self=include_self,
                dynamic=(0, 1, 2),
            )


def test_complex_numbers_that_meet() -> None:
    x = torch.randn(4, dtype=torch.complex64)
    index = torch.tensor([1, 1, 3])
    for how in ("sum", "mean"):
        check(aten.scatter_reduce.two, x, 0, index, x[:3] * 2, how, dynamic=())
    check(aten.scatter.value_reduce, x, 0, index, 1 + 2j, reduce="add", dynamic=())


@each("shape", [(3, 4), (3, 1), (4,), ()])
def test_masked_scatter_of_unknown_sizes(shape: tuple[int, ...]) -> None:
    x, source = torch.randn(3, 4), torch.arange(20.0)
    check(aten.masked_scatter.default, x, torch.rand(shape) > 0.4, source, dynamic=(0, 1, 2))


@pytest.mark.parametrize("opset", [18, 23])
def test_repeated_numbers(opset: int) -> None:
    for counts in ([2, 0, 3], [0, 0], []):
        check(aten.repeat_interleave.Tensor, torch.tensor(counts, dtype=torch.int64), opset=opset)


def test_range() -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        expected = torch.range(1, 7, 2.5)
    check(aten.range.step, 1, 7, 2.5, expected=expected, dynamic=())
