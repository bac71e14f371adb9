"""Masks that a library makes only while it is captured, and containers that compute when made."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import onnxwright as ow
from tests.exporter.programs import check


def _masking() -> types.ModuleType:
    """What transformers does: a mask is skipped where nothing is masked, but not in a capture."""
    module = types.ModuleType("transformers.masking_utils")

    def _ignore_bidirectional_mask_sdpa(
        padding_mask: Any, kv_length: int, local_attention_size: int | None = None
    ) -> bool:
        if torch.compiler.is_exporting():
            return False
        no_window = local_attention_size is None or kv_length < local_attention_size
        return no_window and (padding_mask is None or bool(padding_mask.all()))

    def mask_of(x: Any, padding: Any, window: int | None = None) -> Any:
        length = x.shape[1]
        if module._ignore_bidirectional_mask_sdpa(padding, length, window):  # type: ignore[attr-defined]
            return None
        far = torch.arange(length)[:, None] - torch.arange(length)
        mask = torch.ones(length, length) if window is None else (far.abs() < window).float()
        return mask if padding is None else mask * padding[:, None]

    module._ignore_bidirectional_mask_sdpa = _ignore_bidirectional_mask_sdpa  # type: ignore[attr-defined]
    module.mask_of = mask_of  # type: ignore[attr-defined]
    return module


class Encoder(torch.nn.Module):
    """Attention; the scores of the second layer are of every other time."""

    def __init__(self, module: Any, window: int | None = None, layers: int = 2) -> None:
        super().__init__()
        self.mask_of, self.window, self.layers = module.mask_of, window, layers

    def forward(self, x: Any, padding: Any = None) -> Any:
        mask = self.mask_of(x, padding, self.window)
        for _ in range(self.layers):
            scores = x @ x.transpose(1, 2)
            x = (scores if mask is None else scores * mask).softmax(-1) @ x
            x = x[:, ::2] if self.layers > 1 else x
        return x


@pytest.fixture
def masking(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    module = _masking()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_without_a_mask_there_is_none_in_the_capture(masking: types.ModuleType) -> None:
    own = masking._ignore_bidirectional_mask_sdpa
    check(Encoder(masking), (torch.randn(2, 6, 3),), dynamic_shapes=({0: "n"},), sizes=({"n": 5},))
    assert masking._ignore_bidirectional_mask_sdpa is own


def test_there_is_none_in_any_way_to_capture(masking: types.ModuleType) -> None:
    x = torch.randn(2, 6, 3)
    program = ow.export(Encoder(masking, layers=1), (x,), capture="non-strict")
    assert "Mul" not in [node.op_type for node in program.model_proto.graph.node]
    torch.testing.assert_close(program(x), Encoder(masking, layers=1)(x))


def test_masks_that_are_given_or_have_a_window_stay(masking: types.ModuleType) -> None:
    """The values of a mask and the sizes beside a window are not known."""
    x = torch.randn(2, 6, 3)
    padding = torch.tensor([[1.0] * 6, [1, 1, 1, 0, 0, 0]])
    for model, args in ((Encoder(masking, 2, 1), (x,)), (Encoder(masking, None, 1), (x, padding))):
        program = ow.export(model, args, capture="substitutes")
        assert program.verify(args).ok


class Grown:
    """A container that computes when it is made of its parts."""

    def __init__(self, part: Any) -> None:
        self.part = torch.cat([torch.tensor([], dtype=part.dtype), part])


pytree.register_pytree_node(
    Grown, lambda grown: ([grown.part], None), lambda parts, _: Grown(parts[0]),
    serialized_type_name="tests.exporter.test_library_masks.Grown",
)  # fmt: skip


class Strided(torch.nn.Module):
    """A write that torch resolves, and a result in a container."""

    def forward(self, x: Any) -> Any:
        y = x * 2
        y.as_strided((3,), (1,), 0).mul_(3)
        return y, {"grown": Grown(y[0])}


def test_results_in_a_container_that_computes() -> None:
    """Torch makes the container while it resolves the write; what that computes is not a result."""
    program = ow.export(Strided(), (torch.randn(2, 3),))
    x = torch.randn(2, 3)
    wanted, found = Strided()(x), program(x)
    torch.testing.assert_close(torch.as_tensor(found[0]), wanted[0])
    assert isinstance(found[1]["grown"], Grown)
    torch.testing.assert_close(torch.as_tensor(found[1]["grown"].part), wanted[1]["grown"].part)
