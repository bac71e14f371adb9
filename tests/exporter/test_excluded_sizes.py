"""Sizes that torch excludes: what a decision does at 1 or 0 is reported, or makes no difference."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the exporter takes PyTorch programs")

from torch.nn import functional as F  # noqa: E402, N812

import onnxwright as ow  # noqa: E402
from onnxwright.errors import ExportTypeError, OnnxwrightWarning  # noqa: E402
from tests.harness.modules import module_with, same_results  # noqa: E402


def _exported(module: Any, args: tuple[Any, ...], shapes: Any, **options: Any) -> Any:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        program = ow.export(module, args, dynamic_shapes=shapes, **options)
    return program, [str(w.message) for w in said if isinstance(w.message, OnnxwrightWarning)]


@module_with(lambda function, causal=False: {"function": function, "causal": causal})
def Rows(self, x: Any) -> Any:
    """A module that computes rows by one of these functions."""
    return self.function(self, x)


def _other_at_one(_: Any, x: Any) -> Any:
    if x.shape[0] == 1:
        return x[0].abs()
    return x.sum(0)


def _other_at_zero(_: Any, x: Any) -> Any:
    if x.shape[0] == 0:
        return x.new_ones(3)
    return x.sum(0)


def _squeezed(_: Any, x: Any) -> Any:
    return x.squeeze(0) * 2


def _not_settled(self: Any, x: Any) -> Any:
    causal = x.shape[0] > 1 and not self.causal
    return x.cumsum(0) if causal else x + 1


def _settled_after(self: Any, x: Any) -> Any:
    # The flag stands first: Python asks for the size only where it is set.
    causal = not self.causal and x.shape[0] != 1
    return x.cumsum(0) if causal else x + 1


def _layout(_: Any, x: Any) -> Any:
    y = x.t()
    return y + 1 if y.is_contiguous() else y * 2


def _two_chunks(_: Any, x: Any) -> Any:
    parts = x.chunk(2, 0)
    return parts[0].sum(0) - parts[-1].sum(0)


def _uneven_parts(_: Any, x: Any) -> Any:
    one, two = torch.tensor_split(x, 2)
    return one.sum(0) - two.sum(0)


def _three_chunks(_: Any, x: Any) -> Any:
    return sum(part.sum(0) for part in x.chunk(3, 0)[1:])


@pytest.mark.parametrize(
    ("function", "size", "condition"),
    [
        (_other_at_one, 1, "n != 1"),
        (_other_at_zero, 0, "n >= 1"),
        (_squeezed, 1, "n != 1"),
        (_not_settled, 1, "n > 1"),
        (_settled_after, 1, "n != 1"),
        (_layout, 1, "n != 1"),
        (_two_chunks, 1, ""),
        (_three_chunks, 4, ""),
        (_uneven_parts, 5, "n % 2"),
    ],
)
def test_a_decision_is_reported_and_calls_of_its_other_side_are_refused(
    function: Any, size: int, condition: str
) -> None:
    module = Rows(function)
    program, said = _exported(module, (torch.rand(6, 3),), ({0: "n"},), capture="non-strict")
    assert len(said) == 1
    assert "OW833" in said[0]
    assert condition in said[0]
    with pytest.raises(ExportTypeError, match=condition):
        program(torch.rand(size, 3))
    x = torch.randn(6, 3)
    torch.testing.assert_close(program(x), module(x))


def _expanded(_: Any, x: Any) -> Any:
    mask = torch.arange(3.0)[None]
    if x.shape[0] != mask.shape[0]:
        mask = mask.expand(x.shape[0], -1)
    return x * mask


def test_an_axis_of_one_that_is_expanded_decides_nothing() -> None:
    program, said = _exported(Rows(_expanded), (torch.rand(6, 3),), ({0: "n"},))
    assert said == []
    for n in (1, 2, 6):
        x = torch.randn(n, 3)
        torch.testing.assert_close(program(x), _expanded(None, x))


# -- conditions that another operand settles -------------------------------------------------------


def _and(self: Any, x: Any) -> Any:
    mask = None
    causal = x.shape[0] > 1 and mask is None and self.causal
    return x.cumsum(0) if causal else x + 1


def _or(self: Any, x: Any) -> Any:
    if x.shape[0] == 1 or not self.causal:
        return x * 2
    return x + 1


def _mode(_: Any, x: Any) -> Any:
    if x.shape[0] == 1 and not torch.compiler.is_compiling():
        return x.reshape(3)[None] * 2
    return x * 2


def _numbers(_: Any, x: Any) -> Any:
    blocks, i = [1, 3], 0
    if blocks[i] != x.shape[i] and blocks[i] > 1:
        return x * 3
    return x * 2


@pytest.mark.parametrize("function", [_and, _or, _mode, _numbers])
@pytest.mark.parametrize("capture", ["non-strict", "source"])
def test_what_another_operand_settles_is_no_decision(function: Any, capture: str) -> None:
    module = Rows(function)
    program, said = _exported(module, (torch.rand(4, 3),), ({0: "n"},), capture=capture)
    assert not said
    assert "onnxwright.size_guards" not in program.model.metadata_props
    same_results(program, module, (torch.randn(n, 3) for n in (1, 2, 5)))


class Properties:
    """An object whose flag is computed: reading it may change something."""

    count = 0

    @property
    def off(self) -> bool:
        self.count += 1
        return self.count > 1


def _property(_: Any, x: Any) -> Any:
    settings = Properties()
    if x.shape[0] > 1 and settings.off:
        return x * 2
    return x


def _tuple(_: Any, x: Any) -> Any:
    # The value is used, not only its truth.
    chosen = x.shape[0] > 1 and None
    return x if chosen is None else x * 2


@pytest.mark.parametrize("function", [_property, _tuple])
def test_operands_that_settle_nothing(function: Any) -> None:
    _, said = _exported(Rows(function), (torch.rand(4, 3),), ({0: "n"},), capture="non-strict")
    assert len(said) == 1
    assert "n > 1" in said[0]


def test_a_causal_mask_of_one_row_hides_nothing() -> None:
    class Attends(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return F.scaled_dot_product_attention(x, y, y, is_causal=x.shape[1] > 1)

    rows, shape = torch.randn(2, 5, 4), {1: "n"}
    program, said = _exported(Attends(), (rows, rows), (shape, shape))
    assert not said
    one = torch.randn(2, 1, 4)
    torch.testing.assert_close(program(one, one), Attends()(one, one))
    _, said = _exported(Attends(), (rows, torch.randn(2, 7, 4)), (shape, {1: "m"}))
    assert len(said) == 1
    assert "n > 1" in said[0]
