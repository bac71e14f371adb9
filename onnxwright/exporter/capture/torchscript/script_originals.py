"""The Python that TorchScript modules and functions were made from, where it is still at hand.

`torch.jit.script` keeps the class of each module.  A module of that class with the attributes of
the scripted one does the same, and its loops and decisions are those of Python: a graph of
TorchScript has them, too, but runs with numbers where a size is to be dynamic.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.control.keeping import held_state_kept
from onnxwright.exporter.capture.torchscript.graphs import Scripted, is_scripted
from onnxwright.exporter.torch_internals import pytree


def in_python(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> torch.nn.Module | None:
    """A module whose scripted parts are Python again.

    Args:
        module: a `Scripted`, or a module that holds scripted modules.
        args, kwargs: example inputs.

    Returns:
        Another module with the same parameters; None if there is nothing scripted, if a part of it
        is not at hand in Python, or if the results for the example inputs differ.

    Example:
        >>> in_python(torch.nn.Linear(2, 3), (torch.ones(1, 2),), {}) is None
        True
    """
    try:
        original = _as_python(module)
        if original is module or not _give_the_same(module, original, args, kwargs):
            return None
    except Exception:  # noqa: BLE001 - attributes that TorchScript left out may be missing anywhere
        return None
    return original


class _NotKeptError(Exception):
    """A scripted part of which there is no Python."""


def _as_python(module: torch.nn.Module) -> torch.nn.Module:
    """A module without scripted parts; the same one if it has none."""
    if isinstance(module, Scripted):
        return _original(module.script[0])
    if is_scripted(module):
        return _original(module)
    children = {n: None if m is None else _as_python(m) for n, m in module._modules.items()}
    if all(children[name] is child for name, child in module._modules.items()):
        return module
    copied = copy.copy(module)
    copied._modules = children
    return copied


def _original(script: Any) -> torch.nn.Module:
    """What a module or function was scripted from.

    Raises:
        _NotKeptError: it was traced, frozen or loaded from a file, or it has hooks.
    """
    if isinstance(script, torch.jit.ScriptFunction):
        function = getattr(script, "_torchdynamo_inline", None)
        if function is None:
            raise _NotKeptError
        return _Calls(function)
    kept = getattr(script, "_concrete_type", None)
    traced = isinstance(script, (torch.jit.TopLevelTracedModule, torch.jit._trace.TracedModule))
    if kept is None or traced or script._forward_hooks or script._forward_pre_hooks:
        raise _NotKeptError
    kind = kept.py_class
    if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module) or is_scripted(kind):
        raise _NotKeptError
    module_now: Any = object.__new__(kind)
    torch.nn.Module.__init__(module_now)
    object.__setattr__(module_now, "training", script.training)
    module_now._parameters = dict(script._parameters.items())
    module_now._buffers = dict(script._buffers.items())
    module_now._modules = {name: _original(child) for name, child in script._modules.items()}
    names = {*module_now._parameters, *module_now._buffers, *module_now._modules, "training"}
    for name in {**kept.get_constants(), **kept.get_attributes()}:
        if name not in names:
            object.__setattr__(module_now, name, getattr(script, name))
    # As for a module that was unpickled: attributes that TorchScript has no types for are made.
    module_now.__setstate__(dict(module_now.__dict__))
    original: torch.nn.Module = module_now
    return original


class _Calls(torch.nn.Module):  # type: ignore[misc]
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        object.__setattr__(self, "forward", function)


def _give_the_same(
    one: torch.nn.Module, other: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether two modules give the same results; what they hold is as before."""
    results = []
    for module in (one, other):
        copies = copy.deepcopy((tuple(args), dict(kwargs)))
        buffers = [(b, b.detach().clone()) for b in module.buffers()]
        with torch.random.fork_rng(devices=()), torch.no_grad(), held_state_kept(module, []):
            torch.manual_seed(0)
            script = module.script[0] if isinstance(module, Scripted) else module
            try:
                results.append(pytree.tree_leaves(script(*copies[0], **copies[1])))
            finally:
                for buffer, value in buffers:
                    buffer.copy_(value)
    try:
        torch.testing.assert_close(*results, equal_nan=True)
    except AssertionError:
        return False
    return True
