"""Quantized modules, as a capture can read them, restored at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch.ao.quantization.fake_quantize import FakeQuantizeBase

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.exporter.capture.quantized.packed import CellWeights, Packed, PackedRows
from onnxwright.exporter.capture.quantized.tensors import QUANTIZED_TYPES

_PACKED: dict[str, Callable[[torch.nn.Module, Any], Any]] = {
    "CellParamsBase": CellWeights,
    "EmbeddingPackedParamsBase": PackedRows,
    "LinearPackedParamsBase": Packed,
    "Conv2dPackedParamsBase": Packed,
    "Conv3dPackedParamsBase": Packed,
}
"""Classes of C++ objects that hold weights -> what stands for them."""

_QUANTIZED = ("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized")


def holds_packed(module: torch.nn.Module) -> bool:
    """Whether a module, or one in it, is quantized or observed by torch's eager mode."""
    return any(
        isinstance(m, FakeQuantizeBase) or _is_quantized(m) or next(_packed_in(m), None)
        for m in module.modules()
    )


def _is_quantized(module: torch.nn.Module) -> bool:
    return type(module).__module__.startswith(_QUANTIZED)


def _packed_in(module: torch.nn.Module) -> Iterator[tuple[str, Any, str]]:
    """Attributes that are packed weights: name, object, class."""
    for name, value in list(vars(module).items()):
        if isinstance(value, torch.ScriptObject):
            kind = str(value._type()).rsplit(".", 1)[-1]
            if kind in _PACKED:
                yield name, value, kind


def _packed(module: torch.nn.Module, name: str, value: Any, kind: str) -> Any:
    """What stands for packed weights; cells have two of them, each with buffers of its own."""
    if _PACKED[kind] is Packed and name.startswith("_packed_weight_"):
        half = getattr(module, "weight_dtype", None) is torch.float16
        return Packed(module, value, name.removeprefix("_packed_"), half=half)
    return _PACKED[kind](module, value)


@contextmanager
def readable(module: torch.nn.Module) -> Iterator[None]:
    """In this context, packed weights are buffers, and quantized tensors are floats on a grid."""
    undo: list[Callable[[], None]] = []
    try:
        frozen = [_freeze(one, undo) for one in module.modules()]
        observing = sum(state == "observing" for state in frozen)
        if observing:
            modules = "1 module" if observing == 1 else f"{observing} modules"
            warn(messages.ObserversOn(count=modules, span=user_span()))
        yield
    finally:
        for step in reversed(undo):
            step()


def _freeze(module: torch.nn.Module, undo: list[Callable[[], None]]) -> str:
    """Let one module hold what a capture reads; `undo` says how it was before."""
    before = dict(vars(module))
    buffers, persistent = dict(module._buffers), set(module._non_persistent_buffers_set)

    def restore() -> None:
        vars(module).clear()
        vars(module).update(before)
        module._buffers.clear()
        module._buffers.update(buffers)
        module._non_persistent_buffers_set.clear()
        module._non_persistent_buffers_set.update(persistent)

    undo.append(restore)
    for name, value, kind in _packed_in(module):
        vars(module)[name] = _packed(module, name, value, kind)
    if _is_quantized(module):
        for name in ("scale", "zero_point"):
            tensor = module._buffers.get(name)
            if tensor is not None and tensor.numel() == 1:
                del module._buffers[name]
                vars(module)[name] = tensor.item()
    if isinstance(module, FakeQuantizeBase):
        return _freeze_fake(module)
    return ""


def _freeze_fake(module: Any) -> str:
    """Fake quantization with the scales there are; flags are read now."""
    on = bool(module.fake_quant_enabled[0])
    observing = bool(module.observer_enabled[0])
    low = getattr(module, "quant_min", None)
    low = module.activation_post_process.quant_min if low is None else low
    high = getattr(module, "quant_max", None)
    high = module.activation_post_process.quant_max if high is None else high
    per_channel = bool(getattr(module, "is_per_channel", False))
    axis = int(getattr(module, "ch_axis", -1))
    fixed = None
    if not per_channel and module.scale.numel() == 1:
        fixed = (float(module.scale), int(module.zero_point))

    def forward(x: Any) -> Any:
        if not on:
            return x
        if fixed is not None:
            return torch.fake_quantize_per_tensor_affine(x, *fixed, low, high)
        zeros = module.zero_point.to(torch.int32)
        return torch.fake_quantize_per_channel_affine(x, module.scale, zeros, axis, low, high)

    vars(module)["forward"] = forward
    return "observing" if observing else ""


def raise_quantized(what: str) -> NoReturn:
    """Refuse a quantized tensor among inputs or results.

    Raises:
        ExportError: always (OW847).
    """
    hint = "end the model with `torch.ao.quantization.DeQuantStub()`, or return `x.dequantize()`"
    if what == "an input":
        hint = "give floats, and begin the model with `torch.ao.quantization.QuantStub()`"
    fail(messages.QuantizedResult(what=what, hint=hint, span=user_span()))


class QuantizedValuesError(RuntimeError):
    """A captured program has quantized tensors, which ONNX has no type for."""


def quantized_values(program: Any) -> bool:
    """Whether a captured program has values of a quantized type."""
    values = (x for n in program.graph.nodes for x in (n.meta.get("val"), *n.args))
    return any(
        (x.dtype if isinstance(x, torch.Tensor) else x) in QUANTIZED_TYPES
        for x in values
        if isinstance(x, (torch.Tensor, torch.dtype))
    )
