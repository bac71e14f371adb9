"""Tensors and modules that stand for those of the user while a module is captured, and these.

PyTorch traces a module with tensors in the place of its parameters and buffers.  They have no
attributes of the user, are no `torch.nn.Parameter` to `type`, and are not what a list of the module
holds: converted code asks here.  Where a part has two names, a new object stands for each part that
is read.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch

from onnxwright.exporter.torch_internals import FakeTensor, ModuleProxy


class StandIns:
    """The parameters and buffers of a module, by the tensors that stand for them.

    Args:
        module: the module, before it is captured.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._own = dict(_tensors_of(module))
        self._known: dict[int, tuple[Any, Any]] = {}

    def original(self, value: Any) -> Any:
        """What a tensor or a module stands for; the value itself if it stands for nothing."""
        if isinstance(value, ModuleProxy):
            return value.get_base()
        if type(value) is not FakeTensor:
            return value
        if id(value) not in self._known:
            # PyTorch puts them into the module, when it is traced; others stand for nothing.
            self._known[id(value)] = value, value
            for name, one in _tensors_of(self._module):
                if name in self._own:
                    self._known[id(one)] = one, self._own[name]
        return self._known[id(value)][1]

    def forget(self) -> None:
        """Let go of all tensors."""
        self._own.clear()
        self._known.clear()


def _tensors_of(module: torch.nn.Module) -> Any:
    return itertools.chain(
        module.named_parameters(remove_duplicate=False),
        module.named_buffers(remove_duplicate=False),
    )


def class_of(value: Any) -> type:
    """`type(value)`, of what stands for a tensor or a module the class of that.

    Example:
        >>> class_of(torch.nn.Parameter(torch.ones(2)))
        <class 'torch.nn.parameter.Parameter'>
    """
    kind: type = type(value)
    if isinstance(value, ModuleProxy):
        kind = type(value.get_base())
    elif kind is FakeTensor:
        kind = torch.nn.Parameter if isinstance(value, torch.nn.Parameter) else torch.Tensor
    return kind
