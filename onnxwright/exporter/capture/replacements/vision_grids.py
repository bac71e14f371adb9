"""Images and videos of any number and size in vision-language models of transformers.

All patches are one sequence, and the sizes of the images are the values of a tensor, `grid_thw`:
frames, height and width of each image in patches.  The Python of these models goes through the
images one by one: it counts the positions of their patches, attends within each image, and places
them among the words.  While a model is captured, this is computed of all images at once:

- the positions of the patches from the number of the patch within its image;
- attention within each image as attention within all, with a mask of those of the same image;
- the positions of words and images by cumulative sums along the words.

A number of images, their sizes and the length of the text that are not those of the example are
right, too.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import torch
from torch.nn import functional

from onnxwright.exporter.capture.control.reaching import names_of
from onnxwright.exporter.capture.session.changes import Changes

_UTILS = "transformers.vision_utils"
# Models whose `get_rope_index` places words and images as `_rope_index` does.
_PLACED = frozenset(
    {
        "cohere_compass", "cosmos3_omni", "glm46v", "glm4v", "glm4v_moe", "glm_ocr", "paddleocr_vl",
        "qwen2_5_vl", "qwen2_vl", "qwen3_5", "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe",
    }
)  # fmt: skip
# The types of which videos are computed at once: positions by frame, or by seconds.
_FRAMES, _TIMED = frozenset({"qwen3_vl", "qwen3_vl_moe"}), frozenset({"qwen2_5_vl"})
# Whether the module itself asks how it attends.
_ATTENDS = " attends"
_VIDEOS = _FRAMES | _TIMED | {"qwen2_vl"}


class _Calls:
    """The calls, of modules that take sizes of images or ends of parts, that run now.

    Args:
        changes: undo what is added to the modules.
        model: a module.
    """

    def __init__(self, changes: Changes, model: Any) -> None:
        self._given: list[dict[str, Any]] = []
        for module in model.modules() if isinstance(model, torch.nn.Module) else ():
            code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
            if code is None:  # a function in C
                continue
            names = code.co_varnames[1 : code.co_argcount]
            if {"grid_thw", "cu_seqlens"} & set(names):
                begin, end = self._begin(code, names), self._end
                changes.later(module.register_forward_pre_hook(begin, with_kwargs=True).remove)
                changes.later(module.register_forward_hook(end, always_call=True).remove)

    def _begin(self, code: CodeType, names: Sequence[str]) -> Callable[..., None]:
        attends = "is_flash_attention_requested" in names_of(code)

        def begin(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self._given.append(dict(zip(names, args)) | kwargs | {_ATTENDS: attends})

        return begin

    def _end(self, module: Any, args: Any, result: Any) -> None:
        self._given.pop()

    def count_of_patches(self) -> Any:
        """The number of patches of all images, as the hidden states say; None if unknown."""
        hidden = self._given[-1].get("hidden_states") if self._given else None
        return hidden.shape[0] if isinstance(hidden, torch.Tensor) and hidden.dim() == 2 else None

    def attends_by_parts(self) -> bool:
        """Whether the module attends within parts of a sequence, whose ends are `cu_seqlens`."""
        arguments = self._given[-1] if self._given else {}
        return bool(arguments.get(_ATTENDS)) and isinstance(
            arguments.get("cu_seqlens"), torch.Tensor
        )


def grids_at_once(changes: Changes, model: Any) -> None:
    """Images that are packed by their sizes are computed at once."""
    utils = sys.modules[_UTILS]
    calls = _Calls(changes, model)
    replaced = {
        getattr(utils, name, None): functools.partial(constructor, calls)
        for name, constructor in (
            ("get_vision_position_ids", _position_ids),
            ("get_vision_window_index", _window_index),
            ("get_vision_interpolation_indices_and_weights", _interpolation),
        )
    }
    replaced.pop(None, None)
    change = changes.attribute
    for path, module in list(sys.modules.items()):
        if not path.startswith("transformers.models.") or ".modeling_" not in path:
            continue
        for name, value in list(vars(module).items()):
            if callable(value) and getattr(value, "__module__", "") == _UTILS:
                if value in replaced:
                    change(module, name, replaced[value](value))
        if hasattr(module, "is_flash_attention_requested"):
            _attend_at_once(calls, module, change)
        if path.split(".")[2] in _PLACED:
            for kind in [v for v in vars(module).values() if isinstance(v, type)]:
                if kind.__module__ == path and "get_rope_index" in vars(kind):
                    own = vars(kind)["get_rope_index"]
                    change(kind, "get_rope_index", _rope_index(own, path.split(".")[2]))


# -- patches ---------------------------------------------------------------------------------------


def _within(counts: Any, total: Any) -> tuple[Any, Any]:
    """For each item of all images, the number of its image, and its number within that."""
    images = torch.arange(counts.shape[0])
    options = {} if total is None else {"output_size": total}
    which = torch.repeat_interleave(images, counts, **options)
    starts = counts.cumsum(0) - counts
    return which, torch.arange(which.shape[0]) - starts[which]


def _places(grid: Any, merge: Any, total: Any) -> tuple[Any, Any, Any, Any]:
    """For each patch its image, frame, row and column, in blocks of `merge` by `merge`."""
    which, place = _within(grid[:, 0] * grid[:, 1] * grid[:, 2], total)
    if isinstance(merge, torch.Tensor):
        merge = merge[which]
    height, width = grid[which, 1], grid[which, 2]
    time, place = place // (height * width), place % (height * width)
    blocks, inner = width // merge, place % (merge * merge)
    block = place // (merge * merge)
    rows = block // blocks * merge + inner // merge
    columns = block % blocks * merge + inner % merge
    return which, time, rows, columns


def _position_ids(calls: _Calls, own: Callable[..., Any]) -> Callable[..., Any]:
    """Rows and columns of the patches, block after block."""

    def run(
        grid_thw: Any, spatial_merge_size: Any, include_temporal: bool = False, kwargs: Any = None
    ) -> Any:
        if kwargs is not None and kwargs.get("position_ids") is not None:
            return own(grid_thw, spatial_merge_size, include_temporal, kwargs)
        if kwargs is not None:
            kwargs.pop("position_ids", None)
        grid = grid_thw.to(torch.int64)
        _, frame, rows, columns = _places(grid, spatial_merge_size, calls.count_of_patches())
        return torch.stack([frame, rows, columns] if include_temporal else [rows, columns], dim=-1)

    return run


def _window_index(calls: _Calls, own: Callable[..., Any]) -> Callable[..., Any]:
    """The order of the patches by windows, and where each window begins."""

    def run(
        grid_thw: Any, spatial_merge_size: int, window_size: int, patch_size: int,
        kwargs: Any = None,
    ) -> Any:  # fmt: skip
        if kwargs is not None and any(
            kwargs.get(name) is not None for name in ("window_index", "cu_window_seqlens")
        ):
            return own(grid_thw, spatial_merge_size, window_size, patch_size, kwargs)
        for name in ("window_index", "cu_window_seqlens") if kwargs is not None else ():
            kwargs.pop(name, None)
        side = window_size // spatial_merge_size // patch_size
        unit = spatial_merge_size**2
        total = calls.count_of_patches()
        grid = grid_thw.to(torch.int64)
        rows, columns = grid[:, 1] // spatial_merge_size, grid[:, 2] // spatial_merge_size
        down, across = rows // side + 1, columns // side + 1
        first = (grid[:, 0] * down * across).cumsum(0) - grid[:, 0] * down * across
        items = None if total is None else total // unit
        which, place = _within(grid[:, 0] * rows * columns, items)
        frame, place = place // (rows * columns)[which], place % (rows * columns)[which]
        row, column = place // columns[which], place % columns[which]
        window = first[which] + frame * (down * across)[which]
        window = window + row // side * across[which] + column // side
        count = which.shape[0]
        # Unequal keys: windows in order, and the patches of each as they were.
        order = torch.argsort(window * count + torch.arange(count))
        sorted_window = window[order]
        begins = (sorted_window[1:] != sorted_window[:-1]).nonzero()[:, 0] + 1
        ends = torch.full((1,), count, dtype=torch.int64)
        cumulative = torch.cat([torch.zeros(1, dtype=torch.int64), begins, ends]) * unit
        return order, cumulative.to(torch.int32)

    return run


def _interpolation(calls: _Calls, own: Callable[..., Any]) -> Callable[..., Any]:
    """The places of a square table that make the embedding of a patch, and their weights."""

    def run(
        grid_thw: Any, num_grid_per_side: int, mode: str = "bilinear", align_corners: bool = False,
        spatial_merge_size: int = 1, padding: str = "border", kwargs: Any = None,
    ) -> Any:  # fmt: skip
        names = ("interp_indices", "interp_weights")
        if kwargs is not None and any(kwargs.get(name) is not None for name in names):
            return own(
                grid_thw, num_grid_per_side, mode, align_corners, spatial_merge_size, padding,
                kwargs,
            )  # fmt: skip
        for name in names if kwargs is not None else ():
            kwargs.pop(name, None)
        grid = grid_thw.to(torch.int64)
        which, _, row, column = _places(grid, spatial_merge_size, calls.count_of_patches())
        side, facts = num_grid_per_side, (mode, align_corners, padding)
        taps = sys.modules[_UTILS]._interpolation_axis_taps_weights
        down, down_weights = taps(row, grid[which, 1], side, *facts)
        across, across_weights = taps(column, grid[which, 2], side, *facts)
        indices = down[:, :, None] * side + across[:, None, :]
        weights = down_weights[:, :, None] * across_weights[:, None, :]
        return indices.flatten(1), weights.flatten(1)

    return run


# -- attention within each image -------------------------------------------------------------------


def _attend_at_once(calls: _Calls, module: Any, change: Callable[[Any, str, Any], None]) -> None:
    """Give functions that attend within parts all parts, and a mask."""
    asked = module.is_flash_attention_requested
    interfaces: Any = getattr(module, "ALL_ATTENTION_FUNCTIONS", None)
    if interfaces is None:
        return

    def is_packed(*args: Any, **kwargs: Any) -> Any:
        return calls.attends_by_parts() or asked(*args, **kwargs)

    class Interfaces:
        def get_interface(self, *args: Any) -> Any:
            own = interfaces.get_interface(*args)
            return _masked(own) if calls.attends_by_parts() else own

        def __getattr__(self, name: str) -> Any:
            return getattr(interfaces, name)

        def __getitem__(self, name: str) -> Any:
            return interfaces[name]

    change(module, "is_flash_attention_requested", is_packed)
    change(module, "ALL_ATTENTION_FUNCTIONS", Interfaces())
    if "get_max_seqlen" in vars(module):
        change(module, "get_max_seqlen", lambda *args, **kwargs: None)


def _masked(own: Callable[..., Any]) -> Callable[..., Any]:
    """Attention within the parts that `cu_seq_lens_q` says."""

    def run(module: Any, query: Any, key: Any, value: Any, **kwargs: Any) -> Any:
        ends = kwargs.pop("cu_seq_lens_q")
        for name in ("cu_seq_lens_k", "max_length_q", "max_length_k"):
            kwargs.pop(name, None)
        places = torch.arange(query.shape[2], dtype=ends.dtype)
        part = (places[:, None] >= ends[None, 1:]).sum(1)
        far = torch.finfo(query.dtype).min
        mask = torch.where(part[:, None] == part[None, :], 0.0, far).to(query.dtype)
        kwargs["attention_mask"] = mask[None, None]
        return own(module, query, key, value, **kwargs)

    return run


# -- words and images ------------------------------------------------------------------------------


def _rope_index(own: Callable[..., Any], family: str) -> Callable[..., Any]:
    """Positions of words and images or videos: words one by one, an image by its longer side."""

    def run(
        self: Any, input_ids: Any, mm_token_type_ids: Any, image_grid_thw: Any = None,
        video_grid_thw: Any = None, *args: Any, attention_mask: Any = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        seconds = kwargs.get("second_per_grid_ts")
        is_known = seconds is None or isinstance(seconds, torch.Tensor)
        videos = image_grid_thw is None and family in _VIDEOS and is_known
        grid_thw = video_grid_thw if videos else image_grid_thw
        if grid_thw is None or args or (video_grid_thw is not None and not videos):
            return own(
                self, input_ids, mm_token_type_ids, image_grid_thw, video_grid_thw, *args,
                attention_mask=attention_mask, **kwargs,
            )  # fmt: skip
        merge = self.config.vision_config.spatial_merge_size
        grid = grid_thw.to(torch.int64)
        if videos and family in _FRAMES:  # there are words between the frames of a video
            grid = grid[_within(grid[:, 0], None)[0]]
        rows, columns = grid[:, 1] // merge, grid[:, 2] // merge
        sides = torch.maximum(grid[:, 1], grid[:, 2]) // merge
        there = torch.ones_like(input_ids, dtype=torch.bool)
        if attention_mask is not None:
            there = attention_mask.bool()
        image = (mm_token_type_ids != 0) & there
        word = (mm_token_type_ids == 0) & there
        # The kind of the token before that is not masked; 2 for the first.
        places = torch.arange(input_ids.shape[1])
        last = torch.cummax(torch.where(there, places, -1), dim=1).values
        last = functional.pad(last[:, :-1], (1, 0), value=-1)
        kinds = torch.where(last < 0, 2, torch.gather(image.long(), 1, last.clamp(min=0)))
        begins = image & (kinds != 1)
        number = begins.flatten().long().cumsum(0).reshape(begins.shape) - 1
        number = number.clamp(min=0)
        steps = torch.where(begins, sides[number], word.long())
        before = steps.cumsum(1) - torch.where(image, sides[number], word.long())
        rank = there.long().cumsum(1) - 1
        start = torch.cummax(torch.where(begins, rank, -1), dim=1).values
        place = rank - start
        height, width = rows[number], columns[number]
        frame = place // (height * width)
        if videos and family in _TIMED:
            interval = self.config.vision_config.tokens_per_second
            frame = (frame * (interval if seconds is None else interval * seconds[number])).long()
        parts = [frame, place // width % height, place % width]
        apart = torch.stack([torch.where(image, part, 0) for part in parts])
        positions = torch.where(there, before + apart, 0)
        most = positions.amax(dim=(0, 2))
        deltas = (most + 1 - there.long().sum(1)).unsqueeze(1)
        return positions.to(input_ids.dtype), deltas

    return run
