"""The numbers of the tensors that a module holds beside its parameters and buffers."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterator
from typing import Any

import torch

from onnxwright.exporter.torch_internals import FakeTensor

# What is looked through: a bound for modules that hold large data sets in Python lists.
_MOST = 20_000
# Elements of a tensor that is kept: a bound for data sets that are held as tensors.
_MOST_ELEMENTS = 1 << 24
_LEAVES = (str, bytes, int, float, complex, type, types.ModuleType, torch.Tensor)


class HeldTensors:
    """Tensors in the attributes, containers and closures of a module, with their numbers.

    PyTorch computes with tensors that are not buffers while it traces, so that `self.count.add_(1)`
    would have happened once before the program runs for the first time.

    Args:
        others: tensors whose numbers are not kept, also where another tensor shares them.
    """

    def __init__(self, module: torch.nn.Module, others: Collection[torch.Tensor] = ()) -> None:
        left_out = set(map(_start, others))
        found = [t for t in _held_tensors(module) if _start(t) not in left_out]
        self._kept = [(tensor, tensor.detach().clone()) for tensor in found]

    def restore(self) -> None:
        """Give the tensors their numbers back."""
        for tensor, value in self._kept:
            if not torch.equal(tensor, value):
                with torch.no_grad():
                    tensor.copy_(value)


def _held_tensors(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Real tensors in the attributes, containers and closures of a module.

    Of tensors that are registered, those of one element.
    """
    registered = {id(t) for t in (*module.parameters(), *module.buffers())}
    seen: set[int] = set()
    waiting: list[Any] = [module]
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            is_real = type(one) is torch.Tensor and one.device.type == "cpu"
            if is_real and one.layout is torch.strided and one.numel() <= _MOST_ELEMENTS:
                if one.numel() == 1 or id(one) not in registered:
                    yield one
        elif isinstance(one, dict):
            waiting += [v for v in one.values() if _may_hold(v)]
        elif isinstance(one, list | tuple | set):
            waiting += [v for v in one if _may_hold(v)]
        elif isinstance(one, types.FunctionType):
            waiting += [c.cell_contents for c in one.__closure__ or () if _is_filled(c)]
        elif isinstance(one, types.MethodType):
            waiting += [one.__self__, one.__func__]
        else:
            waiting += [v for v in getattr(one, "__dict__", {}).values() if _may_hold(v)]


def _start(tensor: torch.Tensor) -> int | None:
    """Where the memory of a tensor is; None where it has none."""
    if isinstance(tensor, FakeTensor) or tensor.layout is not torch.strided:
        return None
    try:
        return tensor.untyped_storage().data_ptr() or None
    except (RuntimeError, ValueError):  # a subclass that wraps tensors; a lazy parameter
        return None


def _may_hold(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or not isinstance(value, _LEAVES)


def _is_filled(cell: Any) -> bool:
    try:
        return bool(_may_hold(cell.cell_contents))
    except ValueError:  # a name that is not bound yet
        return False
