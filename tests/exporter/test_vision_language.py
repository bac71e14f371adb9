"""Models of the kind of Qwen2-VL: text of any length, images of any number and size."""

from __future__ import annotations

import importlib
import itertools
import random
import types
from typing import Any

import pytest
import torch

hub = pytest.importorskip("transformers", minversion="5.20", reason="it has the networks")

from torch import nn  # noqa: E402

import onnxwright as ow  # noqa: E402
from onnxwright.exporter.capture.replacements.vision_grids import grids_at_once  # noqa: E402
from onnxwright.exporter.capture.session.changes import applied  # noqa: E402
from tests.exporter.programs import check  # noqa: E402
from tests.harness.modules import module_with  # noqa: E402

IMAGE, BEGIN, END = 40, 41, 42
TEXT = {
    "vocab_size": 50, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "pad_token_id": 0,
    "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4},
}  # fmt: skip
VISION = {
    "depth": 1, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "mlp_ratio": 2,
    "patch_size": 2, "spatial_merge_size": 2, "temporal_patch_size": 1,
}  # fmt: skip


class Logits(nn.Module):
    """The model without a cache."""

    def __init__(self) -> None:
        super().__init__()
        config = hub.Qwen2VLConfig(
            text_config=TEXT, vision_config=VISION, image_token_id=IMAGE,
            vision_start_token_id=BEGIN, vision_end_token_id=END,
        )  # fmt: skip
        self.model = hub.Qwen2VLForConditionalGeneration(config)

    def forward(self, ids: Any, mask: Any) -> Any:
        return self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits


def test_text() -> None:
    """Positions of three axes, from a mask, at two other sizes."""
    torch.manual_seed(0)
    ids = torch.randint(1, 40, (2, 6))
    dynamic = {"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}
    sizes = ({"batch": 1, "length": 4}, {"batch": 3, "length": 11})
    check(Logits().eval(), (ids, torch.ones_like(ids)), dynamic_shapes=dynamic, sizes=sizes)


@module_with(lambda model: {"model": model})
def Images(self, ids: Any, mask: Any, kinds: Any, pixels: Any, grid: Any) -> Any:
    """A model of words and images of any number and size, of the kind of Qwen2-VL."""
    return self.model(
        input_ids=ids, attention_mask=mask, mm_token_type_ids=kinds, pixel_values=pixels,
        image_grid_thw=grid, use_cache=False,
    ).logits  # fmt: skip


_TOKENS = {
    "image_token_id": IMAGE, "video_token_id": 43, "vision_start_token_id": BEGIN,
    "vision_end_token_id": END,
}  # fmt: skip


# Of the two newer families.
BLOCKS = {
    "depth": 2, "hidden_size": 16, "out_hidden_size": 16, "num_heads": 2, "patch_size": 2,
    "intermediate_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 1,
}  # fmt: skip


def _qwen2() -> Any:
    config = hub.Qwen2VLConfig(text_config=TEXT, vision_config=VISION, **_TOKENS)
    return hub.Qwen2VLForConditionalGeneration(config)


def _qwen25() -> Any:
    """Attention within windows, too."""
    vision = {**BLOCKS, "window_size": 8, "fullatt_block_indexes": [1]}
    config = hub.Qwen2_5_VLConfig(text_config=TEXT, vision_config=vision, **_TOKENS)
    return hub.Qwen2_5_VLForConditionalGeneration(config)


def _qwen3() -> Any:
    """Positions between those of a table; features of deeper layers."""
    vision = {**BLOCKS, "num_position_embeddings": 9, "deepstack_visual_indexes": [0]}
    rope = {**TEXT["rope_parameters"], "mrope_section": [2, 1, 1], "mrope_interleaved": True}
    text = {**TEXT, "rope_parameters": rope, "head_dim": 8}
    config = hub.Qwen3VLConfig(text_config=text, vision_config=vision, **_TOKENS)
    return hub.Qwen3VLForConditionalGeneration(config)


def _inputs(*rows: list[tuple[int, int]], words: int = 3, padded: int = 0) -> tuple[Any, ...]:
    """Texts with images by height and width; the last row begins with padding."""
    sizes = [(1, h, w) for row in rows for h, w in row]
    texts = []
    for row in rows:
        text = [5]
        for h, w in row:
            text += [BEGIN, *[IMAGE] * (h * w // 4), END, 7]
        texts.append(text)
    length = max(map(len, texts)) + words
    ids = torch.tensor([text + [9] * (length - len(text)) for text in texts])
    mask = torch.ones_like(ids)
    if padded:
        ids[-1] = torch.cat([torch.zeros(padded, dtype=ids.dtype), ids[-1, :-padded]])
        mask[-1, :padded] = 0
    patches = sum(t * h * w for t, h, w in sizes)
    return ids, mask, (ids == IMAGE).int(), torch.randn(patches, 12), torch.tensor(sizes)


def _grids() -> list[Any]:
    draw = random.Random(0)
    return [
        torch.tensor(
            [
                [draw.randint(1, 2), 2 * draw.randint(1, 6), 2 * draw.randint(1, 6)]
                for _ in range(draw.randint(1, 4))
            ]
        )
        for _ in range(20)
    ]


def test_patches_at_once() -> None:
    """Positions, windows and table places of all images are those of one image after the other."""
    utils = importlib.import_module("transformers.vision_utils")
    module = importlib.import_module("transformers.models.qwen2_5_vl.modeling_qwen2_5_vl")
    third = importlib.import_module("transformers.models.qwen3_vl.modeling_qwen3_vl")
    beside = (5, "bilinear", False, 2)
    for grid in _grids():
        hidden_states = torch.zeros(int(grid.prod(1).sum()), 1)  # as in the callers
        with applied([grids_at_once]):
            places = module.get_vision_position_ids(grid, 2)
            order, ends = module.get_vision_window_index(grid, 2, 24, 4)
            table = third.get_vision_interpolation_indices_and_weights(
                grid, 5, spatial_merge_size=2
            )
        assert torch.equal(places, utils.get_vision_position_ids(grid, 2))
        own_order, own_ends = utils.get_vision_window_index(grid, 2, 24, 4)
        assert torch.equal(order, own_order)
        assert torch.equal(ends, own_ends)
        wanted = utils.get_vision_interpolation_indices_and_weights(grid, *beside)
        assert all(map(torch.equal, table, wanted))
        assert len(places) == len(hidden_states)
    assert module.get_vision_position_ids is utils.get_vision_position_ids


@pytest.mark.parametrize("name", ["qwen2_vl.Qwen2VL", "qwen2_5_vl.Qwen2_5_VL", "qwen3_vl.Qwen3VL"])
def test_words_and_images_at_once(name: str) -> None:
    """Positions with padding on either side, rows without images, and images first or last."""
    path, _, kind = name.partition(".")
    module = importlib.import_module(f"transformers.models.{path}.modeling_{path}")
    model = getattr(module, f"{kind}Model")
    vision = types.SimpleNamespace(spatial_merge_size=2, tokens_per_second=2)
    self = model.__new__(model)
    torch.nn.Module.__init__(self)
    self.config = types.SimpleNamespace(vision_config=vision)
    draw = random.Random(0)
    for _ in range(30):
        rows, sizes = [], []
        for _ in range(draw.randint(1, 3)):
            row = [0] * draw.randint(1, 3)
            for _ in range(draw.randint(0, 2)):
                h, w = 2 * draw.randint(1, 4), 2 * draw.randint(1, 4)
                sizes.append((1, h, w))
                row += [1] * (h * w // 4) + [0] * draw.randint(1, 3)
            rows.append(row if draw.random() < 0.8 else row[::-1])
        if not sizes:
            continue
        length = max(map(len, rows))
        kinds, mask = torch.zeros(2, len(rows), length, dtype=torch.long)
        for n, row in enumerate(rows):
            at = draw.choice([0, length - len(row)])
            kinds[n, at : at + len(row)] = torch.tensor(row)
            mask[n, at : at + len(row)] = 1
        # Reversed rows keep the sizes of their images in the order of the text.
        given = {"image_grid_thw": _in_order(kinds, sizes), "attention_mask": mask}
        wanted, deltas = self.get_rope_index(torch.zeros_like(kinds), kinds, **given)
        with applied([grids_at_once]):
            found, found_deltas = self.get_rope_index(torch.zeros_like(kinds), kinds, **given)
        assert torch.equal(found, wanted)
        assert torch.equal(found_deltas, deltas)


def _in_order(kinds: Any, sizes: list[tuple[int, int, int]]) -> Any:
    """For each image of a text a size of as many patches."""
    left = list(sizes)
    found = []
    for row in kinds.tolist():
        for kind, group in itertools.groupby(row):
            count = len(list(group))
            if kind:
                size = next(s for s in left if s[1] * s[2] // 4 == count)
                left.remove(size)
                found.append(size)
    return torch.tensor(found)


@pytest.mark.slow
@pytest.mark.parametrize("make", [_qwen2, _qwen25, _qwen3], ids=["qwen2", "qwen2.5", "qwen3"])
def test_images(make: Any) -> None:
    """Images of any number and size, beside each other and in rows with padding."""
    torch.manual_seed(0)
    model = Images(make()).eval()
    free = torch.export.Dim.DYNAMIC
    text = {0: free, 1: free}
    given = _inputs([(4, 4)], [(4, 8)])
    program = ow.export(model, given, dynamic_shapes=(text, text, text, {0: free}, {0: free}))
    others = (
        _inputs([(4, 8), (8, 4)], [(12, 4)], [(4, 4)], padded=2),
        _inputs([(8, 12), (4, 4), (4, 8)], words=1),
    )
    for args in (given, *others):
        with torch.no_grad():
            wanted = model(*args)
        there = args[1].bool()
        found = torch.as_tensor(program(*args))
        torch.testing.assert_close(found[there], wanted[there], rtol=1e-3, atol=1e-4)


def _videos(*sizes: tuple[int, int, int], apart: bool, words: int = 2) -> tuple[Any, Any, Any]:
    """Words with a video each, the kinds of them, and the sizes; frames apart from each other."""
    rows = []
    for t, h, w in sizes:
        whole = [2] * (h * w // 4)
        rows.append([0, *([*whole, 0] * t if apart else [*whole * t, 0]), *[0] * words])
    length = max(map(len, rows))
    kinds = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    return kinds, mask, torch.tensor(sizes)


@pytest.mark.parametrize("make", [_qwen2, _qwen25, _qwen3], ids=["qwen2", "qwen2.5", "qwen3"])
def test_words_and_videos_at_once(make: Any) -> None:
    """Positions of videos; those of Qwen2.5 by seconds, where they are given."""
    model = make().model
    model.config.vision_config.tokens_per_second = 3
    is_timed, apart = make is _qwen25, make is _qwen3
    for sizes in ([(2, 4, 8)], [(3, 4, 4), (1, 8, 4), (2, 2, 2)], [(5, 2, 6), (2, 6, 2)]):
        kinds, mask, grid = _videos(*sizes, apart=apart)
        given = {"video_grid_thw": grid, "attention_mask": mask}
        seconds = {"second_per_grid_ts": torch.linspace(0.3, 2.5, len(sizes))}
        for more in ({}, seconds) if is_timed else ({},):
            wanted, deltas = model.get_rope_index(kinds, kinds, **given, **more)
            with applied([grids_at_once]):
                found, found_deltas = model.get_rope_index(kinds, kinds, **given, **more)
            assert torch.equal(found, wanted)
            assert torch.equal(found_deltas, deltas)


class Videos(Images):
    """The same of words and videos."""

    def forward(self, ids: Any, mask: Any, kinds: Any, pixels: Any, grid: Any) -> Any:
        return self.model(
            input_ids=ids, attention_mask=mask, mm_token_type_ids=kinds,
            pixel_values_videos=pixels, video_grid_thw=grid, use_cache=False,
        ).logits  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("make", [_qwen2, _qwen25, _qwen3], ids=["qwen2", "qwen2.5", "qwen3"])
def test_videos(make: Any) -> None:
    """Videos of any number, length and size."""
    torch.manual_seed(0)
    model = Videos(make()).eval()
    free = torch.export.Dim.DYNAMIC
    text = {0: free, 1: free}

    def given(*sizes: tuple[int, int, int], words: int) -> tuple[Any, ...]:
        kinds, mask, grid = _videos(*sizes, apart=make is _qwen3, words=words)
        pixels = torch.randn(int(grid.prod(1).sum()), 12)
        return torch.where(kinds == 2, 43, 5), mask, kinds.int(), pixels, grid

    first = given((2, 4, 4), (2, 4, 8), words=3)
    program = ow.export(model, first, dynamic_shapes=(text, text, text, {0: free}, {0: free}))
    for args in (first, given((3, 4, 4), words=1), given((1, 8, 4), (4, 4, 4), (2, 2, 2), words=5)):
        with torch.no_grad():
            wanted = model(*args)
        there = args[1].bool()
        found = torch.as_tensor(program(*args))
        torch.testing.assert_close(found[there], wanted[there], rtol=1e-3, atol=1e-4)
