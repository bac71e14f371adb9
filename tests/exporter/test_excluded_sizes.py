"""Sizes that torch excludes: a decision that makes a difference for some values is reported."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the exporter takes PyTorch programs")

import onnxwright as ow  # noqa: E402
from onnxwright.errors import ExportTypeError, OnnxwrightWarning  # noqa: E402
from onnxwright.exporter.capture.assumptions.drawn_values import Draw, drawn  # noqa: E402


class Shortcut(torch.nn.Module):
    """A module with another formula for one size."""

    def __init__(self, usual: Callable[..., Any], other: Callable[..., Any], size: int) -> None:
        super().__init__()
        self.usual, self.other, self.size = usual, other, size

    def forward(self, x: Any, mask: Any = None) -> Any:
        more = () if mask is None else (mask,)
        if x.shape[0] == self.size:
            return self.other(x, *more)
        return self.usual(x, *more)


def _exported(module: Any, args: tuple[Any, ...], shapes: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        program = ow.export(module, args, dynamic_shapes=shapes)
    return program, [str(w.message) for w in said if isinstance(w.message, OnnxwrightWarning)]


# name -> the usual formula, the other, and further inputs.  The example is positive, and above 0.
_RARE = {
    "negative numbers": (lambda x: x.sum(0), lambda x: x[0].abs()),
    "negative numbers again": (lambda x: x + 0.0, lambda x: x.relu()),
    "a zero": (lambda x: torch.nan_to_num(x / x.sum(0)), torch.ones_like),
    "large numbers": (lambda x: x.clamp(max=20.0), lambda x: x * 1.0),
    "masks of nothing": (lambda x, m: x.masked_fill(~m[:, None], 0), lambda x, m: x * 1.0),
    "masks of numbers": (lambda x, m: x.masked_fill(m[:, None] == 0, 0), lambda x, m: x * 1.0),
    "other indices": (lambda x, m: x + torch.arange(10.0)[m][:, None], lambda x, m: x + 4.0),
    "equal numbers": (
        lambda x: (x[:, :1] < x[:, 1:]).float(),
        lambda x: (x[:, :1] <= x[:, 1:]).float(),
    ),
}
_MORE = {
    "masks of nothing": torch.ones(4, dtype=torch.bool),
    "masks of numbers": torch.ones(4),
    "other indices": torch.tensor([4, 0, 9, 2]),
}


@pytest.mark.parametrize("name", _RARE)
def test_a_difference_for_some_values_is_reported(name: str) -> None:
    usual, other = _RARE[name]
    args = [torch.rand(4, 3) + 0.5, *([_MORE[name]] if name in _MORE else [])]
    program, said = _exported(Shortcut(usual, other, 1), tuple(args), ({0: "n"},) * len(args))
    assert len(said) == 1
    assert "OW833" in said[0]
    assert "n != 1" in said[0]
    with pytest.raises(ExportTypeError, match="n != 1"):
        program(*(x[:1] for x in args))


@pytest.mark.parametrize(
    ("usual", "other"),
    [
        (lambda x: x.sum(0), lambda x: x[0]),
        (lambda x: x - x.amax(0), torch.zeros_like),
        (lambda x: x.softmax(0), torch.ones_like),
        (lambda x: torch.cumsum(x, 0), lambda x: x.clone()),
    ],
)
def test_a_shortcut_that_makes_no_difference_is_not_reported(usual: Any, other: Any) -> None:
    module = Shortcut(usual, other, 1)
    program, said = _exported(module, (torch.rand(4, 3),), ({0: "n"},))
    assert not said
    x = torch.randn(1, 3)
    torch.testing.assert_close(program(x), module(x))


def test_a_size_of_zero() -> None:
    """A sum of no rows is 0, whatever the module does for other sizes."""
    args, shapes = (torch.rand(4, 3),), ({0: "n"},)
    program, said = _exported(
        Shortcut(lambda x: x.sum(0), lambda x: x.new_ones(3), 0), args, shapes
    )
    assert len(said) == 1
    assert "n >= 1" in said[0]
    with pytest.raises(ExportTypeError):
        program(torch.rand(0, 3))
    same = Shortcut(lambda x: x.sum(0), lambda x: x.new_zeros(3), 0)
    program, said = _exported(same, args, shapes)
    assert not said
    assert torch.equal(program(torch.rand(0, 3)), torch.zeros(3))


class OneImage(torch.nn.Module):
    """A batch of one image is brightened by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(3)

    def forward(self, image: Any) -> Any:
        y = self.norm(image)
        if image.shape[0] == 1:
            return y.clamp(min=-10.0)
        return y


def test_the_batch_axis() -> None:
    _, said = _exported(OneImage().eval(), (torch.rand(2, 3, 4, 4),), ({0: "batch"},))
    assert len(said) == 1
    assert "batch != 1" in said[0]


_LIBRARY = """
import torch

class Pool(torch.nn.Module):
    def forward(self, x):
        if x.size(1) == 1:
            return x.squeeze(1).relu()
        return x.mean(1)
"""


class Uses(torch.nn.Module):
    def __init__(self, pool: Any) -> None:
        super().__init__()
        self.pool, self.layer = pool, torch.nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        return self.layer(self.pool(x))


def test_a_class_of_a_library(tmp_path: Path) -> None:
    path = str(tmp_path / "site-packages" / "pools" / "layers.py")
    linecache.cache[path] = (len(_LIBRARY), None, _LIBRARY.splitlines(True), path)
    space: dict[str, Any] = {"__name__": "pools"}
    exec(compile(_LIBRARY, path, "exec"), space)  # noqa: S102 - as an import of it
    _, said = _exported(Uses(space["Pool"]()), (torch.rand(2, 5, 3),), ({1: "steps"},))
    assert len(said) == 1
    assert "steps != 1" in said[0]


class Attends(torch.nn.Module):
    """Rows that attend to nothing differ at all sizes: they say nothing about one step."""

    def forward(self, x: Any, mask: Any) -> Any:
        causal = x.shape[1] != 1
        scores = (x @ x.mT).masked_fill(~mask[:, None], -torch.inf)
        if causal:
            scores = scores + torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1)
        return scores.softmax(-1) @ x


def test_masks_of_nothing_are_no_difference_of_sizes() -> None:
    args = (torch.rand(2, 5, 3), torch.ones(2, 5, dtype=torch.bool))
    program, said = _exported(Attends(), args, ({1: "n"}, {1: "n"}))
    assert not said
    given = (torch.randn(2, 1, 3), torch.ones(2, 1, dtype=torch.bool))
    torch.testing.assert_close(program(*given), Attends()(*given))


# -- the values themselves -------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [d for d in Draw if d is not Draw.GIVEN])
def test_values_follow_from_their_label_alone(draw: Draw) -> None:
    x = [torch.rand(3, 4) + 1, torch.rand(2, dtype=torch.complex64), torch.tensor(2.0), 7]
    one, two = drawn(x, x, draw, "n"), drawn(x, x, draw, "n")
    assert all(torch.equal(a, b) for a, b in zip(one[:3], two[:3], strict=True))
    assert all(a.dtype == b.dtype and a.shape == b.shape for a, b in zip(x[:3], one, strict=False))
    assert one[3] == 7


@pytest.mark.parametrize("draw", list(Draw))
def test_integers_stay_in_their_range_and_order(draw: Draw) -> None:
    offsets, ids = torch.tensor([2, 5, 9]), torch.tensor([[7, 3], [4, 4]])
    mask, truth = torch.tensor([0, 1]), torch.tensor(True)
    found = drawn([offsets, ids, mask, truth], [offsets, ids, mask, truth], draw, "n")
    assert bool((found[0].diff() >= 0).all())
    assert 2 <= int(found[0].min()) <= int(found[0].max()) <= 9
    assert 3 <= int(found[1].min()) <= int(found[1].max()) <= 7
    assert set(found[2].tolist()) <= {0, 1}
    assert found[3].dtype is torch.bool


def test_infinite_numbers_stay() -> None:
    bias = torch.tensor([0.0, -torch.inf])
    assert drawn([bias], [bias], Draw.SIGNED, "n")[0][1] == -torch.inf
